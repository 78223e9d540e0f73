// Builds one ONNX graph (or subgraph): operators with the casts that ONNX Runtime's CPU kernels
// need, constants, names. Importer's worker thread.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { ElementType } from '../../../model/datatype.js';
import { ELEMENT_TYPES } from '../../onnx/builder.js';
import type {
  OnnxAttribute,
  OnnxGraph,
  OnnxNode,
  OnnxTensor,
  OnnxValue,
} from '../../onnx/builder.js';
import type { ImportedRanks } from '../imported.js';
import type { Dtype, Shape, Tensor } from '../types.js';
import type { DrawSource } from './draws.js';
import { Facts } from './facts.js';
import { KERNEL_TYPES } from './generated/kernel-types.js';
import { numbersTensor, tensorBytes, tensorNumbers, tensorStrings } from './tensors.js';
import { elementType, isStatic } from './values.js';
import type { TensorValue, VariedPart } from './values.js';
import { usedNodes } from './unused.js';
import { INLINE_BYTES_MAX, tensorByteLength, WEIGHT_NAME, type WeightStore } from './weights.js';

/** The domain of Serval's own operators (native/operators). */
export const SERVAL_DOMAIN = 'serval';

export type OnnxAttributes = Readonly<Record<string, OnnxAttribute>>;

/** Description of an operator's output. */
export interface OutputSpec {
  readonly dtype: Dtype;
  readonly shape: Shape;
}

/** Shared by the graphs of one ONNX model: names and constants. */
export class ModelBuild {
  readonly weights: WeightStore;
  readonly initializers: OnnxTensor[] = [];
  readonly weightsUsed = new Set<number>();
  /** By a half's name, the value that it was rounded from because a kernel computes in float. */
  readonly unrounded = new Map<string, TensorValue>();
  /** The nodes that draw random numbers, by the name of the drawn value. */
  readonly draws = new Map<string, DrawSource>();
  /**
   * Nodes that make lists whose items differ in shape, and the description of the items. Found
   * while lowering, for the next attempt.
   */
  readonly varied: Map<string, readonly VariedPart[]>;
  readonly facts = new Facts();
  readonly #types = new Map<string, OnnxValue>();
  readonly #constants = new Map<Tensor, string>();
  readonly #small = new Map<string, string>();
  readonly #reserved = new Set<string>();
  #names = 0;

  constructor(weights: WeightStore, varied = new Map<string, readonly VariedPart[]>()) {
    this.weights = weights;
    this.varied = varied;
  }

  /**
   * Reserves a name for a graph's input or output: the wanted one, or a similar one. Call before
   * any node is added.
   */
  reserve(wanted: string): string {
    let name = wanted;
    const isTaken = (): boolean =>
      name === '' || WEIGHT_NAME.test(name) || this.#reserved.has(name);
    for (let i = 1; isTaken(); i++) name = `${wanted}:${i}`;
    this.#reserved.add(name);
    return name;
  }

  /** A name that no other value or node of the model has. */
  name(hint: string): string {
    let name: string;
    do {
      this.#names += 1;
      name = `${hint}_${this.#names}`;
    } while (this.#reserved.has(name));
    return name;
  }

  /** Declares the element type of a value that the runtime cannot infer. */
  describe(value: OnnxValue): void {
    this.#types.set(value.name, value);
  }

  /** Declared types of these nodes' outputs, which must be in their own graph. */
  typesOf(nodes: readonly OnnxNode[]): OnnxValue[] {
    return nodes.flatMap((node) => node.outputs).flatMap((name) => this.#types.get(name) ?? []);
  }

  /** The initializer of a constant. */
  constant(tensor: Tensor): string {
    let name = this.#constants.get(tensor);
    if (name === undefined) {
      name = this.#add(tensor);
      this.#constants.set(tensor, name);
      this.facts.noteConstant(name);
    }
    return name;
  }

  /** A small initializer that no other node uses: the runtime's optimizer may replace it. */
  own(tensor: Tensor): string {
    const name = this.name('own');
    const type = elementType(tensor.dtype);
    this.initializers.push({ name, type, dims: tensor.shape, data: tensorBytes(tensor) });
    this.facts.noteConstant(name);
    return name;
  }

  #add(tensor: Tensor): string {
    const type = elementType(tensor.dtype);
    const { shape: dims } = tensor;
    if (type === 'string') {
      const name = this.name('strings');
      this.initializers.push({ name, type, dims, data: tensorStrings(tensor) ?? [] });
      return name;
    }
    if (tensorByteLength(tensor) < INLINE_BYTES_MAX) return this.#addSmall(type, tensor);
    const index = this.weights.add(tensor);
    const weight = this.weights.weights[index];
    if (weight === undefined) throw new RangeError(`no weight ${index}`);
    if (!this.weightsUsed.has(index)) {
      this.weightsUsed.add(index);
      const { name, offset, byteLength } = weight;
      const data = { location: this.weights.location, offset, byteLength };
      this.initializers.push({ name, type, dims, data });
    }
    return weight.name;
  }

  #addSmall(type: ElementType, tensor: Tensor): string {
    const data = tensorBytes(tensor);
    const key = `${type} ${tensor.shape.join(',')} ${Buffer.from(data).toString('latin1')}`;
    let name = this.#small.get(key);
    if (name === undefined) {
      name = this.name('constant');
      this.initializers.push({ name, type, dims: tensor.shape, data });
      this.#small.set(key, name);
    }
    return name;
  }
}

