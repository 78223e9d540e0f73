// Errors of graph preparation about the model. Importer's worker thread.
import { ErrorCode, ServalError } from '../../../base/errors.js';

const QUOTED_CHARS_MAX = 200;

export function invalid(message: string): ServalError {
  return new ServalError(ErrorCode.ModelInvalid, message);
}

/** A name from the file, in quotes; long ones are cut. */
export function quoted(name: string): string {
  const shown = name.length > QUOTED_CHARS_MAX ? `${name.slice(0, QUOTED_CHARS_MAX)}...` : name;
  return JSON.stringify(shown);
}
