// Shared state of all readers of one TensorFlow file: the location of its bytes on disk, and the
// remaining limits. Importer's worker thread; pure.
import { MAP_ENTRY } from '../../../protobuf/generated/map-entry-fields.js';
import type { WireReader } from '../../../protobuf/reader.js';
import { modelInvalid } from '../../../base/errors.js';
import type { TensorData } from '../types.js';

/**
 * Maximum nodes, attributes, list elements, names and the like of one file, weighted by the size of
 * their objects: otherwise a file of 2 GiB of empty messages would become some 300 GiB of objects.
 * A graph of 200,000 nodes with all their attributes has 5 million.
 */
export const ITEMS_MAX = 10_000_000;
/** Weights; a number in a list is 1. */
export const NODE_ITEMS = 8;
export const OBJECT_ITEMS = 4;
export const ATTRIBUTE_ITEMS = 3;
export const STRING_ITEMS = 2;
/**
 * Total bytes of a file's tensors that are encoded shorter than their contents (the last value
 * repeats).
 */
export const EXPANDED_BYTES_MAX = 268_435_456;
/** Maximum message nesting if the schema allows any depth. */
export const NESTING_MAX = 32;
/** Tensors of at least this size stay in their file, and uniform ones stay one element. */
export const LARGE_TENSOR_BYTES = 1024;

const UINT32_RANGE = 4_294_967_296;
const INT64_SIGN = 2_147_483_648;

/** A message's bytes as they are in a file. */
export interface FileBytes {
  /** Absolute. */
  readonly path: string;
  /** The whole file. */
  readonly bytes: Uint8Array;
}

/** One per file. Errors: ModelInvalid if a limit is exceeded. */
export class ReadContext {
  readonly #file: FileBytes | undefined;
  readonly #texts = new Map<string, string>();
  #items = 0;
  #expandedBytes = 0;

  /** Without a file (text forms) all tensors are in memory. */
  constructor(file?: FileBytes) {
    this.#file = file;
  }

  /**
   * Returns the same string for equal ones: text repeated by thousands of nodes is stored, and
   * hashed, once.
   */
  shared(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, text);
    return text;
  }

  /** Counts what was read, by its weight. */
  count(items = 1): void {
    this.#items += items;
    if (this.#items <= ITEMS_MAX) return;
    throw modelInvalid(
      `expected at most ${ITEMS_MAX} nodes, attributes and list elements, got more`,
    );
  }

  /** Counts memory that is not backed by bytes of the file. */
  expand(bytes: number, what: string): void {
    this.#expandedBytes += bytes;
    if (this.#expandedBytes <= EXPANDED_BYTES_MAX) return;
    throw modelInvalid(
      `${what}: expected repeated values of at most ${EXPANDED_BYTES_MAX} bytes ` +
        `in all tensors, got ${this.#expandedBytes}`,
    );
  }

  /**
   * Raw elements: their location in the file if there are many, else a copy. Not a view, which
   * would keep the whole file in memory.
   */
  rawData(view: Uint8Array): TensorData {
    const file = this.#file;
    const inFile = file !== undefined && view.buffer === file.bytes.buffer;
    if (inFile && view.length >= LARGE_TENSOR_BYTES) {
      const offset = view.byteOffset - file.bytes.byteOffset;
      return { kind: 'file', path: file.path, offset, byteLength: view.length };
    }
    return { kind: 'bytes', bytes: inFile ? new Uint8Array(view) : view };
  }
}

/** The varint field under the reader, as int64. */
export function readInt64(reader: WireReader): bigint {
  reader.varint();
  return lastInt64(reader);
}

/** The number that the reader read last, as int64. */
export function lastInt64({ low, high }: WireReader): bigint {
  // Most numbers are small, and BigInt arithmetic is slow.
  if (high === 0) return BigInt(low);
  return (BigInt(high >= INT64_SIGN ? high - UINT32_RANGE : high) << 32n) | BigInt(low);
}

/** The varint field under the reader as a number; rounded beyond 2^53. */
export function readInteger(reader: WireReader): number {
  reader.varint();
  const high = reader.high >= INT64_SIGN ? reader.high - UINT32_RANGE : reader.high;
  return high * UINT32_RANGE + reader.low;
}

export function readBool(reader: WireReader): boolean {
  reader.varint();
  return reader.low !== 0 || reader.high !== 0;
}

/** A bytes field, copied: a view would keep the whole file in memory. */
export function readBytes(reader: WireReader): Uint8Array {
  return new Uint8Array(reader.view());
}

/** An occurrence of a repeated float field, packed or not. */
export function readFloats(reader: WireReader): readonly number[] {
  const bytes = reader.fixed(4);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, index) => view.getFloat32(index * 4, true));
}

/**
 * One entry of a map field: `value` reads field 2 if it is present; otherwise `missing` makes the
 * value.
 */
export function readMapEntry<T>(
  reader: WireReader,
  value: (reader: WireReader) => T,
  missing: () => T,
): readonly [key: string, value: T] {
  let key = '';
  let found: { value: T } | undefined;
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) key = reader.string();
    else if (reader.field === MAP_ENTRY.value) found = { value: value(reader) };
    else reader.skip();
  }
  return [key, found === undefined ? missing() : found.value];
}
