// TensorLists, as one tensor of their items. Importer's worker thread. Source:
// tensorflow/core/kernels/list_kernels.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import {
  commonShape,
  isStatic,
  type ListValue,
  type TensorValue,
  type Value,
} from '../../lower/values.js';
import type { Shape } from '../../types.js';
import {
  appended,
  elementShapeOf,
  merged,
  scalar64,
  withItem,
  withItems,
  zeroItems,
} from './list-access.js';
import { emptyItems, filled, insideList, shapedItems } from './list-items.js';
import { itemAt, joinedItems, ofOneLength, pieces } from './list-pieces.js';
import { newVariants, variantAt, variantsInput, withVariant } from './variants.js';
import {
  asNoted,
  joinedVaried,
  resizedVaried,
  suspectItem,
  suspectVaried,
  variedItem,
  withVariedItem,
} from './varied-lists.js';

function anyList(cx: OpContext, index: number): ListValue {
  const value = cx.input(index);
  return value.kind === 'list' ? value : cx.fail(`input ${index} is a ${value.kind}, not a list`);
}

const listOf = (cx: OpContext, index: number): ListValue => ofOneLength(cx, anyList(cx, index));

/** An element_shape input: a vector, or -1 for unknown. */
function shapeInput(cx: OpContext, index: number): Shape {
  const { ints, shape } = cx.tensor(index);
  if (ints === undefined || shape?.length !== 1) return undefined;
  return ints.map((dim) => (dim === undefined || dim < 0 ? undefined : dim));
}

function fresh(cx: OpContext, length: TensorValue): Value {
  const dtype = cx.type('element_dtype');
  if (dtype === 'variant') return newVariants(cx, length);
  const elementShape = shapeInput(cx, 0);
  return asNoted(cx, { kind: 'list', dtype, elementShape, length, items: undefined });
}

const reserve: Lowering = (cx) => fresh(cx, scalar64(cx, cx.tensor(1)));
const empty: Lowering = (cx) => fresh(cx, cx.scalar('int64', 0));

const fromTensor: Lowering = (cx) => {
  const variants = variantsInput(cx, 0);
  if (variants !== undefined) return variants;
  const items = cx.tensor(0);
  const length = cx.squeeze(cx.slice(cx.shapeOf(items), [0], [1], [0]), [0]);
  const elementShape = merged(items.shape?.slice(1), shapeInput(cx, 1));
  return { kind: 'list', dtype: items.dtype, elementShape, length, items };
};

const length: Lowering = (cx) => cx.cast((variantsInput(cx, 0) ?? anyList(cx, 0)).length, 'int32');

/** The items' shape according to an element_shape input, if there is one, and the list. */
function itemShape(cx: OpContext, list: ListValue, input: number): Shape {
  const given = cx.inputs[input]?.kind === 'tensor' ? shapeInput(cx, input) : undefined;
  return elementShapeOf(list, given);
}

/** All items, with the shape from the inputs if nothing was ever set. */
function itemsFor(cx: OpContext, list: ListValue, shapeIndex: number): TensorValue {
  if (list.items !== undefined) return list.items;
  const elementShape = itemShape(cx, list, shapeIndex);
  if (isStatic(elementShape)) return shapedItems(cx, { ...list, elementShape });
  const given = cx.inputs[shapeIndex];
  if (given?.kind === 'tensor' && given.shape?.length === 1) {
    const dims = cx.concat([cx.reshape(list.length, [1]), cx.cast(given, 'int64')], 0);
    const shape = elementShape === undefined ? undefined : [undefined, ...elementShape];
    return filled(cx, dims, list, shape);
  }
  return emptyItems(cx, list);
}

const getItem: Lowering = (cx) => {
  const variants = variantsInput(cx, 0);
  if (variants !== undefined) return variantAt(cx, variants, cx.tensor(1));
  const list = anyList(cx, 0);
  const shape = itemShape(cx, list, 2);
  if (list.varied !== undefined) return variedItem(cx, list.varied, cx.tensor(1), shape);
  return itemAt(cx, list, itemsFor(cx, list, 2), cx.tensor(1), shape);
};

