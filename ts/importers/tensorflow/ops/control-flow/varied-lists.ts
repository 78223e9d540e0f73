// Lists whose items differ in shape: all elements in one tensor, one item after the other, and the
// dims of each. Such lists are discovered during lowering, which is then repeated with those
// recorded. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import { numbersTensor, stringsTensor } from '../../lower/tensors.js';
import {
  isStatic,
  type ListValue,
  type TensorValue,
  type VariedItems,
  type VariedPart,
} from '../../lower/values.js';
import type { Shape } from '../../types.js';

const ALL = Number.MAX_SAFE_INTEGER;

/** Records that the items of a list differ in shape, for the next attempt. */
export function noteVaried(
  cx: OpContext,
  origin: string | undefined,
  parts: readonly VariedPart[],
): void {
  const { varied } = cx.builder.model;
  if (origin !== undefined && !varied.has(origin)) varied.set(origin, parts);
}

/** The same for a list that was written item by item, if its items' shape is unknown. */
export function suspectVaried(cx: OpContext, list: ListValue, element: Shape): void {
  if (list.written !== true || element === undefined || element.length === 0) return;
  if (!isStatic(element)) {
    noteVaried(cx, list.origin, [{ dtype: list.dtype, rank: element.length }]);
  }
}

/** The same if an item is set that may differ in shape from earlier ones. */
export function suspectItem(cx: OpContext, list: ListValue, item: TensorValue): void {
  const { elementShape: before, declared } = list;
  const { shape } = item;
  if (list.written !== true || before === undefined || before.length !== shape?.length) return;
  const isOther = before.some(
    (dim, axis) => dim !== undefined && dim !== shape[axis] && declared?.[axis] === undefined,
  );
  if (isOther) noteVaried(cx, list.origin, [{ dtype: list.dtype, rank: shape.length }]);
}

/** The list before anything is set, if its node was recorded. */
export function asNoted(cx: OpContext, list: ListValue): ListValue {
  const [part] = cx.builder.model.varied.get(cx.node.name) ?? [];
  const made = { ...list, origin: cx.node.name, declared: list.elementShape };
  if (part === undefined || part.dtype !== list.dtype) return made;
  return { ...made, varied: noItems(cx, list, part.rank) };
}

/** A list of the same length whose items have no elements. */
export function noItems(
  cx: OpContext,
  { dtype, length }: Pick<ListValue, 'dtype' | 'length'>,
  rank: number,
): VariedItems {
  const none = dtype === 'string' ? stringsTensor([0], []) : numbersTensor(dtype, [0], []);
  const flat = cx.op('Identity', [cx.constant(none)], { shape: [undefined] });
  return { flat, dims: emptyDims(cx, cx.reshape(length, [1]), rank) };
}

const emptyDims = (cx: OpContext, count: TensorValue, rank: number): TensorValue =>
  cx.op('Expand', [cx.scalar('int64', 0), cx.concat([count, cx.int64s([rank])], 0)], {
    shape: [undefined, rank],
  });

const rankOf = (cx: OpContext, { dims }: VariedItems): number =>
  dims.shape?.[1] ?? cx.fail("the rank of the list's items is not known");

/** The start and end of an item in the flat elements; int64, shape [1] each. */
function bounds(cx: OpContext, { dims }: VariedItems, index: TensorValue): TensorValue[] {
  const counts = cx.op('ReduceProd', [dims, cx.int64s([1])], {
    shape: [undefined],
    attributes: { keepdims: { int: 0 } },
  });
  const ends = cx.op('CumSum', [counts, cx.scalar('int64', 0)], { shape: [undefined] });
  const all = cx.concat([cx.int64s([0]), ends], 0);
  const next = cx.op('Add', [index, cx.int64s([1])], { shape: [1] });
  return [index, next].map((at) =>
    cx.op('Gather', [all, at], { shape: [1], attributes: { axis: { int: 0 } } }),
  );
}

const part = (cx: OpContext, flat: TensorValue, from: TensorValue, to: TensorValue): TensorValue =>
  cx.op('Slice', [flat, from, to, cx.int64s([0])], { shape: [undefined] });

const indexOf = (cx: OpContext, index: TensorValue): TensorValue =>
  cx.reshape(cx.cast(index, 'int64'), [1], [1]);

/** One item. `shape`: the known shape of all. */
export function variedItem(
  cx: OpContext,
  items: VariedItems,
  index: TensorValue,
  shape: Shape,
): TensorValue {
  const at = indexOf(cx, index);
  const [from, to] = bounds(cx, items, at) as [TensorValue, TensorValue];
  const row = cx.op('Gather', [items.dims, at], {
    shape: [1, rankOf(cx, items)],
    attributes: { axis: { int: 0 } },
  });
  const rank = rankOf(cx, items);
  const known = shape?.length === rank ? shape : Array.from({ length: rank }, () => undefined);
  return cx.reshape(part(cx, items.flat, from, to), cx.reshape(row, [rank]), known);
}

