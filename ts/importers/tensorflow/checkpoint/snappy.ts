// Decompresses Snappy's raw block format. Control plane; pure. Source: google/snappy
// format_description.txt.
import { allocate, Cursor } from './bytes.js';

const LITERAL = 0;
const COPY_11_BIT = 1;
const COPY_16_BIT = 2;
/** A copy of 64 bytes takes 3: nothing expands to more than 22 times its size. */
const EXPANSION_MAX = 22;
/** Longer literals have a separate length of 1 to 4 bytes. */
const SHORT_LITERAL_MAX = 60;

/** Errors: ModelInvalid if it is damaged or longer than `bytesMax`. */
export function unpackSnappy(packed: Uint8Array, bytesMax: number, where: string): Uint8Array {
  const cursor = new Cursor(packed, `${where}: Snappy`);
  const length = cursor.varint('uncompressed length');
  const most = Math.min(bytesMax, packed.length * EXPANSION_MAX);
  if (length > most) cursor.fail(0, `uncompressed length: expected at most ${most}, got ${length}`);
  const out = allocate(length, where);
  let filled = 0;
  while (cursor.left > 0) {
    const start = cursor.position;
    const tag = number(cursor, 1);
    const count = pieceLength(cursor, tag);
    if (count > length - filled) {
      cursor.fail(start, `${count} more bytes after ${filled}, expected ${length} in total`);
    }
    if ((tag & 3) === LITERAL) {
      out.set(cursor.take(count, 'literal'), filled);
    } else {
      const distance = copyDistance(cursor, tag);
      if (distance === 0 || distance > filled) {
        cursor.fail(start, `copy from ${distance} bytes back, expected 1 to ${filled}`);
      }
      copyBack(out, filled, distance, count);
    }
    filled += count;
  }
  if (filled !== length) cursor.fail(cursor.position, `expected ${length} bytes, got ${filled}`);
  return out;
}

function pieceLength(cursor: Cursor, tag: number): number {
  const upper = tag >>> 2;
  switch (tag & 3) {
    case LITERAL:
      return upper < SHORT_LITERAL_MAX ? upper + 1 : number(cursor, upper - 59) + 1;
    case COPY_11_BIT:
      return (upper & 7) + 4;
    default:
      return upper + 1;
  }
}

function copyDistance(cursor: Cursor, tag: number): number {
  if ((tag & 3) === COPY_11_BIT) return ((tag >>> 5) << 8) | number(cursor, 1);
  return number(cursor, (tag & 3) === COPY_16_BIT ? 2 : 4);
}

/** A little-endian number. */
function number(cursor: Cursor, bytes: number): number {
  let value = 0;
  let scale = 1;
  for (const byte of cursor.take(bytes, 'tag')) {
    value += byte * scale;
    scale *= 256;
  }
  return value;
}

/** The source may overlap the bytes that the copy writes, which then repeats them. */
function copyBack(out: Uint8Array, at: number, distance: number, count: number): void {
  if (distance >= count) {
    out.copyWithin(at, at - distance, at - distance + count);
    return;
  }
  for (let i = at; i < at + count; i += 1) out[i] = out[i - distance] ?? 0;
}