// If a kernel lacks a type, the first of these that it supports is used instead.
const WIDER: Partial<Record<Dtype, readonly Dtype[]>> = {
  bool: ['uint8', 'int32', 'int64', 'float'],
  int8: ['int32', 'int16', 'int64', 'float'],
  uint8: ['int32', 'int64', 'float'],
  int16: ['int32', 'int64', 'float'],
  uint16: ['int32', 'int64', 'float'],
  int32: ['int64', 'double', 'float'],
  uint32: ['int64', 'double'],
  int64: ['double', 'int32', 'float'],
  uint64: ['int64', 'double'],
  half: ['float', 'double'],
  bfloat16: ['float', 'double'],
  float: ['double'],
  double: ['float'],
};

const TYPE_CODES: Partial<Record<ElementType, string>> = {
  float: 'f',
  double: 'd',
  int32: 'i',
  int64: 'l',
  bool: 'b',
  string: 's',
  float16: 'h',
  bfloat16: 't',
  uint8: 'B',
  int8: 'c',
  int16: 'S',
  uint16: 'u',
  uint32: 'I',
  uint64: 'L',
};

const typeCode = (dtype: Dtype): string => TYPE_CODES[elementType(dtype)] ?? '?';

/** One type variable of an operator, as its kernels support it. */
function castTarget(type: string, dtype: Dtype, supported: string): Dtype | undefined {
  if (supported.includes(typeCode(dtype))) return undefined;
  const wider = WIDER[dtype]?.find((one) => supported.includes(typeCode(one)));
  if (wider !== undefined) return wider;
  throw new ServalError(ErrorCode.Unimplemented, `ONNX ${type} has no kernel for ${dtype}`);
}

export class GraphBuilder {
  readonly model: ModelBuild;
  readonly nodes: OnnxNode[] = [];
  /** Ranks that TensorFlow's kernels require, by the value's name. */
  readonly ranks = new Map<string, ImportedRanks>();
  /** Values that have the same shape as another, by name. */
  readonly #shapedAs = new Map<string, string>();

  constructor(model: ModelBuild) {
    this.model = model;
  }

  /** The name to use the value by; creates the initializer of a constant. */
  use(value: TensorValue): string {
    if (value.name !== undefined) return value.name;
    if (value.constant === undefined) throw new RangeError('a tensor without name and content');
    return this.model.constant(value.constant);
  }

