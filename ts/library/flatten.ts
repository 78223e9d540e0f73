// Flattens nested lists to one list with a shape. Pure; any thread.
import { elementCount } from '../model/shape.js';
import { ServalError, invalidArgument } from '../base/errors.js';
import { LIBRARY_RANK_MAX } from '../base/limits.js';
import { echo } from '../base/text.js';
import type { InputInfo, InputValue, Scalar, TensorInput, TypedArray } from './types.js';

export interface Flat {
  /** undefined: a typed array or a scalar, which has no shape. */
  readonly shape: readonly number[] | undefined;
  readonly values: ArrayLike<Scalar>;
}

export const isTypedArray = (value: unknown): value is TypedArray =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

/** Wraps plain values as a TensorInput; returns a TensorInput unchanged. */
export function tensorInput(where: string, value: InputValue): TensorInput {
  const isObject = typeof value === 'object' && value !== null;
  if (!isObject || Array.isArray(value) || isTypedArray(value)) {
    return { data: value as TensorInput['data'] };
  }
  const given = value as TensorInput;
  if (given.data !== undefined) return given;
  const members = echo(Object.keys(value).slice(0, 8).join(', '));
  throw invalidArgument(
    where,
    `expected values or {data, shape, datatype, parameters}, got ${members}`,
  );
}

/** `bytes`: a typed array is one element. Errors: InvalidArgument: lists of different lengths. */
export function flatten(where: string, data: unknown, bytes: boolean): Flat {
  const isOne = (value: unknown): boolean =>
    !Array.isArray(value) && (bytes || !isTypedArray(value));
  if (isOne(data)) return { shape: undefined, values: [data as Scalar] };
  if (isTypedArray(data)) return { shape: undefined, values: data as ArrayLike<Scalar> };
  const shape = shapeOf(where, data, isOne);
  const values: Scalar[] = [];
  const visit = (value: unknown, depth: number): void => {
    const wanted = shape[depth];
    if (wanted === undefined) {
      if (!isOne(value)) throw uneven(where, depth, 'a list', 'a value');
      values.push(value as Scalar);
      return;
    }
    if (isOne(value)) throw uneven(where, depth, 'a value', `${wanted} elements`);
    const list = value as ArrayLike<unknown>;
    if (list.length !== wanted) {
      throw uneven(where, depth, `${list.length} elements`, `${wanted}, as in the first`);
    }
    for (let i = 0; i < wanted; i += 1) visit(list[i], depth + 1);
  };
  visit(data, 0);
  return { shape, values };
}

/** Takes the shape from the first element of each list. */
function shapeOf(where: string, data: unknown, isOne: (value: unknown) => boolean): number[] {
  const shape: number[] = [];
  for (let at = data; !isOne(at); at = (at as ArrayLike<unknown>)[0]) {
    const { length } = at as ArrayLike<unknown>;
    shape.push(length);
    if (length === 0) break;
    if (shape.length > LIBRARY_RANK_MAX) {
      throw invalidArgument(where, `expected at most ${LIBRARY_RANK_MAX} lists inside each other`);
    }
  }
  return shape;
}

function uneven(where: string, depth: number, got: string, expected: string): ServalError {
  return invalidArgument(where, `dimension ${depth}: expected ${expected}, got ${got}`);
}

/**
 * Returns the shape of `count` values without one: the input's shape, with its free dimension
 * derived from the count. Errors: InvalidArgument if they do not fit it.
 */
export function shapeFor(where: string, info: InputInfo | undefined, count: number): number[] {
  if (info === undefined || info.unknownRank) return count === 1 ? [] : [count];
  const { shape } = info;
  const free = shape.filter((dim) => dim < 0).length;
  const fixed = elementCount(shape.filter((dim) => dim >= 0));
  const left = fixed === 0 ? 0 : count / fixed;
  if (left === 1) return shape.map((dim) => (dim < 0 ? 1 : dim));
  if (free === 1 && Number.isInteger(left)) return shape.map((dim) => (dim < 0 ? left : dim));
  const declared = `[${shape.map((dim) => (dim < 0 ? '?' : dim)).join(',')}]`;
  const how = free > 1 ? ': say which with {data, shape}' : '';
  throw invalidArgument(where, `expected elements for the shape ${declared}, got ${count}${how}`);
}

/** Checks a given shape. Errors: InvalidArgument. */
export function checkedShape(where: string, shape: readonly number[], count: number): number[] {
  const isGood =
    Array.isArray(shape) &&
    shape.length <= LIBRARY_RANK_MAX &&
    shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0);
  if (!isGood)
    throw invalidArgument(where, `expected a shape of sizes, got ${echo(String(shape))}`);
  const wanted = elementCount(shape);
  if (wanted !== count) {
    throw invalidArgument(where, `shape [${shape.join(',')}] has ${wanted} elements, got ${count}`);
  }
  return [...shape];
}
