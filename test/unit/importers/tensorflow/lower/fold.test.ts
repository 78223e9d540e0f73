// Small integer arithmetic at import time: partially known values, limits, and what is left to the
// runtime.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldNode } from '../../../../../ts/importers/tensorflow/lower/fold.js';
import type { TensorValue, Value } from '../../../../../ts/importers/tensorflow/lower/values.js';
import type { Dtype } from '../../../../../ts/importers/tensorflow/types.js';
import { type Attrs, bool, int } from '../prepare/graphs.js';

type Ints = readonly (number | undefined)[];

const list = (ints: Ints, dtype: Dtype = 'int32'): TensorValue => ({
  kind: 'tensor',
  dtype,
  shape: [ints.length],
  ints,
  name: 'v',
});
const scalar = (one: number | undefined, dtype: Dtype = 'int32'): TensorValue => ({
  kind: 'tensor',
  dtype,
  shape: [],
  ints: [one],
  name: 's',
});

/** "int32 [1,?]", "int32 3"; undefined if nothing is folded. */
function fold(op: string, inputs: readonly Value[], attributes: Attrs = {}): string | undefined {
  const found = foldNode(
    { name: 'n', op, inputs: [], control: [], attributes: new Map(Object.entries(attributes)) },
    inputs,
  );
  if (found === undefined) return undefined;
  const text = found.ints.map((one) => one ?? '?').join(',');
  return `${found.dtype} ${found.scalar ? text : `[${text}]`}`;
}

test('arithmetic, element by element and with scalars; unknown stays unknown', () => {
  assert.equal(fold('Mul', [list([2, undefined, 3]), scalar(4)]), 'int32 [8,?,12]');
  assert.equal(fold('AddV2', [scalar(1), list([1, 2])]), 'int32 [2,3]');
  assert.equal(fold('Sub', [scalar(1), scalar(2)]), 'int32 -1');
  assert.equal(fold('Add', [list([1]), list([1, 2])]), 'int32 [2,3]');
  assert.equal(fold('Add', [list([]), scalar(2)]), 'int32 []');
  assert.equal(fold('Add', [list([1]), list([])]), 'int32 []');
  assert.equal(fold('Maximum', [list([1, 5]), list([4, 2])]), 'int32 [4,5]');
  assert.equal(fold('Neg', [list([1, undefined])]), 'int32 [-1,?]');
  assert.equal(fold('Abs', [scalar(-3, 'int64')]), 'int64 3');
});

test('division rounds as the operator says; by zero it is left to the runtime', () => {
  assert.equal(fold('FloorDiv', [scalar(-7), scalar(2)]), 'int32 -4');
  assert.equal(fold('TruncateDiv', [scalar(-7), scalar(2)]), 'int32 -3');
  assert.equal(fold('FloorMod', [list([-7, 7]), scalar(3)]), 'int32 [2,1]');
  for (const op of ['FloorDiv', 'TruncateDiv', 'FloorMod']) {
    assert.equal(fold(op, [scalar(1), scalar(0)]), undefined, op);
  }
});

test('results that the type does not hold are left to the runtime, which wraps', () => {
  const large = 2 ** 31 - 1;
  assert.equal(fold('Add', [scalar(large), scalar(1)]), undefined);
  assert.equal(fold('Add', [scalar(large, 'int64'), scalar(1, 'int64')]), `int64 ${2 ** 31}`);
  assert.equal(fold('Mul', [scalar(2 ** 40, 'int64'), scalar(2 ** 40, 'int64')]), undefined);
  assert.equal(fold('Neg', [scalar(-(2 ** 31))]), undefined);
});

test('shapes that do not broadcast, other types and non-tensors are not folded', () => {
  assert.equal(fold('Add', [list([1, 2]), list([1, 2, 3])]), undefined);
  assert.equal(fold('Add', [scalar(1, 'float'), scalar(2, 'float')]), undefined);
  assert.equal(fold('Add', [scalar(1), { kind: 'variable', key: 'v' }]), undefined);
  assert.equal(fold('Add', [scalar(1)]), undefined);
  const noInts = { kind: 'tensor', dtype: 'int32', shape: [2], name: 'x' } as const;
  assert.equal(fold('Add', [noInts, scalar(1)]), undefined);
  assert.equal(fold('Identity', [scalar(1)]), undefined);
});

test('comparisons and logic give bools', () => {
  assert.equal(fold('Less', [list([1, 3]), scalar(2)]), 'bool [1,0]');
  assert.equal(fold('Equal', [scalar(2), scalar(undefined)]), 'bool ?');
  assert.equal(fold('LogicalNot', [scalar(0, 'bool')]), 'bool 1');
  assert.equal(fold('LogicalAnd', [scalar(1, 'bool'), scalar(0, 'bool')]), 'bool 0');
  assert.equal(fold('Select', [scalar(1, 'bool'), list([1]), list([2])]), 'int32 [1]');
  assert.equal(fold('SelectV2', [scalar(0, 'bool'), list([1]), list([2])]), 'int32 [2]');
  assert.equal(fold('SelectV2', [scalar(undefined, 'bool'), list([1]), list([2])]), undefined);
  assert.equal(fold('SelectV2', [scalar(1, 'bool'), list([1]), scalar(2)]), undefined);
});

