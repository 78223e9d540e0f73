// Selecting between tensors, and finding elements. Source:
// tensorflow/core/kernels/{cwise_op_select,cwise_op_clip,where_op}.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { less, max, min, sub, where } from '../arithmetic/algebra.js';

const selectV2: Lowering = (cx) => where(cx, cx.tensor(0), cx.tensor(1), cx.tensor(2));

/** A vector of conditions selects rows: it is reshaped to a column of the others' rank. */
const select: Lowering = (cx) => {
  const [condition, yes, no] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  const shape = yes.shape ?? no.shape;
  return { ...where(cx, column(cx, condition, yes), yes, no), shape };
};

function column(cx: OpContext, condition: TensorValue, like: TensorValue): TensorValue {
  const [rank, wanted] = [condition.shape?.length, like.shape?.length];
  if (rank === 0 || (rank !== undefined && rank === wanted)) return condition;
  if (rank === 1 && wanted !== undefined) {
    return cx.unsqueeze(
      condition,
      Array.from({ length: wanted - 1 }, (_, i) => i + 1),
    );
  }
  const shape = cx.shapeOf(condition);
  const missing = sub(cx, rankOf(cx, like), rankOf(cx, condition));
  const ones = cx.op('Expand', [cx.int64s([1]), missing], { shape: [undefined] });
  return cx.reshape(
    condition,
    cx.concat([shape, ones], 0),
    like.shape?.map(() => undefined),
  );
}

/** int64 with one element. */
function rankOf(cx: OpContext, value: TensorValue): TensorValue {
  if (value.shape !== undefined) return cx.int64s([value.shape.length]);
  return cx.op('Shape', [cx.shapeOf(value)], { dtype: 'int64', shape: [1] });
}

const clipByValue: Lowering = (cx) => {
  const [x, low, high] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  if (low.shape?.length === 0 && high.shape?.length === 0) {
    const [least, most] = [cx.numbers(1)?.[0], cx.numbers(2)?.[0]];
    const isInOrder = least !== undefined && most !== undefined && least <= most;
    // In ONNX the upper bound wins if it is below the lower one.
    const top = isInOrder ? high : where(cx, less(cx, high, low), low, high);
    return cx.op('Clip', [x, low, top]);
  }
  return min(cx, max(cx, x, low), high);
};

/** Indices of the nonzero elements, one row each. */
const whereTrue: Lowering = (cx) => {
  const x = cx.tensor(0);
  const rank = x.shape?.length;
  const found = cx.op('NonZero', [cx.cast(x, 'bool')], {
    dtype: 'int64',
    shape: [rank, undefined],
  });
  return cx.transpose(found, [1, 0]);
};

export const SELECT: Operators = {
  Select: { lower: select, dtypes: 'any' },
  SelectV2: { lower: selectV2, dtypes: 'any' },
  ClipByValue: { lower: clipByValue },
  Where: { lower: whereTrue, dtypes: 'numeric and bool' },
};
