// The largest elements, by Serval's own operator, which orders NaN as TensorFlow does. Source:
// tensorflow/core/kernels/topk_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { computable, typeNumber } from '../features/attributes.js';
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
  const given = computable(cx, x);
  const shape = x.shape === undefined ? undefined : [...x.shape.slice(0, -1), known];
  const wanted = cx.type('index_type', 'int32');
  const dtype = wanted === 'int64' ? wanted : 'int32';
  const [values, indices] = cx.custom(
    'TopK',
    [k, given],
    [
      { dtype: given.dtype, shape },
      { dtype, shape },
    ],
    { sorted: { int: cx.bool('sorted', true) ? 1 : 0 }, index_type: { int: typeNumber(dtype) } },
  );
  if (values === undefined || indices === undefined) return cx.fail('has no outputs');
  cx.builder.model.facts.noteBelow(indices.name, x.shape?.at(-1));
  return [cx.cast(values, x.dtype), cx.cast(indices, wanted)];
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

/**
 * Whether fewer than k predictions are larger than the target's; false if a prediction is not
 * finite or the target is not a class.
 */
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
