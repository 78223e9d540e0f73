// Common documents of TensorFlow Serving's REST and gRPC APIs, made from the registry's snapshot:
// the version that a request means, status, and signatures as TensorFlow's SignatureDefs. Control
// plane, any thread; pure. Source: tensorflow/serving server_core.cc, get_model_status_impl.cc;
// tfserving.md 1.8, 1.9, 1.10.
import { PREDICT_METHOD } from '../../base/signatures.js';
import { ERRORS, ErrorCode, GrpcCode, ServalError } from '../../base/errors.js';
import { dataTypeOf } from '../../model/datatype.js';
import type {
  ModelSnapshot,
  RegistrySnapshot,
  SignatureDefDoc,
  SignatureInfo,
  TensorInfo,
  TensorInfoDoc,
  VersionSnapshot,
} from '../../model/snapshot.js';
import { DATA_TYPE } from '../../protobuf/generated/tensorflow.js';
import { modelProblem, versionProblem } from '../../models/registry/snapshot-build.js';
import type { MissingSentence } from '../../listeners/grpc/call.js';
import { canonicalVersion, echoed, filled } from '../request-text.js';

/**
 * The text of an error of a full queue, which clients of TensorFlow Serving match; Serval's own,
 * which says more, follows it. Source: tfserving.md 1.10.
 */
export const QUEUE_FULL = 'The batch scheduling queue to which this task was submitted is full';

/** A model, with at most one of version (decimal text as it was sent) and label. */
export interface ServableTarget {
  readonly name: string;
  readonly version?: string | undefined;
  readonly label?: string | undefined;
}

/** DataType's names by number. */
const DTYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(DATA_TYPE.values).map(([name, code]) => [code, name]),
);

/** "DT_FLOAT_REF" of 101. undefined: no such type (proto3 JSON then writes the number). */
export function dtypeName(code: number): string | undefined {
  return DTYPE_NAMES.get(code);
}

function modelOf(snapshot: RegistrySnapshot, name: string): ModelSnapshot | undefined {
  return Object.hasOwn(snapshot.models, name) ? snapshot.models[name] : undefined;
}

/**
 * The requested version, by number or label; undefined if none is named. Errors: InvalidArgument: a
 * label that the model does not have, or a label of an unknown model; a version beyond int64.
 */
function wantedVersion(
  model: ModelSnapshot | undefined,
  target: ServableTarget,
): string | undefined {
  if (target.label !== undefined) {
    const labels = model?.labels ?? {};
    const version = Object.hasOwn(labels, target.label) ? labels[target.label] : undefined;
    if (version === undefined) {
      throw new ServalError(ErrorCode.InvalidArgument, unknownLabelText(echoed(target.label)));
    }
    return version;
  }
  if (target.version === undefined) return undefined;
  if (/^-\d+$/.test(target.version)) return target.version; // from gRPC's int64: never exists
  const version = canonicalVersion(target.version);
  if (version === undefined) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `Failed to convert version: ${echoed(target.version)} to numeric.`,
    );
  }
  return version;
}

const UNKNOWN_LABEL = 'Unrecognized servable version label: {label}';
const NONE_SERVES = 'Servable not found for request: Latest({model})';
const VERSION_NOT_SERVED = 'Servable not found for request: Specific({model}, {version})';

/** Texts that a gRPC listener uses without JavaScript. */
export const MISSING_SENTENCES: readonly MissingSentence[] = [
  { part: 'model', versioned: false, text: NONE_SERVES },
  { part: 'model', versioned: true, text: VERSION_NOT_SERVED },
  { part: 'version', versioned: true, text: VERSION_NOT_SERVED },
  { part: 'label', versioned: false, text: UNKNOWN_LABEL },
];

export function unknownLabelText(label: string): string {
  return filled(UNKNOWN_LABEL, { label });
}

/** TensorFlow Serving's text if no version serves. */
export function notFoundText(target: ServableTarget): string {
  const model = echoed(target.name);
  if (target.version === undefined) return filled(NONE_SERVES, { model });
  const version = canonicalVersion(target.version) ?? echoed(target.version);
  return filled(VERSION_NOT_SERVED, { model, version });
}

