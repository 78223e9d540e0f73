// CRC-32C. Source: RFC 3720 B.4, and a record that TensorFlow wrote (its event files are TFRecord).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32c, maskCrc } from '../../../ts/protobuf/crc32c.js';
import { hex, maskedCrc } from '../models/warmup/support.js';

const counted = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, i) => i);

describe('crc32c', () => {
  it('gives the published values', () => {
    assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
    assert.equal(crc32c(new Uint8Array(0)), 0);
    assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
    assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
    assert.equal(crc32c(counted(32)), 0x46dd794e);
    assert.equal(crc32c(counted(32).reverse()), 0x113fdb5c);
  });

  it('goes on where it stopped', () => {
    const bytes = counted(200);
    for (const cut of [0, 1, 7, 100, 199, 200]) {
      assert.equal(crc32c(bytes.subarray(cut), crc32c(bytes.subarray(0, cut))), crc32c(bytes));
    }
  });

  it('masks as TensorFlow does', () => {
    const record = hex('090000c025dd75d5411a0d627261696e2e4576656e743a31');
    assert.equal(record.length, 0x18);
    assert.equal(maskCrc(crc32c(hex('1800000000000000'))), 0x224b7fa3);
    assert.equal(maskCrc(crc32c(record)), 0x8d32f3ec);
    assert.equal(maskCrc(0), 0xa282ead8);
    assert.equal(maskCrc(0xffffffff), 0xa282ead7);
  });

  it('agrees with the bitwise one', () => {
    for (let length = 0; length < 70; length += 1) {
      const bytes = counted(length).map((byte) => byte * 37 + 11);
      assert.equal(maskCrc(crc32c(bytes)), maskedCrc(bytes));
    }
  });
});