/** An index beyond the end extends the list if the node allows it. */
const setItem: Lowering = (cx) => {
  const resizes = cx.bool('resize_if_index_out_of_bounds', false);
  const variants = variantsInput(cx, 0);
  if (variants !== undefined) {
    const item = cx.input(2);
    if (item.kind !== 'variant') return cx.fail(`item is a ${item.kind} in a list of variants`);
    return withVariant(cx, variants, cx.tensor(1), item, resizes);
  }
  const list = anyList(cx, 0);
  const into = list.varied === undefined ? ofOneLength(cx, list) : list;
  const growing = resizes ? { ...into, isGrowing: true as const } : into;
  return withItem(cx, growing, cx.tensor(1), cx.tensor(2));
};

const pushBack: Lowering = (cx) => {
  const variants = variantsInput(cx, 0);
  const given = cx.input(1);
  if (variants !== undefined && given.kind === 'variant') {
    return withVariant(cx, variants, variants.length, given, true);
  }
  const any = anyList(cx, 0);
  if (any.varied !== undefined) {
    return withVariedItem(cx, any, any.varied, any.length, cx.tensor(1), true);
  }
  const list = ofOneLength(cx, any);
  const item = cx.tensor(1);
  suspectItem(cx, list, item);
  const row = cx.unsqueeze(item, [0]);
  const isFresh = list.items === undefined && list.length.ints?.[0] === 0;
  const items = isFresh ? row : appended(cx, list, row);
  const one = cx.op('Add', [list.length, cx.scalar('int64', 1)], { shape: [] });
  const known = list.length.ints?.[0];
  const grown = known === undefined ? one : cx.scalar('int64', known + 1);
  const elementShape = merged(list.elementShape, item.shape);
  return { ...list, written: true, elementShape, length: grown, items };
};

const popBack: Lowering = (cx) => {
  const any = anyList(cx, 0);
  const less = cx.op('Sub', [any.length, cx.scalar('int64', 1)], { shape: [] });
  if (any.varied !== undefined) {
    const last = variedItem(cx, any.varied, less, itemShape(cx, any, 1));
    return [resizedVaried(cx, any, any.varied, less), last];
  }
  const list = ofOneLength(cx, any);
  suspectVaried(cx, list, itemShape(cx, list, 1));
  const items = itemsFor(cx, list, 1);
  const last = cx.rows(items, cx.scalar('int64', -1), itemShape(cx, list, 1));
  const rest = cx.slice(items, [0], [-1], [0]);
  return [{ ...list, items: rest, length: less }, last];
};

const stack: Lowering = (cx) => {
  const variants = variantsInput(cx, 0);
  if (variants !== undefined) return variants;
  const list = listOf(cx, 0);
  const items = itemsFor(cx, list, 1);
  const element = itemShape(cx, list, 1);
  if (items.shape !== undefined || element === undefined) return items;
  return { ...items, shape: [undefined, ...element] };
};

const gather: Lowering = (cx) => {
  const list = listOf(cx, 0);
  const indices = cx.cast(cx.tensor(1), 'int64');
  const element = itemShape(cx, list, 2);
  const shape = element === undefined ? undefined : [indices.shape?.[0], ...element];
  const items = itemsFor(cx, list, 2);
  const text = 'Index {index} out of range; list only has {bound} elements.';
  return cx.rows(items, insideList(cx, indices, items, text), shape);
};

/** A new list of num_elements (-1: as many as there are items). */
const scatter: Lowering = (cx) => {
  const values = cx.tensor(0);
  const indices = cx.cast(cx.tensor(1), 'int64');
  const count = cx.inputs.length > 3 ? cx.tensor(3).ints?.[0] : -1;
  const elementShape = merged(values.shape?.slice(1), shapeInput(cx, 2));
  if (count === undefined) return cx.fail('num_elements must be a constant');
  const largest = cx.op('ReduceMax', [indices], {
    shape: [],
    attributes: { keepdims: { int: 0 } },
  });
  const length =
    count >= 0
      ? cx.scalar('int64', count)
      : cx.op('Add', [largest, cx.scalar('int64', 1)], { shape: [] });
  return withItems(
    cx,
    {
      kind: 'list',
      dtype: values.dtype,
      elementShape,
      length,
      items: undefined,
    },
    indices,
    values,
  );
};

