// Reads arrays in NumPy's file format. Pickled objects are refused. Importer's worker thread; pure.
// Source: NumPy's NEP 1 (versions 1 to 3), numpy.lib.format.
import { type Literal, parseLiteral } from './literal.js';

export type Scalar = number | string | boolean;

/** Values in C order. */
export interface NumpyArray {
  readonly shape: readonly number[];
  /** Numbers and booleans (0 and 1). */
  readonly reals?: Float64Array;
  readonly texts?: readonly string[];
  /** The values of each field of records. */
  readonly records?: ReadonlyMap<string, Float64Array>;
  readonly kind: 'real' | 'integer' | 'bool' | 'text' | 'record';
}

const MAGIC = '\u0093NUMPY';
const HEADER_BYTES_MAX = 65_536;
const DIMS_MAX = 32;
const FIELDS_MAX = 256;
const DTYPE = /^([<>|=]?)([a-zA-Z])(\d*)$/;
const TEXT_CHARS_MAX = 65_536;
/** Characters of a dtype that an error shows. */
const SHOWN_CHARS = 64;

interface Dtype {
  readonly kind: 'real' | 'integer' | 'bool' | 'text' | 'padding';
  readonly bytes: number;
  readonly read: (view: DataView, at: number) => number;
}

interface Member {
  readonly name: string;
  readonly dtype: Dtype;
  readonly offset: number;
}

/** Errors: RangeError: not such a file, a dtype that is not supported, another length. */
export function readNpy(bytes: Uint8Array): NumpyArray {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { header, start } = headerOf(bytes, view);
  const shape = shapeOf(header.get('shape'));
  const isFortran = header.get('fortran_order');
  if (typeof isFortran !== 'boolean') throw new RangeError('fortran_order: expected True or False');
  const descr = header.get('descr') ?? null;
  const members = Array.isArray(descr) ? membersOf(descr as readonly Literal[]) : undefined;
  const dtype = members === undefined ? dtypeOf(descr) : undefined;
  const itemBytes =
    dtype?.bytes ?? (members ?? []).reduce((sum, { dtype: { bytes: own } }) => sum + own, 0);
  const count = shape.reduce((product, size) => product * size, 1);
  if (itemBytes === 0 && count > 0) throw new RangeError('expected values of 1 byte or more');
  if (!Number.isSafeInteger(count) || count * itemBytes !== bytes.byteLength - start) {
    const got = bytes.byteLength - start;
    throw new RangeError(`expected ${count} values of ${itemBytes} bytes, got ${got} bytes`);
  }
  const order = isFortran && shape.length > 1 ? fortranOrder(shape, count) : undefined;
  const columnOf = (type: Dtype, offset: number): Float64Array => {
    const values = new Float64Array(count);
    for (let i = 0; i < count; i += 1) {
      const from = order === undefined ? i : (order[i] ?? 0);
      values[i] = type.read(view, start + from * itemBytes + offset);
    }
    return values;
  };
  if (members !== undefined) {
    const known = members.filter(({ dtype: { kind } }) => kind !== 'padding');
    const records = new Map(
      known.map(({ name, dtype: own, offset }) => [name, columnOf(own, offset)]),
    );
    return { shape, kind: 'record', records };
  }
  const type = dtype as Dtype;
  if (type.kind === 'padding') throw new RangeError(`dtype ${shown(descr)} is not supported`);
  if (type.kind !== 'text') return { shape, kind: type.kind, reals: columnOf(type, 0) };
  const texts = Array.from({ length: count }, (_, i) =>
    textAt(bytes, start + (order?.[i] ?? i) * itemBytes, itemBytes),
  );
  return { shape, kind: 'text', texts };
}

function headerOf(
  bytes: Uint8Array,
  view: DataView,
): { readonly header: ReadonlyMap<string, Literal>; readonly start: number } {
  const front = Buffer.from(bytes.subarray(0, 12));
  const version = front[6] ?? 0;
  if (front.toString('latin1', 0, 6) !== MAGIC || version < 1 || version > 3) {
    throw new RangeError("expected a file in NumPy's format, version 1 to 3");
  }
  const begin = version === 1 ? 10 : 12;
  if (bytes.byteLength < begin) throw new RangeError('the file ends in its header');
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > HEADER_BYTES_MAX || begin + length > bytes.byteLength) {
    const most = Math.min(HEADER_BYTES_MAX, bytes.byteLength - begin);
    throw new RangeError(`expected a header of at most ${most} bytes, got ${length}`);
  }
  const text = Buffer.from(bytes.subarray(begin, begin + length)).toString('utf8');
  const header = parseLiteral(text);
  if (!(header instanceof Map)) throw new RangeError('expected a dictionary as header');
  return { header: header as ReadonlyMap<string, Literal>, start: begin + length };
}

