// The context for lowering one TensorFlow node: the node, its inputs, and ways to add ONNX
// operators. Every operator file in ops/ is written against this. Importer's worker thread.
import { elementCount } from '../../../model/shape.js';
import { TENSORFLOW_RANK_MAX } from '../../../base/limits.js';
import type { OnnxGraph } from '../../onnx/builder.js';
import type {
  Attribute,
  AttributeList,
  Dtype,
  FlatFunction,
  FlatNode,
  FunctionRef,
  Initialised,
  Shape,
  Tensor,
} from '../types.js';
import {
  constantValue,
  type GraphBuilder,
  type OnnxAttributes,
  type OutputSpec,
  SERVAL_DOMAIN,
  withInts,
} from './graph-builder.js';
import { numbersTensor, tensorNumbers, tensorStrings } from './tensors.js';
import { dtypeBytes, joinedInts, shapeText } from './values.js';
import type { TensorValue, Value } from './values.js';

/** Thrown by a lowering that does not support the node; `reason` is read after "Op 'node': ". */
export class UnsupportedError extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/** Lowers one operator: returns its outputs in order (a single value if it has one). */
export type Lowering = (cx: OpContext) => Value | readonly Value[];

/** A supported operator. `dtypes` and `note` are for docs/reference/tensorflow.md's table. */
export interface Operator {
  readonly lower: Lowering;
  /** The lowering for complex tensors; absent = they are refused. */
  readonly complex?: Lowering;
  /** Element types of the main input, "numeric", "any" ...; absent = numeric. */
  readonly dtypes?: string;
  readonly note?: string;
}

export type Operators = Readonly<Record<string, Operator>>;

/** The enclosing graph's services for a node. */
export interface Surroundings {
  readonly builder: GraphBuilder;
  readonly state: Initialised;
  /** A function's body. */
  function(ref: FunctionRef): FlatFunction;
  /** A function as an ONNX subgraph; it may use values of the enclosing graph. */
  subgraph(body: FlatFunction, args: readonly Value[]): Subgraph;
  /** Adds a function's nodes here; returns its results. */
  inline(body: FlatFunction, args: readonly Value[]): readonly Value[];
  /** An ONNX subgraph that `make` adds to. */
  nested(make: (inner: OpContext) => readonly Value[], cx: OpContext): Subgraph;
  /** The same, adding to another graph. */
  within(builder: GraphBuilder): Surroundings;
  /** Runs `run`, undoes its assignments of variables and returns them. */
  assignedBy<T>(run: () => T): { readonly result: T; readonly assigned: AssignedVariables };
  /** The variable of a node: nodes with the same shared_name are one variable. */
  variableKey(node: FlatNode): string;
  /** A variable's current value at this point, and assigning a new one. */
  readVariable(key: string): TensorValue;
  assignVariable(key: string, value: TensorValue): void;
  warn(text: string): void;
}

/** Variables' new values by key. */
export type AssignedVariables = ReadonlyMap<string, TensorValue>;

/** A function's body lowered into a separate graph. */
export interface Subgraph {
  readonly builder: GraphBuilder;
  /** The function's results, as values of that graph. */
  readonly results: readonly Value[];
  finish(name: string, inputs: OnnxGraph['inputs'], outputs: readonly TensorValue[]): OnnxGraph;
}

export interface EmitOptions {
  /** Default: the first input's. */
  readonly dtype?: Dtype;
  /** Default: the first input's. Explicitly undefined: unknown. */
  readonly shape?: Shape;
  readonly attributes?: OnnxAttributes;
}

export class OpContext {
  readonly node: FlatNode;
  readonly around: Surroundings;
  readonly inputs: readonly Value[];

  constructor(node: FlatNode, inputs: readonly Value[], around: Surroundings) {
    this.node = node;
    this.inputs = inputs;
    this.around = around;
  }

  get builder(): GraphBuilder {
    return this.around.builder;
  }

  /** The same node, adding to another graph (a subgraph of this one). */
  within(builder: GraphBuilder): OpContext {
    return new OpContext(this.node, this.inputs, this.around.within(builder));
  }

  // Inputs.

  input(index: number): Value {
    const value = this.inputs[index];
    if (value === undefined) this.fail(`has no input ${index}`);
    return value;
  }

  /** Input `index` as a tensor; variables are read. */
  tensor(index: number): TensorValue {
    return this.asTensor(this.input(index), index);
  }

  /** Inputs `from` (inclusive) to `to` (exclusive) as tensors. */
  tensors(from = 0, to = this.inputs.length): TensorValue[] {
    return this.inputs.slice(from, to).map((one, i) => this.asTensor(one, from + i));
  }

