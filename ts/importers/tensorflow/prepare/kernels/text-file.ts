// Reads a vocabulary file as keys and values of a hash table. Importer's worker thread (reads a
// file). Source: tensorflow/core/kernels/lookup_util.cc (TextFileLineIterator); TensorFlow 2.21's
// results.
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { modelInvalid } from '../../../../base/errors.js';
import type { Dtype, Tensor } from '../../types.js';
import { ASSET_BYTES_MAX, TABLE_ENTRIES_MAX } from '../limits.js';
import { type Element, latin1, tensorFrom } from '../tensors.js';

const WHOLE_LINE = -2;
const LINE_NUMBER = -1;
const NEWLINE = 10;
const RETURN = 13;
const SHOWN_CHARS = 100;
const FLOAT = /^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan(\(\w*\))?)$/i;
const HEX_FLOAT = /^([+-]?)0x([\da-f]*)\.?([\da-f]*)(?:p([+-]?\d+))?$/i;
const INTEGER = /^[+-]?\d+$/;

export interface TextFileColumns {
  readonly keyDtype: Dtype;
  readonly keyIndex: number;
  readonly valueDtype: Dtype;
  readonly valueIndex: number;
  /** -1 = as many as the file has. */
  readonly vocabSize: number;
  /** Latin-1, one byte. */
  readonly delimiter: string;
  /** Added to line numbers, and to int32 fields. */
  readonly offset: bigint;
}

/** The file's bytes. Errors: ModelInvalid: missing, not a file, above the limit. */
export function readAsset(path: string): Uint8Array {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    throw modelInvalid((error as Error).message);
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw modelInvalid(`${path}: expected a file`);
    if (stats.size > ASSET_BYTES_MAX) {
      throw modelInvalid(`${path}: expected at most ${ASSET_BYTES_MAX} bytes, got ${stats.size}`);
    }
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Errors: ModelInvalid naming file and line: an empty line or file, a field that is not a number of
 * its type, too few columns, a vocabulary size that exceeds the file.
 */
export function readTextFile(
  path: string,
  columns: TextFileColumns,
): { readonly keys: Tensor; readonly values: Tensor } {
  checkColumns(columns);
  const keys: Element[] = [];
  const values: Element[] = [];
  const { vocabSize, keyIndex, valueIndex } = columns;
  for (const { line, end } of linesOf(readAsset(path))) {
    const row = keys.length;
    if (row === vocabSize) break;
    if (line.length === 0) throw modelInvalid(`${path}: empty line found at position ${end}`);
    const fields = keyIndex < 0 && valueIndex < 0 ? [] : split(line, columns.delimiter);
    const expected = Math.max(keyIndex, valueIndex) + 1;
    if (fields.length < expected) {
      throw modelInvalid(
        `${path}: line ${row}: expected ${expected} columns, got ${fields.length}`,
      );
    }
    const where = `${path}: line ${row}`;
    const take = (index: number, dtype: Dtype): Element =>
      index === LINE_NUMBER
        ? BigInt.asIntN(64, BigInt(row) + columns.offset)
        : parsed(
            index === WHOLE_LINE ? line : (fields[index] ?? line),
            dtype,
            columns.offset,
            where,
          );
    keys.push(take(keyIndex, columns.keyDtype));
    values.push(take(valueIndex, columns.valueDtype));
    if (row === TABLE_ENTRIES_MAX)
      throw modelInvalid(`${path}: more than ${TABLE_ENTRIES_MAX} lines`);
  }
  if (keys.length === 0) throw modelInvalid(`${path}: expected lines, got none`);
  if (vocabSize !== -1 && keys.length < vocabSize) {
    throw modelInvalid(`${path}: expected ${vocabSize} lines, got ${keys.length}`);
  }
  return {
    keys: tensorFrom(columns.keyDtype, [keys.length], keys),
    values: tensorFrom(columns.valueDtype, [values.length], values),
  };
}

function checkColumns({
  keyDtype,
  keyIndex,
  valueDtype,
  valueIndex,
  delimiter,
}: TextFileColumns): void {
  for (const [what, index, dtype] of [
    ['key', keyIndex, keyDtype],
    ['value', valueIndex, valueDtype],
  ] as const) {
    if (!Number.isSafeInteger(index) || index < WHOLE_LINE) {
      throw modelInvalid(`${what}_index: expected -2 or more, got ${index}`);
    }
    if (index === LINE_NUMBER && dtype !== 'int64') {
      throw modelInvalid(`line numbers as ${what}s: expected int64, got ${dtype}`);
    }
    if (index === WHOLE_LINE && !['string', 'int32', 'int64'].includes(dtype)) {
      throw modelInvalid(`whole lines as ${what}s: expected string, int32 or int64, got ${dtype}`);
    }
  }
  if (delimiter.length !== 1)
    throw modelInvalid(`delimiter: expected 1 byte, got ${delimiter.length}`);
}

// One carriage return before a newline or at the file's end is removed; if it is alone at the end,
// it is not a line. `end` is the byte after the line.
function* linesOf(bytes: Uint8Array): Generator<{ line: Uint8Array; end: number }> {
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const stop = newline < 0 ? bytes.length : newline;
    const end = newline < 0 ? bytes.length : newline + 1;
    const cut = stop > start && bytes[stop - 1] === RETURN ? stop - 1 : stop;
    if (newline >= 0 || cut > start) yield { line: bytes.subarray(start, cut), end };
    start = end;
  }
}

function split(line: Uint8Array, delimiter: string): Uint8Array[] {
  const byte = delimiter.charCodeAt(0);
  const fields: Uint8Array[] = [];
  let start = 0;
  for (let at = line.indexOf(byte); at >= 0; at = line.indexOf(byte, start)) {
    fields.push(line.subarray(start, at));
    start = at + 1;
  }
  fields.push(line.subarray(start));
  return fields;
}

function parsed(field: Uint8Array, dtype: Dtype, offset: bigint, where: string): Element {
  if (dtype === 'string') return field;
  // The number ends at a zero byte, as a C string does.
  const text = (latin1(field).split('\0', 1)[0] ?? '').replace(/^[ \t\v\f\r]+|[ \t\v\f\r]+$/g, '');
  const bad = (): Error =>
    modelInvalid(`${where}: ${JSON.stringify(text.slice(0, SHOWN_CHARS))} is not a valid ${dtype}`);
  if (dtype === 'int32' || dtype === 'int64') {
    if (!INTEGER.test(text) || text.length > SHOWN_CHARS) throw bad();
    const bits = dtype === 'int32' ? 32 : 64;
    const value = BigInt(text.replace(/^\+/, ''));
    if (value !== BigInt.asIntN(bits, value)) throw bad();
    return dtype === 'int64' ? value : Number(BigInt.asIntN(bits, value + offset));
  }
  if (dtype !== 'float' && dtype !== 'double')
    throw modelInvalid(`${where}: fields of type ${dtype} are not supported`);
  const value = floatOf(text);
  if (value === undefined) throw bad();
  return value;
}

function floatOf(text: string): number | undefined {
  const hex = HEX_FLOAT.exec(text);
  if (hex !== null) {
    const [, sign, whole = '', fraction = '', exponent = '0'] = hex;
    if (whole === '' && fraction === '') return undefined;
    const digits = Number.parseInt(`${whole}${fraction}`, 16);
    return (sign === '-' ? -1 : 1) * digits * 2 ** (Number(exponent) - 4 * fraction.length);
  }
  if (!FLOAT.test(text)) return undefined;
  if (/nan/i.test(text)) return NaN;
  if (/inf/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return Number(text);
}
