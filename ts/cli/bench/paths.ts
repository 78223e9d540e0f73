// The paths of `serval bench`: how requests of each are transported, and to which of a server's
// APIs. Data; any thread. Source: docs/reference/protocols.
import { INFERENCE_SERVICE, PREDICTION_SERVICE } from '../../base/services.js';
import type { BenchPath } from './types.js';

interface PathKind {
  readonly carrier: 'none' | 'http' | 'grpc';
  /** v1: TensorFlow Serving's, over REST and gRPC. */
  readonly api: 'none' | 'v2' | 'v1';
}

const KINDS: Readonly<Record<BenchPath, PathKind>> = {
  engine: { carrier: 'none', api: 'none' },
  'rest-json': { carrier: 'http', api: 'v2' },
  'rest-binary': { carrier: 'http', api: 'v2' },
  grpc: { carrier: 'grpc', api: 'v2' },
  'v1-json': { carrier: 'http', api: 'v1' },
  'grpc-predict': { carrier: 'grpc', api: 'v1' },
};

export const ALL_PATHS = Object.keys(KINDS) as readonly BenchPath[];
/** Paths of a MODEL without --paths. */
export const USUAL_PATHS: readonly BenchPath[] = ['engine', 'rest-json', 'rest-binary', 'grpc'];

export const carrierOf = (path: BenchPath): PathKind['carrier'] => KINDS[path].carrier;
export const isOfV1 = (path: BenchPath): boolean => KINDS[path].api === 'v1';

/** The gRPC method of a path. */
export const callOf = (path: BenchPath): string =>
  isOfV1(path) ? `/${PREDICTION_SERVICE}/Predict` : `/${INFERENCE_SERVICE}/ModelInfer`;
