// Values that enter and leave branches and loops, as tensors: ONNX supports nothing else there.
// Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import {
  commonShape,
  type ListValue,
  type TensorValue,
  type Value,
  type VariantsValue,
  type VariedPart,
} from '../../lower/values.js';
import { shapedItems } from './list-items.js';
import { ofOneLength } from './list-pieces.js';
import { noteVaried } from './varied-lists.js';

/** The tensors that represent a value; [] for handles, which are unchanged. */
export function flatten(cx: OpContext, value: Value): TensorValue[] {
  switch (value.kind) {
    case 'tensor':
      return [value];
    case 'complex':
      return [value.real, value.imaginary];
    case 'list':
      return flattenList(cx, value);
    case 'variant':
      return [...value.parts];
    case 'variants':
      return [value.length, ...(value.lists ?? []).flatMap((one) => flattenList(cx, one))];
    case 'variable':
    case 'table':
    case 'opaque':
      return [];
  }
}

function flattenList(cx: OpContext, list: ListValue): TensorValue[] {
  if (list.varied === undefined) return [shapedItems(cx, ofOneLength(cx, list)), list.length];
  return [list.varied.flat, list.length, list.varied.dims];
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
      return rebuildList(like, first, second, tensors[2]);
    case 'variant':
      return { ...like, parts: tensors };
    case 'variants':
      return {
        ...like,
        length: first ?? like.length,
        lists: like.lists?.map((one, i) => rebuildList(one, ...tensors.slice(1 + 3 * i))),
      };
    case 'variable':
    case 'table':
    case 'opaque':
      return like;
  }
}

function rebuildList(
  like: ListValue,
  items?: TensorValue,
  length?: TensorValue,
  dims?: TensorValue,
): ListValue {
  if (like.varied !== undefined) {
    const varied = { flat: items ?? like.varied.flat, dims: dims ?? like.varied.dims };
    return { ...like, varied, length: length ?? like.length };
  }
  return { ...like, items: items ?? like.items, length: length ?? like.length };
}

/** Whether two values are certainly the same. */
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
    const varied = isSame(a.varied?.flat, b.varied?.flat) && isSame(a.varied?.dims, b.varied?.dims);
    return varied && isSame(a.items, b.items) && isSame(a.length, b.length);
  }
  return false;
}

/**
 * Two lists that are merged must be represented alike: otherwise the next attempt makes them so.
 */
export function checkAlike(cx: OpContext, a: ListValue, b: ListValue): void {
  if ((a.varied === undefined) === (b.varied === undefined)) return;
  const rank = (a.varied ?? b.varied)?.dims.shape?.[1] ?? 0;
  noteVaried(cx, a.origin, [{ dtype: a.dtype, rank }]);
  noteVaried(cx, b.origin, [{ dtype: b.dtype, rank }]);
  cx.fail('it mixes lists with items of one shape and lists with items of various shapes');
}

/** The same for lists of ragged tensors. */
export function checkAlikeVariants(cx: OpContext, a: VariantsValue, b: VariantsValue): void {
  if (a.lists?.length === b.lists?.length) return;
  const parts = variantParts(a) ?? variantParts(b) ?? [];
  noteVaried(cx, a.origin, parts);
  noteVaried(cx, b.origin, parts);
  cx.fail('it starts without ragged tensors and ends with some');
}

const variantParts = ({ lists }: VariantsValue): VariedPart[] | undefined =>
  lists?.map((one) => ({ dtype: one.dtype, rank: one.varied?.dims.shape?.[1] ?? 1 }));

/** The common knowledge of a value that is either one; the kinds must agree. */
export function commonValue(cx: OpContext, a: Value, b: Value): Value {
  if (a.kind !== b.kind)
    return cx.fail(`its branches return a ${a.kind} and a ${b.kind}: expected one kind`);
  if (a.kind === 'list' && b.kind === 'list') {
    checkAlike(cx, a, b);
    const written = a.written === true || b.written === true ? ({ written: true } as const) : {};
    return { ...a, ...written, elementShape: commonShape(a.elementShape, b.elementShape) };
  }
  if (a.kind === 'variants' && b.kind === 'variants') checkAlikeVariants(cx, a, b);
  const isCarried = a.kind === 'variant' || a.kind === 'variants';
  if (a.kind === 'tensor' || a.kind === 'complex' || isCarried || isSame(a, b)) return a;
  return cx.fail(`its branches return different ${a.kind}s`);
}
