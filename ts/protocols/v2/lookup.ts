// Finds the version of the model that a V2 request means, and the error text if there is none: from
// the registry's snapshot, or from the engine, which reports what is missing. Control plane, any
// thread; pure. Statuses: docs/reference/protocols/v2-rest.md. Source: v2-protocol.md 1.1.
import { ECHOED_VERSION_BYTES_MAX } from '../../base/limits.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { ModelSnapshot, RegistrySnapshot, VersionSnapshot } from '../../model/snapshot.js';
import type { EngineError, Missing } from '../../engine/missing.js';
import { modelProblem, versionProblem } from '../../models/registry/snapshot-build.js';
import type { MissingSentence } from '../../listeners/grpc/call.js';
import { canonicalVersion, echoed, filled } from '../request-text.js';

const UNKNOWN_MODEL = "Request for unknown model: '{model}' is not found";
const UNKNOWN_VERSION = "Request for unknown model: '{model}' version {version} is not found";
const NOT_A_NUMBER = "model version '{version}' is not a number";
const BEYOND_INT64 = "model version '{version}' does not fit 64 bits";

/** Texts that a gRPC listener uses without JavaScript. */
export const MISSING_SENTENCES: readonly MissingSentence[] = [
  { part: 'model', versioned: false, text: UNKNOWN_MODEL },
  { part: 'model', versioned: true, text: UNKNOWN_MODEL },
  { part: 'version', versioned: true, text: UNKNOWN_VERSION },
  { part: 'number', versioned: true, text: NOT_A_NUMBER },
  { part: 'int64', versioned: true, text: BEYOND_INT64 },
];

const unknownModel = (model: string): string => filled(UNKNOWN_MODEL, { model });
const unknownVersion = (model: string, version: string): string =>
  filled(UNKNOWN_VERSION, { model, version });

function findModel(snapshot: RegistrySnapshot, name: string): ModelSnapshot {
  const model = Object.hasOwn(snapshot.models, name) ? snapshot.models[name] : undefined;
  if (model === undefined) {
    throw new ServalError(ErrorCode.ModelNotFound, unknownModel(echoed(name)));
  }
  return model;
}

function findVersion(model: ModelSnapshot, text: string): VersionSnapshot {
  const number = canonicalVersion(text);
  if (number === undefined) {
    throw new ServalError(
      ErrorCode.ModelNotFound,
      `Request for unknown version of model ` +
        `'${echoed(model.name)}': expected a whole number from 0 to 9223372036854775807, got ` +
        `'${echoed(text)}'`,
    );
  }
  const version = model.versions.find((entry) => entry.version === number);
  if (version === undefined) {
    throw new ServalError(ErrorCode.ModelNotFound, unknownVersion(echoed(model.name), number));
  }
  return version;
}

function notReadyReason(model: ModelSnapshot, version: VersionSnapshot | undefined): string {
  const name = echoed(model.name);
  if (version !== undefined) return `model '${name}' is not ready: ${versionProblem(version)}`;
  return `model '${name}' has no ready version: ${modelProblem(model)}`;
}

/** The model of a request. `version` is set exactly if it can be used; else `reason`. */
export interface V2Lookup {
  readonly model: ModelSnapshot;
  readonly version: VersionSnapshot | undefined;
  readonly reason: string;
}

/**
 * Finds a model by name and version text; undefined or empty text means the default version.
 * Errors: ModelNotFound for an unknown model or version, and for a version that is not an int64.
 */
export function lookUp(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
): V2Lookup {
  const model = findModel(snapshot, name);
  const text = versionText === undefined || versionText === '' ? model.defaultVersion : versionText;
  const version = text === undefined ? undefined : findVersion(model, text);
  if (version !== undefined && version.state === 'AVAILABLE') return { model, version, reason: '' };
  return { model, version: undefined, reason: notReadyReason(model, version) };
}

/** Text for what the engine reports missing, without the snapshot. */
export function missingText(missing: Missing): string {
  const { part, model, version, foundVersion, reason } = missing;
  const echo = (): string =>
    Buffer.from(version, 'utf8').subarray(0, ECHOED_VERSION_BYTES_MAX).toString('utf8');
  switch (part) {
    case 'version':
      return unknownVersion(model, version);
    case 'ready': {
      const why = reason === '' ? '' : `: ${reason}`;
      return `model '${model}' version ${foundVersion} is not ready${why}`;
    }
    case 'number':
      return filled(NOT_A_NUMBER, { version: echo() });
    case 'int64':
      return filled(BEYOND_INT64, { version: echo() });
    default:
      return unknownModel(model);
  }
}

/** The same with REST's more detailed text, if the snapshot has no serving version either. */
export function missingError(
  snapshot: RegistrySnapshot,
  code: ErrorCode,
  missing: Missing,
): EngineError {
  if (code !== ErrorCode.InvalidArgument) {
    try {
      const { version, reason } = lookUp(snapshot, missing.model, missing.version);
      if (version === undefined) return { code: ErrorCode.ModelNotReady, message: reason };
      // It has become available meanwhile.
    } catch (problem) {
      if (problem instanceof ServalError) return problem;
      throw problem;
    }
  }
  return { code, message: missingText(missing) };
}
