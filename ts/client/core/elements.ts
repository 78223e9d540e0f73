// Elements of tensors: V2's datatypes, their typed arrays, and values as bytes and back. Never
// loses, wraps or cuts a value: one that a datatype cannot hold is an error. Hosts are
// little-endian. Pure; any thread of any JavaScript runtime.
import {
  bfloat16ToNumber,
  halfToNumber,
  numberToBfloat16,
  numberToHalf,
} from '../../model/half.js';
import { badResponse, shown, wrongInput } from './errors.js';
import type { Scalar, TensorData, TypedArray } from './types.js';

type ArrayClass = {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): TypedArray;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray;
};

/** FP16 and BF16: bits. */
const ARRAYS: Readonly<Record<string, ArrayClass>> = {
  INT8: Int8Array,
  UINT8: Uint8Array,
  INT16: Int16Array,
  UINT16: Uint16Array,
  INT32: Int32Array,
  UINT32: Uint32Array,
  INT64: BigInt64Array,
  UINT64: BigUint64Array,
  FP32: Float32Array,
  FP64: Float64Array,
  BOOL: Uint8Array,
  FP16: Uint16Array,
  BF16: Uint16Array,
};
const HALVES: Readonly<Record<string, readonly [(bits: number) => number, (x: number) => number]>> =
  {
    FP16: [halfToNumber, numberToHalf],
    BF16: [bfloat16ToNumber, numberToBfloat16],
  };

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Whether V2 defines the datatype, so that its values have a form as bytes. */
export const isBinary = (datatype: string): boolean => datatype === 'BYTES' || datatype in ARRAYS;

/** "Float32Array"; undefined if the value is not a typed array. */
export function arrayName(values: unknown): string | undefined {
  if (!ArrayBuffer.isView(values)) return undefined;
  return (values as { readonly [Symbol.toStringTag]?: string })[Symbol.toStringTag];
}

/** The datatype that the values have by themselves; undefined if they leave it open. */
export function inferredDatatype(values: ArrayLike<unknown>): string | undefined {
  const name = arrayName(values)?.replace('Clamped', '');
  if (name === 'Float16Array') return 'FP16';
  if (name !== undefined) return Object.keys(ARRAYS).find((one) => ARRAYS[one]?.name === name);
  const first = values[0];
  if (typeof first === 'boolean') return 'BOOL';
  if (typeof first === 'bigint') return 'INT64';
  return typeof first === 'string' || arrayName(first) === 'Uint8Array' ? 'BYTES' : undefined;
}

/**
 * Row-major little-endian bytes; a typed array of the datatype's class is not copied. Errors:
 * INVALID_ARGUMENT with the element's index.
 */
export function toBytes(where: string, datatype: string, values: ArrayLike<Scalar>): Uint8Array {
  if (datatype === 'BYTES') return textBytes(where, values);
  const Own = ARRAYS[datatype] as ArrayClass;
  const isOwn = values instanceof Own && datatype !== 'BOOL';
  if (isOwn || (arrayName(values) !== undefined && inferredDatatype(values) === datatype)) {
    return viewOf(values as unknown as ArrayBufferView);
  }
  const array = new Own(values.length);
  const write = writerOf(datatype, array as Elements);
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as Scalar;
    if (write(i, value)) continue;
    throw wrongInput(`${where}: element ${i}`, `a value of ${datatype}`, shown(value));
  }
  return viewOf(array);
}

interface Elements {
  [index: number]: number | bigint;
}

/** Writes an element, and returns whether the datatype holds it; floats are rounded. */
function writerOf(datatype: string, array: Elements): (i: number, value: Scalar) => boolean {
  const isWhole = datatype.includes('INT');
  const [read, write] = HALVES[datatype] ?? [Number, Number];
  const own = datatype.endsWith('T64') ? BigInt : write;
  return (i, value) => {
    if (datatype === 'BOOL') {
      array[i] = Number(value);
      return value === true || value === false || value === 0 || value === 1;
    }
    if (typeof value !== 'bigint' && typeof value !== 'number') return false;
    const number = Number(value);
    if (isWhole && typeof value === 'number' && !Number.isInteger(value)) return false;
    array[i] = own(value as number);
    if (isWhole) return isSame(array[i] as number, value);
    const stored = read(array[i] as number);
    const isExact = typeof value === 'number' || (isFinite(number) && BigInt(number) === value);
    return isExact && (!isFinite(number) || isFinite(stored));
  };
}

