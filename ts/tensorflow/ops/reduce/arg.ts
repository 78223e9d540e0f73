// Where the largest and smallest elements are. Tier T1. The first of equal ones in both.
// Source: tensorflow/core/kernels/argmax_op.cc.
// Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import { onlyNumber } from '../arithmetic/algebra.js';
import { aroundAxis } from '../shape/around-axis.js';

const arg =
  (type: string): Lowering =>
  (cx) => {
    const value = cx.tensor(0);
    if (value.dtype === 'uint64') return cx.fail('uint64 is not supported');
    const dtype = cx.type('output_type', 'int64');
    const found = onlyNumber(cx, 1);
    const options = (axis: number) => ({
      dtype: 'int64' as const,
      attributes: { axis: { int: axis }, keepdims: { int: 0 } },
    });
    if (found !== undefined) {
      const rank = value.shape?.length;
      const axis = rank === undefined ? found : cx.axis(found, rank);
      const shape = value.shape?.filter((_, each) => each !== axis);
      return cx.cast(cx.op(type, [value], { ...options(axis), shape }), dtype);
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
