// Indices of the largest and smallest elements; the first of equal ones in both systems. Source:
// tensorflow/core/kernels/argmax_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import type { Dtype } from '../../types.js';
import { equal, less, number, onlyNumber, where } from '../arithmetic/algebra.js';
import { sizeOfAxis, unlessAny } from '../arithmetic/checks.js';
import { aroundAxis } from '../shape/around-axis.js';

type ArgType = 'ArgMax' | 'ArgMin';

/** The largest finite numbers. */
const LARGEST: Partial<Record<Dtype, number>> = {
  half: 65504,
  bfloat16: 2 ** 127 * (2 - 2 ** -7),
  float: 2 ** 127 * (2 - 2 ** -23),
  double: Number.MAX_VALUE,
};

/**
 * Floats that are not above the lowest number (ArgMax), including NaN, become that number:
 * TensorFlow starts with it and the first index, and moves on only to larger elements.
 */
function withoutNan(cx: OpContext, value: TensorValue, type: ArgType): TensorValue {
  const limit = LARGEST[value.dtype];
  if (limit === undefined) return value;
  const end = number(cx, value, type === 'ArgMax' ? -limit : limit);
  const [low, high] = type === 'ArgMax' ? [end, value] : [value, end];
  return where(cx, less(cx, low, high), value, end);
}

/** The value; the request fails if its axis has no elements. */
function someOf(cx: OpContext, value: TensorValue, found: number | undefined): TensorValue {
  const rank = value.shape?.length;
  if (rank === undefined || found === undefined) return value;
  const axis = cx.axis(found, rank);
  const dim = value.shape?.[axis];
  if (dim !== undefined && dim > 0) return value;
  const isEmpty = equal(cx, sizeOfAxis(cx, value, axis), cx.int64s([0]));
  return unlessAny(cx, isEmpty, value, `Reduction axis ${axis} is empty`);
}

const arg =
  (type: ArgType): Lowering =>
  (cx) => {
    const given = cx.tensor(0);
    if (given.dtype === 'uint64') return cx.fail('uint64 is not supported');
    const dtype = cx.type('output_type', 'int64');
    const found = onlyNumber(cx, 1);
    const value = someOf(cx, withoutNan(cx, given, type), found);
    const options = (axis: number) => ({
      dtype: 'int64' as const,
      attributes: { axis: { int: axis }, keepdims: { int: 0 } },
    });
    if (found !== undefined) {
      const rank = value.shape?.length;
      const axis = rank === undefined ? found : cx.axis(found, rank);
      const shape = value.shape?.filter((_, each) => each !== axis);
      const out = cx.cast(cx.op(type, [value], { ...options(axis), shape }), dtype);
      if (axis >= 0) cx.builder.model.facts.noteBelow(out.name, value.shape?.[axis]);
      return out;
    }
    const around = aroundAxis(cx, value, cx.tensor(1));
    const out = cx.op(type, [around.value], { ...options(1), shape: [undefined, undefined] });
    const shape = value.shape?.slice(1).map(() => undefined);
    return cx.cast(cx.reshape(out, cx.concat([around.before, around.after], 0), shape), dtype);
  };

export const ARG: Operators = {
  ArgMax: { lower: arg('ArgMax') },
  ArgMin: { lower: arg('ArgMin') },
};
