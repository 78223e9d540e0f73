// Operations on lists, shared by TensorLists and TensorArrays. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import { isStatic, type ListValue, type TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { filled, insideList, rowIndex, shapedItems } from './list-items.js';
import { suspectItem, withVariedItem } from './varied-lists.js';

/** The more specific of two shapes of the same value. */
export function merged(a: Shape, b: Shape): Shape {
  if (a === undefined || b === undefined || a.length !== b.length) return a ?? b;
  return a.map((dim, i) => dim ?? b[i]);
}

export const scalar64 = (cx: OpContext, value: TensorValue): TensorValue =>
  cx.reshape(cx.cast(value, 'int64'), [], []);

/** The known shape of the items; `given`: according to the operator itself. */
export const elementShapeOf = (list: ListValue, given: Shape): Shape =>
  merged(list.items?.shape?.slice(1), merged(list.elementShape, given));

/** The items with capacity for the first one, whose shape the list did not know. */
function withRoom(cx: OpContext, list: ListValue, item: TensorValue): TensorValue {
  const known = merged(list.elementShape, item.shape);
  if (list.items === undefined && isStatic(known)) {
    return shapedItems(cx, { ...list, elementShape: known });
  }
  const zeros = (at: OpContext): TensorValue =>
    filled(
      at,
      at.concat([at.reshape(list.length, [1]), at.shapeOf(item)], 0),
      list,
      item.shape === undefined ? undefined : [undefined, ...item.shape],
    );
  const { items } = list;
  if (items === undefined) return zeros(cx);
  if (items.shape !== undefined) return items;
  // A list carried around a loop may still be empty.
  const rows = cx.op('Size', [items], { dtype: 'int64', shape: [] });
  const isEmpty = cx.op('Equal', [rows, cx.scalar('int64', 0)], { dtype: 'bool', shape: [] });
  return chooseItems(cx, isEmpty, zeros, items);
}

function chooseItems(
  cx: OpContext,
  condition: TensorValue,
  make: (at: OpContext) => TensorValue,
  otherwise: TensorValue,
): TensorValue {
  const yes = cx.around.nested((at) => [make(at)], cx);
  const no = cx.around.nested(() => [otherwise], cx);
  const name = cx.builder.model.name('If');
  cx.builder.describe(name, otherwise.dtype);
  cx.builder.push('If', [cx.builder.use(condition)], [name], {
    then_branch: { graph: yes.finish('then', [], yes.results as readonly TensorValue[]) },
    else_branch: { graph: no.finish('else', [], [otherwise]) },
  });
  const made = yes.results[0];
  return {
    kind: 'tensor',
    name,
    dtype: otherwise.dtype,
    shape: made?.kind === 'tensor' ? made.shape : undefined,
  };
}

/** The list with one item set. */
export function withItem(
  cx: OpContext,
  before: ListValue,
  index: TensorValue,
  item: TensorValue,
): ListValue {
  if (before.collecting) return { ...before, lastItem: item };
  const isGrowing = before.isGrowing === true;
  if (before.varied !== undefined) {
    return withVariedItem(cx, before, before.varied, index, item, isGrowing);
  }
  suspectItem(cx, before, item);
  const list = isGrowing ? grown(cx, before, scalar64(cx, index), item) : before;
  const room = withRoom(cx, list, item);
  const row = cx.unsqueeze(item, [0]);
  const text = 'Trying to modify element {index} in a list with {bound} elements.';
  const at = insideList(cx, rowIndex(cx, index), room, text);
  const items = cx.op('ScatterND', [room, at, row], { shape: room.shape });
  const elementShape = merged(list.elementShape, item.shape);
  return { ...list, written: true, elementShape, items };
}

/** The list, extended if necessary for an item at `index`. */
function grown(cx: OpContext, list: ListValue, index: TensorValue, item: TensorValue): ListValue {
  const end = cx.op('Add', [index, cx.scalar('int64', 1)], { shape: [] });
  const length = cx.op('Max', [end, list.length], { shape: [] });
  if (list.items === undefined) return { ...list, length };
  const items = withRoom(cx, list, item);
  const more = cx.op('Sub', [length, list.length], { shape: [] });
  const zeros = zeroItems(cx, { ...list, length: more }, items);
  return { ...list, length, items: cx.concat([items, zeros], 0) };
}

/** The list with the rows of `values` at `indices`. */
export function withItems(
  cx: OpContext,
  list: ListValue,
  indices: TensorValue,
  values: TensorValue,
): ListValue {
  const into = list.items ?? zeroItems(cx, list, values);
  const text = 'Trying to modify element {index} in a list with {bound} elements.';
  const at = cx.unsqueeze(insideList(cx, cx.cast(indices, 'int64'), into, text), [1]);
  const elementShape = merged(list.elementShape, values.shape?.slice(1));
  return { ...list, elementShape, items: scattered(cx, into, at, values) };
}

export function zeroItems(cx: OpContext, list: ListValue, like: TensorValue): TensorValue {
  const rest = cx.slice(cx.shapeOf(like), [1], [Number.MAX_SAFE_INTEGER], [0]);
  const shape = like.shape === undefined ? undefined : [undefined, ...like.shape.slice(1)];
  return filled(cx, cx.concat([cx.reshape(list.length, [1]), rest], 0), list, shape);
}

export const scattered = (
  cx: OpContext,
  into: TensorValue,
  indices: TensorValue,
  values: TensorValue,
): TensorValue => cx.op('ScatterND', [into, indices, values], { shape: into.shape });

export function appended(cx: OpContext, list: ListValue, row: TensorValue): TensorValue {
  const items = shapedItems(cx, list);
  if (items.shape !== undefined) return cx.concat([items, row], 0);
  // An empty list of unknown shape: reshaped to no rows of the item's shape.
  const rest = cx.slice(cx.shapeOf(row), [1], [Number.MAX_SAFE_INTEGER], [0]);
  const target = cx.concat([cx.reshape(list.length, [1]), rest], 0);
  const shape = row.shape === undefined ? undefined : [undefined, ...row.shape.slice(1)];
  return cx.concat([cx.reshape(items, target, shape), row], 0);
}
