// String tensors of version 2 data files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStrings } from '../../../../../ts/importers/tensorflow/checkpoint/strings.js';
import { errorOf, hex, stringTensor } from './support.js';

const texts = (...values: readonly string[]): Buffer[] => values.map((v) => Buffer.from(v));

test('strings come back', () => {
  for (const values of [
    [],
    texts(''),
    texts('a'),
    texts('x', '', 'yy\0', 'z'.repeat(20_000)),
    texts(...Array.from({ length: 10_000 }, (_, i) => 's'.repeat(i % 7))),
  ]) {
    const { bytes, crc } = stringTensor(values);
    const found = readStrings(bytes, values.length, crc, 't').map((value) => Buffer.from(value));
    assert.deepEqual(found, values);
  }
});

test('damage', () => {
  const { bytes, crc } = stringTensor(texts('abc', 'de'));
  const failure = (edited: Uint8Array, count = 2, stored = crc): string =>
    errorOf(() => readStrings(edited, count, stored, 't'));
  const changed = (at: number, to: number): Buffer => {
    const edited = Buffer.from(bytes);
    edited[at] = to;
    return edited;
  };
  assert.equal(failure(bytes), 'no error');
  const begin = 'MODEL_INVALID: t: ';
  assert.match(failure(changed(8, 1)), /^MODEL_INVALID: t: checksum: stored 0x[0-9a-f]{8}, comp/);
  assert.match(failure(bytes, 2, crc ^ 1), /^MODEL_INVALID: t: checksum: stored 0x/);
  assert.match(failure(changed(3, 1)), /^MODEL_INVALID: t: lengths: checksum: stored 0x/);
  assert.match(failure(changed(0, 4)), /^MODEL_INVALID: t: lengths: checksum: stored 0x/);
  assert.match(failure(bytes, 1), /^MODEL_INVALID: t: lengths: checksum: stored 0x/);
  assert.equal(
    failure(bytes.subarray(0, -1)),
    `${begin}byte 6: expected 5 bytes of strings, got 4`,
  );
  assert.equal(
    failure(Buffer.concat([bytes, hex('00')])),
    `${begin}byte 6: expected 5 bytes of strings, got 6`,
  );
  assert.equal(
    failure(bytes, 8),
    `${begin}expected 8 lengths and 4 bytes of their checksum, got 11 bytes`,
  );
  assert.equal(
    failure(bytes, 2 ** 40),
    `${begin}expected at most 16777216 strings, got 1099511627776`,
  );
  assert.equal(
    failure(Buffer.alloc(16, 0xff), 1),
    `${begin}byte 0: a string's length: a number is longer than 10 bytes`,
  );
  assert.equal(
    failure(hex('808080808000'), 1),
    `${begin}byte 6: checksum of the lengths: expected 4 bytes, got 0`,
  );
});
