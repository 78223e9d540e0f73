// Reads one block of a LevelDB-style table: prefix-compressed keys in ascending order, then the
// offsets of entries with an uncompressed key (restarts), and their count. Control plane; pure.
// Source: tensorflow/core/lib/io (block.cc, format.cc); LevelDB's table_format.md.
import { modelInvalid } from '../../../base/errors.js';
import {
  CHECKPOINT_ENTRIES_MAX,
  CHECKPOINT_KEYS_BYTES_MAX,
  CHECKPOINT_KEY_BYTES_MAX,
} from '../../../base/limits.js';
import { byteText, Cursor } from './bytes.js';

const RESTART_BYTES = 4;

export interface BlockEntry {
  /** One character per byte. */
  readonly key: string;
  /** A view of the block. */
  readonly value: Uint8Array;
}

/** A table's usage of the limits so far. */
export interface Usage {
  entries: number;
  keyBytes: number;
}

/** Errors: ModelInvalid naming `where` and the byte in the block. */
export function readBlock(
  block: Uint8Array,
  where: string,
  usage: Usage = { entries: 0, keyBytes: 0 },
): BlockEntry[] {
  const restarts = readRestarts(block, where);
  const cursor = new Cursor(block, where, 0, restarts.dataBytes);
  const found: BlockEntry[] = [];
  let previous = '';
  let nextRestart = 0;
  while (cursor.left > 0) {
    const start = cursor.position;
    const shared = cursor.varint('shared key bytes');
    const unshared = cursor.varint('other key bytes');
    const valueBytes = cursor.varint('value bytes');
    if (shared > previous.length) {
      cursor.fail(
        start,
        `shares ${shared} key bytes with the previous entry, which has ${previous.length}`,
      );
    }
    if (restarts.at(nextRestart) === start) {
      if (shared > 0) cursor.fail(start, `a restart shares ${shared} key bytes, expected 0`);
      nextRestart += 1;
    }
    if (shared + unshared > CHECKPOINT_KEY_BYTES_MAX) {
      cursor.fail(
        start,
        `a key of ${shared + unshared} bytes, expected at most ` + `${CHECKPOINT_KEY_BYTES_MAX}`,
      );
    }
    countEntry(usage, shared + unshared, where);
    const key = previous.slice(0, shared) + byteText(cursor.take(unshared, 'key'));
    if (found.length > 0 && key <= previous) {
      cursor.fail(start, key === previous ? 'a key occurs twice' : 'the keys do not ascend');
    }
    found.push({ key, value: cursor.take(valueBytes, 'value') });
    previous = key;
  }
  const expected = found.length === 0 ? 0 : nextRestart;
  if (restarts.count !== Math.max(1, expected) || restarts.at(0) !== 0) {
    throw modelInvalid(
      where,
      `restarts: expected ${nextRestart}, one for each listed entry, got ${restarts.count}`,
    );
  }
  return found;
}

interface Restarts {
  readonly count: number;
  /** Size of the entries before the restart list. */
  readonly dataBytes: number;
  /** Offset of the restart with this index. */
  at(index: number): number | undefined;
}

function readRestarts(block: Uint8Array, where: string): Restarts {
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  if (block.length < RESTART_BYTES) {
    throw modelInvalid(where, `expected at least ${RESTART_BYTES} bytes, got ${block.length}`);
  }
  const count = view.getUint32(block.length - RESTART_BYTES, true);
  const dataBytes = block.length - RESTART_BYTES - count * RESTART_BYTES;
  if (count === 0 || dataBytes < 0) {
    throw modelInvalid(where, `restarts: ${count} in a block of ${block.length} bytes`);
  }
  const at = (index: number): number | undefined =>
    index < count ? view.getUint32(dataBytes + index * RESTART_BYTES, true) : undefined;
  return { count, dataBytes, at };
}

function countEntry(usage: Usage, keyBytes: number, where: string): void {
  usage.entries += 1;
  usage.keyBytes += keyBytes;
  if (usage.entries > CHECKPOINT_ENTRIES_MAX) {
    throw modelInvalid(where, `expected at most ${CHECKPOINT_ENTRIES_MAX} entries`);
  }
  if (usage.keyBytes > CHECKPOINT_KEYS_BYTES_MAX) {
    throw modelInvalid(where, `expected at most ${CHECKPOINT_KEYS_BYTES_MAX} bytes of keys`);
  }
}
