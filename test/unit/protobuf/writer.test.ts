// The protobuf wire format, byte for byte.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtobufWriter } from '../../../ts/protobuf/writer.js';

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

test('numbers and texts at the edges of the short ways', () => {
  for (const value of [0, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
    assert.equal(
      hex(new ProtobufWriter().varint(1, value)),
      hex(new ProtobufWriter().varint(1, BigInt(value))),
      String(value),
    );
  }
  const texts = ['', 'a'.repeat(42), '\u20ac'.repeat(42), 'a'.repeat(43), '\ud800', '\u{1f600}'];
  for (const text of texts) {
    const bytes = new TextEncoder().encode(text);
    assert.equal(
      hex(new ProtobufWriter().string(2, text)),
      hex(new ProtobufWriter().bytes(2, bytes)),
      text,
    );
  }
});

test('messages in messages, of every size, one after the other', () => {
  const sizes = [0, 1, 127, 511, 512, 1023, 1024, 1025, 5000];
  const writer = new ProtobufWriter();
  const parts: string[] = [];
  for (const size of sizes) {
    const bytes = new Uint8Array(size).fill(size % 251);
    const inner = hex(new ProtobufWriter().bytes(1, bytes).varint(2, size));
    writer.message(3, (one) =>
      one
        .message(4, (two) => two.bytes(1, bytes).varint(2, size))
        .message(4, (two) => two.varint(2, 1)),
    );
    const both = hex(
      new ProtobufWriter().bytes(4, Buffer.from(inner, 'hex')).bytes(4, Buffer.from('1001', 'hex')),
    );
    parts.push(hex(new ProtobufWriter().bytes(3, Buffer.from(both, 'hex'))));
  }
  assert.equal(hex(writer), parts.join(''));
});

test('a message that fails inside leaves nothing behind', () => {
  const writer = new ProtobufWriter();
  assert.throws(
    () =>
      writer.message(1, (one) => {
        one.varint(1, 1);
        throw new Error('no');
      }),
    /no/,
  );
  assert.equal(hex(writer.message(2, (one) => one.varint(1, 2))), '12020802');
});

test('a message is written into from inside another', () => {
  const writer = new ProtobufWriter();
  writer.message(1, (one) => {
    writer.message(2, (two) => two.varint(1, 1));
    one.varint(3, 3);
  });
  assert.equal(hex(writer), '12020801' + '0a021803');
});

test('lists of numbers in one field', () => {
  const ints = new ProtobufWriter().packed(3, 'varint', [-1, 4]);
  assert.equal(hex(ints), '1a0bffffffffffffffffff0104');
  assert.equal(hex(new ProtobufWriter().packed(1, 'varint', [])), '0a00');
  assert.equal(hex(new ProtobufWriter().packed(1, 'float', [1])), '0a040000803f');
  assert.equal(hex(new ProtobufWriter().packed(1, 'double', [1])), '0a08000000000000f03f');
  assert.equal(hex(new ProtobufWriter().double(1, -2)), '0900000000000000c0');
});
