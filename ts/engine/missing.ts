// Reads the engine's errors: a code, a text, and before the text the names in the request that do
// not exist, if any. Any thread.
import { ServalError, type ErrorCode } from '../base/errors.js';
import type { Missing } from '../base/generated/engine.js';
import { MISSING } from './generated/flat-tables.js';
import { readFlatTable } from '../model/flat-table.js';

export type { Missing };

export interface EngineError {
  readonly code: ErrorCode;
  /** "" where `missing` is complete; a missing signature has a text too. */
  readonly message: string;
  readonly missing?: Missing;
  /** Seconds until a request that a limit refused may be admitted. */
  readonly retryAfterS?: number | undefined;
}

/** Reads an error answer; `missingBytes`: the answer's number of JSON bytes. */
export function readError(code: number, body: Buffer, missingBytes: number): EngineError {
  const error = { code: code as ErrorCode, message: body.toString('utf8', missingBytes) };
  if (missingBytes === 0) return error;
  const missing = readFlatTable(MISSING, body);
  if (missing.part === 'limit') return { ...error, retryAfterS: missing.retryAfterS };
  return { ...error, missing };
}

/** Same as readError() for callers that do not explain names. */
export function failure(code: number, body: Buffer, missingBytes: number): ServalError {
  const { message, retryAfterS } = readError(code, body, missingBytes);
  return new ServalError(code as ErrorCode, message, retryAfterS);
}
