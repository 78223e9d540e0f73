// Transpose with an order known only at run time, through the index of every element: ONNX takes
// the order as an attribute. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add, equal, less, mul, not, oneUnlessAny, where } from '../arithmetic/algebra.js';

const WRONG_ORDER = 'perm must name each dimension once';

/** `order` is a vector of int32 or int64; the rank is the value's, or the order's length. */
export function transposeFed(cx: OpContext, value: TensorValue, order: TensorValue): TensorValue {
  const rank =
    value.shape?.length ??
    order.shape?.[0] ??
    cx.fail('perm (input 1) must be a constant where the rank is not known');
  if (rank === 0) return value;
  const said = cx.reshape(cx.cast(order, 'int64'), [rank]);
  const isNegative = less(cx, said, cx.scalar('int64', 0));
  const given = where(cx, isNegative, add(cx, said, cx.scalar('int64', rank)), said);
  const dims = cx.reshape(cx.shapeOf(value), [rank]);
  const strides = stridesOf(cx, dims, rank);
  const ok = oneUnlessAny(cx, notOnce(cx, given, rank), 'int64', WRONG_ORDER);
  const [sizes, steps] = [taken(cx, dims, given), mul(cx, taken(cx, strides, given), ok)];
  let places: TensorValue | undefined;
  for (let axis = 0; axis < rank; axis++) {
    const count = cx.reshape(cx.slice(sizes, [axis], [axis + 1], [0]), []);
    const along = cx.op('Range', [cx.scalar('int64', 0), count, cx.scalar('int64', 1)], {
      shape: [undefined],
    });
    const offsets = mul(cx, along, cx.slice(steps, [axis], [axis + 1], [0]));
    const trailing = Array.from({ length: rank - 1 - axis }, (_, i) => i + 1);
    const shaped = cx.unsqueeze(offsets, trailing);
    places = places === undefined ? shaped : add(cx, places, shaped);
  }
  if (places === undefined) return value;
  return cx.rows(cx.reshape(value, [-1]), places, places.shape);
}

const taken = (cx: OpContext, values: TensorValue, at: TensorValue): TensorValue =>
  cx.op('Gather', [values, at], { shape: at.shape, attributes: { axis: { int: 0 } } });

/** Strides of the axes: int64 [rank]. */
function stridesOf(cx: OpContext, dims: TensorValue, rank: number): TensorValue {
  let stride = cx.int64s([1]);
  const strides = [stride];
  for (let axis = rank - 1; axis > 0; axis--) {
    stride = mul(cx, stride, cx.slice(dims, [axis], [axis + 1], [0]));
    strides.unshift(stride);
  }
  return cx.concat(strides, 0);
}

/** For each axis, whether the order does not contain it exactly once. */
function notOnce(cx: OpContext, order: TensorValue, rank: number): TensorValue {
  const axes = cx.reshape(cx.int64s(Array.from({ length: rank }, (_, i) => i)), [rank, 1]);
  const named = cx.cast(equal(cx, axes, order), 'int64');
  const counts = cx.op('ReduceSum', [named, cx.int64s([1])], {
    shape: [rank],
    attributes: { keepdims: { int: 0 } },
  });
  return not(cx, equal(cx, counts, cx.scalar('int64', 1)));
}
