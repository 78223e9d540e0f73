// The target of requests, and the URL paths that name it. Pure; control plane. Source:
// docs/reference/protocols/v2-rest.md; docs/reference/protocols/v1-rest.md.
import { labelOf } from '../../predict/grpc/predict-request.js';
import { isOfV1 } from '../paths.js';
import type { BenchPath } from '../types.js';

/** Target of requests, as far as requests name it. */
export interface RequestPlace {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** REST over HTTP/2; default false. */
  readonly isHttp2?: boolean;
  /** The path before /v2 or /v1. */
  readonly prefix: string;
  readonly model: string;
  /** "" = the server's choice. */
  readonly version: string;
  /** For V1 and PredictionService; "" = none. */
  readonly label: string;
  /** For V1 and PredictionService; "" = serving_default, omitted. */
  readonly signature: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function v2ModelPath({ prefix, model, version }: RequestPlace): string {
  const versioned = version === '' ? '' : `/versions/${encodeURIComponent(version)}`;
  return `${prefix}/v2/models/${encodeURIComponent(model)}${versioned}`;
}

export function v1ModelPath(place: RequestPlace): string {
  const { prefix, model, version } = place;
  const label = labelOf(place);
  const numbered = version === '' ? '' : `/versions/${version}`;
  const meant = label === '' ? numbered : `/labels/${encodeURIComponent(label)}`;
  return `${prefix}/v1/models/${encodeURIComponent(model)}${meant}`;
}

/** URL path of requests on an HTTP path. */
export const requestPath = (path: BenchPath, place: RequestPlace): string =>
  isOfV1(path) ? `${v1ModelPath(place)}:predict` : `${v2ModelPath(place)}/infer`;