function shapeOf(literal: Literal | undefined): readonly number[] {
  const isShape =
    Array.isArray(literal) &&
    literal.length <= DIMS_MAX &&
    literal.every((size) => Number.isSafeInteger(size) && (size as number) >= 0);
  if (!isShape) throw new RangeError('shape: expected a tuple of sizes');
  return literal as readonly number[];
}

/** Records: [(name, dtype), ...] without nested ones. */
function membersOf(descr: readonly Literal[]): readonly Member[] {
  if (descr.length === 0 || descr.length > FIELDS_MAX) {
    throw new RangeError(`expected 1 to ${FIELDS_MAX} fields, got ${descr.length}`);
  }
  let offset = 0;
  return descr.map((pair) => {
    const [name, type, ...more] = Array.isArray(pair) ? (pair as readonly Literal[]) : [];
    if (typeof name !== 'string' || more.length > 0) {
      throw new RangeError(`dtype ${shown(descr)}: expected a name and a dtype of each field`);
    }
    const dtype = dtypeOf(type ?? null);
    if (dtype.kind === 'text') throw new RangeError(`field '${name}': expected a number`);
    const member = { name, dtype, offset };
    offset += dtype.bytes;
    return member;
  });
}

const shown = (literal: Literal): string => {
  const text = JSON.stringify(literal instanceof Map ? [...literal] : literal);
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}...` : text;
};

/** Errors: RangeError: objects, dates, complex and other numbers. */
function dtypeOf(descr: Literal): Dtype {
  const found = typeof descr === 'string' ? DTYPE.exec(descr) : null;
  if (found === null) throw new RangeError(`dtype ${shown(descr)} is not supported`);
  const [, endian, letter = '', digits] = found;
  const bytes = Number(digits);
  const little = endian !== '>';
  if (letter === 'O') {
    throw new RangeError('has pickled Python objects, which are never read');
  }
  const key = `${letter}${bytes}`;
  if (letter === 'V' && bytes <= HEADER_BYTES_MAX) return { kind: 'padding', bytes, read: zero };
  if (letter === 'U' && bytes <= TEXT_CHARS_MAX) {
    if (!little) throw new RangeError(`dtype '${descr as string}' is not supported`);
    return { kind: 'text', bytes: 4 * bytes, read: zero };
  }
  if (key === 'b1') return { kind: 'bool', bytes, read: (view, at) => boolAt(view, at) };
  const read = Object.hasOwn(READERS, key) ? READERS[key] : undefined;
  if (read === undefined) throw new RangeError(`dtype '${descr as string}' is not supported`);
  return {
    kind: letter === 'f' ? 'real' : 'integer',
    bytes,
    read: (view, at) => read(view, at, little),
  };
}

const zero = (): number => 0;

const READERS: Readonly<Record<string, (view: DataView, at: number, little: boolean) => number>> = {
  f4: (view, at, little) => view.getFloat32(at, little),
  f8: (view, at, little) => view.getFloat64(at, little),
  i1: (view, at) => view.getInt8(at),
  i2: (view, at, little) => view.getInt16(at, little),
  i4: (view, at, little) => view.getInt32(at, little),
  i8: (view, at, little) => wide(view.getBigInt64(at, little)),
  u1: (view, at) => view.getUint8(at),
  u2: (view, at, little) => view.getUint16(at, little),
  u4: (view, at, little) => view.getUint32(at, little),
  u8: (view, at, little) => wide(view.getBigUint64(at, little)),
};

/** Errors: RangeError: a double does not hold it. */
function wide(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError(`expected integers of at most 53 bits, got ${value}`);
}

function boolAt(view: DataView, at: number): number {
  const value = view.getUint8(at);
  if (value > 1) throw new RangeError(`expected a boolean of 0 or 1, got ${value}`);
  return value;
}

/** UTF-32, filled up with zeros. Errors: RangeError: not a character. */
function textAt(bytes: Uint8Array, at: number, length: number): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, length);
  let end = length / 4;
  while (end > 0 && view.getUint32(4 * (end - 1), true) === 0) end -= 1;
  let text = '';
  for (let i = 0; i < end; i += 1) {
    const code = view.getUint32(4 * i, true);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      throw new RangeError(`expected a Unicode character, got ${code}`);
    }
    text += String.fromCodePoint(code);
  }
  return text;
}

/** The place in Fortran order of each value in C order. */
function fortranOrder(shape: readonly number[], count: number): Float64Array {
  const strides = shape.map((_, axis) =>
    shape.slice(0, axis).reduce((product, size) => product * size, 1),
  );
  const order = new Float64Array(count);
  const index = shape.map(() => 0);
  for (let i = 0; i < count; i += 1) {
    order[i] = index.reduce((sum, each, axis) => sum + each * (strides[axis] ?? 0), 0);
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      const next = (index[axis] ?? 0) + 1;
      index[axis] = next === shape[axis] ? 0 : next;
      if (next !== shape[axis]) break;
    }
  }
  return order;
}
