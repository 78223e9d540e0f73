// What the engine says is missing, for the tests' engines.
import { ErrorCode } from '../../../ts/errors.js';
import { MissingPart, type EngineError, type Missing } from '../../../ts/native/missing.js';

const NOTHING: Missing = {
  part: MissingPart.Model,
  model: '',
  version: '',
  label: '',
  foundVersion: '0',
  reason: '',
  signature: '',
  requestId: '',
};
const CODES: Readonly<Record<MissingPart, ErrorCode>> = {
  [MissingPart.Model]: ErrorCode.ModelNotFound,
  [MissingPart.Version]: ErrorCode.ModelNotFound,
  [MissingPart.Label]: ErrorCode.InvalidArgument,
  [MissingPart.Ready]: ErrorCode.ModelNotReady,
  [MissingPart.Number]: ErrorCode.InvalidArgument,
  [MissingPart.Int64]: ErrorCode.InvalidArgument,
  [MissingPart.Signature]: ErrorCode.SignatureNotFound,
};

/** The engine's error with what is missing; `model` comes before the rest. */
export function missing(
  part: MissingPart,
  model: string,
  more: Partial<Missing> = {},
  message = '',
): EngineError {
  return { code: CODES[part], message, missing: { ...NOTHING, part, model, ...more } };
}
