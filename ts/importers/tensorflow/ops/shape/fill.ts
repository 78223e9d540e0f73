// Tensors filled from numbers and shapes, and tiled tensors. Importer's worker thread.
import { elementCount } from '../../../../model/shape.js';
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { withInts } from '../../lower/graph-builder.js';
import { numbersTensor, stringsTensor } from '../../lower/tensors.js';
import { broadcastShapes, isStatic } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import type { Dtype, Shape } from '../../types.js';
import {
  add,
  and,
  div,
  equal,
  less,
  max,
  mul,
  not,
  number,
  onlyNumber,
  or,
  sub,
  where,
} from '../arithmetic/algebra.js';
import { unlessAny } from '../arithmetic/checks.js';

/** Constants up to this number of elements are created here, larger ones at run time. */
const MADE_HERE_MAX = 64;

/** The shape described by a vector of dims, as far as known. */
const describedShape = (dims: TensorValue): Shape =>
  dims.ints ??
  (dims.shape?.[0] === undefined
    ? undefined
    : Array.from({ length: dims.shape[0] }, () => undefined));

const fill: Lowering = (cx) => {
  const [dims, value] = [cx.tensor(0), cx.tensor(1)];
  const shape = describedShape(dims);
  return cx.op('Expand', [value, cx.cast(dims, 'int64')], { shape });
};

/** Elements are arbitrary; zeros are used. */
const empty: Lowering = (cx) => {
  const dims = cx.tensor(0);
  const zero = cx.constant(zeroOrOne(cx.type('dtype'), 0));
  return cx.op('Expand', [zero, cx.cast(dims, 'int64')], { shape: describedShape(dims) });
};

function zeroOrOne(dtype: Dtype, value: number): Parameters<OpContext['constant']>[0] {
  return dtype === 'string' ? stringsTensor([], ['']) : numbersTensor(dtype, [], [value]);
}

const like =
  (value: number): Lowering =>
  (cx) => {
    const x = cx.tensor(0);
    if (isStatic(x.shape) && x.dtype !== 'string' && elementCount(x.shape) <= MADE_HERE_MAX) {
      const values = Array<number>(elementCount(x.shape)).fill(value);
      return cx.constant(numbersTensor(x.dtype, x.shape, values));
    }
    const one = cx.constant(zeroOrOne(x.dtype, value));
    return cx.op('Expand', [one, cx.shapeOf(x)], { shape: x.shape });
  };

const tile: Lowering = (cx) => {
  const [value, multiples] = [cx.tensor(0), cx.tensor(1)];
  const rank = value.shape?.length ?? multiples.shape?.[0];
  if (rank === 0) return value;
  const shape =
    rank === undefined
      ? undefined
      : Array.from({ length: rank }, (_, axis) => {
          const [dim, times] = [value.shape?.[axis], multiples.ints?.[axis]];
          return dim === undefined || times === undefined ? undefined : dim * times;
        });
  return cx.op('Tile', [value, cx.cast(multiples, 'int64')], { shape });
};

const broadcastTo: Lowering = (cx) => {
  const [value, dims] = [cx.tensor(0), cx.tensor(1)];
  const wide = cx.cast(dims, 'int64');
  const to = isWider(value.shape, dims.ints) ? wide : checkedDims(cx, value, wide);
  return cx.op('Expand', [value, to], { shape: describedShape(dims) });
};

/** Whether the shape is known to broadcast to these dims. */
function isWider(shape: Shape, dims: TensorValue['ints']): boolean {
  if (shape === undefined || dims === undefined || dims.length < shape.length) return false;
  return shape.every((dim, axis) => {
    const to = dims[dims.length - shape.length + axis];
    return dim === 1 || (dim !== undefined && dim === to);
  });
}

/** ONNX's Expand broadcasts in both directions. */
function checkedDims(cx: OpContext, value: TensorValue, dims: TensorValue): TensorValue {
  const [out] = cx.custom(
    'BroadcastDims',
    [cx.shapeOf(value), dims],
    [{ dtype: 'int64', shape: dims.shape }],
  );
  return out ?? cx.fail('BroadcastDims has no output');
}

/**
 * The shape that two shapes broadcast to: both padded with leading ones to the longer one's length.
 */
const broadcastArgs: Lowering = (cx) => {
  const [a, b] = [cx.tensor(0), cx.tensor(1)];
  const known = broadcastShapes(a.ints, b.ints);
  const [m, n] = [cx.shapeOf(a), cx.shapeOf(b)];
  const rank = max(cx, m, n);
  const widened = (value: TensorValue, length: TensorValue): TensorValue => {
    const ones = cx.op('Expand', [cx.scalar(a.dtype, 1), sub(cx, rank, length)], {
      shape: [undefined],
    });
    return cx.concat([ones, value], 0);
  };
  const [x, y] = [widened(a, m), widened(b, n)];
  const one = number(cx, x, 1);
  const isOne = equal(cx, x, one);
  const fits = or(cx, or(cx, isOne, equal(cx, y, one)), equal(cx, x, y));
  const text = 'Incompatible shapes';
  const out = where(cx, isOne, y, known === undefined ? unlessAny(cx, not(cx, fits), x, text) : x);
  if (known === undefined) return { ...out, shape: [rank.ints?.[0]] };
  return withInts({ ...out, shape: [known.length] }, known);
};

