// Elements of tensors: converts JavaScript values to bytes and back, by datatype. Never loses,
// wraps or cuts a value: one that a datatype cannot hold is an error. Pure; any thread. Hosts are
// little-endian (x64).
import { TextDecoder } from 'node:util';
import { LENGTH_BYTES } from '../model/infer/tensor.js';
import { invalidArgument } from '../base/errors.js';
import { dataTypeOf, type Scalar as Element } from '../model/datatype.js';
import type { Datatype } from '../model/snapshot.js';
import { echo } from '../base/text.js';
import { isTypedArray } from './flatten.js';
import type { Scalar, TensorData, TypedArray } from './types.js';

type ArrayClass = new (buffer: ArrayBuffer) => TypedArray;

const ARRAYS: Readonly<Partial<Record<Datatype, ArrayClass>>> = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP32: Float32Array,
  FP64: Float64Array,
};
/** Floats of 2 bytes, which not every Node has a class for: raw bits. */
const HALVES: ReadonlySet<Datatype> = new Set<Datatype>(['FP16', 'BF16']);
/** Largest finite values. */
const FLOAT_MAX: Readonly<Partial<Record<Datatype, number>>> = {
  FP16: 65_504,
  BF16: 3.3895313892515355e38,
  FP32: 3.4028234663852886e38,
  FP64: Number.MAX_VALUE,
};
const TEXT_BYTES_MAX = 0xffffffff;

/**
 * Returns row-major little-endian bytes; a typed array of the datatype's class is not copied.
 * Errors: InvalidArgument with the element's index.
 */
export function elementBytes(
  where: string,
  datatype: Datatype,
  values: ArrayLike<Scalar>,
): Uint8Array {
  const { kind } = dataTypeOf(datatype);
  if (kind === 'text') return textBytes(where, values);
  const own = HALVES.has(datatype) ? Uint16Array : ARRAYS[datatype];
  const isOwn = own !== undefined && isTypedArray(values) && values instanceof own;
  if (isOwn && datatype !== 'BOOL') {
    const { buffer, byteOffset, byteLength } = values;
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  }
  return numberBytes(where, datatype, values);
}

function numberBytes(where: string, datatype: Datatype, values: ArrayLike<Scalar>): Uint8Array {
  const { bytes, elements } = dataTypeOf(datatype);
  if (elements === undefined)
    throw invalidArgument(where, `datatype ${datatype} has no values here`);
  const check = checkOf(datatype);
  const buffer = new ArrayBuffer(values.length * bytes);
  const view = new DataView(buffer);
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] ?? null;
    const element = check(value);
    if (element === undefined) {
      const got = typeof value === 'bigint' ? `${value}` : shown(value);
      throw invalidArgument(where, `element ${i}: expected ${expectedOf(datatype)}, got ${got}`);
    }
    elements.set(view, i * bytes, element);
  }
  return new Uint8Array(buffer);
}

const shown = (value: unknown): string =>
  typeof value === 'number' || value === null ? String(value) : echo(String(value));

function rangeOf(datatype: Datatype): readonly [bigint, bigint] {
  const { kind, bytes } = dataTypeOf(datatype);
  const bits = BigInt(bytes * 8);
  return kind === 'unsigned'
    ? [0n, 2n ** bits - 1n]
    : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
}

function expectedOf(datatype: Datatype): string {
  const { kind } = dataTypeOf(datatype);
  if (kind === 'bool') return 'true, false, 0 or 1';
  if (kind === 'float') return `a number that ${datatype} holds`;
  const [min, max] = rangeOf(datatype);
  return `a whole number from ${min} to ${max}`;
}

/** Converts an element; undefined if the datatype cannot hold it. */
function checkOf(datatype: Datatype): (value: Scalar) => Element | undefined {
  const { kind } = dataTypeOf(datatype);
  if (kind === 'bool') return (value) => (isTruth(value) ? Number(value) : undefined);
  if (kind === 'float') {
    const max = FLOAT_MAX[datatype] ?? Number.MAX_VALUE;
    return (value) => {
      const number = typeof value === 'bigint' ? exactNumber(value) : value;
      if (typeof number !== 'number') return undefined;
      return Number.isFinite(number) && Math.abs(number) > max ? undefined : number;
    };
  }
  const [min, max] = rangeOf(datatype);
  return (value) => {
    if (typeof value === 'bigint') return value >= min && value <= max ? value : undefined;
    if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
    return value >= min && value <= max ? value : undefined;
  };
}

const isTruth = (value: Scalar): boolean =>
  typeof value === 'boolean' || value === 0 || value === 1 || value === 0n || value === 1n;

function exactNumber(value: bigint): number | undefined {
  const number = Number(value);
  return Number.isFinite(number) && BigInt(number) === value ? number : undefined;
}

function textBytes(where: string, values: ArrayLike<Scalar>): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    const isText = typeof value === 'string' || value instanceof Uint8Array;
    if (!isText)
      throw invalidArgument(where, `element ${i}: expected text or bytes, got ${shown(value)}`);
    const piece = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
    if (piece.length > TEXT_BYTES_MAX)
      throw invalidArgument(where, `element ${i}: longer than 4 GiB`);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(piece.length);
    pieces.push(length, piece);
  }
  return Buffer.concat(pieces);
}

/**
 * Copies the bytes of a response into values. Errors: TypeError: bytes that do not fit the
 * datatype, which no Serval server sends.
 */
export function elementValues(datatype: Datatype, bytes: Uint8Array): TensorData {
  const type = dataTypeOf(datatype);
  if (type.kind === 'text') return textValues(bytes);
  const { elements } = type;
  if (bytes.length % type.bytes !== 0) throw new TypeError(`${bytes.length} bytes of ${datatype}`);
  // Not slice(), which does not copy a Buffer.
  const copy = new Uint8Array(bytes).buffer;
  const own = ARRAYS[datatype];
  if (own !== undefined) return new own(copy);
  const view = new DataView(copy);
  return Float32Array.from({ length: copy.byteLength / type.bytes }, (_, i) =>
    Number(elements?.get(view, i * type.bytes)),
  );
}

function textValues(bytes: Uint8Array): readonly (string | Uint8Array)[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const values: (string | Uint8Array)[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + LENGTH_BYTES + view.getUint32(at, true);
    if (end > bytes.length) throw new TypeError('a text that is cut');
    const piece = new Uint8Array(bytes.subarray(at + LENGTH_BYTES, end));
    values.push(textOf(strict, piece));
    at = end;
  }
  return values;
}

function textOf(strict: TextDecoder, bytes: Uint8Array): string | Uint8Array {
  try {
    return strict.decode(bytes);
  } catch {
    return bytes;
  }
}