/**
 * ": REASON" if a version, or the newest one (`wanted` undefined), failed to load, or if the model
 * has none because of its folder's contents; else "".
 */
function problemOf(model: ModelSnapshot, wanted: string | undefined): string {
  const [newest] = model.versions;
  if (newest === undefined) return model.problem === '' ? '' : `: ${modelProblem(model)}`;
  const version =
    wanted === undefined ? newest : model.versions.find((entry) => entry.version === wanted);
  const failed = version !== undefined && version.errorMessage !== '';
  return failed ? `: ${versionProblem(version)}` : '';
}

/** The version that serves `target`.
 * Errors: ModelNotFound; InvalidArgument: an unknown label, a version beyond int64. */
export function findServable(snapshot: RegistrySnapshot, target: ServableTarget): VersionSnapshot {
  const model = modelOf(snapshot, target.name);
  const wanted = wantedVersion(model, target);
  const number = wanted ?? model?.defaultVersion;
  const version = model?.versions.find((entry) => entry.version === number);
  if (version?.state === 'AVAILABLE') return version;
  const named = wanted === undefined ? target : { name: target.name, version: wanted };
  const why = model === undefined ? '' : problemOf(model, number);
  throw new ServalError(ErrorCode.ModelNotFound, notFoundText(named) + why);
}

/**
 * The versions that a status request means, newest first: all, or the named one. A label is applied
 * (TensorFlow Serving ignores it over REST). Errors: as findServable().
 */
export function statusVersions(
  snapshot: RegistrySnapshot,
  target: ServableTarget,
): readonly VersionSnapshot[] {
  const model = modelOf(snapshot, target.name);
  if (model === undefined || model.versions.length === 0) {
    const why = model === undefined || model.problem === '' ? '' : `: ${model.problem}`;
    throw new ServalError(
      ErrorCode.ModelNotFound,
      `Could not find any versions of model ${echoed(target.name)}${why}`,
    );
  }
  const wanted = wantedVersion(model, target);
  if (wanted === undefined) return model.versions;
  const versions = model.versions.filter((entry) => entry.version === wanted);
  if (versions.length > 0) return versions;
  throw new ServalError(
    ErrorCode.ModelNotFound,
    `Could not find version ${wanted} of model ${echoed(target.name)}`,
  );
}

/** Its number and name. */
export function canonicalCode(code: ErrorCode): { readonly number: number; readonly name: string } {
  const number = ERRORS[code].grpc;
  return { number, name: GrpcCode[number] ?? 'UNKNOWN' };
}

function tensorDoc(tensor: TensorInfo): TensorInfoDoc {
  const { unknownRank } = tensor;
  const dims = tensor.shape.map((size, axis) => ({
    size: String(size),
    name: tensor.symbols[axis] ?? '',
  }));
  return {
    name: `${tensor.name}:0`,
    dtypeCode: dataTypeOf(tensor.datatype).code,
    shape: { unknownRank, dims: unknownRank ? [] : dims },
  };
}

function predictDoc({ inputs, outputs }: SignatureInfo): SignatureDefDoc {
  return {
    methodName: PREDICT_METHOD,
    inputs: inputs.map((tensor) => [tensor.name, tensorDoc(tensor)]),
    outputs: outputs.map((tensor) => [tensor.name, tensorDoc(tensor)]),
    defaults: [],
  };
}

/** Signatures by name. A model whose format has no SignatureDefs gets a predict signature. */
export function signatureDocs(
  version: VersionSnapshot,
): readonly (readonly [string, SignatureDefDoc])[] {
  return (
    version.signatureDefs?.all ?? version.signatures.map((entry) => [entry.name, predictDoc(entry)])
  );
}

/**
 * `message`, which says that there is no `signature`, followed by the reason if the model's file
 * has it but it is not served. Other texts (`signature` undefined) are unchanged.
 */
export function withBlockedReason(
  version: VersionSnapshot | undefined,
  message: string,
  signature: string | undefined,
): string {
  const blocked = version?.signatureDefs?.blocked;
  if (blocked === undefined || signature === undefined) return message;
  if (!Object.hasOwn(blocked, signature)) return message;
  return `${message}${message.endsWith('.') ? '' : '.'} It is not served: ${blocked[signature]}`;
}
