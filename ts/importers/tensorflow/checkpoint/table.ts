// Reads a LevelDB-style table file: the index of a version 2 checkpoint, or a version 1 checkpoint
// itself. Read block by block, because a version 1 file may be larger than memory. Control plane:
// the importer's worker thread. Source: tensorflow/core/lib/io (table.cc, format.cc); LevelDB's
// table_format.md.
import { modelInvalid } from '../../../base/errors.js';
import { crc32c, maskCrc } from '../../../protobuf/crc32c.js';
import type { BlockEntry } from './block.js';
import { readBlock } from './block.js';
import { Cursor, fileBytes, hex32, readRange } from './bytes.js';
import { unpackSnappy } from './snappy.js';

const FOOTER_BYTES = 48;
const HANDLES_BYTES = 40;
const MAGIC = 0xdb4775248b80fb57n;
/** Compression type and checksum. */
const TRAILER_BYTES = 5;
const RAW = 0;
const SNAPPY = 1;

/** Location of a block; `bytes` excludes the trailer. */
interface Handle {
  readonly offset: number;
  readonly bytes: number;
}

interface IndexEntry {
  /** At least the block's last key, and less than the next block's first. */
  readonly separator: string;
  readonly handle: Handle;
}

/**
 * The last block read by get(), shared by several tables: small tensors are adjacent, and large
 * blocks should not accumulate in memory.
 */
export class BlockCache {
  path = '';
  offset = 0;
  entries: ReadonlyMap<string, Uint8Array> = new Map();
}

export class TableFile {
  readonly path: string;
  readonly #cache: BlockCache;
  readonly #blockBytesMax: number;
  readonly #dataBytes: number;
  readonly #index: readonly IndexEntry[];

  /** Reads the footer and the index. Errors: ModelInvalid naming file and byte. */
  constructor(path: string, blockBytesMax: number, cache = new BlockCache()) {
    this.path = path;
    this.#cache = cache;
    this.#blockBytesMax = blockBytesMax;
    const size = fileBytes(path);
    if (size < FOOTER_BYTES) {
      throw modelInvalid(
        path,
        `not a checkpoint table: expected at least ${FOOTER_BYTES} bytes, ` + `got ${size}`,
      );
    }
    this.#dataBytes = size - FOOTER_BYTES;
    const footer = readRange(path, this.#dataBytes, FOOTER_BYTES);
    const magic = new DataView(footer.buffer).getBigUint64(HANDLES_BYTES, true);
    if (magic !== MAGIC) {
      throw modelInvalid(
        path,
        'not a checkpoint table: expected its last 8 bytes to be ' +
          `0x${MAGIC.toString(16)}, got 0x${magic.toString(16)}`,
      );
    }
    const cursor = new Cursor(footer, `${path}: footer`, 0, HANDLES_BYTES);
    this.#readHandle(cursor, 'metaindex');
    const handle = this.#readHandle(cursor, 'index');
    this.#index = this.#readIndex(handle);
  }

  /** Every entry, in ascending order of keys; fails after `bytesMax` of blocks. */
  *entries(bytesMax: number): Generator<BlockEntry> {
    const usage = { entries: 0, keyBytes: 0 };
    let previous: string | undefined;
    let bytes = 0;
    for (const { handle } of this.#index) {
      const block = this.#readContent(handle);
      bytes += block.length;
      if (bytes > bytesMax) {
        throw modelInvalid(this.path, `expected at most ${bytesMax} bytes of entries, got more`);
      }
      const where = this.#where(handle);
      for (const entry of readBlock(block, where, usage)) {
        if (previous !== undefined && entry.key <= previous) {
          throw modelInvalid(
            where,
            entry.key === previous ? 'a key occurs twice' : 'the keys do not ascend',
          );
        }
        previous = entry.key;
        yield entry;
      }
    }
  }

  /** The value of a key (one character per byte); a view of its block. */
  get(key: string): Uint8Array | undefined {
    const handle = this.#blockOf(key);
    if (handle === undefined) return undefined;
    const cache = this.#cache;
    if (cache.path !== this.path || cache.offset !== handle.offset) {
      // Released first: both blocks may be large.
      [cache.path, cache.entries] = ['', new Map()];
      const entries = readBlock(this.#readContent(handle), this.#where(handle));
      cache.entries = new Map(entries.map((entry) => [entry.key, entry.value]));
      [cache.path, cache.offset] = [this.path, handle.offset];
    }
    return cache.entries.get(key);
  }

  /** The first block whose separator is at least the key. */
  #blockOf(key: string): Handle | undefined {
    let low = 0;
    let high = this.#index.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#index[middle]?.separator ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return this.#index[low]?.handle;
  }

  #readIndex(handle: Handle): IndexEntry[] {
    const where = `${this.path}: index`;
    return readBlock(this.#readContent(handle), where).map(({ key, value }) => {
      const cursor = new Cursor(value, `${where}: entry ${JSON.stringify(key)}`);
      return { separator: key, handle: this.#readHandle(cursor, 'block') };
    });
  }

  #readHandle(cursor: Cursor, what: string): Handle {
    const start = cursor.position;
    const offset = cursor.varint(`offset of the ${what}`);
    const bytes = cursor.varint(`size of the ${what}`);
    if (offset + bytes + TRAILER_BYTES > this.#dataBytes) {
      cursor.fail(
        start,
        `the ${what} has ${bytes} and ${TRAILER_BYTES} bytes from byte ` +
          `${offset} on: expected at most the ${this.#dataBytes} bytes before the footer`,
      );
    }
    return { offset, bytes };
  }

  /** A block's content, with its checksum verified. */
  #readContent(handle: Handle): Uint8Array {
    const where = this.#where(handle);
    if (handle.bytes > this.#blockBytesMax) {
      throw modelInvalid(
        where,
        `expected at most ${this.#blockBytesMax} bytes, got ${handle.bytes}`,
      );
    }
    const block = readRange(this.path, handle.offset, handle.bytes + TRAILER_BYTES);
    const computed = maskCrc(crc32c(block.subarray(0, handle.bytes + 1)));
    const stored = new DataView(block.buffer).getUint32(handle.bytes + 1, true);
    if (computed !== stored) {
      throw modelInvalid(where, `checksum: stored ${hex32(stored)}, computed ${hex32(computed)}`);
    }
    const content = block.subarray(0, handle.bytes);
    const compression = block[handle.bytes];
    if (compression === RAW) return content;
    if (compression === SNAPPY) return unpackSnappy(content, this.#blockBytesMax, where);
    throw modelInvalid(
      where,
      `compression: expected ${RAW} (none) or ${SNAPPY} (Snappy), got ` + `${compression}`,
    );
  }

  #where(handle: Handle): string {
    return `${this.path}: block at byte ${handle.offset}`;
  }
}
