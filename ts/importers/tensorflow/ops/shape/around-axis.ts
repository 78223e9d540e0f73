// A tensor reshaped to [before, size, after] around an axis known only at run time. Importer's
// worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add, less, where } from '../arithmetic/algebra.js';

export interface AroundAxis {
  /** Rank 3. */
  readonly value: TensorValue;
  /** The dims before and after the axis, and its size; all int64 of rank 1. */
  readonly before: TensorValue;
  readonly size: TensorValue;
  readonly after: TensorValue;
}

const ALL = 2 ** 31 - 1;

export function aroundAxis(cx: OpContext, value: TensorValue, axis: TensorValue): AroundAxis {
  const shape = cx.shapeOf(value);
  const rank = cx.op('Size', [shape], { dtype: 'int64', shape: [] });
  const given = cx.reshape(cx.cast(axis, 'int64'), [1]);
  const at = where(cx, less(cx, given, cx.scalar('int64', 0)), add(cx, given, rank), given);
  const next = add(cx, at, cx.int64s([1]));
  const slice = (from: TensorValue, to: TensorValue): TensorValue =>
    cx.op('Slice', [shape, from, to, cx.int64s([0])], { shape: [undefined] });
  const before = slice(cx.int64s([0]), at);
  const after = slice(next, cx.int64s([ALL]));
  const size = cx.op('Gather', [shape, at], { shape: [1] });
  const product = (dims: TensorValue): TensorValue =>
    cx.op('ReduceProd', [dims], { shape: [1], attributes: { keepdims: { int: 1 } } });
  const three = cx.concat([product(before), size, product(after)], 0);
  const shaped = cx.reshape(value, three, [undefined, undefined, undefined]);
  return { value: shaped, before, size, after };
}
