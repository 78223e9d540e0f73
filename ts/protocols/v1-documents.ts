// TensorFlow Serving's GET documents, made from the registry's snapshot: model status and model
// metadata. Control plane, any thread; pure.
// Source: tensorflow/serving get_model_status.proto, get_model_metadata.proto as proto3 JSON with
// the field names kept, one-space indent, defaults printed, final newline;
// docs/protocols/v1-rest.md.
import { ERRORS, ErrorCode, ServalError } from '../errors.js';
import type {
  Datatype, ModelSnapshot, RegistrySnapshot, SignatureInfo, TensorInfo, VersionSnapshot,
} from '../registry/snapshot.js';
import { canonicalVersion, echoed } from './request-text.js';

/** What the URL names: a model and at most one of version (digits) and label, percent-decoded. */
export interface V1Target {
  readonly name: string;
  readonly version?: string | undefined;
  readonly label?: string | undefined;
}

const CANONICAL_NAMES = [
  'OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND',
  'ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED',
  'OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED',
] as const;

const TENSORFLOW_DTYPES: Readonly<Record<Datatype, string>> = {
  BOOL: 'DT_BOOL',
  UINT8: 'DT_UINT8',
  UINT16: 'DT_UINT16',
  UINT32: 'DT_UINT32',
  UINT64: 'DT_UINT64',
  INT8: 'DT_INT8',
  INT16: 'DT_INT16',
  INT32: 'DT_INT32',
  INT64: 'DT_INT64',
  FP16: 'DT_HALF',
  FP32: 'DT_FLOAT',
  FP64: 'DT_DOUBLE',
  BYTES: 'DT_STRING',
  BF16: 'DT_BFLOAT16',
};

const PREDICT_METHOD = 'tensorflow/serving/predict';

const document = (value: object): string => `${JSON.stringify(value, null, 1)}\n`;

function modelOf(snapshot: RegistrySnapshot, name: string): ModelSnapshot | undefined {
  if (name === '') {
    throw new ServalError(ErrorCode.InvalidArgument, 'Missing model name in request.');
  }
  return Object.hasOwn(snapshot.models, name) ? snapshot.models[name] : undefined;
}

// The version asked for, by number or label; undefined when the URL names none.
function versionOf(model: ModelSnapshot | undefined, target: V1Target): string | undefined {
  if (target.label !== undefined) {
    const labels = model?.labels ?? {};
    const version = Object.hasOwn(labels, target.label) ? labels[target.label] : undefined;
    if (version === undefined) {
      throw new ServalError(ErrorCode.InvalidArgument,
        `Unrecognized servable version label: ${echoed(target.label)}`);
    }
    return version;
  }
  if (target.version === undefined) return undefined;
  const version = canonicalVersion(target.version);
  if (version === undefined) {
    throw new ServalError(ErrorCode.InvalidArgument,
      `Failed to convert version: ${echoed(target.version)} to numeric.`);
  }
  return version;
}

function statusEntry(version: VersionSnapshot): object {
  return {
    version: version.version,
    state: version.state,
    status: {
      error_code: CANONICAL_NAMES[ERRORS[version.errorCode].grpc] ?? 'UNKNOWN',
      error_message: version.errorMessage,
    },
  };
}

/**
 * The body of GET /v1/models/NAME[/versions/V|/labels/L]: all versions, newest first, or the one
 * named. A label counts here (TensorFlow Serving ignores it).
 * Errors: ModelNotFound; InvalidArgument for an unknown label or a version beyond int64.
 */
export function v1StatusJson(snapshot: RegistrySnapshot, target: V1Target): string {
  const model = modelOf(snapshot, target.name);
  if (model === undefined || model.versions.length === 0) {
    throw new ServalError(ErrorCode.ModelNotFound,
      `Could not find any versions of model ${echoed(target.name)}`);
  }
  const wanted = versionOf(model, target);
  const versions = wanted === undefined
    ? model.versions : model.versions.filter((entry) => entry.version === wanted);
  if (versions.length === 0) {
    throw new ServalError(ErrorCode.ModelNotFound,
      `Could not find version ${wanted} of model ${echoed(target.name)}`);
  }
  return document({ model_version_status: versions.map(statusEntry) });
}

function tensorEntry(tensor: TensorInfo): object {
  const dim = tensor.shape.map((size, axis) => (
    { size: String(size), name: tensor.symbols[axis] ?? '' }));
  return {
    dtype: TENSORFLOW_DTYPES[tensor.datatype],
    tensor_shape: { dim: tensor.unknownRank ? [] : dim, unknown_rank: tensor.unknownRank },
    name: `${tensor.name}:0`,
  };
}

// fromEntries defines own properties, so a tensor called __proto__ is one like any other.
const tensorMap = (tensors: readonly TensorInfo[]): object => (
  Object.fromEntries(tensors.map((tensor) => [tensor.name, tensorEntry(tensor)])));

function signatureEntry(signature: SignatureInfo): object {
  return {
    inputs: tensorMap(signature.inputs),
    outputs: tensorMap(signature.outputs),
    method_name: PREDICT_METHOD,
    defaults: {},
  };
}

/**
 * The body of GET /v1/models/NAME[/versions/V|/labels/L]/metadata.
 * Errors: ModelNotFound when no such version is available; InvalidArgument as for the status.
 */
export function v1MetadataJson(snapshot: RegistrySnapshot, target: V1Target): string {
  const model = modelOf(snapshot, target.name);
  const wanted = versionOf(model, target);
  const number = wanted ?? model?.defaultVersion;
  const version = model?.versions.find((entry) => entry.version === number);
  if (version === undefined || version.state !== 'AVAILABLE') {
    const name = echoed(target.name);
    const request = wanted === undefined ? `Latest(${name})` : `Specific(${name}, ${wanted})`;
    throw new ServalError(ErrorCode.ModelNotFound, `Servable not found for request: ${request}`);
  }
  const signatures = version.signatures.map((entry) => [entry.name, signatureEntry(entry)]);
  return document({
    model_spec: { name: target.name, signature_name: '', version: version.version },
    metadata: { signature_def: { signature_def: Object.fromEntries(signatures) } },
  });
}
