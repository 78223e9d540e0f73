// Encodes and decodes tables of engine.fbs and plan.fbs as plain objects, by the generated
// flat-tables.ts of each. Control plane, any thread. Numbers are range-checked here, because the
// builder truncates them silently; the engine checks their meaning.
import { Builder, ByteBuffer } from 'flatbuffers';

/** How a member is encoded. Words: an enum, by its numbers. */
type Kind = ScalarKind | readonly string[] | 'string' | 'bytes' | 'pairs' | FlatTable;
type ScalarKind =
  | 'bool'
  | 'ubyte'
  | 'int'
  | 'uint'
  | 'long'
  | 'ulong'
  | 'decimal'
  | 'bigint'
  | 'double';

interface Member {
  readonly name: string;
  readonly kind: Kind;
  readonly many?: true;
  /** For lists of int and double: a typed array, copied as bytes. */
  readonly typed?: true;
  /** Value of an absent scalar; null: absent. Default 0. */
  readonly fallback?: number | null;
  readonly optional?: true;
}

/** A table whose objects are of type T. Its members are in the schema's order. */
export interface FlatTable<T = unknown> {
  readonly name: string;
  readonly members: readonly Member[];
  readonly of?: T;
}

type Fields = Readonly<Record<string, unknown>>;

const KEY_VALUE: FlatTable = {
  name: 'KeyValue',
  members: [
    { name: 'key', kind: 'string' },
    { name: 'value', kind: 'string' },
  ],
};
const RANGES = {
  ubyte: [0, 2 ** 8 - 1],
  int: [-(2 ** 31), 2 ** 31 - 1],
  uint: [0, 2 ** 32 - 1],
  ulong: [0, 2 ** 64],
} as const;
const WIDTHS = {
  bool: 1,
  ubyte: 1,
  int: 4,
  uint: 4,
  long: 8,
  ulong: 8,
  decimal: 8,
  bigint: 8,
  double: 8,
} as const;
const U64_MAX = 2n ** 64n - 1n;

function isScalar(kind: Kind): kind is ScalarKind | readonly string[] {
  return Array.isArray(kind) || (typeof kind === 'string' && kind in WIDTHS);
}

const widthOf = (kind: ScalarKind | readonly string[]): 1 | 4 | 8 =>
  typeof kind === 'string' ? WIDTHS[kind] : 1;

function inRange(place: string, value: number, [min, max]: readonly [number, number]): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new RangeError(`${place} is ${value}, expected an integer from ${min} to ${max}`);
}

function numberOf(words: readonly string[], word: string, place: string): number {
  const number = words.indexOf(word);
  if (number >= 0) return number;
  throw new RangeError(`${place} is ${word}, expected one of ${words.join(', ')}`);
}

/** Converts to the builder's form: a number of up to 32 bits, or 64 bits. */
function scalarOf(kind: ScalarKind | readonly string[], value: unknown, place: string) {
  if (typeof kind !== 'string') return numberOf(kind, value as string, place);
  if (kind === 'bool') return Number(value);
  if (kind === 'double') return value as number;
  if (kind === 'long' || kind === 'decimal' || kind === 'bigint') {
    const wide = BigInt(value as number | string);
    if (BigInt.asIntN(64, wide) === wide) return wide;
    throw new RangeError(`${place} is ${String(value)}, expected a 64-bit integer`);
  }
  const number = inRange(place, value as number, RANGES[kind]);
  if (kind !== 'ulong') return number;
  // Larger values are clamped to the maximum: the engine limits times much earlier.
  return number === 2 ** 64 ? U64_MAX : BigInt(number);
}

function addScalar(builder: Builder, slot: number, member: Member, value: number | bigint): void {
  // With null, which the types do not allow, the builder writes every value.
  const fallback = (member.fallback === undefined ? 0 : member.fallback) as number;
  if (typeof value === 'bigint') builder.addFieldInt64(slot, value, BigInt(fallback));
  else if (member.kind === 'double') addDouble(builder, slot, value);
  else if (widthOf(member.kind as ScalarKind) === 4) builder.addFieldInt32(slot, value, fallback);
  else builder.addFieldInt8(slot, value, fallback);
}

