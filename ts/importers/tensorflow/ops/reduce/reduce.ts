// Reductions. Source: tensorflow/core/kernels/reduction_ops_common.h. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { Shape } from '../../types.js';
import { isFloating } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { computable } from '../features/attributes.js';
import { abs, add, div, less, min, mul, not, number, where } from '../arithmetic/algebra.js';

interface Axes {
  /** Counted from the front if the rank is known. */
  readonly known: readonly number[] | undefined;
  /** int64 of rank 1. */
  readonly value: TensorValue;
}

/**
 * ONNX Runtime 1.30 does not reduce along negative axes if a tensor is empty, so all are counted
 * from the front.
 */
function axesOf(cx: OpContext, value: TensorValue): Axes {
  const numbers = cx.numbers(1);
  const rank = value.shape?.length;
  if (numbers === undefined) {
    const given = cx.reshape(cx.cast(cx.tensor(1), 'int64'), [-1]);
    return { known: undefined, value: checkedAxes(cx, value, given) };
  }
  const known = rank === undefined ? numbers : numbers.map((axis) => cx.axis(axis, rank));
  if (new Set(known).size !== known.length) cx.fail(`axes [${numbers.join(',')}] repeat`);
  const axes = cx.int64s(known);
  return { known, value: known.some((axis) => axis < 0) ? fromFront(cx, value, axes) : axes };
}

/** Axes known only at run time. */
function checkedAxes(cx: OpContext, value: TensorValue, axes: TensorValue): TensorValue {
  const rank = cx.op('Size', [cx.shapeOf(value)], { dtype: 'int64', shape: [] });
  const [out] = cx.custom('ReductionAxes', [rank, axes], [{ dtype: 'int64', shape: axes.shape }]);
  return out ?? cx.fail('ReductionAxes has no output');
}

function fromFront(cx: OpContext, value: TensorValue, axes: TensorValue): TensorValue {
  const rank = cx.op('Size', [cx.shapeOf(value)], { dtype: 'int64', shape: [] });
  const isNegative = less(cx, axes, cx.scalar('int64', 0));
  return where(cx, isNegative, add(cx, axes, rank), axes);
}

function reducedShape(value: TensorValue, axes: Axes, keeps: boolean): Shape {
  const { shape } = value;
  if (shape === undefined) return undefined;
  const { known } = axes;
  if (known === undefined) return keeps ? shape.map(() => undefined) : undefined;
  return keeps
    ? shape.map((dim, axis) => (known.includes(axis) ? 1 : dim))
    : shape.filter((_, axis) => !known.includes(axis));
}

/** `type` over the axes of input 1; without axes nothing is reduced. */
function reduced(
  cx: OpContext,
  type: string,
  value: TensorValue,
  axes = axesOf(cx, value),
): TensorValue {
  if (axes.known?.length === 0) return value;
  const pooled = overImage(cx, type, value, axes);
  if (pooled !== undefined) return pooled;
  const keeps = cx.bool('keep_dims', false);
  const attributes = { keepdims: { int: keeps ? 1 : 0 }, noop_with_empty_axes: { int: 1 } };
  return cx.op(type, [value, axes.value], { shape: reducedShape(value, axes, keeps), attributes });
}

/**
 * Reduction over both spatial axes of images [N, H, W, C] from convolutions: with the channels
 * first, the transpose after the last convolution is eliminated too. undefined in all other cases.
 */
function overImage(
  cx: OpContext,
  type: string,
  value: TensorValue,
  axes: Axes,
): TensorValue | undefined {
  const turned = imageOf(cx, value, axes);
  if (turned === undefined) return undefined;
  return cx.op(type, [turned, cx.int64s([2, 3])], {
    shape: [turned.shape?.[0], turned.shape?.[1]],
    attributes: { keepdims: { int: 0 } },
  });
}

