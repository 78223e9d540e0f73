// Text rules that every protocol shares: version numbers in requests, and quoting a client's text
// in an error. Control plane, any thread; pure.
import { ECHOED_NAME_CHARS_MAX } from '../base/limits.js';

const INT64_MAX = 9_223_372_036_854_775_807n;
const INT64_DIGITS_MAX = 19;

/**
 * The version that `text` means, as decimal text without leading zeros; undefined if it is not a
 * whole number from 0 to 2^63 - 1 written in digits.
 */
export function canonicalVersion(text: string): string | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined;
  const digits = text.replace(/^0+(?=[0-9])/, '');
  if (digits.length > INT64_DIGITS_MAX || BigInt(digits) > INT64_MAX) return undefined;
  return digits;
}

/** A sentence with its {names} replaced by values. */
export function filled(sentence: string, values: Readonly<Record<string, string>>): string {
  return sentence.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
}

/**
 * `text` for an error message, cut at 256 UTF-16 units so that a request cannot inflate the log.
 */
export function echoed(text: string): string {
  return text.length <= ECHOED_NAME_CHARS_MAX ? text : `${text.slice(0, ECHOED_NAME_CHARS_MAX)}...`;
}
