// The lists of values in version 1 files: each data type, packed and unpacked, and counts that
// disagree.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTypedValues } from '../../../../../ts/importers/tensorflow/checkpoint/typed-values.js';
import type { Dtype } from '../../../../../ts/importers/tensorflow/types.js';
import { elements, errorOf, hex } from './support.js';

const read = (dtype: Dtype, count: number, ...pieces: readonly string[]): unknown =>
  elements({
    dtype,
    shape: [count],
    data: readTypedValues(pieces.map(hex), dtype, count, 't'),
  });
const failure = (dtype: Dtype, count: number, ...pieces: readonly string[]): string =>
  errorOf(() => read(dtype, count, ...pieces));

const MINUS_ONE = 'ffffffffffffffffff01';

test('each data type', () => {
  for (const [dtype, count, message, expected] of [
    ['float', 2, '2a08 0000803f 00000040', '0000803f00000040'],
    ['double', 1, '3208 000000000000f83f', '000000000000f83f'],
    ['int32', 3, `3a 0d 01 ac02 ${MINUS_ONE}`, '010000002c010000ffffffff'],
    ['int16', 2, `3a 0c ac02 ${MINUS_ONE}`, '2c01ffff'],
    ['int8', 2, `3a 0b 7f ${MINUS_ONE}`, '7fff'],
    ['uint8', 2, '3a 03 ff01 07', 'ff07'],
    ['uint16', 1, '3a 03 ffff03', 'ffff'],
    ['qint8', 1, `3a 0a ${MINUS_ONE}`, 'ff'],
    ['quint8', 1, '3a 02 ff01', 'ff'],
    ['qint16', 1, `3a 0a ${MINUS_ONE}`, 'ffff'],
    ['quint16', 1, '3a 03 ffff03', 'ffff'],
    ['qint32', 1, `3a 0a ${MINUS_ONE}`, 'ffffffff'],
    ['string', 2, '4201 61 4200', ['61', '']],
    ['complex64', 1, '4a08 0000803f 00000040', '0000803f00000040'],
    ['int64', 2, `52 0b 05 ${MINUS_ONE}`, '0500000000000000ffffffffffffffff'],
    ['bool', 3, '5a 03 010001', '010001'],
    ['complex128', 1, '6210 000000000000f83f 0000000000000040', '000000000000f83f0000000000000040'],
    ['half', 2, '6a 05 8078 ffff03', '003cffff'],
    ['bfloat16', 1, '6a 02 807f', '803f'],
    ['uint32', 1, '8201 05 ffffffff0f', 'ffffffff'],
    ['uint64', 1, `8a01 0a ${MINUS_ONE}`, 'ffffffffffffffff'],
  ] as const) {
    assert.deepEqual(read(dtype, count, message), expected, dtype);
  }
});

test('lists in pieces, packed or not, are one', () => {
  assert.equal(read('float', 2, '2d0000803f 2d00000040'), '0000803f00000040');
  assert.equal(
    read('float', 3, '2a040000803f', '2d00000040 2a0400004040'),
    '0000803f0000004000004040',
  );
  assert.equal(read('int32', 3, '3801 3a0102', '3803'), '010000000200000003000000');
  assert.equal(read('float', 1, '0801 2d0000803f 2207 11223344556677'), '0000803f');
});

test('no elements', () => {
  assert.equal(read('float', 0), '');
  assert.equal(read('int64', 0, ''), '');
  assert.deepEqual(read('string', 0, ''), []);
});

test('nothing repeats: a count that disagrees is an error', () => {
  for (const [dtype, count, message, said] of [
    ['float', 2, '2d0000803f', 'expected 2 values, got 1'],
    ['float', 1, '2a080000803f00000040', 'expected 1 values, got more'],
    ['float', 0, '2d0000803f', 'expected 0 values, got more'],
    ['int32', 2, '3801', 'expected 2 values, got 1'],
    ['int32', 1, '3a020102', 'expected 1 values, got more'],
    ['string', 2, '420161', 'expected 2 values, got 1'],
    ['string', 1, '420161420162', 'expected 1 values, got more'],
    ['float', 1, '3a0101', 'expected 1 values, got 0'],
    ['float', 1, '22040000803f', 'expected 1 values, got 0'],
    ['float', 1_000_000_000_000, '2d0000803f', 'expected 1000000000000 values, got 5 bytes for'],
    ['string', 1_000_000_000_000, '420161', 'expected 1000000000000 values, got 3 bytes for them'],
  ] as const) {
    const error = failure(dtype, count, message);
    assert.ok(error.startsWith(`MODEL_INVALID: t: ${said}`), error);
  }
});

test('values that do not fit their type', () => {
  for (const [dtype, message, value] of [
    ['int8', '388001', 128],
    ['uint8', `38${MINUS_ONE}`, -1],
    ['uint8', '388002', 256],
    ['int16', '38808002', 32768],
    ['bool', '5802', 2],
    ['half', '68808004', 65536],
    ['int32', '388080808010', 4294967296],
    ['int32', '388080808008', 2147483648],
    ['uint32', '800180808080 10', 4294967296],
  ] as const) {
    assert.equal(
      failure(dtype, 1, message),
      `MODEL_INVALID: t: value 0: ${value} does not fit ${dtype}`,
    );
  }
});

test('damaged messages and data types without a list', () => {
  assert.match(failure('float', 1, '2a030000803f'), /^MODEL_INVALID: t: TensorProto: byte 0: fie/);
  assert.match(
    failure('float', 1, '2a7f'),
    /^MODEL_INVALID: t: TensorProto: byte 0: field 5: expected 12/,
  );
  assert.match(failure('int32', 1, '3a01ff'), /^MODEL_INVALID: t: TensorProto: byte 2: field 7/);
  assert.equal(
    failure('variant', 1, '3801'),
    'UNIMPLEMENTED: t: elements of data type variant are not supported',
  );
});