const range: Lowering = (cx) => {
  const scalar = (index: number): TensorValue => ({ ...cx.tensor(index), shape: [] });
  const [start, limit, delta] = [scalar(0), scalar(1), scalar(2)];
  const checked = isForward(cx, start, limit, delta)
    ? start
    : checkedStart(cx, start, limit, delta);
  return cx.op('Range', [checked, limit, delta], { shape: [undefined] });
};

/** Whether the range is known to go from its start to a limit not below it. */
function isForward(
  cx: OpContext,
  start: TensorValue,
  limit: TensorValue,
  delta: TensorValue,
): boolean {
  const [from, to, step] = [start, limit, delta].map((one) => one.ints?.[0]);
  if (from === undefined || step === undefined || step <= 0) return false;
  if (to !== undefined) return to >= from;
  return from <= 0 && cx.builder.model.facts.isNotNegative(limit.name ?? '');
}

/** ONNX returns an empty range if the step leads away from the limit. */
function checkedStart(
  cx: OpContext,
  start: TensorValue,
  limit: TensorValue,
  delta: TensorValue,
): TensorValue {
  const zero = number(cx, delta, 0);
  const shown = cx.concat([cx.reshape(start, [1]), cx.reshape(limit, [1])], 0);
  const isAway = (up: TensorValue, before: TensorValue, after: TensorValue): TensorValue =>
    and(cx, up, less(cx, after, before));
  const noStep = unlessAny(
    cx,
    equal(cx, delta, zero),
    start,
    'Requires delta != 0: {0}',
    cx.reshape(delta, [1]),
  );
  const step = onlyNumber(cx, 2);
  const upward =
    step !== undefined && step < 0
      ? noStep
      : unlessAny(
          cx,
          isAway(less(cx, zero, delta), start, limit),
          noStep,
          'Requires start <= limit when delta > 0: {0}/{1}',
          shown,
        );
  if (step !== undefined && step > 0) return upward;
  return unlessAny(
    cx,
    isAway(less(cx, delta, zero), limit, start),
    upward,
    'Requires start >= limit when delta < 0: {0}/{1}',
    shown,
  );
}

/** start + i * (stop - start) / (num - 1), and stop itself at the end. */
const linSpace: Lowering = (cx) => {
  const [start, stop, num] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  const wide = start.dtype === 'double' ? 'double' : 'float';
  const [from, to] = [cx.cast(start, wide), cx.cast(stop, wide)];
  const fewest = onlyNumber(cx, 2);
  if (fewest !== undefined && fewest < 1) cx.fail(`num ${fewest}: expected 1 or more`);
  const given = cx.cast(num, 'int64');
  const isWrong = less(cx, given, cx.scalar('int64', 1));
  const count =
    fewest === undefined
      ? unlessAny(cx, isWrong, given, 'Requires num > 0: {0}', cx.reshape(given, [1]))
      : given;
  const index = cx.op('Range', [cx.scalar('int64', 0), count, cx.scalar('int64', 1)], {
    shape: [num.ints?.[0]],
  });
  const last = max(cx, sub(cx, count, cx.scalar('int64', 1)), cx.scalar('int64', 1));
  const step = div(cx, sub(cx, to, from), cx.cast(last, wide));
  const even = add(cx, from, mul(cx, cx.cast(index, wide), step));
  const isLast = equal(cx, index, last);
  return cx.cast(where(cx, isLast, to, even), start.dtype);
};

/** Computed by comparison: an index outside, including -1, gives a row of off values. */
const oneHot: Lowering = (cx) => {
  const [indices, depth, on, off] = [cx.tensor(0), cx.tensor(1), cx.tensor(2), cx.tensor(3)];
  const axis = cx.int('axis', -1);
  const rank = cx.rank(indices, 'its indices');
  const at = axis < 0 ? rank : axis;
  const known = depth.ints?.[0];
  if (known !== undefined && known < 0) cx.fail(`depth ${known} is below 0`);
  const wide = cx.cast(depth, 'int64');
  const isWrong = less(cx, wide, cx.scalar('int64', 0));
  const text = 'depth must be non-negative, got: {0}';
  const isSeen = known !== undefined || cx.builder.model.facts.isNotNegative(wide.name ?? '');
  const count = isSeen ? wide : unlessAny(cx, isWrong, wide, text, cx.reshape(wide, [1]));
  const classes = cx.op('Range', [cx.scalar('int64', 0), count, cx.scalar('int64', 1)], {
    shape: [known],
  });
  const after = Array.from({ length: rank - at }, (_, i) => i + 1);
  const column = cx.unsqueeze(cx.cast(indices, 'int64'), [at]);
  return where(cx, equal(cx, cx.unsqueeze(classes, after), column), on, off);
};

export const FILL: Operators = {
  Fill: { lower: fill, dtypes: 'any' },
  ZerosLike: { lower: like(0), dtypes: 'any' },
  OnesLike: { lower: like(1) },
  Empty: { lower: empty, dtypes: 'any', note: 'returns zeros' },
  Tile: { lower: tile, dtypes: 'any' },
  BroadcastTo: { lower: broadcastTo, dtypes: 'any' },
  BroadcastArgs: { lower: broadcastArgs, dtypes: 'int32, int64' },
  Range: { lower: range },
  LinSpace: { lower: linSpace, dtypes: 'floating' },
  OneHot: { lower: oneHot, dtypes: 'integer indices' },
};
