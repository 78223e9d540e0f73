// The protobuf wire format, byte for byte.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtobufWriter } from '../../../ts/importers/protobuf-writer.js';

const hex = (writer: ProtobufWriter): string => Buffer.from(writer.concat()).toString('hex');

test("the examples of protobuf's encoding page", () => {
  assert.equal(hex(new ProtobufWriter().varint(1, 150)), '089601');
  assert.equal(hex(new ProtobufWriter().string(2, 'testing')), '120774657374696e67');
  const nested = new ProtobufWriter().message(3, (inner) => inner.varint(1, 150));
  assert.equal(hex(nested), '1a03089601');
});

test('64-bit and negative numbers', () => {
  assert.equal(hex(new ProtobufWriter().varint(1, -1)), '08ffffffffffffffffff01');
  assert.equal(hex(new ProtobufWriter().varint(1, 2n ** 64n - 1n)), '08ffffffffffffffffff01');
  assert.equal(hex(new ProtobufWriter().varint(1, -(2n ** 63n))), '0880808080808080808001');
  assert.throws(() => new ProtobufWriter().varint(1, 2n ** 64n), RangeError);
  assert.throws(() => new ProtobufWriter().varint(1, -(2n ** 64n) - 1n), RangeError);
  assert.throws(() => new ProtobufWriter().varint(1, 1.5), RangeError);
});

test('floats are little-endian', () => {
  assert.equal(hex(new ProtobufWriter().float(2, 1)), '150000803f');
});

test('large and many small fields keep their order', () => {
  const big = new Uint8Array(5000).fill(7);
  const writer = new ProtobufWriter();
  let expected = '';
  for (let i = 0; i < 600; i++) {
    writer.varint(1, 1);
    expected += '0801';
    if (i === 300) {
      writer.bytes(2, big);
      expected += `128827${Buffer.from(big).toString('hex')}`;
    }
  }
  assert.equal(writer.byteLength, expected.length / 2);
  assert.equal(hex(writer), expected);
});
