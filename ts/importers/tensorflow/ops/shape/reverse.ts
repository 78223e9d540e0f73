// Reversing and rolling axes. Source: tensorflow/core/kernels/{reverse_op,roll_op}.cc. Importer's
// worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { binary, max, sub } from '../arithmetic/algebra.js';
import { TO_END } from './slice.js';

const BEFORE_START = -(2 ** 31 - 1);

function reversed(cx: OpContext, value: TensorValue, axes: readonly number[]): TensorValue {
  if (axes.length === 0) return value;
  const all = (one: number): TensorValue => cx.int64s(axes.map(() => one));
  return cx.op('Slice', [value, all(-1), all(BEFORE_START), cx.int64s(axes), all(-1)]);
}

const reverse: Lowering = (cx) => {
  const flags = cx.requireNumbers(1, 'dims');
  return reversed(
    cx,
    cx.tensor(0),
    flags.flatMap((flag, axis) => (flag === 0 ? [] : [axis])),
  );
};

const reverseV2: Lowering = (cx) => {
  const value = cx.tensor(0);
  const axes = cx.numbers(1);
  if (axes !== undefined) {
    const rank = value.shape?.length;
    return reversed(
      cx,
      value,
      axes.map((axis) => (rank === undefined ? axis : cx.axis(axis, rank))),
    );
  }
  const given = cx.tensor(1);
  const all = (one: number): TensorValue =>
    cx.op('Expand', [cx.int64s([one]), cx.shapeOf(given)], { shape: given.shape });
  return cx.op('Slice', [value, all(-1), all(BEFORE_START), cx.cast(given, 'int64'), all(-1)]);
};

/** Elements shifted out at one end enter at the other. */
const roll: Lowering = (cx) => {
  const axes = cx.requireNumbers(2, 'axis');
  const value = cx.tensor(0);
  const rank = cx.rank(value);
  const shifts = cx.reshape(cx.cast(cx.tensor(1), 'int64'), [axes.length]);
  return axes.reduce((turned, axis, i) => {
    const shift = cx.op('Gather', [shifts, cx.int64s([i])], { shape: [1] });
    return turn(cx, turned, shift, cx.axis(axis, rank));
  }, value);
};

function turn(cx: OpContext, value: TensorValue, shift: TensorValue, axis: number): TensorValue {
  const size = cx.op('Gather', [cx.shapeOf(value), cx.int64s([axis])], { shape: [1] });
  // An empty axis has nothing to roll, and no remainder.
  const divisor = max(cx, size, cx.int64s([1]));
  const cut = binary(cx, 'Mod', sub(cx, cx.int64s([0]), shift), divisor);
  const free = value.shape?.map((dim, each) => (each === axis ? undefined : dim));
  const part = (from: TensorValue, to: TensorValue): TensorValue =>
    cx.op('Slice', [value, from, to, cx.int64s([axis])], { shape: free });
  const joined = cx.concat([part(cut, cx.int64s([TO_END])), part(cx.int64s([0]), cut)], axis);
  return { ...joined, shape: value.shape };
}

export const REVERSE: Operators = {
  Reverse: { lower: reverse, dtypes: 'any', note: 'dims must be a constant' },
  ReverseV2: { lower: reverseV2, dtypes: 'any' },
  Roll: { lower: roll, dtypes: 'any', note: 'axis must be a constant' },
};
