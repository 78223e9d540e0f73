// One operator of a TensorFlow Lite file, for the functions in ops/. Importer's worker thread;
// pure.
import { FlatTable } from '../../../base/flat-reader.js';
import { tensorNumbers } from '../lower/tensors.js';
import type { Attribute, Dtype, Shape } from '../types.js';
import { ACTIVATION, type Operator, type Tensor } from './generated/schema.js';
import { type LiteScope, type NodeRef, type Quantised, Refused } from './scope.js';

/** Makes the nodes of an operator and gives its outputs. */
export type Translate = (op: LiteOp) => void;

/** `note` is for the table in docs/reference/tflite.md. */
export interface LiteOperator {
  readonly translate: Translate;
  readonly note?: string;
}

export type LiteOperators = Readonly<Record<string, LiteOperator>>;

/** Bodies of branches and loops. */
export interface Bodies {
  /** The name of the function that a subgraph becomes. */
  functionOf(subgraph: number): string;
}

interface OptionsOf<T> {
  readonly type: number;
  readonly read: (from: FlatTable) => T;
}

type Given = Readonly<Record<string, Attribute>>;

const ABSENT = -1;

export class LiteOp {
  readonly scope: LiteScope;
  readonly operator: Operator;
  readonly name: string;
  readonly bodies: Bodies;

  constructor(scope: LiteScope, operator: Operator, name: string, bodies: Bodies) {
    this.scope = scope;
    this.operator = operator;
    this.name = name;
    this.bodies = bodies;
  }

  fail(reason: string): never {
    throw new Refused(reason);
  }

  /** Its options, or their defaults if the file has none. */
  options<T>({ type, read }: OptionsOf<T>): T {
    const { builtinOptionsType, builtinOptions } = this.operator;
    if (builtinOptions === undefined) return read(FlatTable.empty());
    if (builtinOptionsType === type) return read(builtinOptions);
    return this.fail(`options of kind ${builtinOptionsType}: expected kind ${type}`);
  }

  // Inputs and outputs by their position.

  get count(): number {
    return this.operator.inputs.length;
  }

  has(position: number): boolean {
    return (this.operator.inputs[position] ?? ABSENT) !== ABSENT;
  }

  /** The number of the tensor. */
  in(position: number): number {
    const index = this.operator.inputs[position] ?? ABSENT;
    return index === ABSENT ? this.fail(`input ${position} is missing`) : index;
  }

  out(position = 0): number {
    const index = this.operator.outputs[position] ?? ABSENT;
    return index === ABSENT ? this.fail(`output ${position} is missing`) : index;
  }

  tensor(position: number): Tensor {
    return this.scope.tensor(this.in(position));
  }

  dtype(position = 0): Dtype {
    return this.scope.dtype(this.in(position));
  }

  outDtype(position = 0): Dtype {
    return this.scope.dtype(this.out(position));
  }

  shape(position: number): Shape {
    return this.scope.shape(this.in(position));
  }

  /** The rank of an input. */
  rank(position: number): number {
    return this.shape(position)?.length ?? this.fail(`the rank of input ${position} is not known`);
  }

  quantised(position: number): Quantised | undefined {
    return this.scope.quantised(this.in(position));
  }

  /** The value in the form in which it is stored. */
  raw(position: number): NodeRef {
    return this.scope.raw(this.in(position));
  }

  /** Its numbers: float if it is quantised. */
  real(position: number): NodeRef {
    return this.scope.real(this.in(position));
  }

  /** The type of real(). */
  realDtype(position = 0): Dtype {
    return this.quantised(position) === undefined ? this.dtype(position) : 'float';
  }

  /** All inputs from a position on. */
  reals(from = 0): NodeRef[] {
    return Array.from({ length: this.count - from }, (_, i) => this.real(from + i));
  }

  /** The numbers of a constant input; undefined: it is none. */
  numbers(position: number): readonly number[] | undefined {
    const constant = this.scope.file.constantOf(this.tensor(position), `input ${position}`);
    return constant === undefined ? undefined : tensorNumbers(constant);
  }

  /**
   * Weights with their axes in the order of `axes`: they are turned as they are stored, so that the
   * runtime sees the integers of quantised ones.
   */
  weights(position: number, axes: readonly number[]): NodeRef {
    return this.scope.turned(this.in(position), axes);
  }

  // Nodes.

  add(op: string, inputs: readonly NodeRef[], attributes: Given = {}): NodeRef {
    const name = this.scope.graph.tensors[this.operator.outputs[0] ?? ABSENT]?.name ?? op;
    return this.scope.add(op, inputs, attributes, name);
  }

  scalar(value: number, dtype: Dtype = 'float'): NodeRef {
    return this.scope.scalar(dtype, value);
  }

  int32s(values: readonly number[]): NodeRef {
    return this.scope.int32s(values);
  }

  /** Sets an output that is not quantised yet. */
  give(value: NodeRef, position = 0): void {
    this.scope.give(this.out(position), value, true);
  }

  /** Sets an output to numbers as they are stored. */
  giveRaw(value: NodeRef, position = 0): void {
    this.scope.give(this.out(position), value, false);
  }

  /** Sets the output to the value after an activation function. */
  activated(value: NodeRef, code: number): void {
    this.give(this.activation(value, code));
  }

  activation(value: NodeRef, code: number): NodeRef {
    const name = ACTIVATION[code] ?? `function ${code}`;
    switch (name) {
      case 'NONE':
        return value;
      case 'RELU':
        return this.add('Relu', [value]);
      case 'RELU6':
        return this.add('Relu6', [value]);
      case 'TANH':
        return this.add('Tanh', [value]);
      case 'RELU_N1_TO_1':
        return this.between(value, -1, 1);
      default:
        return this.fail(`the activation ${name} is not supported`);
    }
  }

  between(value: NodeRef, low: number, high: number): NodeRef {
    const dtype = this.realDtype();
    const raised = this.add('Maximum', [value, this.scalar(low, dtype)]);
    return this.add('Minimum', [raised, this.scalar(high, dtype)]);
  }
}
