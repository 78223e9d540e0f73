// Common part of Triton's repository extension over REST and gRPC: the valid contents of load and
// unload requests, and passing them to the registry. Control plane, the listener's thread. Source:
// v2-protocol.md 2, 11.
import type { LoadModelRequest, ModelControl } from '../control.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { echoed } from '../request-text.js';

const FILE_PREFIX = 'file:';

/** A request's `parameters`, each value as the protocol read it. */
export type ControlParameters = readonly (readonly [string, unknown])[];

/** Name of a value's type in an error. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Uint8Array) return 'bytes';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Errors: InvalidArgument naming the member. */
export function wrongKind(member: string, expected: string, value: unknown): ServalError {
  return new ServalError(
    ErrorCode.InvalidArgument,
    `${member}: expected ${expected}, got ${kindOf(value)}`,
  );
}

/**
 * Node's decoder skips invalid characters, which would lose bytes silently, so they are rejected.
 * Errors: InvalidArgument naming `where`.
 */
export function base64Bytes(where: string, value: unknown): Uint8Array {
  if (typeof value !== 'string') throw wrongKind(where, 'a string with base64', value);
  const bytes = Buffer.from(value, 'base64');
  const padding = /={0,2}$/.exec(value.slice(-2))?.[0].length ?? 0;
  const digits = value.length - padding;
  const whole = Math.floor((digits * 3) / 4);
  const badAt = value.search(/[^A-Za-z0-9+/=]/);
  if (badAt < 0 && value.length % 4 === 0 && bytes.length === whole) return bytes;
  const got =
    badAt < 0
      ? `${value.length} characters, which is not a valid base64 length`
      : `an invalid character at index ${badAt}`;
  throw new ServalError(ErrorCode.InvalidArgument, `${where}: expected base64, got ${got}`);
}

function unknownParameter(name: string, expected: string): ServalError {
  return new ServalError(
    ErrorCode.InvalidArgument,
    `parameters: unknown parameter '${echoed(name)}', expected ${expected}`,
  );
}

/** `readFile` converts a file's value to bytes or throws. Errors: InvalidArgument. */
export function loadRequest(
  model: string,
  parameters: ControlParameters,
  readFile: (member: string, value: unknown) => Uint8Array,
): LoadModelRequest {
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [name, value] of parameters) {
    const member = `parameters.${echoed(name)}`;
    if (name === 'config') {
      if (typeof value !== 'string') throw wrongKind(member, 'a string with JSON', value);
      config = value;
    } else if (name.startsWith(FILE_PREFIX)) {
      files.set(name.slice(FILE_PREFIX.length), readFile(member, value));
    } else {
      throw unknownParameter(name, 'config or file:<version>/<name>');
    }
  }
  return { model, config, files };
}

/** Errors: InvalidArgument. */
export function unloadDependents(parameters: ControlParameters): boolean {
  let dependents = false;
  for (const [name, value] of parameters) {
    if (name !== 'unload_dependents') throw unknownParameter(name, 'unload_dependents');
    if (typeof value !== 'boolean') throw wrongKind(`parameters.${name}`, 'a boolean', value);
    dependents = value;
  }
  return dependents;
}

// A load or unload that names a repository means a model of that repository; model names are unique
// across repositories. Errors: InvalidArgument (unknown repository), ModelNotFound.
async function checkRepository(
  control: ModelControl,
  repository: string,
  model: string,
): Promise<void> {
  if (repository === '') return;
  const entries = await control.index(repository, false);
  if (entries.some((entry) => entry.name === model)) return;
  throw new ServalError(
    ErrorCode.ModelNotFound,
    `model '${echoed(model)}' is not in repository '${echoed(repository)}'`,
  );
}

function checkName(model: string): void {
  if (model !== '') return;
  throw new ServalError(ErrorCode.InvalidArgument, 'model_name: expected a name, got ""');
}

/**
 * Errors: those of ModelControl.load; ModelNotFound if the named repository does not have the
 * model.
 */
export async function loadModel(
  control: ModelControl,
  repository: string,
  request: LoadModelRequest,
): Promise<void> {
  checkName(request.model);
  await checkRepository(control, repository, request.model);
  await control.load(request);
}

/** Errors: those of ModelControl.unload; ModelNotFound as above. */
export async function unloadModel(
  control: ModelControl,
  repository: string,
  model: string,
  dependents: boolean,
): Promise<void> {
  checkName(model);
  await checkRepository(control, repository, model);
  await control.unload(model, dependents);
}
