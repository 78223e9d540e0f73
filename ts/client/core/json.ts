// JSON without loss: 64-bit integers as bigint, NaN and the infinities as V2's and V1's bare words,
// -0. Pure; any thread of any JavaScript runtime. JSON.parse reads texts that need none of these.
import { arrayName } from './elements.js';
import { badResponse, shown } from './errors.js';

/** Numbers that JSON.parse would change or reject; a match inside of a string does no harm. */
const NEEDS_EXACT = /(?<![\d.])\d{16,}(?![\d.eE])|NaN|Infinity/;
/** Strings, which are kept, and numbers with the words for them. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|NaN|-?Infinity/g;
const MARK = '\0number';

/** Errors: INTERNAL: the text is not JSON. */
export function parseJson(where: string, text: string): unknown {
  try {
    return NEEDS_EXACT.test(text) ? parseExact(text) : JSON.parse(text);
  } catch {
    throw badResponse(where, 'JSON', shown(text));
  }
}

/** Replaces such numbers by objects, so that JSON.parse reads the rest. */
function parseExact(text: string): unknown {
  const marked = text.replace(TOKENS, (token) =>
    /^(-?\d{16,}|.*[NI].*)$/.test(token) && token[0] !== '"'
      ? `{"\\u0000number":"${token}"}`
      : token,
  );
  return JSON.parse(marked, (_, value: Record<string, string> | null) => {
    const token = value?.[MARK];
    if (token === undefined) return value;
    const number = Number(token);
    return /\d$/.test(token) && !Number.isSafeInteger(number) ? BigInt(token) : number;
  });
}

/** `bytes` writes a Uint8Array; other typed arrays are lists. */
export function jsonText(value: unknown, bytes?: (value: Uint8Array) => unknown): string {
  if (Array.isArray(value)) return `[${value.map((one) => jsonText(one, bytes)).join()}]`;
  if (Object.is(value, -0)) return '-0.0';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  const name = arrayName(value);
  if (name === 'Uint8Array' && bytes !== undefined) return jsonText(bytes(value as Uint8Array));
  if (name !== undefined) return jsonText(Array.from(value as unknown as ArrayLike<unknown>));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([key, one]) => `${JSON.stringify(key)}:${jsonText(one, bytes)}`);
  return `{${members.join()}}`;
}