/** The list with one item set; `isGrowing`: also one beyond its end. */
export function withVariedItem(
  cx: OpContext,
  list: ListValue,
  before: VariedItems,
  at: TensorValue,
  item: TensorValue,
  isGrowing: boolean,
): ListValue {
  const rank = rankOf(cx, before);
  if (item.shape !== undefined && item.shape.length !== rank) {
    return cx.fail(`an item of rank ${item.shape.length} in a list of items of rank ${rank}`);
  }
  const index = indexOf(cx, at);
  const grown = isGrowing ? longer(cx, list, before, index) : { length: list.length, ...before };
  const [from, to] = bounds(cx, grown, index) as [TensorValue, TensorValue];
  const flat = cx.concat(
    [
      part(cx, grown.flat, cx.int64s([0]), from),
      cx.reshape(item, [-1], [undefined]),
      part(cx, grown.flat, to, cx.int64s([ALL])),
    ],
    0,
  );
  const row = cx.reshape(cx.shapeOf(item), [1, rank]);
  const dims = cx.op('ScatterND', [grown.dims, cx.reshape(index, [1, 1]), row], {
    shape: [undefined, rank],
  });
  return { ...list, length: grown.length, written: true, varied: { flat, dims } };
}

/** Extends the list for an item at `index`. */
function longer(
  cx: OpContext,
  list: ListValue,
  { flat, dims }: VariedItems,
  index: TensorValue,
): VariedItems & { readonly length: TensorValue } {
  const end = cx.op('Add', [index, cx.int64s([1])], { shape: [1] });
  const now = cx.reshape(list.length, [1]);
  const length = cx.op('Max', [end, now], { shape: [1] });
  return { flat, ...resizedDims(cx, dims, length) };
}

/** The dims of `length` (int64, shape [1]) items: the first ones, then empty ones. */
function resizedDims(
  cx: OpContext,
  dims: TensorValue,
  length: TensorValue,
): { readonly dims: TensorValue; readonly length: TensorValue } {
  const rank = dims.shape?.[1] ?? cx.fail("the rank of the list's items is not known");
  const now = cx.slice(cx.shapeOf(dims), [0], [1], [0]);
  const more = cx.op('Max', [cx.op('Sub', [length, now], { shape: [1] }), cx.int64s([0])], {
    shape: [1],
  });
  const padded = cx.concat([dims, emptyDims(cx, more, rank)], 0);
  const kept = cx.op('Slice', [padded, cx.int64s([0]), length, cx.int64s([0])], {
    shape: [undefined, rank],
  });
  return { dims: kept, length: cx.squeeze(length, [0]) };
}

/** TensorListResize. `size`: int64 scalar. */
export function resizedVaried(
  cx: OpContext,
  list: ListValue,
  { flat, dims }: VariedItems,
  size: TensorValue,
): ListValue {
  const made = resizedDims(cx, dims, cx.reshape(size, [1]));
  const counts = cx.op('ReduceProd', [made.dims, cx.int64s([1])], {
    shape: [undefined],
    attributes: { keepdims: { int: 0 } },
  });
  const end = cx.op('ReduceSum', [counts], { shape: [1], attributes: { keepdims: { int: 1 } } });
  const kept = part(cx, flat, cx.int64s([0]), end);
  return { ...list, length: made.length, varied: { flat: kept, dims: made.dims } };
}

/** The largest dims of all items, at least 0; int64, shape [rank]. */
function largest(cx: OpContext, items: VariedItems): TensorValue {
  const rank = rankOf(cx, items);
  const rows = cx.concat([items.dims, emptyDims(cx, cx.int64s([1]), rank)], 0);
  return cx.op('ReduceMax', [rows, cx.int64s([0])], {
    shape: [rank],
    attributes: { keepdims: { int: 0 } },
  });
}

/** The items concatenated, and the number of rows of each. */
export function joinedVaried(
  cx: OpContext,
  items: VariedItems,
  element: Shape,
): [TensorValue, TensorValue] {
  const rank = rankOf(cx, items);
  const counts = cx.squeeze(cx.slice(items.dims, [0], [1], [1]), [1]);
  const total = cx.op('ReduceSum', [counts], { shape: [1], attributes: { keepdims: { int: 1 } } });
  const rest = cx.slice(largest(cx, items), [1], [ALL], [0]);
  const known =
    element?.length === rank ? element.slice(1) : Array.from({ length: rank - 1 }, () => undefined);
  return [cx.reshape(items.flat, cx.concat([total, rest], 0), [undefined, ...known]), counts];
}

/** All items as one tensor: they must have the same shape. */
export function stackedVaried(
  cx: OpContext,
  { length }: Pick<ListValue, 'length'>,
  items: VariedItems,
  element: Shape,
): TensorValue {
  const rank = rankOf(cx, items);
  const known = element?.length === rank ? element : Array.from({ length: rank }, () => undefined);
  const dims = cx.concat([cx.reshape(length, [1]), largest(cx, items)], 0);
  return cx.reshape(items.flat, dims, [undefined, ...known]);
}
