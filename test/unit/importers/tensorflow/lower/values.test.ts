// Shapes and element types while a graph is lowered, and the elements of constants.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  numbersTensor,
  stringsTensor,
  tensorBytes,
  tensorNumbers,
  tensorStrings,
} from '../../../../../ts/importers/tensorflow/lower/tensors.js';
import {
  broadcastShapes,
  commonShape,
  elementType,
  isStatic,
  shapeText,
} from '../../../../../ts/importers/tensorflow/lower/values.js';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import type { Dtype, Tensor } from '../../../../../ts/importers/tensorflow/types.js';
import { filledFolder } from '../../../temp-folder.js';
import { errorText, invalid } from '../messages.js';

const _ = undefined;

test('broadcasting of shapes that are known in part', () => {
  assert.deepEqual(broadcastShapes([2, 3], [3]), [2, 3]);
  assert.deepEqual(broadcastShapes([], [_, 3]), [_, 3]);
  assert.deepEqual(broadcastShapes([1, 3], [_, 1]), [_, 3]);
  assert.deepEqual(broadcastShapes([_, 3], [5, 3]), [5, 3]);
  assert.deepEqual(broadcastShapes([_], [_]), [_]);
  assert.deepEqual(broadcastShapes([0], [1]), [0]);
  // A free dimension combined with 0 is 0 or 1: the result is 0, or an error, so nothing is
  // claimed.
  assert.deepEqual(broadcastShapes([_], [0]), [_]);
  assert.equal(broadcastShapes([2], _), _);
  assert.equal(broadcastShapes(_, [2]), _);
});

test('finds what two branches have in common', () => {
  assert.deepEqual(commonShape([2, 3], [2, 4]), [2, _]);
  assert.equal(commonShape([2], [2, 2]), _);
  assert.equal(commonShape(_, [2]), _);
  assert.deepEqual(commonShape([], []), []);
});

test('static shapes and their text', () => {
  assert.equal(isStatic([]), true);
  assert.equal(isStatic([1, _]), false);
  assert.equal(isStatic(_), false);
  assert.equal(shapeText([_, 3]), '[?,3]');
  assert.equal(shapeText(_), 'unknown rank');
});

test('types that ONNX has not are refused by name', () => {
  assert.equal(elementType('half'), 'float16');
  assert.equal(elementType('qint8'), 'int8');
  for (const dtype of ['complex64', 'variant', 'resource'] as const) {
    assert.match(
      errorText(() => elementType(dtype), ErrorCode.Unimplemented),
      new RegExp(dtype),
    );
  }
});

const EXACT: Partial<Record<Dtype, readonly number[]>> = {
  float: [0, -1.5, 2 ** 100, Infinity],
  double: [Math.PI, -0, 1e-320],
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [65535],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [2 ** 32 - 1],
  int64: [-(2 ** 53) + 1, 2 ** 53 - 1],
  uint64: [2 ** 53 - 1],
  bool: [0, 1],
  half: [0, -0, 1, -2.5, 65504, 2 ** -14, 2 ** -24, Infinity, -Infinity],
  bfloat16: [0, 1, -2.5, 2 ** 127, Infinity],
  qint32: [-5],
  quint8: [200],
};

test('numbers go into a constant and come out of it', () => {
  for (const [dtype, values] of Object.entries(EXACT)) {
    const tensor = numbersTensor(dtype as Dtype, [values.length], values);
    assert.deepEqual(tensorNumbers(tensor), values, dtype);
  }
});

test('halves are rounded to the nearest, ties to even', () => {
  const round = (dtype: Dtype, value: number): number | undefined =>
    tensorNumbers(numbersTensor(dtype, [], [value]))?.[0];
  assert.equal(round('half', 1 + 2 ** -11), 1);
  assert.equal(round('half', 1 + 3 * 2 ** -11), 1 + 2 ** -9);
  assert.equal(round('half', 65519), 65504);
  assert.equal(round('half', 65520), Infinity);
  assert.equal(round('half', 2 ** -26), 0);
  assert.equal(round('bfloat16', 1 + 2 ** -8), 1);
  assert.equal(round('bfloat16', 1 + 3 * 2 ** -8), 1 + 2 ** -6);
  assert.ok(Number.isNaN(round('half', NaN)) && Number.isNaN(round('bfloat16', NaN)));
});

test('types without numbers, and more numbers than are looked at', () => {
  assert.match(
    errorText(() => numbersTensor('complex64', [], [1]), ErrorCode.Unimplemented),
    /complex64/,
  );
  assert.equal(tensorNumbers(stringsTensor([1], ['a'])), undefined);
  const element = new Uint8Array(4);
  const huge: Tensor = { dtype: 'float', shape: [2 ** 31], data: { kind: 'fill', element } };
  assert.equal(tensorNumbers(huge), undefined);
});

test('elements in a file are read where they lie; a short file is an error', (t) => {
  const folder = filledFolder(t, { data: Uint8Array.from([9, 9, 1, 0, 0, 0, 2, 0, 0, 0]) });
  const at = (byteLength: number): Tensor => ({
    dtype: 'int32',
    shape: [byteLength / 4],
    data: { kind: 'file', path: join(folder, 'data'), offset: 2, byteLength },
  });
  assert.deepEqual(tensorNumbers(at(8)), [1, 2]);
  assert.match(
    invalid(() => tensorBytes(at(12))),
    /expected 12 bytes at byte 2, got 8/,
  );
});

test('a filled constant is its element again and again', () => {
  const element = Uint8Array.from([1, 2]);
  const filled: Tensor = { dtype: 'int16', shape: [2, 1], data: { kind: 'fill', element } };
  assert.deepEqual([...tensorBytes(filled)], [1, 2, 1, 2]);
  const words: Tensor = { dtype: 'string', shape: [2], data: { kind: 'fill', element } };
  assert.deepEqual(tensorStrings(words), [element, element]);
});
