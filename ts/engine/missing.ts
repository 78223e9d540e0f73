// How the engine says that a request failed: a code, a text, and before the text, where names of
// the request are not there, which. Any thread.
import { ServalError, type ErrorCode } from '../base/errors.js';
import type { Missing } from '../base/generated/engine.js';
import { MISSING } from './generated/tables.js';
import { readTable } from '../model/table-codec.js';

export type { Missing };

export interface EngineError {
  readonly code: ErrorCode;
  /** "" where `missing` says all, but of a signature. */
  readonly message: string;
  readonly missing?: Missing;
}

/** Reads an answer that is an error; `missingBytes`: what an answer has as its JSON bytes. */
export function readError(code: number, body: Buffer, missingBytes: number): EngineError {
  const error = { code: code as ErrorCode, message: body.toString('utf8', missingBytes) };
  return missingBytes === 0 ? error : { ...error, missing: readTable(MISSING, body) };
}

/** The same for whoever has no names to explain. */
export function failure(code: number, body: Buffer, missingBytes: number): ServalError {
  return new ServalError(code as ErrorCode, body.toString('utf8', missingBytes));
}
