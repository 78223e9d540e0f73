// Gets a model's metadata from a server: by V2 and by TensorFlow Serving's APIs, over REST and
// gRPC. Control plane, main thread. Source: docs/reference/protocols.
import { INFERENCE_SERVICE, PREDICTION_SERVICE } from '../../../base/services.js';
import { MODEL_METADATA_REQUEST } from '../../../protobuf/generated/inference-fields.js';
import { DEFAULT_SIGNATURE } from '../../../base/signatures.js';
import { ErrorCode, ServalError, reasonOf } from '../../../base/errors.js';
import type { InputInfo } from '../../../library/types.js';
import { BENCH_CALL_MS } from '../../../base/limits.js';
import { dataTypeOf } from '../../../model/datatype.js';
import type { Datatype } from '../../../model/snapshot.js';
import { labelOf, metadataRequest } from '../../predict/grpc/predict-request.js';
import { v1Metadata } from '../../predict/v1-json.js';
import { MODEL_METADATA_RESPONSE } from '../../../protobuf/generated/inference.js';
import { decodeWire } from '../../../protobuf/schema-read.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';
import { echo } from '../../../base/text.js';
import { prefixed } from '../request/message-prefix.js';
import { v1ModelPath, v2ModelPath, type RequestPlace } from '../request/place.js';
import { grpcCall } from './grpc-call.js';

export interface Metadata {
  /** "" if the API does not report it. */
  readonly platform: string;
  readonly version: string;
  readonly inputs: readonly InputInfo[];
  /** Whether every output has, or may have, as many rows as the inputs. */
  readonly rowsOut: boolean;
}

/** Errors: the server's; ModelNotReady: no response. */
export async function restMetadata(place: RequestPlace, tlsCa: string): Promise<Metadata> {
  const { where, body } = await restDocument(place, v2ModelPath(place), tlsCa);
  try {
    return metadataOf(JSON.parse(body) as RawMetadata, place.version);
  } catch (error) {
    throw new ServalError(
      ErrorCode.Internal,
      `${where}: expected metadata of V2: ${reasonOf(error)}`,
    );
  }
}

/** Errors: those of restMetadata(); SignatureNotFound. */
export async function v1RestMetadata(place: RequestPlace, tlsCa: string): Promise<Metadata> {
  const { where, body } = await restDocument(place, `${v1ModelPath(place)}/metadata`, tlsCa);
  try {
    const told = v1Metadata(JSON.parse(body), place.signature || DEFAULT_SIGNATURE, where);
    return {
      platform: '',
      version: told.version || numbered(place),
      inputs: told.inputs,
      rowsOut: told.outputShapes.every(mayHaveRows),
    };
  } catch (error) {
    if (error instanceof ServalError) throw error;
    const text = `${where}: expected metadata of V1: ${reasonOf(error)}`;
    throw new ServalError(ErrorCode.Internal, text);
  }
}

async function restDocument(
  { host, port, isTls, isHttp2 = false, headers }: RequestPlace,
  path: string,
  tlsCa: string,
): Promise<{ readonly where: string; readonly body: string }> {
  const { httpCall } = await import('./http-call.js');
  const timeoutMs = BENCH_CALL_MS;
  const body = await httpCall({ host, port, isTls, isHttp2, tlsCa, path, headers, timeoutMs });
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
  return { where, body: body.toString('utf8') };
}

/** Errors: those of restMetadata(); Unimplemented: the server has no V2. */
export async function grpcMetadata(
  place: RequestPlace,
  tlsCa: string | undefined,
): Promise<Metadata> {
  const { model, version } = place;
  const message = new ProtobufWriter()
    .string(MODEL_METADATA_REQUEST.name, model)
    .string(MODEL_METADATA_REQUEST.version, version)
    .concat();
  const call = `/${INFERENCE_SERVICE}/ModelMetadata`;
  const answer = await grpcCall({ ...place, tlsCa }, call, prefixed(message));
  const { value } = decodeWire(answer, MODEL_METADATA_RESPONSE, 'ModelMetadata');
  return metadataOf(value as RawMetadata, version);
}

/** Errors: those of v1RestMetadata(). */
export async function servingMetadataOf(
  place: RequestPlace,
  tlsCa: string | undefined,
): Promise<Metadata> {
  const { inputInfo, servingMetadata, signatureOf } = await import(
    '../../predict/grpc/tfserving-metadata.js'
  );
  const call = `/${PREDICTION_SERVICE}/GetModelMetadata`;
  const answer = await grpcCall({ ...place, tlsCa }, call, prefixed(metadataRequest(place)));
  const metadata = servingMetadata(answer);
  const signature = place.signature || DEFAULT_SIGNATURE;
  const where = `${place.host}:${place.port}`;
  const { inputs, outputs } = signatureOf(metadata, signature, where, place.model);
  return {
    platform: '',
    version: metadata.version || numbered(place),
    inputs: [...inputs].map(([name, info]) => inputInfo(name, info)),
    rowsOut: [...outputs].every(([, { shape }]) =>
      mayHaveRows(
        shape === undefined || shape.unknownRank
          ? undefined
          : shape.dims.map(({ size }) => Number(size)),
      ),
    ),
  };
}

/** The requested version as a number; "" for a label. */
const numbered = (place: RequestPlace): string => (labelOf(place) === '' ? place.version : '');

/** `shape`: undefined = any rank. */
const mayHaveRows = (shape: readonly number[] | undefined): boolean =>
  shape === undefined || (shape[0] ?? 0) < 0;

interface RawTensor {
  readonly name?: string;
  readonly datatype?: string;
  readonly shape?: readonly (number | string)[];
}
interface RawMetadata {
  readonly platform?: string;
  readonly versions?: readonly string[];
  readonly inputs?: readonly RawTensor[];
  readonly outputs?: readonly RawTensor[];
}

function metadataOf(raw: RawMetadata, version: string): Metadata {
  return {
    platform: raw.platform ?? '',
    version: version || (raw.versions?.at(-1) ?? ''),
    inputs: (raw.inputs ?? []).map(({ name = '', datatype = '', shape = [] }) => {
      if (dataTypeOf(datatype as Datatype) === undefined) {
        const text = `input '${name}': datatype ${echo(datatype)} cannot be sent`;
        throw new ServalError(ErrorCode.Unimplemented, text);
      }
      const own = { name, datatype: datatype as Datatype, shape: shape.map(Number) };
      return { ...own, unknownRank: false };
    }),
    rowsOut: (raw.outputs ?? []).every(({ shape = [] }) => mayHaveRows(shape.map(Number))),
  };
}
