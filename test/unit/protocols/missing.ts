// The engine's errors about something missing, for the tests' engines.
import { ErrorCode } from '../../../ts/base/errors.js';
import { MISSING } from '../../../ts/engine/generated/flat-tables.js';
import { writeFlatTable } from '../../../ts/model/flat-table.js';
import type { EngineError, Missing } from '../../../ts/engine/missing.js';

const NOTHING: Missing = {
  part: 'model',
  model: '',
  version: '',
  label: '',
  foundVersion: '0',
  reason: '',
  signature: '',
  requestId: '',
  known: false,
  retryAfterS: 0,
};
const CODES: Readonly<Record<Missing['part'], ErrorCode>> = {
  model: ErrorCode.ModelNotFound,
  version: ErrorCode.ModelNotFound,
  label: ErrorCode.InvalidArgument,
  ready: ErrorCode.ModelNotReady,
  number: ErrorCode.InvalidArgument,
  int64: ErrorCode.InvalidArgument,
  signature: ErrorCode.SignatureNotFound,
  limit: ErrorCode.LimitReached,
};

/** The arguments of a target's complete(), as the engine's port reports an error. */
export function errorAnswer({ code, message, missing }: EngineError): [number, Buffer, number] {
  const before = missing === undefined ? Buffer.alloc(0) : writeFlatTable(MISSING, missing);
  return [code, Buffer.concat([before, Buffer.from(message)]), before.length];
}

/** The engine's error with the missing names; `model` precedes the rest. */
export function missing(
  part: Missing['part'],
  model: string,
  more: Partial<Missing> = {},
  message = '',
): EngineError {
  return { code: CODES[part], message, missing: { ...NOTHING, part, model, ...more } };
}
