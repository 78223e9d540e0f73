// Records of TFRecord files. Control plane, main thread; pure. ts/models/warmup/tf-record.ts reads
// them. Source: tfserving.md 3.6 (uint64 length, its masked CRC-32C, the data, its masked CRC-32C).
import { CRC_BYTES, LENGTH_BYTES } from '../../../models/warmup/tf-record.js';
import { crc32c, maskCrc } from '../../../protobuf/crc32c.js';

const DATA_AT = LENGTH_BYTES + CRC_BYTES;

/** One record with this data. */
export function tfRecord(data: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(DATA_AT + data.length + CRC_BYTES);
  record.writeBigUInt64LE(BigInt(data.length), 0);
  record.writeUInt32LE(maskCrc(crc32c(record.subarray(0, LENGTH_BYTES))), LENGTH_BYTES);
  record.set(data, DATA_AT);
  record.writeUInt32LE(maskCrc(crc32c(data)), DATA_AT + data.length);
  return record;
}
