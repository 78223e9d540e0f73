// Values that go into and come out of branches and loops, as tensors: ONNX carries nothing else.
// Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import { commonShape, type ListValue, type TensorValue, type Value } from '../../lower/values.js';
import { shapedItems } from './list-items.js';
import { ofOneLength } from './list-pieces.js';

/** The tensors that stand for a value; [] for handles, which stay what they are. */
export function flatten(cx: OpContext, value: Value): TensorValue[] {
  switch (value.kind) {
    case 'tensor':
      return [value];
    case 'complex':
      return [value.real, value.imaginary];
    case 'list':
      return [shapedItems(cx, ofOneLength(cx, value)), value.length];
    case 'variable':
    case 'table':
    case 'opaque':
      return [];
  }
}

/** The value of the same kind with other tensors. */
export function rebuild(like: Value, tensors: readonly TensorValue[]): Value {
  const [first, second] = tensors;
  switch (like.kind) {
    case 'tensor':
      return first ?? like;
    case 'complex':
      return { ...like, real: first ?? like.real, imaginary: second ?? like.imaginary };
    case 'list':
      return rebuildList(like, first, second);
    case 'variable':
    case 'table':
    case 'opaque':
      return like;
  }
}

function rebuildList(
  like: ListValue,
  items: TensorValue | undefined,
  length: TensorValue | undefined,
): ListValue {
  return { ...like, items: items ?? like.items, length: length ?? like.length };
}

/** Whether two values are one for sure. */
export function isSame(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined || a.kind !== b.kind) return false;
  if (a.kind === 'tensor' && b.kind === 'tensor') {
    if (a.name !== undefined) return a.name === b.name;
    return a.constant !== undefined && a.constant === b.constant;
  }
  if (a.kind === 'complex' && b.kind === 'complex') {
    return isSame(a.real, b.real) && isSame(a.imaginary, b.imaginary);
  }
  if (a.kind === 'variable' && b.kind === 'variable') return a.key === b.key;
  if (a.kind === 'table' && b.kind === 'table') return a.key === b.key;
  if (a.kind === 'list' && b.kind === 'list') {
    return isSame(a.items, b.items) && isSame(a.length, b.length);
  }
  return false;
}

/** What is known of a value that is either one; the kinds must agree. */
export function commonValue(cx: OpContext, a: Value, b: Value): Value {
  if (a.kind !== b.kind) return cx.fail(`its branches give a ${a.kind} and a ${b.kind}`);
  if (a.kind === 'list' && b.kind === 'list') {
    return { ...a, elementShape: commonShape(a.elementShape, b.elementShape) };
  }
  if (a.kind === 'tensor' || a.kind === 'complex' || isSame(a, b)) return a;
  return cx.fail(`its branches give different ${a.kind}s`);
}
