// How the engine says that a request failed: a code, a text, and before the text, where names of
// the request are not there, which. Any thread.
import { ByteBuffer } from 'flatbuffers';
import type { ErrorCode } from '../errors.js';
import { MissingPart } from './generated/serval/fb/missing-part.js';
import { Missing as MissingTable } from './generated/serval/fb/missing.js';

export { MissingPart };

/** What the engine has not, of a request's names; "" where there is none. */
export interface Missing {
  readonly part: MissingPart;
  readonly model: string;
  /** As the request has it; of a signature: the version that runs. */
  readonly version: string;
  readonly label: string;
  /** Of part Ready: the version that is there, and why it does not serve. */
  readonly foundVersion: string;
  readonly reason: string;
  readonly signature: string;
  readonly requestId: string;
}

export interface EngineError {
  readonly code: ErrorCode;
  /** "" where `missing` says all, but of a signature. */
  readonly message: string;
  readonly missing?: Missing;
}

/** Reads an answer that is an error; `missingBytes`: what an answer has as its JSON bytes. */
export function readError(code: number, body: Buffer, missingBytes: number): EngineError {
  const error = { code: code as ErrorCode, message: body.toString('utf8', missingBytes) };
  return missingBytes === 0 ? error : { ...error, missing: readMissing(body) };
}

function readMissing(body: Buffer): Missing {
  const table = MissingTable.getRootAsMissing(new ByteBuffer(body));
  return {
    part: table.part(),
    model: table.model() ?? '',
    version: table.version() ?? '',
    label: table.label() ?? '',
    foundVersion: String(table.foundVersion()),
    reason: table.reason() ?? '',
    signature: table.signature() ?? '',
    requestId: table.requestId() ?? '',
  };
}
