// TensorArrays of all three versions, as lists: the flow output carries the items, the handle only
// describes the array. Importer's worker thread. Source: tensorflow/core/kernels/tensor_array_ops.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { isStatic, type ListValue, type TensorValue, type Value } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { elementShapeOf, merged, scalar64, withItem, withItems } from './list-access.js';
import { emptyItems, insideList, shapedItems } from './list-items.js';
import { itemAt, joinedItems, ofOneLength, pieces } from './list-pieces.js';
import { asNoted, joinedVaried, variedItem } from './varied-lists.js';

const HANDLE = 'tensor array';

/** The array before anything was written; undefined if the value is not a handle. */
export function arrayBehind(value: Value | undefined): ListValue | undefined {
  return value?.kind === 'opaque' && value.what === HANDLE ? (value.data as ListValue) : undefined;
}

/** Version 3 has the flow as its second output; in earlier versions a constant begins the flow. */
const array: Lowering = (cx) => {
  const list: ListValue = asNoted(cx, {
    kind: 'list',
    dtype: cx.type('dtype'),
    elementShape: cx.shape('element_shape'),
    length: scalar64(cx, cx.tensor(0)),
    items: undefined,
    ...(cx.bool('dynamic_size', false) ? { isGrowing: true } : {}),
  });
  const handle: Value = { kind: 'opaque', what: HANDLE, data: list };
  return cx.node.op === 'TensorArrayV3' ? [handle, list] : handle;
};

/** The array in the state given by `flow` (an input). */
function anyArray(cx: OpContext, flow: number): ListValue {
  const value = cx.input(flow);
  if (value.kind === 'list') return value;
  return (
    arrayBehind(cx.input(0)) ??
    cx.fail(`input 0 is a ${cx.input(0).kind}, not a TensorArray's handle`)
  );
}

const arrayAt = (cx: OpContext, flow: number): ListValue => ofOneLength(cx, anyArray(cx, flow));

function itemsOf(cx: OpContext, list: ListValue, given: Shape): TensorValue {
  if (list.items !== undefined) return list.items;
  const elementShape = elementShapeOf(list, given);
  return isStatic(elementShape) ? shapedItems(cx, { ...list, elementShape }) : emptyItems(cx, list);
}

const write: Lowering = (cx) => {
  const list = anyArray(cx, 3);
  const into = list.varied === undefined ? ofOneLength(cx, list) : list;
  return withItem(cx, into, cx.tensor(1), cx.tensor(2));
};

const read: Lowering = (cx) => {
  const list = anyArray(cx, 2);
  const shape = elementShapeOf(list, undefined);
  if (list.varied !== undefined) return variedItem(cx, list.varied, cx.tensor(1), shape);
  const items = itemsOf(cx, list, undefined);
  return itemAt(cx, list, items, cx.tensor(1), shape);
};

const gather: Lowering = (cx) => {
  const list = arrayAt(cx, 2);
  const given = cx.shape('element_shape');
  const indices = cx.cast(cx.tensor(1), 'int64');
  const element = elementShapeOf(list, given);
  const shape = element === undefined ? undefined : [indices.shape?.[0], ...element];
  const items = itemsOf(cx, list, given);
  const text = 'Tried to read from index {index} but array size is: {bound}';
  return cx.rows(items, insideList(cx, indices, items, text), shape);
};

/** All items. */
const pack: Lowering = (cx) => {
  const list = arrayAt(cx, 1);
  return itemsOf(cx, list, cx.shape('element_shape'));
};

const scatter: Lowering = (cx) => withItems(cx, arrayAt(cx, 3), cx.tensor(1), cx.tensor(2));

/** The rows of a tensor as the items. */
const unpack: Lowering = (cx) => filledWith(cx, arrayAt(cx, 2), cx.tensor(1));

function filledWith(cx: OpContext, list: ListValue, items: TensorValue): ListValue {
  const length = cx.squeeze(cx.slice(cx.shapeOf(items), [0], [1], [0]), [0]);
  const elementShape = merged(items.shape?.slice(1), list.elementShape);
  return { ...list, elementShape, length, items };
}

const size: Lowering = (cx) => cx.cast(anyArray(cx, 1).length, 'int32');

const concat: Lowering = (cx) => {
  const list = anyArray(cx, 1);
  if (list.varied !== undefined) return joinedVaried(cx, list.varied, list.elementShape);
  return joinedItems(cx, list, itemsOf(cx, list, undefined));
};

const split: Lowering = (cx) => {
  const list = arrayAt(cx, 3);
  const made = pieces(cx, cx.tensor(1), cx.tensor(2));
  const elementShape =
    made.rowCounts === undefined
      ? merged(made.items.shape?.slice(1), list.elementShape)
      : undefined;
  return { ...list, elementShape, ...made };
};

const close: Lowering = () => [];

const NOTE = 'all items of one shape';

/** An operator in its three versions. */
const versions = (name: string, lower: Lowering): Operators =>
  Object.fromEntries(
    ['', 'V2', 'V3'].map((version) => [`${name}${version}`, { lower, dtypes: 'any', note: NOTE }]),
  );

export const ARRAYS: Operators = {
  ...versions('TensorArray', array),
  ...versions('TensorArrayWrite', write),
  ...versions('TensorArrayRead', read),
  ...versions('TensorArrayGather', gather),
  ...versions('TensorArrayScatter', scatter),
  ...versions('TensorArraySize', size),
  ...versions('TensorArrayConcat', concat),
  ...versions('TensorArraySplit', split),
  ...versions('TensorArrayClose', close),
  TensorArrayPack: { lower: pack, dtypes: 'any', note: NOTE },
  TensorArrayUnpack: { lower: unpack, dtypes: 'any', note: NOTE },
};