  /**
   * Adds one operator. Inputs of types that its kernels lack are cast, and the outputs of that type
   * cast back. `outputs` describes the results by ONNX's rules for the original inputs. undefined
   * inputs are omitted optional ones.
   */
  add(
    type: string,
    inputs: readonly (TensorValue | undefined)[],
    outputs: readonly OutputSpec[],
    attributes: OnnxAttributes = {},
    domain = '',
  ): TensorValue[] {
    const row = KERNEL_TYPES[domain === '' ? type : `${domain}:${type}`];
    const needed = row === undefined ? new Map<string, Dtype>() : castsOf(type, inputs, row);
    const casts = MOVES.has(type) && domain === '' ? this.#movedWide(inputs, row, needed) : needed;
    const letterOf = (letters: string | undefined, i: number): string =>
      letters?.[Math.min(i, letters.length - 1)] ?? '';
    const names = inputs.map((input, i) => {
      if (input === undefined) return '';
      const target = casts.get(letterOf(row?.[0], i));
      if (target === undefined) return this.use(input);
      return this.use(STEPS.has(type) ? this.cast(input, target) : this.#widened(input, target));
    });
    const raw = outputs.map((output, i) => {
      const dtype = casts.get(letterOf(row?.[1], i)) ?? output.dtype;
      return { name: this.model.name(type), dtype, wanted: output };
    });
    this.push(
      type,
      names,
      raw.map((one) => one.name),
      attributes,
      domain,
    );
    return raw.map(({ name, dtype, wanted }) => {
      if (domain === SERVAL_DOMAIN) this.describe(name, dtype);
      const value: TensorValue = { kind: 'tensor', name, dtype, shape: wanted.shape };
      return dtype === wanted.dtype ? value : this.#narrowed(value, wanted.dtype);
    });
  }

  /**
   * For a kernel that computes in float: halves that another such kernel computed are replaced by
   * their unrounded float values. If the graph itself casts, they stay rounded.
   */
  #widened(value: TensorValue, target: Dtype): TensorValue {
    const wide = this.model.unrounded.get(value.name ?? '');
    return wide?.dtype === target ? wide : this.cast(value, target);
  }

  /** Casts to the requested type. */
  #narrowed(value: TensorValue, wanted: Dtype): TensorValue {
    const narrow = this.cast(value, wanted);
    const isRounded = HALVES.has(wanted) && value.dtype === 'float';
    if (isRounded && narrow.name !== undefined) this.model.unrounded.set(narrow.name, value);
    return narrow;
  }

  /**
   * Makes an operator that only moves elements also move the unrounded values of halves, so that
   * later kernels can use them.
   */
  #movedWide(
    inputs: readonly (TensorValue | undefined)[],
    row: readonly string[] | undefined,
    needed: ReadonlyMap<string, Dtype>,
  ): ReadonlyMap<string, Dtype> {
    const letters = row?.[0] ?? '';
    const first = letters[0];
    if (first === undefined || needed.has(first)) return needed;
    const moved = inputs.filter((_, i) => letters[Math.min(i, letters.length - 1)] === first);
    const isWide = (one: TensorValue | undefined): boolean =>
      one?.constant !== undefined || this.model.unrounded.has(one?.name ?? '');
    const isHalf = HALVES.has(inputs[0]?.dtype ?? 'float');
    const hasOne = moved.some((one) => this.model.unrounded.has(one?.name ?? ''));
    return isHalf && hasOne && moved.every(isWide)
      ? new Map([...needed, [first, 'float']])
      : needed;
  }

  /** Adds a node unchanged: no casts, no generated names. */
  push(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: OnnxAttributes = {},
    domain = '',
  ): void {
    const name = this.model.name(`n_${op}`);
    const own = domain === '' ? {} : { domain };
    this.nodes.push({ op, name, inputs, outputs, attributes, ...own });
    if (domain === '') this.model.facts.note(op, inputs, outputs);
    const [input, output] = [inputs[0], outputs[0]];
    if (input === undefined || output === undefined || !KEEPS_SHAPE.has(op)) return;
    this.#shapedAs.set(output, input);
  }

  /**
   * Records the ranks that an operator accepts for a value, and for the values that it was computed
   * from element by element.
   */
  requireRank(name: string, rule: ImportedRanks): void {
    for (let at: string | undefined = name; at !== undefined; at = this.#shapedAs.get(at)) {
      const known = this.ranks.get(at);
      const isNarrower =
        known === undefined ||
        rule.min > known.min ||
        (rule.min === known.min && (rule.max ?? Infinity) < (known.max ?? Infinity));
      if (isNarrower) this.ranks.set(at, rule);
    }
  }

  cast(value: TensorValue, dtype: Dtype): TensorValue {
    if (value.dtype === dtype) return value;
    const known = castConstant(value, dtype);
    if (known !== undefined) return known;
    const name = this.model.name('Cast');
    const to = ELEMENT_TYPES[elementType(dtype)];
    this.push('Cast', [this.use(value)], [name], { to: { int: to } });
    const { shape, ints } = value;
    const kept = ints !== undefined && isIntegral(dtype) ? { ints } : {};
    return { kind: 'tensor', name, dtype, shape, ...kept };
  }

  /** Declares the element type of a value that the runtime cannot infer. */
  describe(name: string, dtype: Dtype): void {
    this.model.describe({ name, type: elementType(dtype) });
  }

  /** The finished subgraph: its outputs are the given values, each under a unique name. */
  subgraph(name: string, inputs: readonly OnnxValue[], outputs: readonly TensorValue[]): OnnxGraph {
    const named = outputs.map((value) => {
      const out = this.model.name('out');
      this.push('Identity', [this.use(value)], [out]);
      return { name: out, type: elementType(value.dtype) };
    });
    const nodes = usedNodes(
      this.nodes,
      named.map((one) => one.name),
    );
    return { name, inputs, outputs: named, nodes, valueInfos: this.model.typesOf(nodes) };
  }
}