  asTensor(value: Value, index: number): TensorValue {
    if (value.kind === 'tensor') return value;
    if (value.kind === 'variable') return this.around.readVariable(value.key);
    return this.fail(`input ${index} is a ${value.kind}, expected a tensor`);
  }

  /**
   * Records that TensorFlow's kernel refuses other ranks of the value although ONNX's operator may
   * not: the engine then checks the request's inputs.
   */
  requireRank(value: TensorValue, min: number, max?: number): void {
    if (value.name === undefined) return;
    const most = max === undefined ? {} : { max };
    this.builder.requireRank(value.name, { min, ...most, of: this.node.op });
  }

  /** The input's elements if it is a small constant of numbers. */
  numbers(index: number): readonly number[] | undefined {
    const { constant } = this.tensor(index);
    return constant === undefined ? undefined : tensorNumbers(constant);
  }

  /** The same for strings. */
  strings(index: number): readonly Uint8Array[] | undefined {
    const { constant } = this.tensor(index);
    return constant === undefined ? undefined : tensorStrings(constant);
  }

  /** The constant numbers of an input. Fails, naming `what`, if they are unknown. */
  requireNumbers(index: number, what: string): readonly number[] {
    return this.numbers(index) ?? this.fail(`${what} (input ${index}) must be a constant`);
  }

  /** The rank of a tensor. Fails if it is unknown. */
  rank(value: TensorValue, what = 'its input'): number {
    return value.shape?.length ?? this.fail(`the rank of ${what} is not known`);
  }

  /** `axis` of a tensor of this rank, counted from the front. */
  axis(axis: number, rank: number): number {
    const positive = axis < 0 ? axis + rank : axis;
    if (positive >= 0 && positive < rank) return positive;
    return this.fail(`axis ${axis} is out of range for rank ${rank}`);
  }

  // Attributes. The fallback is for optional ones; without a fallback, a missing attribute fails.

  int(name: string, fallback?: number): number {
    const value = this.#attribute(name, 'int', fallback === undefined);
    return value === undefined ? (fallback ?? 0) : Number(value.value);
  }

  float(name: string, fallback?: number): number {
    const value = this.#attribute(name, 'float', fallback === undefined);
    return value?.value ?? fallback ?? 0;
  }

  bool(name: string, fallback?: boolean): boolean {
    const value = this.#attribute(name, 'bool', fallback === undefined);
    return value?.value ?? fallback ?? false;
  }

  bytes(name: string, fallback?: Uint8Array): Uint8Array {
    const value = this.#attribute(name, 'bytes', fallback === undefined);
    return value?.value ?? fallback ?? new Uint8Array();
  }

  text(name: string, fallback?: string): string {
    const value = this.#attribute(name, 'bytes', fallback === undefined);
    return value === undefined ? (fallback ?? '') : Buffer.from(value.value).toString();
  }

  type(name: string, fallback?: Dtype): Dtype {
    const value = this.#attribute(name, 'type', fallback === undefined);
    return value?.value ?? fallback ?? 'float';
  }

  shape(name: string): Shape {
    return this.#attribute(name, 'shape', false)?.value;
  }

  functionRef(name: string): FunctionRef {
    const value = this.#attribute(name, 'function', true);
    return value?.value ?? this.fail(`attribute ${name} is missing`);
  }

  list(name: string): AttributeList {
    return this.#attribute(name, 'list', false)?.value ?? EMPTY_LIST;
  }

  ints(name: string): number[] {
    return this.list(name).ints.map(Number);
  }