/** The image with the channels first; undefined if it is not one. */
function imageOf(cx: OpContext, value: TensorValue, { known }: Axes): TensorValue | undefined {
  const isSpatial =
    value.shape?.length === 4 &&
    known?.length === 2 &&
    known.includes(1) &&
    known.includes(2) &&
    !cx.bool('keep_dims', false);
  if (!isSpatial || !cx.builder.nodes.some(({ op }) => op === 'Conv')) return undefined;
  return cx.transpose(value, [0, 3, 1, 2]);
}

/** Serval's own operator: the runtime's result for NaN depends on its position. */
function extreme(cx: OpContext, type: string, value: TensorValue): TensorValue {
  const axes = axesOf(cx, value);
  if (axes.known?.length === 0) return value;
  const wide = computable(cx, value);
  const image = imageOf(cx, wide, axes);
  const keeps = cx.bool('keep_dims', false);
  const [out] = cx.custom(
    type,
    image === undefined ? [axes.value, wide] : [cx.int64s([2, 3]), image],
    [{ dtype: wide.dtype, shape: reducedShape(value, axes, keeps) }],
    { keepdims: { int: keeps ? 1 : 0 } },
  );
  return out === undefined ? cx.fail('has no output') : cx.cast(out, value.dtype);
}

const reduce =
  (type: string): Lowering =>
  (cx) => {
    const value = cx.tensor(0);
    if (isFloating(value.dtype) && (type === 'ReduceMax' || type === 'ReduceMin')) {
      return extreme(cx, type, value);
    }
    if (value.dtype === 'uint64' && type !== 'ReduceSum' && type !== 'ReduceProd') {
      return cx.fail('uint64 is not supported');
    }
    return reduced(cx, type, value);
  };

/** Computed with integers: the runtime does not reduce empty bool tensors. */
const anyTrue: Lowering = (cx) => {
  const none = reduced(cx, 'ReduceMin', cx.cast(not(cx, cx.tensor(0)), 'int32'));
  return not(cx, cx.cast(none, 'bool'));
};

const allTrue: Lowering = (cx) =>
  cx.cast(reduced(cx, 'ReduceMin', cx.cast(cx.tensor(0), 'int32')), 'bool');

/** The mean of nothing is NaN, but 0 in the runtime, so it is then divided by 0. */
const mean: Lowering = (cx) => {
  const value = cx.tensor(0);
  if (value.dtype === 'uint64') return cx.fail('uint64 is not supported');
  const axes = axesOf(cx, value);
  const out = reduced(cx, 'ReduceMean', value, axes);
  const isSure = axes.known?.every((axis) => (value.shape?.[axis] ?? 0) > 0);
  if (isSure || !isFloating(value.dtype)) return out;
  const dims = cx.op('Gather', [cx.shapeOf(value), axes.value], { shape: axes.value.shape });
  const count = cx.op('ReduceProd', [dims], { shape: [], attributes: { keepdims: { int: 0 } } });
  return div(cx, out, cx.cast(min(cx, count, cx.scalar('int64', 1)), value.dtype));
};

/** The root of the sum of squares; without axes it is the magnitude of each element. */
const euclideanNorm: Lowering = (cx) => {
  const value = cx.tensor(0);
  return cx.numbers(1)?.length === 0 ? abs(cx, value) : reduced(cx, 'ReduceL2', value);
};

const l2Loss: Lowering = (cx) => {
  const value = cx.tensor(0);
  const sum = cx.op('ReduceSumSquare', [value], {
    shape: [],
    attributes: { keepdims: { int: 0 } },
  });
  return mul(cx, sum, number(cx, sum, 0.5));
};

export const REDUCE: Operators = {
  Sum: { lower: reduce('ReduceSum') },
  Mean: { lower: mean },
  Max: { lower: reduce('ReduceMax') },
  Min: { lower: reduce('ReduceMin') },
  Prod: { lower: reduce('ReduceProd') },
  Any: { lower: anyTrue, dtypes: 'bool' },
  All: { lower: allTrue, dtypes: 'bool' },
  EuclideanNorm: { lower: euclideanNorm },
  L2Loss: { lower: l2Loss, dtypes: 'floating' },
};
