// One subgraph of a TensorFlow Lite file while its operators become nodes: names, values of
// tensors, quantised numbers and back. Importer's worker thread; pure.
import { modelInvalid } from '../../../base/errors.js';
import { numbersTensor } from '../lower/tensors.js';
import type { OpTable } from '../proto/op-defs.js';
import type { Attribute, Attributes, Dtype, NodeDef, Shape } from '../types.js';
import * as attribute from './attributes.js';
import { dtypeOf, type LiteFile, typeName } from './file.js';
import type { SubGraph, Tensor } from './generated/schema.js';

/** An output of a node. */
export interface NodeRef {
  readonly node: string;
  readonly output: number;
}

/** A number is `scale` * (stored - `zero`), with one of each or one for each index of `axis`. */
export interface Quantised {
  readonly scales: readonly number[];
  readonly zeros: readonly number[];
  readonly axis: number;
}

type Given = Readonly<Record<string, Attribute>>;

/** A node under construction. */
interface OpenNode extends NodeDef {
  readonly attributes: Map<string, Attribute>;
}

const QUANTISED: ReadonlySet<Dtype> = new Set(['int8', 'uint8', 'int16', 'int32', 'int64']);
const NAME_CHARS_MAX = 200;

/** Thrown for an operator that cannot be lowered, with the reason. */
export class Refused extends Error {}

export class LiteScope {
  readonly file: LiteFile;
  readonly graph: SubGraph;
  readonly nodes: OpenNode[] = [];
  /** "subgraph 1": for messages. */
  readonly place: string;
  readonly #ops: OpTable;
  /** Names of its nodes begin with it. */
  readonly #prefix: string;
  /** A function's body, whose inputs are spelled differently. */
  readonly #isBody: boolean;
  readonly #byName = new Map<string, OpenNode>();
  readonly #values = new Map<number, NodeRef>();
  readonly #constants = new Set<number>();
  /** How many operators' inputs each tensor is. */
  #uses: Map<number, number> | undefined;

  constructor(file: LiteFile, index: number, ops: OpTable, prefix: string, isBody: boolean) {
    const graph = file.model.subgraphs[index];
    if (graph === undefined) {
      throw modelInvalid(
        `subgraph ${index}: expected one of ${file.model.subgraphs.length}, got no such subgraph`,
      );
    }
    this.file = file;
    this.graph = graph;
    this.place = `subgraph ${index}`;
    this.#ops = ops;
    this.#prefix = prefix;
    this.#isBody = isBody;
  }

  // Tensors.

  tensor(index: number): Tensor {
    const found = this.graph.tensors[index];
    if (found === undefined) throw new Refused(`tensor ${index} does not exist`);
    return found;
  }

  dtype(index: number): Dtype {
    const { type } = this.tensor(index);
    const dtype = dtypeOf(type);
    if (dtype === undefined) throw new Refused(`tensors of ${typeName(type)} are not supported`);
    return dtype;
  }

  /** Dims that may change are undefined. */
  shape(index: number): Shape {
    const { shape, shapeSignature, hasRank } = this.tensor(index);
    if (shape.length === 0 && shapeSignature.length === 0 && !hasRank) return undefined;
    const dims = shapeSignature.length > 0 ? shapeSignature : shape;
    return Array.from(dims, (dim) => (dim < 0 ? undefined : dim));
  }

  /** undefined: its numbers are what is stored. */
  quantised(index: number): Quantised | undefined {
    const { quantization, shape } = this.tensor(index);
    if (quantization === undefined) return undefined;
    if (quantization.detailsType !== 0) throw new Refused('custom quantisation is not supported');
    const scales = Array.from(quantization.scale);
    if (scales.length === 0 || !QUANTISED.has(this.dtype(index))) return undefined;
    const given = quantization.zeroPoint;
    if (given.length > 0 && given.length !== scales.length) {
      const expected = `expected ${scales.length} zero points`;
      throw new Refused(`tensor ${index}: ${expected}, as it has scales, got ${given.length}`);
    }
    const zeros = scales.map((_, i) => given[i] ?? 0);
    const axis = quantization.quantizedDimension;
    const isFit = scales.length === 1 || shape[axis] === scales.length;
    if (!isFit || scales.some((scale) => !(scale > 0 && scale < Infinity))) {
      throw new Refused(`tensor ${index}: ${scales.length} scales along axis ${axis} do not fit`);
    }
    return { scales, zeros, axis };
  }

  /** Whether stored numbers of both mean the same. */
  isSame(a: number, b: number): boolean {
    const key = (index: number): string => JSON.stringify(this.quantised(index) ?? null);
    return this.dtype(a) === this.dtype(b) && key(a) === key(b);
  }

  // Values.

  /** The value in the form in which it is stored. */
  raw(index: number): NodeRef {
    const known = this.#values.get(index);
    if (known !== undefined) return known;
    const tensor = this.tensor(index);
    const where = `${this.place}, tensor ${index} '${tensor.name.slice(0, NAME_CHARS_MAX)}'`;
    if (tensor.sparsity !== undefined)
      throw new Refused(`tensor ${index}: sparse tensors are not supported`);
    const constant = this.file.constantOf(tensor, where);
    if (constant === undefined) {
      if (!tensor.isVariable) throw modelInvalid(`${where}: used before an operator computes it`);
      throw new Refused(`tensor ${index} keeps its contents between calls, which is not supported`);
    }
    const attributes = { value: attribute.tensor(constant), dtype: attribute.type(constant.dtype) };
    const made = this.add('Const', [], attributes, tensor.name);
    this.#constants.add(index);
    this.#values.set(index, made);
    return made;
  }

