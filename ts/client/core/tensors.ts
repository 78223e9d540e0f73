// Inputs of a call as tensors: nested lists are checked against their shape, missing facts come
// from the model's metadata. Pure; any thread of any JavaScript runtime.
import { arrayName, inferredDatatype } from './elements.js';
import { shown, wrongInput, type ClientError } from './errors.js';
import type { Inputs, Parameters, Scalar, TensorInfo, TensorInput, Values } from './types.js';

/** An input with all its facts, not encoded yet. */
export interface FlatTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** Row-major: a list, or the given typed array. */
  readonly values: ArrayLike<Scalar>;
  readonly parameters: Parameters;
}

const isTensor = (value: Values | TensorInput): value is TensorInput =>
  typeof value === 'object' && value !== null && 'data' in value && !Array.isArray(value);
const asTensor = (value: Values | TensorInput): TensorInput =>
  isTensor(value) ? value : { data: value };

/** Whether the datatype or the shape of an input can only be known from the model's metadata. */
export function needsMetadata(inputs: Inputs): boolean {
  return Object.values(inputs).some((value) => {
    const { data, shape, datatype } = asTensor(value);
    return datatype === undefined || (shape === undefined && !Array.isArray(data));
  });
}

export const elementCount = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** `infos`: the model's inputs, if known. Errors: INVALID_ARGUMENT naming the input. */
export function tensorsOf(inputs: Inputs, infos: readonly TensorInfo[]): FlatTensor[] {
  return Object.entries(inputs).map(([name, value]) => {
    const info = infos.find((one) => one.name === name);
    if (info === undefined && infos.length > 0) {
      const known = infos.map((one) => one.name).join(', ');
      throw wrongInput(`input '${name}'`, `an input of the model (${known})`, 'an unknown name');
    }
    return tensorOf(name, asTensor(value), info);
  });
}

function tensorOf(name: string, given: TensorInput, info: TensorInfo | undefined): FlatTensor {
  const where = `input '${name}'`;
  const { data, parameters = {} } = given;
  if (data === undefined) throw wrongInput(where, 'values', 'undefined');
  const known = given.datatype ?? info?.datatype;
  const flat = flattened(where, data, known === 'BYTES');
  const { values } = flat;
  const datatype = known ?? inferredDatatype(flat.leaf ?? values);
  if (datatype === undefined) {
    const got = 'numbers without one: pass {data, datatype}';
    throw wrongInput(where, "a datatype, as the model's metadata is not available", got);
  }
  const shape =
    given.shape === undefined ? ownShape(where, flat, info) : givenShape(where, flat, given.shape);
  // A dimension of -1 is for lists of different lengths, which tabular models accept.
  if (!shape.includes(-1) && elementCount(shape) !== values.length) {
    const expected = `${elementCount(shape)} elements for shape [${shape.join()}]`;
    throw wrongInput(where, expected, `${values.length}`);
  }
  return { name, datatype, shape, values, parameters };
}

function givenShape(where: string, { dims }: Flat, shape: readonly number[]): readonly number[] {
  if (shape.some((dim) => !Number.isSafeInteger(dim) || dim < -1)) {
    throw wrongInput(where, 'a shape of whole numbers', `[${shape.join()}]`);
  }
  if (dims !== undefined && dims.length > 1 && dims.join() !== shape.join()) {
    throw wrongInput(where, `lists of shape [${shape.join()}]`, `[${dims.join()}]`);
  }
  return shape;
}

/** The shape of lists; that of the model for a typed array or a scalar. */
function ownShape(
  where: string,
  { values, dims }: Flat,
  info: TensorInfo | undefined,
): readonly number[] {
  if (dims !== undefined) return dims;
  const { length } = values;
  const own = info?.shape ?? (Array.isArray(values) ? [] : [-1]);
  if (Array.isArray(values)) return own.map((dim) => (dim < 0 ? 1 : dim));
  const free = own.filter((dim) => dim < 0).length;
  if (free === 0) return own;
  const rest = length / own.reduce((product, dim) => (dim < 0 ? product : product * dim), 1);
  if (free === 1 && Number.isInteger(rest)) return own.map((dim) => (dim < 0 ? rest : dim));
  const expected = `values that fit the model's shape [${own.join()}]`;
  throw wrongInput(where, expected, `${length} elements without a shape`);
}

interface Flat {
  /** A list if the data is lists or a scalar; else the given typed array. */
  readonly values: ArrayLike<Scalar>;
  /** undefined if the data is a typed array or a scalar. */
  readonly dims: readonly number[] | undefined;
  /** The first typed array in the lists. */
  readonly leaf?: ArrayLike<unknown> | undefined;
}

/** `isText`: a Uint8Array is one element. */
function flattened(where: string, data: Values, isText: boolean): Flat {
  const isElement = (value: unknown): boolean =>
    !Array.isArray(value) && (arrayName(value) === undefined || isText);
  if (!Array.isArray(data)) {
    const values = (isElement(data) ? [data] : data) as ArrayLike<Scalar>;
    return { values, dims: undefined };
  }
  const dims: number[] = [];
  let leaf: ArrayLike<unknown> | undefined;
  for (let part: unknown = data; !isElement(part); part = (part as ArrayLike<unknown>)[0]) {
    leaf = part as ArrayLike<unknown>;
    dims.push(leaf.length);
    if (leaf.length === 0) break;
  }
  const values: Scalar[] = [];
  const at: number[] = [];
  const wrong = (depth: number, expected: string, part: unknown): ClientError => {
    const path = at.slice(0, depth).map((i) => `[${i}]`);
    const { length } = part as ArrayLike<unknown>;
    return wrongInput(
      where + path.join(''),
      expected,
      isElement(part) ? shown(part) : `a list of ${length}`,
    );
  };
  const walk = (part: unknown, depth: number): void => {
    const expected = dims[depth];
    if (expected === undefined) {
      if (!isElement(part)) throw wrong(depth, 'an element', part);
      values.push(part as Scalar);
      return;
    }
    const list = part as ArrayLike<unknown>;
    if (isElement(part) || list.length !== expected) {
      throw wrong(depth, `a list of ${expected}`, part);
    }
    for (let i = 0; i < expected; i += 1) {
      at[depth] = i;
      walk(list[i], depth + 1);
    }
  };
  walk(data, 0);
  return { values, dims, leaf: arrayName(leaf) === undefined ? undefined : leaf };
}

/** Cached metadata, by model and version. A failed request forgets it, since models change. */
export class MetadataCache<T> {
  readonly #kept = new Map<string, Promise<T>>();

  /** Calls share one request; if the one that sent it was cancelled, another sends its own. */
  async get(key: string, load: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(key);
    try {
      if (kept !== undefined) return await kept;
    } catch (error) {
      if (!/CANCELLED|DEADLINE/.test((error as ClientError).code)) throw error;
    }
    const loading = load();
    this.#kept.set(key, loading);
    loading.catch(() => this.#kept.delete(key));
    return loading;
  }

  /** Settles as `call`; if the server rejects the request, the next call reads metadata again. */
  async forgetOnError<R>(key: string, call: Promise<R>): Promise<R> {
    try {
      return await call;
    } catch (error) {
      const { status, code } = error as ClientError;
      if (status !== undefined && code !== 'UNAVAILABLE') this.#kept.delete(key);
      throw error;
    }
  }
}