const scatterInto: Lowering = (cx) => withItems(cx, listOf(cx, 0), cx.tensor(2), cx.tensor(1));

const resize: Lowering = (cx) => {
  const size = scalar64(cx, cx.tensor(1));
  const any = anyList(cx, 0);
  if (any.varied !== undefined) return resizedVaried(cx, any, any.varied, size);
  const list = ofOneLength(cx, any);
  if (list.items === undefined) return { ...list, length: size };
  const { items } = list;
  const more = cx.op(
    'Max',
    [cx.op('Sub', [size, list.length], { shape: [] }), cx.scalar('int64', 0)],
    { shape: [] },
  );
  const zeros = zeroItems(cx, { ...list, length: more }, items);
  const joined = cx.concat([items, zeros], 0);
  const kept = cx.op('Slice', [joined, cx.int64s([0]), cx.reshape(size, [1]), cx.int64s([0])], {
    shape: joined.shape?.map((dim, i) => (i === 0 ? undefined : dim)),
  });
  return { ...list, length: size, items: kept };
};

const concat: Lowering = (cx) => {
  const list = anyList(cx, 0);
  if (list.varied !== undefined) return joinedVaried(cx, list.varied, itemShape(cx, list, 1));
  return joinedItems(cx, list, itemsFor(cx, list, 1));
};

const split: Lowering = (cx) => {
  const made = pieces(cx, cx.tensor(0), cx.tensor(2));
  const elementShape =
    made.rowCounts === undefined
      ? merged(made.items.shape?.slice(1), shapeInput(cx, 1))
      : undefined;
  return { kind: 'list', dtype: made.items.dtype, elementShape, ...made };
};

const concatLists: Lowering = (cx) => {
  const [a, b] = [listOf(cx, 0), listOf(cx, 1)];
  const items = cx.concat([shapedItems(cx, a), shapedItems(cx, b)], 0);
  const total = cx.op('Add', [a.length, b.length], { shape: [] });
  const elementShape = commonShape(a.elementShape, b.elementShape);
  return { ...a, elementShape, items, length: total };
};

const elementShape: Lowering = (cx) => {
  const known = listOf(cx, 0).elementShape;
  if (!isStatic(known)) return cx.fail("the shape of the list's items is not known");
  return cx.cast(cx.int64s(known), cx.type('shape_type'));
};

const NOTE = 'all items of one shape';

export const LISTS: Operators = {
  TensorListReserve: { lower: reserve, dtypes: 'any' },
  EmptyTensorList: { lower: empty, dtypes: 'any' },
  TensorListFromTensor: { lower: fromTensor, dtypes: 'any' },
  TensorListLength: { lower: length, dtypes: 'any' },
  TensorListGetItem: { lower: getItem, dtypes: 'any' },
  TensorListSetItem: { lower: setItem, dtypes: 'any' },
  TensorListPushBack: { lower: pushBack, dtypes: 'any' },
  TensorListPopBack: { lower: popBack, dtypes: 'any', note: NOTE },
  TensorListStack: { lower: stack, dtypes: 'any', note: NOTE },
  TensorListGather: { lower: gather, dtypes: 'any', note: NOTE },
  TensorListScatter: { lower: scatter, dtypes: 'any', note: NOTE },
  TensorListScatterV2: { lower: scatter, dtypes: 'any', note: NOTE },
  TensorListScatterIntoExistingList: { lower: scatterInto, dtypes: 'any', note: NOTE },
  TensorListResize: { lower: resize, dtypes: 'any' },
  TensorListConcat: { lower: concat, dtypes: 'any' },
  TensorListConcatV2: { lower: concat, dtypes: 'any' },
  TensorListSplit: { lower: split, dtypes: 'any', note: NOTE },
  TensorListConcatLists: { lower: concatLists, dtypes: 'any', note: NOTE },
  TensorListElementShape: { lower: elementShape, dtypes: 'any', note: NOTE },
};
