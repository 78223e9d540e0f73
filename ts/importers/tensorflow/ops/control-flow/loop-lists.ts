// Lists that a loop fills in order, one item per iteration, without reading them: the ONNX Loop
// returns their items as scan output, with no copy per iteration. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import { isStatic, type ListValue, type TensorValue, type Value } from '../../lower/values.js';
import type { FlatFunction, Ref } from '../../types.js';
import { arrayBehind } from './arrays.js';
import { filled } from './list-items.js';
import { argumentOf, maker, usersOf } from './loop-analysis.js';

const NOWHERE: Ref = { node: '', output: 0 };

/** One such list. */
export interface Collected {
  /** The item of an iteration, extracted from the body's result for the list. */
  item(result: Value | undefined): TensorValue;
}

/** The loop's lists of this kind, by their index among its values. */
export function collected(
  cx: OpContext,
  condition: FlatFunction,
  body: FlatFunction,
  args: readonly Value[],
): ReadonlyMap<number, Collected> {
  const found = new Map<number, Collected>();
  args.forEach((value, index) => {
    if (value.kind !== 'list' || value.items !== undefined || value.varied !== undefined) return;
    if (!isFilledInOrder(condition, body, args, index)) return;
    found.set(index, { item: (result) => lastItem(cx, result) });
  });
  return found;
}

/** Operators that set an item: the inputs that are the list and the index. */
const SETTING: Readonly<Record<string, { readonly list: number; readonly index: number }>> = {
  TensorListSetItem: { list: 0, index: 1 },
  TensorArrayWrite: { list: 3, index: 1 },
  TensorArrayWriteV2: { list: 3, index: 1 },
  TensorArrayWriteV3: { list: 3, index: 1 },
};

function isFilledInOrder(
  condition: FlatFunction,
  body: FlatFunction,
  args: readonly Value[],
  index: number,
): boolean {
  const set = maker(body, body.returns[index] ?? NOWHERE);
  const inputs = Object.hasOwn(SETTING, set?.op ?? '') ? SETTING[set?.op ?? ''] : undefined;
  if (set === undefined || inputs === undefined) return false;
  if (argumentOf(body, set.inputs[inputs.list]) !== index) return false;
  if (usersOf(body, body.args[index] ?? '').length !== 1) return false;
  if (usersOf(condition, condition.args[index] ?? '').length !== 0) return false;
  const isOther = (ref: Ref, i: number): boolean =>
    i !== index && (argumentOf(body, ref) === index || maker(body, ref) === set);
  if (body.returns.some(isOther) || usersOf(body, set.name).length > 0) return false;
  return countsFromZero(body, args, argumentOf(body, set.inputs[inputs.index]));
}

/**
 * The loop's values with arrays in place of the constants that begin the flow of TensorArrays
 * before version 3: a body that writes to one returns a list.
 */
export function withFlows(body: FlatFunction, args: readonly Value[]): readonly Value[] {
  return args.map((value, index) => {
    if (value.kind !== 'tensor') return value;
    for (const node of usersOf(body, body.args[index] ?? '')) {
      const flow = Object.hasOwn(FLOWS, node.op) ? FLOWS[node.op] : undefined;
      if (flow === undefined || argumentOf(body, node.inputs[flow]) !== index) continue;
      const handle = argumentOf(body, node.inputs[0]);
      const list = handle === undefined ? undefined : arrayBehind(args[handle]);
      if (list !== undefined) return list;
    }
    return value;
  });
}

/** The flow input of operators that write to a TensorArray. */
const FLOWS: Readonly<Record<string, number>> = {
  TensorArrayWrite: 3,
  TensorArrayWriteV2: 3,
  TensorArrayScatter: 3,
  TensorArrayScatterV2: 3,
  TensorArraySplit: 3,
  TensorArraySplitV2: 3,
  TensorArrayUnpack: 2,
};

/** Whether an argument begins at 0 and increases by 1 every iteration. */
function countsFromZero(
  body: FlatFunction,
  args: readonly Value[],
  counter: number | undefined,
): boolean {
  const begin = counter === undefined ? undefined : args[counter];
  if (counter === undefined || begin?.kind !== 'tensor' || begin.ints?.[0] !== 0) return false;
  const step = maker(body, body.returns[counter] ?? NOWHERE);
  if (step?.op !== 'AddV2' && step?.op !== 'Add') return false;
  const other = step.inputs.find((ref) => argumentOf(body, ref) !== counter);
  const by = other === undefined ? undefined : maker(body, other);
  const value = by?.op === 'Const' ? by.attributes.get('value') : undefined;
  if (value?.kind !== 'tensor' || value.value.data.kind !== 'bytes') return false;
  const { bytes } = value.value.data;
  return bytes[0] === 1 && bytes.subarray(1).every((byte) => byte === 0);
}

function lastItem(cx: OpContext, result: Value | undefined): TensorValue {
  if (result?.kind === 'list' && result.lastItem !== undefined) return result.lastItem;
  return cx.fail('an iteration sets no item');
}

/** The list after the loop: `rows` are the items that were set; the rest are zeros. */
export function finishCollected(cx: OpContext, before: ListValue, found: TensorValue): ListValue {
  const elementShape = found.shape?.slice(1) ?? before.elementShape;
  const count = cx.slice(cx.shapeOf(found), [0], [1], [0]);
  const capacity = cx.reshape(before.length, [1]);
  const missing = cx.op('Max', [cx.op('Sub', [capacity, count], { shape: [1] }), cx.int64s([0])], {
    shape: [1],
  });
  const element = isStatic(elementShape)
    ? cx.int64s(elementShape)
    : cx.slice(cx.shapeOf(found), [1], [Number.MAX_SAFE_INTEGER], [0]);
  const shape = elementShape === undefined ? undefined : [undefined, ...elementShape];
  // Without any iteration the runtime may not know the items' shape.
  const rows = isStatic(elementShape)
    ? cx.reshape(found, cx.concat([count, element], 0), shape)
    : found;
  const zeros = filled(cx, cx.concat([missing, element], 0), before, shape);
  const length = before.isGrowing
    ? cx.squeeze(cx.op('Max', [capacity, count], { shape: [1] }), [0])
    : before.length;
  return { ...before, written: true, elementShape, length, items: cx.concat([rows, zeros], 0) };
}