/** `b` is whole. */
const isSame = (a: number | bigint, b: number | bigint): boolean =>
  a === b || BigInt(a) === BigInt(b);

export const viewOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function textBytes(where: string, values: ArrayLike<Scalar>): Uint8Array {
  const texts = Array.from(values, (value, i) => {
    if (typeof value === 'string') return encoder.encode(value);
    if (arrayName(value) === 'Uint8Array') return value as Uint8Array;
    throw wrongInput(`${where}: element ${i}`, 'a string or a Uint8Array', shown(value));
  });
  const bytes = new Uint8Array(texts.reduce((sum, text) => sum + 4 + text.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const text of texts) {
    view.setUint32(at, text.length, true);
    bytes.set(text, at + 4);
    at += 4 + text.length;
  }
  return bytes;
}

/**
 * `count` elements of raw bytes, viewed where their alignment allows it, else copied. `raw`: FP16
 * and BF16 as bits, BYTES as Uint8Array. Errors: INTERNAL: another number of bytes.
 */
export function fromBytes(
  where: string,
  datatype: string,
  bytes: Uint8Array,
  count: number,
  raw = false,
): TensorData {
  if (datatype === 'BYTES') return textsOf(where, bytes, count, raw);
  const Own = ARRAYS[datatype];
  if (Own === undefined) throw badResponse(where, 'a datatype of V2', shown(datatype));
  const size = Own.BYTES_PER_ELEMENT;
  if (bytes.length !== count * size) {
    throw badResponse(where, `${count * size} bytes of ${datatype}`, `${bytes.length}`);
  }
  const { buffer, byteOffset } = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes);
  const array = new Own(buffer, byteOffset, count);
  return raw ? array : numbersOf(datatype, array);
}

function numbersOf(datatype: string, array: TypedArray): TypedArray {
  const read = HALVES[datatype]?.[0];
  return read === undefined ? array : Float32Array.from(array as Uint16Array, read);
}

function textsOf(where: string, bytes: Uint8Array, count: number, raw: boolean) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: (string | Uint8Array)[] = [];
  let at = 0;
  while (at + 4 <= bytes.length) {
    const end = at + 4 + view.getUint32(at, true);
    if (end > bytes.length) break;
    texts.push(textOf(bytes.subarray(at + 4, end), raw));
    at = end;
  }
  if (at !== bytes.length || texts.length !== count) {
    const got = `${texts.length} in ${at} of ${bytes.length} bytes`;
    throw badResponse(where, `${count} elements of BYTES`, got);
  }
  return texts;
}

/** A string, unless the bytes are not UTF-8. */
export function textOf(bytes: Uint8Array, raw = false): string | Uint8Array {
  if (raw) return bytes;
  try {
    return decoder.decode(bytes);
  } catch {
    return bytes;
  }
}

/** Elements of a JSON response. Other datatypes, and tabular models' lists with null for a missing
 * value, keep their JSON values. */
export function fromJson(
  where: string,
  datatype: string,
  values: readonly unknown[],
  raw = false,
): TensorData {
  if (!isBinary(datatype) || values.includes(null)) return values as TensorData;
  if (datatype === 'BYTES') {
    const texts = values as readonly (string | Uint8Array)[];
    return raw ? texts.map((one) => (typeof one === 'string' ? encoder.encode(one) : one)) : texts;
  }
  const { buffer, byteOffset } = toBytes(where, datatype, values as readonly Scalar[]);
  const array = new (ARRAYS[datatype] as ArrayClass)(buffer, byteOffset, values.length);
  return raw ? array : numbersOf(datatype, array);
}
