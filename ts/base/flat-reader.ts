// Reads tables of FlatBuffers from a file that is not trusted: every offset and length is checked,
// which the npm package's reader does not do. Any thread; pure.
// Source: FlatBuffers' "Internals" page.

const OFFSET_BYTES = 4;
/** Bytes of a table's own table before its first member. */
const VTABLE_HEAD_BYTES = 4;

/** Items of a list: the place of the first in its bytes, and their number. */
export interface Span {
  readonly at: number;
  readonly count: number;
}

/** The file's bytes, and the count of those that may still be copied. */
class Source {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #start: number;
  #left: number;

  constructor(bytes: Uint8Array, start: number) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#start = start;
    this.#left = bytes.length;
  }

  /** Errors: RangeError: `size` bytes from `at` are not all in the file. */
  need(at: number, size: number): number {
    if (at >= 0 && size >= 0 && at + size <= this.bytes.length) return at;
    const end = this.#start + this.bytes.length;
    throw new RangeError(
      `byte ${this.#start + at}: expected ${size} bytes before byte ${end}, the end of the tables`,
    );
  }

  u16(at: number): number {
    return this.view.getUint16(this.need(at, 2), true);
  }

  u32(at: number): number {
    return this.view.getUint32(this.need(at, 4), true);
  }

  i32(at: number): number {
    return this.view.getInt32(this.need(at, 4), true);
  }

  /** Follows the offset at `at`. */
  target(at: number): number {
    return at + this.u32(at);
  }

  /**
   * The items of the vector to which the offset at `at` points. Vectors that share bytes could be
   * much larger than the file, so all that are read have at most its size. Errors: RangeError.
   */
  vector(at: number, width: number): Span {
    const start = this.target(at);
    const count = this.u32(start);
    this.need(start + OFFSET_BYTES, count * width);
    this.#left -= OFFSET_BYTES + count * width;
    if (this.#left >= 0) return { at: start + OFFSET_BYTES, count };
    throw new RangeError(`byte ${this.#start + start}: a list that shares bytes with others`);
  }

  text(at: number): string {
    const span = this.vector(at, 1);
    const bytes = this.bytes.subarray(span.at, span.at + span.count);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  }
}

/** A table, whose members are read by their number in the schema. */
export class FlatTable {
  readonly #source: Source;
  readonly #at: number;
  readonly #members: number;
  readonly #membersEnd: number;

  private constructor(source: Source, at: number) {
    this.#source = source;
    this.#at = at;
    this.#members = at - source.i32(at);
    this.#membersEnd = source.u16(this.#members);
  }

  /** `start`: the place of the bytes in their file. Errors: RangeError, as all calls. */
  static root(bytes: Uint8Array, start: number): FlatTable {
    const source = new Source(bytes, start);
    return new FlatTable(source, source.target(0));
  }

  /** A table without members. */
  static empty(): FlatTable {
    const bytes = new Uint8Array(12);
    const view = new DataView(bytes.buffer);
    // The root is at byte 8, its own table at byte 4.
    view.setUint32(0, 8, true);
    view.setUint16(4, VTABLE_HEAD_BYTES, true);
    view.setInt32(8, 4, true);
    return FlatTable.root(bytes, 0);
  }

  int(member: number, fallback: number): number {
    const at = this.#find(member);
    return at === undefined ? fallback : this.#source.i32(at);
  }

  uint(member: number, fallback: number): number {
    const at = this.#find(member);
    return at === undefined ? fallback : this.#source.u32(at);
  }

  /** Beyond 2^53 it is rounded. */
  ulong(member: number, fallback: number): number {
    const at = this.#find(member);
    if (at === undefined) return fallback;
    return Number(this.#source.view.getBigUint64(this.#source.need(at, 8), true));
  }

  flag(member: number, fallback: boolean): boolean {
    return this.byte(member, fallback ? 1 : 0) !== 0;
  }

  byte(member: number, fallback: number): number {
    const at = this.#find(member);
    return at === undefined ? fallback : (this.#source.bytes[this.#source.need(at, 1)] ?? 0);
  }

  double(member: number, fallback: number): number {
    const at = this.#find(member);
    if (at === undefined) return fallback;
    return this.#source.view.getFloat64(this.#source.need(at, 8), true);
  }

  float(member: number, fallback: number): number {
    const at = this.#find(member);
    if (at === undefined) return fallback;
    return this.#source.view.getFloat32(this.#source.need(at, 4), true);
  }

  /** "": it has none. */
  text(member: number): string {
    const at = this.#find(member);
    return at === undefined ? '' : this.#source.text(at);
  }

  texts(member: number): readonly string[] {
    return this.#list(member, (at) => this.#source.text(at));
  }

  table(member: number): FlatTable | undefined {
    const at = this.#find(member);
    return at === undefined ? undefined : new FlatTable(this.#source, this.#source.target(at));
  }

  tables(member: number): readonly FlatTable[] {
    return this.#list(member, (at) => new FlatTable(this.#source, this.#source.target(at)));
  }

  ints(member: number): Int32Array {
    return new Int32Array(this.#copy(member, 4));
  }

  uints(member: number): Uint32Array {
    return new Uint32Array(this.#copy(member, 4));
  }

  /** Beyond 2^53 they are rounded. */
  longs(member: number): readonly number[] {
    return Array.from(new BigInt64Array(this.#copy(member, 8)), Number);
  }

  /** The place of a list of bytes, which are not copied. */
  span(member: number): Span {
    const found = this.#find(member);
    return found === undefined ? { at: 0, count: 0 } : this.#source.vector(found, 1);
  }

  floats(member: number): Float32Array {
    return new Float32Array(this.#copy(member, 4));
  }

  doubles(member: number): Float64Array {
    return new Float64Array(this.#copy(member, 8));
  }

  /** A list of structures of `count` numbers of 16 bits, one after the other. */
  shorts(member: number, count: number): Uint16Array {
    return new Uint16Array(this.#copy(member, 2 * count));
  }

  #find(member: number): number | undefined {
    const entry = VTABLE_HEAD_BYTES + 2 * member;
    if (entry + 2 > this.#membersEnd) return undefined;
    const offset = this.#source.u16(this.#members + entry);
    return offset === 0 ? undefined : this.#at + offset;
  }

  #list<T>(member: number, read: (at: number) => T): readonly T[] {
    const found = this.#find(member);
    if (found === undefined) return [];
    const { at, count } = this.#source.vector(found, OFFSET_BYTES);
    return Array.from({ length: count }, (_, i) => read(at + OFFSET_BYTES * i));
  }

  /** The bytes of a list, which need not be aligned in the file. */
  #copy(member: number, width: number): ArrayBuffer {
    const found = this.#find(member);
    if (found === undefined) return new ArrayBuffer(0);
    const { at, count } = this.#source.vector(found, width);
    return Uint8Array.from(this.#source.bytes.subarray(at, at + count * width)).buffer;
  }
}
