// The keys of slices. Source: tensorflow/core/lib/strings/ordered_code.cc; TensorFlow wrote the
// first key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  sliceKey,
  writeSigned,
  writeString,
  writeUint,
} from '../../../../../ts/importers/tensorflow/checkpoint/ordered-code.js';

const text = (write: (out: number[]) => void): string => {
  const out: number[] = [];
  write(out);
  return Buffer.from(out).toString('hex');
};

test('the key of a slice', () => {
  const key = (name: string, ...extents: readonly (readonly [number, number?])[]): string =>
    Buffer.from(
      sliceKey(
        name,
        extents.map(([start, length]) => ({ start, length })),
      ),
      'latin1',
    ).toString('hex');
  assert.equal(key('emb', [4, 3], [0, 4]), '00656d620001010284838084');
  assert.equal(key('emb', [0], [0, 4]), '00656d6200010102807f8084');
  assert.equal(key('s'), '0073000100');
  assert.equal(key('ä', [70, 200]), '00c3a400010101c046c0c8');
});

test('unsigned numbers', () => {
  for (const [value, hex] of [
    [0, '00'],
    [1, '0101'],
    [255, '01ff'],
    [256, '020100'],
    [254, '01fe'],
    [2 ** 40, '06010000000000'],
  ] as const)
    assert.equal(
      text((out) => writeUint(out, value)),
      hex,
    );
});

test('strings', () => {
  for (const [value, hex] of [
    ['', '0001'],
    ['61', '610001'],
    ['0061ff', '00ff61ff000001'],
  ] as const)
    assert.equal(
      text((out) => writeString(out, Buffer.from(value, 'hex'))),
      hex,
    );
});

test('signed numbers', () => {
  for (const [value, hex] of [
    [0, '80'],
    [-1, '7f'],
    [63, 'bf'],
    [-64, '40'],
    [64, 'c040'],
    [-65, '3fbf'],
    [8191, 'dfff'],
    [8192, 'e02000'],
    [-8193, '1fdfff'],
    [2 ** 31, 'f880000000'],
    [Number.MAX_SAFE_INTEGER, 'ff1fffffffffffff'],
  ] as const)
    assert.equal(
      text((out) => writeSigned(out, value)),
      hex,
      String(value),
    );
});

test('signed numbers sort as their bytes do', () => {
  const values = new Set<number>();
  for (let bits = 0; bits < 53; bits += 1) {
    for (const near of [-1, 0, 1]) {
      values.add(2 ** bits + near);
      values.add(-(2 ** bits) + near);
    }
  }
  const sorted = [...values].filter(Number.isSafeInteger).sort((a, b) => a - b);
  const coded = sorted.map((value) => text((out) => writeSigned(out, value)));
  assert.deepEqual(coded, [...coded].sort());
  assert.equal(new Set(coded).size, coded.length);
});
