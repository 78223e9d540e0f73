// Snappy's raw format. Source: google/snappy format_description.txt.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unpackSnappy } from '../../../../../ts/importers/tensorflow/checkpoint/snappy.js';
import { errorOf, hex, snappyLiterals, varint } from './support.js';

const LIMIT = 1_000_000;

const unpack = (text: string): string =>
  Buffer.from(unpackSnappy(hex(text), LIMIT, 'block')).toString('latin1');
const failure = (text: string, limit = LIMIT): string =>
  errorOf(() => unpackSnappy(hex(text), limit, 'block'));

test('reads literals with lengths in the tag and after it', () => {
  assert.equal(unpack('00'), '');
  assert.equal(unpack('03 08 616263'), 'abc');
  for (const [length, head] of [
    [60, 'ec'],
    [61, 'f03c'],
    [256, 'f0ff'],
    [257, 'f40001'],
    [65_536, 'f4ffff'],
    [65_537, 'f8000001'],
    [70_000, 'fc6f110100'],
  ] as const) {
    const content = Buffer.alloc(length, 'xyz');
    const packed = Buffer.concat([varint(length), hex(head), content]);
    assert.deepEqual(Buffer.from(unpackSnappy(packed, LIMIT, 'block')), content, head);
  }
});

test('copies with offsets of 11, 16 and 32 bits', () => {
  assert.equal(unpack('07 08 616263 0103'), 'abcabca');
  assert.equal(unpack('06 08 616263 0a0300'), 'abcabc');
  assert.equal(unpack('06 08 616263 0b03000000'), 'abcabc');
  const start = Buffer.from('abcd'.padEnd(1800, '.'));
  const far = Buffer.concat([varint(1806), hex('f40707'), start, hex('e908')]);
  const unpacked = Buffer.from(unpackSnappy(far, LIMIT, 'block')).toString('latin1');
  assert.equal(unpacked, `${start.toString('latin1')}abcd..`);
});

test('a copy may reach into itself', () => {
  assert.equal(unpack('09 00 61 1101'), 'aaaaaaaaa');
  assert.equal(unpack('0b 04 6162 2202 00'), 'abababababa');
});

test('restores what the test support compresses', () => {
  const content = Buffer.from(Array.from({ length: 150_000 }, (_, i) => (i * i) & 0xff));
  assert.deepEqual(Buffer.from(unpackSnappy(snappyLiterals(content), LIMIT, 'b')), content);
});

test('damage is named with its byte', () => {
  const begin = 'MODEL_INVALID: block: Snappy: byte ';
  for (const [text, said] of [
    ['', '0: uncompressed length: the data end inside a number'],
    ['ffffffffffffffffffffff', '0: uncompressed length: a number is longer than 10 bytes'],
    ['ffffffffffffffffff01', '0: uncompressed length: expected a number below 2^53'],
    ['ff7f 08 616263', '0: uncompressed length: expected at most 132, got 16383'],
    ['03 08 6162', '2: literal: expected 3 bytes, got 2'],
    ['02 08 616263', '1: 3 more bytes after 0, expected 2 in total'],
    ['04 08 616263', '5: expected 4 bytes, got 3'],
    ['07 08 616263 0100', '5: copy from 0 bytes back, expected 1 to 3'],
    ['07 08 616263 0104', '5: copy from 4 bytes back, expected 1 to 3'],
    ['07 08 616263 0b030000ff', '5: copy from 4278190083 bytes back, expected 1 to 3'],
    ['06 08 616263 0bffffffff', '5: copy from 4294967295 bytes back, expected 1 to 3'],
    ['06 08 616263 0103', '5: 4 more bytes after 3, expected 6 in total'],
    ['06 08 616263 0a03', '6: tag: expected 2 bytes, got 1'],
    ['03 f0', '2: tag: expected 1 bytes, got 0'],
    ['03 fcffffffff', '1: 4294967296 more bytes after 0, expected 3 in total'],
  ] as const) {
    assert.equal(failure(text), `${begin}${said}`, text);
  }
  assert.equal(
    failure('0b 04 6162 220200', 10),
    `${begin}0: uncompressed length: expected at most 10, got 11`,
  );
});
