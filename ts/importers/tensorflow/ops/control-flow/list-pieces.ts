// Lists of the pieces of a tensor, possibly of different lengths: splitting, reading,
// concatenating. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { ListValue, TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { merged } from './list-access.js';
import { insideList } from './list-items.js';
import { joinedVaried, stackedVaried, suspectVaried, variedItem } from './varied-lists.js';

/** Items of a list, and the row count of each if they may differ. */
type Pieces = Pick<ListValue, 'length' | 'rowCounts'> & { readonly items: TensorValue };

const INDEX_SHAPE: Shape = [undefined, undefined];

/** Splits `value` into pieces with the numbers of rows in `lengths`. */
export function pieces(cx: OpContext, value: TensorValue, lengths: TensorValue): Pieces {
  const known = lengths.ints;
  const counts = cx.cast(lengths, 'int64');
  const count = cx.slice(cx.shapeOf(lengths), [0], [1], [0]);
  const length = cx.squeeze(count, [0]);
  const rest = value.shape?.slice(1);
  const shape = rest && [known?.length, undefined, ...rest];
  const [first] = known ?? [];
  if (known !== undefined && first !== undefined && known.every((one) => one === first)) {
    const tail = cx.slice(cx.shapeOf(value), [1], [Number.MAX_SAFE_INTEGER], [0]);
    const dims = cx.concat([cx.int64s([known.length, first]), tail], 0);
    return { length, items: cx.reshape(value, dims, rest && [known.length, first, ...rest]) };
  }
  const ends = cx.op('CumSum', [counts, cx.scalar('int64', 0)]);
  const starts = cx.unsqueeze(cx.op('Sub', [ends, counts]), [1]);
  const wanted = cx.op('Add', [starts, columns(cx, counts)], { shape: INDEX_SHAPE });
  const last = cx.op('Sub', [cx.slice(cx.shapeOf(value), [0], [1], [0]), cx.int64s([1])], {
    shape: [1],
  });
  // Rows beyond the end of a short piece have arbitrary contents.
  const indices = cx.op('Min', [wanted, last], { shape: INDEX_SHAPE });
  return { length, rowCounts: counts, items: cx.rows(value, indices, shape) };
}

/** 0, 1, ... below the largest count. */
function columns(cx: OpContext, counts: TensorValue): TensorValue {
  const longest = cx.op('ReduceMax', [counts], { shape: [], attributes: { keepdims: { int: 0 } } });
  return cx.op('Range', [cx.scalar('int64', 0), longest, cx.scalar('int64', 1)], {
    dtype: 'int64',
    shape: [undefined],
  });
}

/** One item of `items`, the list's. `shape`: what is known of it. */
export function itemAt(
  cx: OpContext,
  list: ListValue,
  items: TensorValue,
  index: TensorValue,
  shape: Shape,
): TensorValue {
  if (list.varied !== undefined) return variedItem(cx, list.varied, index, shape);
  suspectVaried(cx, list, shape);
  const text = 'Trying to access element {index} in a list with {bound} elements.';
  const place = cx.cast(cx.reshape(index, [], []), 'int64');
  const at = insideList(cx, place, items, text);
  if (list.rowCounts === undefined) return cx.rows(items, at, shape);
  const open = items.shape?.slice(1).map((dim, axis) => (axis === 0 ? undefined : dim));
  const count = cx.op('Gather', [list.rowCounts, cx.reshape(at, [1])], {
    shape: [1],
    attributes: { axis: { int: 0 } },
  });
  return cx.op('Slice', [cx.rows(items, at, open), cx.int64s([0]), count, cx.int64s([0])], {
    shape: open,
  });
}

/** The items concatenated, and the number of rows of each. */
export function joinedItems(
  cx: OpContext,
  list: ListValue,
  items: TensorValue,
): [TensorValue, TensorValue] {
  if (list.varied !== undefined) return joinedVaried(cx, list.varied, list.elementShape);
  const { shape } = items;
  const element = merged(shape?.slice(1), list.elementShape);
  suspectVaried(cx, list, element);
  if (shape === undefined || shape.length < 2) {
    return cx.fail("the shape of the list's items is not known");
  }
  const rest = cx.slice(cx.shapeOf(items), [2], [Number.MAX_SAFE_INTEGER], [0]);
  const open: Shape = [undefined, ...shape.slice(2)];
  const columnCount = cx.slice(cx.shapeOf(items), [1], [2], [0]);
  const all = cx.op('Mul', [cx.reshape(list.length, [1]), columnCount], { shape: [1] });
  const flat = cx.reshape(items, cx.concat([all, rest], 0), open);
  const { rowCounts } = list;
  if (rowCounts === undefined) {
    const rows = cx.op('Expand', [columnCount, cx.reshape(list.length, [1])], {
      shape: [undefined],
    });
    return [flat, rows];
  }
  const isOwn = cx.op('Less', [columns(cx, rowCounts), cx.unsqueeze(rowCounts, [1])], {
    dtype: 'bool',
    shape: INDEX_SHAPE,
  });
  const mask = cx.reshape(isOwn, [-1], [undefined]);
  return [
    cx.op('Compress', [flat, mask], { shape: open, attributes: { axis: { int: 0 } } }),
    rowCounts,
  ];
}

/** The list, provided that all its items have the same length: its items are then one tensor. */
export function ofOneLength(cx: OpContext, list: ListValue): ListValue {
  if (list.varied !== undefined) {
    const { varied, ...plain } = list;
    return { ...plain, items: stackedVaried(cx, list, varied, list.elementShape) };
  }
  return list.rowCounts === undefined ? list : cx.fail('its items may have different lengths');
}
