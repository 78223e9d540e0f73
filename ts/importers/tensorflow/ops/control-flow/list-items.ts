// The tensor of a TensorList's items: [length, ...element]. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import { checkedIndices, sizeOfAxis } from '../arithmetic/checks.js';
import { numbersTensor, stringsTensor } from '../../lower/tensors.js';
import { isStatic, type ListValue, type TensorValue } from '../../lower/values.js';

/**
 * The list's items; if none was ever set, zeros of the element's shape if that is known, else an
 * empty tensor that the first item replaces.
 */
export function shapedItems(cx: OpContext, list: ListValue): TensorValue {
  if (list.items !== undefined) return list.items;
  const { elementShape, dtype } = list;
  if (!isStatic(elementShape)) return emptyItems(cx, list);
  const dims = cx.concat([cx.reshape(list.length, [1]), cx.int64s(elementShape)], 0);
  return filled(cx, dims, list, [undefined, ...elementShape], dtype);
}

/** No items yet, with an unknown shape: distinguished from a real list by its first dim, 0. */
export function emptyItems(cx: OpContext, { dtype }: ListValue): TensorValue {
  const empty = dtype === 'string' ? stringsTensor([0], []) : numbersTensor(dtype, [0], []);
  const { shape: _, ...value } = cx.op('Identity', [cx.constant(empty)]);
  return { ...value, shape: undefined };
}

/** A tensor of these dims (int64, rank 1) filled with zeros, or with empty strings. */
export function filled(
  cx: OpContext,
  dims: TensorValue,
  { dtype }: Pick<ListValue, 'dtype'>,
  shape: TensorValue['shape'],
  as = dtype,
): TensorValue {
  const zero = as === 'string' ? stringsTensor([], ['']) : numbersTensor(as, [], [0]);
  return cx.op('Expand', [cx.constant(zero), dims], { shape, dtype: as });
}

/** Indices checked to be inside a list with these items; others fail the request with `text`. */
export function insideList(
  cx: OpContext,
  places: TensorValue,
  items: TensorValue,
  text: string,
): TensorValue {
  return checkedIndices(cx, places, sizeOfAxis(cx, items, 0), { below: text, beyond: text });
}

/** `index` (a scalar) as the indices of one ScatterND or Gather row. */
export function rowIndex(cx: OpContext, index: TensorValue): TensorValue {
  return cx.reshape(cx.cast(index, 'int64'), [1, 1]);
}
