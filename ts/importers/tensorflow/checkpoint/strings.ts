// The strings of one tensor in a version 2 data file: a varint length for each, the masked checksum
// of the lengths, then the bytes of all. Control plane; pure.
// Source: tensorflow/core/util/tensor_bundle/tensor_bundle.cc (WriteStringTensor).
import { modelInvalid } from '../../../base/errors.js';
import { crc32c, maskCrc } from '../../../protobuf/crc32c.js';
import { CHECKPOINT_STRINGS_MAX, UINT32_MAX } from '../../../base/limits.js';
import { Cursor } from './bytes.js';
import { checkCrc } from './stored-tensor.js';

const CRC_BYTES = 4;
/** Lengths checksummed per batch. */
const LENGTHS_AT_ONCE = 4096;

/** `count` strings, views of `bytes`. `stored` is the entry's masked checksum.
 * Errors: ModelInvalid naming `where` and the byte. */
export function readStrings(
  bytes: Uint8Array,
  count: number,
  stored: number,
  where: string,
): Uint8Array[] {
  if (count > CHECKPOINT_STRINGS_MAX) {
    throw modelInvalid(where, `expected at most ${CHECKPOINT_STRINGS_MAX} strings, got ${count}`);
  }
  if (count + CRC_BYTES > bytes.length) {
    throw modelInvalid(
      where,
      `expected ${count} lengths and ${CRC_BYTES} bytes of their checksum, got ` +
        `${bytes.length} bytes`,
    );
  }
  const cursor = new Cursor(bytes, where);
  const lengths: number[] = [];
  let total = 0;
  for (let i = 0; i < count; i += 1) {
    const length = cursor.varint("a string's length");
    total += length;
    lengths.push(length);
  }
  const lengthsCrc = crcOfLengths(lengths);
  const field = cursor.take(CRC_BYTES, 'checksum of the lengths');
  const view = new DataView(field.buffer, field.byteOffset, CRC_BYTES);
  checkCrc(maskCrc(lengthsCrc), view.getUint32(0, true), `${where}: lengths`);
  if (total !== cursor.left) {
    cursor.fail(cursor.position, `expected ${total} bytes of strings, got ${cursor.left}`);
  }
  const rest = bytes.subarray(cursor.position - CRC_BYTES);
  checkCrc(maskCrc(crc32c(rest, lengthsCrc)), stored, where);
  return lengths.map((length) => cursor.take(length, 'a string'));
}

/** Each length is hashed as four bytes, or as eight if it needs them. */
function crcOfLengths(lengths: readonly number[]): number {
  const scratch = new DataView(new ArrayBuffer(LENGTHS_AT_ONCE * 8));
  let crc = 0;
  for (let first = 0; first < lengths.length; first += LENGTHS_AT_ONCE) {
    let used = 0;
    for (const length of lengths.slice(first, first + LENGTHS_AT_ONCE)) {
      if (length > UINT32_MAX) {
        scratch.setBigUint64(used, BigInt(length), true);
        used += 8;
      } else {
        scratch.setUint32(used, length, true);
        used += 4;
      }
    }
    crc = crc32c(new Uint8Array(scratch.buffer, 0, used), crc);
  }
  return crc;
}