const HALVES: ReadonlySet<Dtype> = new Set(['half', 'bfloat16']);

/** Operators whose result jumps at some input value: they get rounded halves, as in TensorFlow. */
const STEPS: ReadonlySet<string> = new Set([
  'ArgMax',
  'ArgMin',
  'Ceil',
  'Equal',
  'Floor',
  'Greater',
  'GreaterOrEqual',
  'IsInf',
  'IsNaN',
  'Less',
  'LessOrEqual',
  'Mod',
  'NonZero',
  'Not',
  'Round',
  'Sign',
  'TopK',
  'Unique',
]);

/** Operators whose output consists of unchanged input elements, of one type. */
const MOVES: ReadonlySet<string> = new Set([
  'Concat',
  'Expand',
  'Gather',
  'Identity',
  'Pad',
  'Reshape',
  'Slice',
  'Split',
  'Squeeze',
  'Tile',
  'Transpose',
  'Unsqueeze',
]);

/** Operators whose output always has the first input's shape. */
const KEEPS_SHAPE: ReadonlySet<string> = new Set([
  'Abs',
  'Cast',
  'Elu',
  'Erf',
  'Exp',
  'Identity',
  'LeakyRelu',
  'Log',
  'Neg',
  'Reciprocal',
  'Relu',
  'Sigmoid',
  'Softplus',
  'Sqrt',
  'Tanh',
]);

function isIntegral(dtype: Dtype): boolean {
  return dtype === 'int32' || dtype === 'int64' || dtype === 'bool';
}

function castsOf(
  type: string,
  inputs: readonly (TensorValue | undefined)[],
  row: readonly string[],
): Map<string, Dtype> {
  const casts = new Map<string, Dtype>();
  const letters = row[0] ?? '';
  inputs.forEach((input, i) => {
    const letter = letters[Math.min(i, letters.length - 1)];
    if (input === undefined || letter === undefined || casts.has(letter)) return;
    const supported = row[2 + letter.charCodeAt(0) - 'A'.charCodeAt(0)] ?? '';
    const target = castTarget(type, input.dtype, supported);
    if (target !== undefined) casts.set(letter, target);
  });
  return casts;
}

/** A small constant in another type. */
function castConstant(value: TensorValue, dtype: Dtype): TensorValue | undefined {
  const { constant } = value;
  if (constant === undefined || tensorByteLength(constant) >= INLINE_BYTES_MAX) return undefined;
  if (constant.dtype === 'string' || dtype === 'string') return undefined;
  if (constant.dtype === 'int64' || constant.dtype === 'uint64') {
    if (!isIntegral(dtype)) return undefined;
  }
  const numbers = tensorNumbers(constant);
  const fits = (one: number): boolean => Number.isSafeInteger(one) || !isIntegral(dtype);
  if (numbers === undefined || !numbers.every(fits)) return undefined;
  return constantValue(numbersTensor(dtype, constant.shape, numbers));
}

/** A constant as a value; nothing is added to a graph until it is used. */
export function constantValue(tensor: Tensor): TensorValue {
  const { dtype, shape } = tensor;
  const small =
    shape.length <= 1 && isIntegral(dtype) && tensorByteLength(tensor) < INLINE_BYTES_MAX;
  const ints = small ? tensorNumbers(tensor) : undefined;
  const known = ints !== undefined && ints.every(Number.isSafeInteger) ? { ints } : {};
  return { kind: 'tensor', dtype, shape, constant: tensor, ...known };
}

/**
 * A value of an integer type whose elements are known as far as `ints` says: a constant if all are
 * known and the shape is static.
 */
export function withInts(value: TensorValue, ints: readonly (number | undefined)[]): TensorValue {
  const { dtype, shape } = value;
  if (isStatic(shape) && ints.every((one) => one !== undefined)) {
    return constantValue(numbersTensor(dtype, shape, ints as readonly number[]));
  }
  return { ...value, ints };
}