/** The builder would omit -0. */
function addDouble(builder: Builder, slot: number, value: number): void {
  if (Object.is(value, 0)) return;
  builder.addFloat64(value);
  builder.slot(slot);
}

/** Copies all bytes at once: the builder's own way makes a call for each. */
function writeTyped(builder: Builder, values: Float64Array | Int32Array): number {
  const width = values.BYTES_PER_ELEMENT;
  builder.startVector(width, values.length, width);
  const inside = builder as unknown as { space: number; bb: ByteBuffer };
  inside.space -= values.byteLength;
  inside.bb.bytes().set(bytesOf(values), inside.space);
  return builder.endVector();
}

const bytesOf = (values: Float64Array | Int32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

function readTyped(bytes: ByteBuffer, kind: Kind, at: number): Float64Array | Int32Array {
  const start = bytes.__vector(at);
  const count = bytes.__vector_len(at);
  const values = kind === 'double' ? new Float64Array(count) : new Int32Array(count);
  bytesOf(values).set(bytes.bytes().subarray(start, start + values.byteLength));
  return values;
}

function writeMany(builder: Builder, kind: Kind, values: readonly unknown[], place: string) {
  if (!isScalar(kind)) {
    const offsets = values.map((value, i) => writePart(builder, kind, value, `${place}[${i}]`));
    builder.startVector(4, offsets.length, 4);
    for (const offset of offsets.reverse()) builder.addOffset(offset);
    return builder.endVector();
  }
  const width = widthOf(kind);
  const scalars = values.map((value) => scalarOf(kind, value, place));
  builder.startVector(width, scalars.length, width);
  for (const value of scalars.reverse()) {
    if (typeof value === 'bigint') builder.addInt64(value);
    else if (kind === 'double') builder.addFloat64(value);
    else if (width === 4) builder.addInt32(value);
    else builder.addInt8(value);
  }
  return builder.endVector();
}

/** Writes the objects that a table refers to. */
function writePart(builder: Builder, kind: Kind, value: unknown, place: string): number {
  if (kind === 'string') return builder.createString(value as string);
  if (kind === 'bytes') return builder.createByteVector(value as Uint8Array);
  if (kind !== 'pairs') return writeObject(builder, kind as FlatTable, value as Fields, place);
  const pairs = Object.entries(value as Fields).map(([key, text]) => ({ key, value: text }));
  return writeMany(builder, KEY_VALUE, pairs, place);
}

function writeObject(builder: Builder, table: FlatTable, fields: Fields, place: string): number {
  const values = table.members.map(({ name, kind, many, typed }) => {
    const value = fields[name];
    if (value === undefined) return undefined;
    const at = `${place}.${name}`;
    if (typed) return writeTyped(builder, value as Float64Array | Int32Array);
    if (many) return writeMany(builder, kind, value as readonly unknown[], at);
    return isScalar(kind) ? scalarOf(kind, value, at) : writePart(builder, kind, value, at);
  });
  builder.startObject(values.length);
  table.members.forEach((member, slot) => {
    const value = values[slot];
    if (value === undefined) return;
    if (!member.many && isScalar(member.kind)) addScalar(builder, slot, member, value);
    else builder.addFieldOffset(slot, value as number, 0);
  });
  return builder.endObject();
}

/** Bytes of the lists of numbers in a value, which are most of a large table. */
function typedBytes(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  if (Array.isArray(value) && typeof parts[0] !== 'object') return 0;
  return parts.reduce<number>((sum, part) => sum + typedBytes(part), 0);
}

/**
 * The bytes of a table. Undefined members are omitted: the reader has the defaults. `identifier`:
 * the schema's file_identifier, for tables that are files. Throws RangeError naming the member if a
 * number does not fit, SyntaxError if a text is not a number.
 */
export function writeFlatTable<T extends object>(
  table: FlatTable<T>,
  value: T,
  identifier?: string,
): Uint8Array {
  const typed = typedBytes(value);
  const builder = new Builder(1024 + typed + Math.ceil(typed / 16));
  builder.finish(writeObject(builder, table, value as Fields, table.name), identifier);
  return Buffer.from(builder.asUint8Array());
}

function readScalar(bytes: ByteBuffer, kind: ScalarKind | readonly string[], at: number): unknown {
  if (typeof kind !== 'string') return wordOf(kind, bytes.readUint8(at));
  switch (kind) {
    case 'bool':
      return bytes.readUint8(at) !== 0;
    case 'ubyte':
      return bytes.readUint8(at);
    case 'int':
      return bytes.readInt32(at);
    case 'uint':
      return bytes.readUint32(at);
    case 'long':
      return Number(bytes.readInt64(at));
    case 'ulong':
      return Number(bytes.readUint64(at));
    case 'decimal':
      return bytes.readInt64(at).toString();
    case 'bigint':
      return bytes.readInt64(at);
    case 'double':
      return bytes.readFloat64(at);
  }
}

function wordOf(words: readonly string[], number: number): string {
  const word = words[number];
  if (word === undefined || word === '')
    throw new TypeError(`no enum value has the number ${number}`);
  return word;
}

function readMany(bytes: ByteBuffer, kind: Kind, at: number): unknown[] {
  const start = bytes.__vector(at);
  const width = isScalar(kind) ? widthOf(kind) : 4;
  return Array.from({ length: bytes.__vector_len(at) }, (_, i) =>
    readPart(bytes, kind, start + i * width),
  );
}

function readPart(bytes: ByteBuffer, kind: Kind, at: number): unknown {
  if (isScalar(kind)) return readScalar(bytes, kind, at);
  if (kind === 'string') return bytes.__string(at);
  if (kind === 'bytes') {
    const start = bytes.__vector(at);
    return new Uint8Array(bytes.bytes().subarray(start, start + bytes.__vector_len(at)));
  }
  if (kind !== 'pairs') return readObject(bytes, kind as FlatTable, bytes.__indirect(at));
  const pairs = readMany(bytes, KEY_VALUE, at) as { key: string; value: string }[];
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
}

/** The value of a member that is absent from the bytes. */
function absent({ kind, many, typed, fallback }: Member): unknown {
  if (typed) return kind === 'double' ? new Float64Array() : new Int32Array();
  if (many) return [];
  if (kind === 'string') return '';
  if (kind === 'bool') return false;
  if (kind === 'bytes') return new Uint8Array();
  if (kind === 'pairs') return {};
  if (kind === 'decimal') return String(fallback ?? 0);
  if (kind === 'bigint') return BigInt(fallback ?? 0);
  if (Array.isArray(kind)) return wordOf(kind, fallback ?? 0);
  return isScalar(kind) ? (fallback ?? 0) : readObject(undefined, kind as FlatTable, 0);
}

/** `bytes` undefined: the table is absent, so all members have their defaults. */
function readObject(bytes: ByteBuffer | undefined, table: FlatTable, at: number): Fields {
  const fields: Record<string, unknown> = {};
  table.members.forEach((member, slot) => {
    const { name, kind, many, typed } = member;
    const offset = bytes?.__offset(at, 4 + 2 * slot) ?? 0;
    if (bytes === undefined || offset === 0) {
      if (!member.optional) fields[name] = absent(member);
    } else {
      const read = typed ? readTyped : many ? readMany : readPart;
      fields[name] = read(bytes, kind, at + offset);
    }
  });
  return fields;
}

/** Decodes a table's bytes, written by the engine or writeFlatTable(); copies the data. */
export function readFlatTable<T>(table: FlatTable<T>, bytes: Uint8Array): T {
  const buffer = new ByteBuffer(bytes);
  return readObject(buffer, table, buffer.__indirect(buffer.position())) as T;
}