test('reductions over the one axis need every element', () => {
  assert.equal(fold('Prod', [list([2, 3, 4]), scalar(0)]), 'int32 24');
  assert.equal(fold('Sum', [list([2, 3]), list([-1])], { keep_dims: bool(true) }), 'int32 [5]');
  assert.equal(fold('Prod', [list([]), scalar(0)]), 'int32 1');
  assert.equal(fold('Prod', [list([2, undefined]), scalar(0)]), undefined);
  assert.equal(fold('Max', [list([2, 7]), scalar(1)]), undefined);
  assert.equal(fold('Max', [list([]), scalar(0)]), undefined);
  assert.equal(fold('Sum', [scalar(3), list([])]), undefined);
});

test('putting together and taking apart', () => {
  assert.equal(fold('Pack', [scalar(undefined), scalar(7)], { axis: int(0) }), 'int32 [?,7]');
  assert.equal(fold('Pack', [list([1]), list([2])]), undefined);
  assert.equal(fold('ConcatV2', [list([1]), list([2, undefined]), scalar(0)]), 'int32 [1,2,?]');
  assert.equal(fold('Concat', [scalar(0), list([1]), list([2])]), 'int32 [1,2]');
  assert.equal(fold('Gather', [list([5, 6, 7]), scalar(2)]), 'int32 7');
  assert.equal(fold('GatherV2', [list([5, 6, undefined]), list([2, 0]), scalar(0)]), 'int32 [?,5]');
  assert.equal(fold('GatherV2', [list([5]), scalar(1), scalar(0)]), undefined);
  assert.equal(fold('GatherV2', [list([5]), scalar(-1), scalar(0)]), undefined);
  assert.equal(fold('Slice', [list([1, 2, 3]), list([1]), list([-1])]), 'int32 [2,3]');
  assert.equal(fold('Slice', [list([1, 2, 3]), list([1]), list([3])]), undefined);
});

test('strided slices as TensorFlow takes them', () => {
  const shape = list([undefined, 7, 8, 9]);
  const slice = (begin: number, end: number, step: number, attributes: Attrs = {}) =>
    fold('StridedSlice', [shape, list([begin]), list([end]), list([step])], attributes);
  assert.equal(slice(0, 1, 1, { shrink_axis_mask: int(1) }), 'int32 ?');
  assert.equal(slice(-1, 0, 1, { shrink_axis_mask: int(1) }), 'int32 9');
  assert.equal(slice(1, 3, 1), 'int32 [7,8]');
  assert.equal(slice(1, 99, 2), 'int32 [7,9]');
  assert.equal(slice(0, 0, -1, { begin_mask: int(1), end_mask: int(1) }), 'int32 [9,8,7,?]');
  assert.equal(slice(3, 1, 1), 'int32 []');
  assert.equal(slice(4, 5, 1, { shrink_axis_mask: int(1) }), undefined);
  assert.equal(slice(0, 1, 0), undefined);
  assert.equal(slice(0, 1, 1, { new_axis_mask: int(1) }), undefined);
});

test('ranges and fills are bounded', () => {
  assert.equal(fold('Range', [scalar(0), scalar(6), scalar(2)]), 'int32 [0,2,4]');
  assert.equal(fold('Range', [scalar(3), scalar(0), scalar(-1)]), 'int32 [3,2,1]');
  assert.equal(fold('Range', [scalar(3), scalar(0), scalar(1)]), 'int32 []');
  assert.equal(fold('Range', [scalar(0), scalar(6), scalar(0)]), undefined);
  assert.equal(fold('Range', [scalar(0), scalar(2 ** 30), scalar(1)]), undefined);
  assert.equal(fold('Fill', [list([3]), scalar(7)]), 'int32 [7,7,7]');
  assert.equal(fold('Fill', [list([]), scalar(7)]), 'int32 7');
  assert.equal(fold('Fill', [list([2 ** 31 - 1]), scalar(7)]), undefined);
  assert.equal(fold('Fill', [list([-1]), scalar(7)]), undefined);
  assert.equal(fold('Fill', [list([2, 2]), scalar(7)]), undefined);
});

test('long lists: their largest element is found, and longer ones are not made', () => {
  const long = list(
    Array.from({ length: 60_000 }, (_, i) => i),
    'int64',
  );
  assert.equal(fold('Max', [long, scalar(0)]), 'int64 59999');
  assert.equal(fold('Min', [long, scalar(0)]), 'int64 0');
  assert.equal(fold('ConcatV2', [long, long, scalar(0)]), undefined);
});