  #attribute<K extends Attribute['kind']>(
    name: string,
    kind: K,
    required: boolean,
  ): Extract<Attribute, { kind: K }> | undefined {
    const value = this.node.attributes.get(name);
    if (value?.kind === kind) return value as Extract<Attribute, { kind: K }>;
    if (value?.kind === 'unserved type') this.fail(`tensors of ${value.value} are not supported`);
    if (value !== undefined) this.fail(`attribute ${name}: expected ${kind}, got ${value.kind}`);
    if (required) this.fail(`attribute ${name} is missing`);
    return undefined;
  }

  // Adding operators.

  /** One ONNX operator with one output. */
  op(
    type: string,
    inputs: readonly (TensorValue | undefined)[],
    options: EmitOptions = {},
  ): TensorValue {
    const [value] = this.builder.add(
      type,
      inputs,
      [this.#spec(inputs, options)],
      options.attributes,
    );
    return value ?? this.fail(`${type} has no output`);
  }

  /** One ONNX operator with these outputs. */
  ops(
    type: string,
    inputs: readonly (TensorValue | undefined)[],
    outputs: readonly OutputSpec[],
    attributes: OnnxAttributes = {},
  ): TensorValue[] {
    return this.builder.add(type, inputs, outputs, attributes);
  }

  /** One of Serval's operators (native/operators). */
  custom(
    type: string,
    inputs: readonly (TensorValue | undefined)[],
    outputs: readonly OutputSpec[],
    attributes: OnnxAttributes = {},
  ): TensorValue[] {
    return this.builder.add(type, inputs, outputs, attributes, SERVAL_DOMAIN);
  }

  #spec(inputs: readonly (TensorValue | undefined)[], options: EmitOptions): OutputSpec {
    const first = inputs.find((one) => one !== undefined);
    const dtype = options.dtype ?? first?.dtype ?? 'float';
    return { dtype, shape: 'shape' in options ? options.shape : first?.shape };
  }

  // Constants: nothing is added until they are used.

  constant(tensor: Tensor): TensorValue {
    return constantValue(tensor);
  }

  scalar(dtype: Dtype, value: number): TensorValue {
    return constantValue(numbersTensor(dtype, [], [value]));
  }

  /** int64 of rank 1. */
  int64s(values: readonly number[]): TensorValue {
    return constantValue(numbersTensor('int64', [values.length], values));
  }

  // Common building blocks. All keep track of shapes and known integers.

  cast(value: TensorValue, dtype: Dtype): TensorValue {
    return this.builder.cast(value, dtype);
  }

  /** A tensor's shape, int64 of rank 1, with the known dims. */
  shapeOf(value: TensorValue): TensorValue {
    const { shape } = value;
    if (shape !== undefined && shape.every((dim) => dim !== undefined)) {
      return this.int64s(shape as readonly number[]);
    }
    const out = this.op('Shape', [value], { dtype: 'int64', shape: [shape?.length] });
    return shape === undefined ? out : withInts(out, shape);
  }

  /**
   * Reshapes to `dims` (-1 at most once) or to a run-time shape (int64, rank 1). 0 has TensorFlow's
   * meaning: an empty dim.
   */
  reshape(value: TensorValue, to: readonly number[] | TensorValue, shape?: Shape): TensorValue {
    const target = Array.isArray(to) ? this.int64s(to as readonly number[]) : (to as TensorValue);
    const known = target.ints?.map((dim) => (dim === -1 ? undefined : dim));
    const rank = target.shape?.[0];
    if (rank !== undefined && rank > TENSORFLOW_RANK_MAX) {
      this.fail(`a reshape to rank ${rank}: expected at most ${TENSORFLOW_RANK_MAX}`);
    }
    const free = rank === undefined ? undefined : Array.from({ length: rank }, () => undefined);
    const result = shape ?? known ?? free;
    if (value.constant !== undefined && value.constant.data.kind !== 'fill') {
      const moved = reshapedConstant(value.constant, target.ints);
      if (moved !== undefined) return constantValue(moved);
    }
    const out = this.op('Reshape', [value, this.cast(target, 'int64')], {
      shape: result,
      attributes: { allowzero: { int: 1 } },
    });
    return value.ints !== undefined && (result?.length ?? 2) <= 1 ? withInts(out, value.ints) : out;
  }

  transpose(value: TensorValue, permutation: readonly number[]): TensorValue {
    if (permutation.every((axis, i) => axis === i)) return value;
    const { shape } = value;
    return this.op('Transpose', [value], {
      shape: shape === undefined ? undefined : permutation.map((axis) => shape[axis]),
      attributes: { perm: { ints: permutation } },
    });
  }

  /** Removes dims of size 1; `axes` counted from the front. */
  squeeze(value: TensorValue, axes: readonly number[]): TensorValue {
    if (axes.length === 0) return value;
    const shape = value.shape?.filter((_, axis) => !axes.includes(axis));
    const out = this.op('Squeeze', [value, this.int64s(axes)], { shape });
    return value.ints !== undefined && shape?.length === 0 ? withInts(out, value.ints) : out;
  }

  /** Inserts dims of size 1; `axes` counted from the front of the result, ascending. */
  unsqueeze(value: TensorValue, axes: readonly number[]): TensorValue {
    if (axes.length === 0) return value;
    let shape: (number | undefined)[] | undefined;
    if (value.shape !== undefined) {
      shape = [...value.shape];
      for (const axis of axes) shape.splice(axis, 0, 1);
    }
    const out = this.op('Unsqueeze', [value, this.int64s(axes)], { shape });
    return value.ints !== undefined && shape?.length === 1 ? withInts(out, value.ints) : out;
  }

  /** Concatenates along `axis` (counted from the front). */
  concat(values: readonly TensorValue[], axis: number): TensorValue {
    const [first] = values;
    if (first === undefined) return this.fail('nothing to concatenate');
    if (values.length === 1) return first;
    const shape = first.shape?.map((dim, i) => {
      const dims = values.map((one) => one.shape?.[i]);
      if (i !== axis) return dims.find((one) => one !== undefined) ?? dim;
      if (dims.some((one) => one === undefined)) return undefined;
      return dims.reduce<number>((sum, one) => sum + (one ?? 0), 0);
    });
    const out = this.op('Concat', values, { shape, attributes: { axis: { int: axis } } });
    const ints = axis === 0 ? joinedInts(values.map((one) => one.ints)) : undefined;
    return ints === undefined ? out : withInts(out, ints);
  }

  /** Elements `starts` (inclusive) to `ends` (exclusive) of `axes`, by `steps`. */
  slice(
    value: TensorValue,
    starts: readonly number[],
    ends: readonly number[],
    axes: readonly number[],
    steps?: readonly number[],
  ): TensorValue {
    const shape = value.shape?.map((dim, axis) => {
      const at = axes.indexOf(axis);
      if (at < 0) return dim;
      return sliceLength(dim, starts[at] ?? 0, ends[at] ?? 0, steps?.[at] ?? 1);
    });
    return this.op(
      'Slice',
      [
        value,
        this.int64s(starts),
        this.int64s(ends),
        this.int64s(axes),
        steps === undefined ? undefined : this.int64s(steps),
      ],
      { shape },
    );
  }

  /**
   * Rows of `value` (along its first dim) by int64 indices of any rank. ONNX Runtime's Gather
   * copies only one string per row, so multi-string rows use GatherND.
   */
  rows(value: TensorValue, indices: TensorValue, shape: Shape): TensorValue {
    if (value.dtype !== 'string' || value.shape?.length === 1) {
      return this.op('Gather', [value, indices], { shape, attributes: { axis: { int: 0 } } });
    }
    const tuples = this.op('Unsqueeze', [indices, this.int64s([-1])], {
      shape: indices.shape && [...indices.shape, 1],
    });
    return this.op('GatherND', [value, tuples], { shape });
  }

  /**
   * Records that the node draws a random value, which is refused or reported if an output depends
   * on it.
   */
  noteDraw(value: TensorValue): TensorValue {
    const { op, name: node } = this.node;
    this.builder.model.draws.set(value.name ?? '', { op, node });
    return value;
  }

  warn(text: string): void {
    this.around.warn(`${this.node.op} '${this.node.name}': ${text}`);
  }

  /** Fails the lowering; the text is read after "Op 'node': ". */
  fail(reason: string): never {
    throw new UnsupportedError(reason);
  }

  /** For error texts. */
  describe(value: TensorValue): string {
    return `${value.dtype} ${shapeText(value.shape)}`;
  }
}

