// The largest elements. Tier T1. Equal ones come in the order of their indices in both.
// Source: tensorflow/core/kernels/topk_op.cc.
// Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import {
  abs,
  and,
  equal,
  greaterOrEqual,
  less,
  not,
  number,
  where,
} from '../arithmetic/algebra.js';

function largest(cx: OpContext, k: TensorValue, known: number | undefined): TensorValue[] {
  const x = cx.tensor(0);
  if (x.dtype === 'uint64') return cx.fail('uint64 is not supported');
  const shape = x.shape === undefined ? undefined : [...x.shape.slice(0, -1), known];
  const sorted = cx.bool('sorted', true) ? 1 : 0;
  const outputs = [
    { dtype: x.dtype, shape },
    { dtype: 'int64', shape },
  ] as const;
  const [values, indices] = cx.ops('TopK', [x, k], outputs, {
    axis: { int: -1 },
    largest: { int: 1 },
    sorted: { int: sorted },
  });
  if (values === undefined || indices === undefined) return cx.fail('has no outputs');
  return [values, cx.cast(indices, cx.type('index_type', 'int32'))];
}

const topK: Lowering = (cx) => {
  const k = cx.int('k');
  return largest(cx, cx.int64s([k]), k);
};

const topKV2: Lowering = (cx) => {
  const k = cx.tensor(1);
  const known = k.ints?.[0];
  return largest(cx, known === undefined ? cx.reshape(k, [1]) : cx.int64s([known]), known);
};

/** Whether fewer than k predictions are larger than the target's; never where a prediction is not
 * finite or the target is no class. */
function inTopK(cx: OpContext, k: TensorValue): TensorValue {
  const [predictions, targets] = [cx.tensor(0), cx.cast(cx.tensor(1), 'int64')];
  const zero = cx.scalar('int64', 0);
  const classes = cx.op('Gather', [cx.shapeOf(predictions), cx.scalar('int64', 1)], { shape: [] });
  const isClass = and(cx, less(cx, targets, classes), greaterOrEqual(cx, targets, zero));
  const rows = cx.unsqueeze(where(cx, isClass, targets, zero), [1]);
  const target = cx.op('GatherElements', [predictions, rows], {
    shape: [predictions.shape?.[0], 1],
    attributes: { axis: { int: 1 } },
  });
  const counted = (flags: TensorValue): TensorValue =>
    cx.op('ReduceSum', [cx.cast(flags, 'int64'), cx.int64s([1])], {
      shape: [predictions.shape?.[0]],
      attributes: { keepdims: { int: 0 } },
    });
  const larger = counted(less(cx, target, predictions));
  const isFinite = less(cx, abs(cx, predictions), number(cx, predictions, Infinity));
  const isKnown = equal(cx, counted(not(cx, isFinite)), zero);
  return and(cx, and(cx, isClass, isKnown), less(cx, larger, k));
}

const inTopKV1: Lowering = (cx) => inTopK(cx, cx.scalar('int64', cx.int('k')));
const inTopKV2: Lowering = (cx) => inTopK(cx, cx.cast(cx.tensor(2), 'int64'));

export const TOP_K: Operators = {
  TopK: { lower: topK },
  TopKV2: { lower: topKV2 },
  InTopK: { lower: inTopKV1, dtypes: 'float' },
  InTopKV2: { lower: inTopKV2, dtypes: 'float' },
};