  /**
   * Its numbers: float if it is quantised. Each operator that takes them has its own node, as the
   * runtime wants it.
   */
  real(index: number): NodeRef {
    const raw = this.raw(index);
    const quantised = this.quantised(index);
    return quantised === undefined ? raw : this.dequantised(raw, quantised, this.#isShared(index));
  }

  /** The same with its axes in this order. */
  turned(index: number, axes: readonly number[]): NodeRef {
    if (axes.every((axis, i) => axis === i)) return this.real(index);
    const quantised = this.quantised(index);
    const raw = this.add('Transpose', [this.raw(index), this.int32s(axes)]);
    if (quantised === undefined) return raw;
    const turned = { ...quantised, axis: axes.indexOf(quantised.axis) };
    return this.dequantised(raw, turned, this.#isShared(index));
  }

  /** `isPlain`: by arithmetic instead of ONNX's operator. */
  dequantised(raw: NodeRef, quantised: Quantised, isPlain: boolean): NodeRef {
    const attributes = { ...quantisation(quantised), plain: attribute.bool(isPlain) };
    return this.add('LiteDequantize', [raw], attributes);
  }

  /** Whether several operators use the constant: the runtime fails to give it another type. */
  #isShared(index: number): boolean {
    if (this.#uses === undefined) {
      this.#uses = new Map();
      for (const { inputs } of this.graph.operators) {
        for (const input of inputs) this.#uses.set(input, (this.#uses.get(input) ?? 0) + 1);
      }
    }
    const isConstant = this.#constants.has(index);
    return isConstant && (this.#uses.get(index) ?? 0) > 1;
  }

  requantised(real: NodeRef, dtype: Dtype, quantised: Quantised): NodeRef {
    if (quantised.scales.length !== 1) throw new Refused('a result is quantised along an axis');
    const attributes = { ...quantisation(quantised), T: attribute.type(dtype) };
    return this.add('LiteQuantize', [real], attributes);
  }

  /** Sets the value of an operator's output. `isReal`: it is not quantised yet. */
  give(index: number, value: NodeRef, isReal: boolean): void {
    if (this.#values.has(index)) {
      throw modelInvalid(`${this.place}, tensor ${index}: two operators compute it`);
    }
    const quantised = isReal ? this.quantised(index) : undefined;
    const stored =
      quantised === undefined ? value : this.requantised(value, this.dtype(index), quantised);
    this.#values.set(index, stored);
    const node = this.#byName.get(stored.node);
    const shape = this.shape(index);
    if (node === undefined || shape === undefined || stored.output !== 0) return;
    if (!node.attributes.has(HINTS)) node.attributes.set(HINTS, attribute.shapes([shape]));
  }

  /** An input's value. */
  feed(index: number, value: NodeRef): void {
    this.#values.set(index, value);
  }

  // Nodes.

  /** `wanted`: its name, if that is free. */
  add(op: string, inputs: readonly NodeRef[], attributes: Given = {}, wanted = op): NodeRef {
    const name = this.#free(wanted);
    const node = {
      name,
      op,
      inputs: inputs.map((input) => this.spell(input)),
      attributes: new Map(Object.entries(attributes)),
    };
    this.nodes.push(node);
    this.#byName.set(name, node);
    return { node: name, output: 0 };
  }

  #free(wanted: string): string {
    const plain = wanted.slice(0, NAME_CHARS_MAX).replace(/[^\w./;-]/g, '_');
    let name = `${this.#prefix}${plain}`;
    const isTaken = (): boolean => this.#byName.has(name);
    if (plain === '' || isTaken()) name = `${this.#prefix}${plain}_${this.nodes.length}`;
    while (isTaken()) name += '_';
    return name;
  }

  /** How an input names it. */
  spell({ node, output }: NodeRef): string {
    if (!this.#isBody) return `${node}:${output}`;
    const of = this.#byName.get(node);
    if (of === undefined) return node;
    if (this.#ops.find(of.op) === undefined) return `${node}:out:${output}`;
    let first = 0;
    for (const { name, count } of this.#ops.outputs(of.op, of.attributes as Attributes)) {
      if (output < first + count) return `${node}:${name}:${output - first}`;
      first += count;
    }
    throw new RangeError(`${of.op} has no output ${output}`);
  }

  // Constants.

  int32s(values: readonly number[]): NodeRef {
    return this.#numbers('int32', [values.length], values);
  }

  scalar(dtype: Dtype, value: number): NodeRef {
    return this.#numbers(dtype, [], [value]);
  }

  #numbers(dtype: Dtype, shape: readonly number[], values: readonly number[]): NodeRef {
    const value = attribute.tensor(numbersTensor(dtype, shape, values));
    return this.add('Const', [], { value, dtype: attribute.type(dtype) });
  }
}

const HINTS = '_output_shapes';

const quantisation = ({ scales, zeros, axis }: Quantised): Given => ({
  scales: attribute.floats(scales),
  zeros: attribute.ints(zeros),
  axis: attribute.int(axis),
});