const EMPTY_LIST: AttributeList = {
  bytes: [],
  ints: [],
  floats: [],
  bools: [],
  types: [],
  shapes: [],
  tensors: [],
  functions: [],
};

/**
 * Number of elements of start:end:step in `dim`; ends beyond it are clamped, negative ones count
 * from the end.
 */
export function sliceLength(
  dim: number | undefined,
  start: number,
  end: number,
  step: number,
): number | undefined {
  if (dim === undefined) return undefined;
  const clamp = (at: number): number => {
    const absolute = at < 0 ? at + dim : at;
    return step > 0
      ? Math.min(Math.max(absolute, 0), dim)
      : Math.min(Math.max(absolute, -1), dim - 1);
  };
  return Math.max(0, Math.ceil((clamp(end) - clamp(start)) / step));
}

/** The constant with another shape, if it is completely known. */
function reshapedConstant(
  tensor: Tensor,
  dims: readonly (number | undefined)[] | undefined,
): Tensor | undefined {
  if (dims === undefined || dims.some((dim) => dim === undefined)) return undefined;
  const count = elementCount(tensor.shape);
  const rest = elementCount((dims as number[]).filter((dim) => dim >= 0));
  const shape = (dims as number[]).map((dim) => (dim < 0 ? count / rest : dim));
  const fits = elementCount(shape) === count && shape.every((dim) => Number.isSafeInteger(dim));
  if (!fits || (dtypeBytes(tensor.dtype) === 0 && tensor.dtype !== 'string')) return undefined;
  return { dtype: tensor.dtype, shape, data: tensor.data };
}

/** Netstrings, the form in which native/operators reads lists of strings. */
export function netstrings(values: readonly (Uint8Array | string)[]): Uint8Array {
  return Buffer.concat(
    values.flatMap((one) => {
      const bytes = Buffer.from(one as string);
      return [Buffer.from(`${bytes.length}:`), bytes];
    }),
  );
}
