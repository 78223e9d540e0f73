// Sizes that may be known only at run time: numbers as long as possible, else int64 tensors of one
// element. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';

/** A number, or an int64 tensor of shape [1]. */
export type Dim = number | TensorValue;

type Combine = (cx: OpContext, a: Dim, b: Dim) => Dim;

const tensorOf = (cx: OpContext, dim: Dim): TensorValue =>
  typeof dim === 'number' ? cx.int64s([dim]) : dim;

const combine =
  (type: string, apply: (a: number, b: number) => number): Combine =>
  (cx, a, b) =>
    typeof a === 'number' && typeof b === 'number'
      ? apply(a, b)
      : cx.op(type, [tensorOf(cx, a), tensorOf(cx, b)], { dtype: 'int64', shape: [1] });

const plus = combine('Add', (a, b) => a + b);
const minus = combine('Sub', (a, b) => a - b);
const times = combine('Mul', (a, b) => a * b);
const over = combine('Div', (a, b) => Math.trunc(a / b));

export const addDims: Combine = (cx, a, b) => (b === 0 ? a : a === 0 ? b : plus(cx, a, b));
export const subDims: Combine = (cx, a, b) => (b === 0 ? a : minus(cx, a, b));
export const mulDims: Combine = (cx, a, b) => (b === 1 ? a : a === 1 ? b : times(cx, a, b));
/** Rounds towards 0. */
export const divDims: Combine = (cx, a, b) => (b === 1 ? a : over(cx, a, b));
export const maxDims: Combine = combine('Max', Math.max);

/** a / b rounded up; a is not negative. */
export function ceilDims(cx: OpContext, a: Dim, b: number): Dim {
  return divDims(cx, addDims(cx, a, b - 1), b);
}

/** The size of an axis, counted from the front. */
export function dimOf(cx: OpContext, value: TensorValue, axis: number): Dim {
  return value.shape?.[axis] ?? cx.slice(cx.shapeOf(value), [axis], [axis + 1], [0]);
}

/** Element `index` of an integer tensor of rank 1. */
export function elementDim(cx: OpContext, value: TensorValue, index: number): Dim {
  return value.ints?.[index] ?? cx.slice(cx.cast(value, 'int64'), [index], [index + 1], [0]);
}

/** All of them, as int64 of rank 1. */
export function dimVector(cx: OpContext, dims: readonly Dim[]): TensorValue {
  if (dims.every((one) => typeof one === 'number')) return cx.int64s(dims);
  return cx.concat(
    dims.map((one) => tensorOf(cx, one)),
    0,
  );
}

/** The sizes known during lowering. */
export const knownDims = (dims: readonly Dim[]): (number | undefined)[] =>
  dims.map((one) => (typeof one === 'number' ? one : undefined));

/** Reshapes; the runtime computes one unknown size. */
export function reshapeTo(cx: OpContext, value: TensorValue, dims: readonly Dim[]): TensorValue {
  const open = dims.filter((one) => typeof one !== 'number').length;
  if (open > 1 || dims.includes(0)) {
    return cx.reshape(value, dimVector(cx, dims), knownDims(dims));
  }
  return cx.reshape(
    value,
    knownDims(dims).map((one) => one ?? -1),
    knownDims(dims),
  );
}
