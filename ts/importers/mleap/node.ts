// The inputs to the lowering of one bundle node: its attributes, and the columns of the frame by
// port name. Importer's worker thread. Source: tabular.md 4.1, 4.2
import { modelInvalid } from '../../base/errors.js';
import type { Column, PlanBuilder } from '../plan/builder.js';
import { addAnyExplanation, type AnyExplanation } from '../plan/explain.js';
import type { Type } from '../plan/generated/plan.js';
import { EXPLANATIONS } from '../../model/explanation-names.js';
import type { Problems } from '../plan/problems.js';
import type { Bundle, FoundModel } from './bundle/reader.js';
import { type Attributes, type BundleNode, type DataShape, type Socket } from './bundle/values.js';

/** The type of a column that a port reads or writes. */
export interface PortType {
  readonly type: Type;
  /** Element type of a list. */
  readonly element?: Type;
  /** Size of a vector, if known. */
  readonly size?: number;
}

export const DOUBLE: PortType = { type: 'double' };
export const STRING: PortType = { type: 'string' };
export const WORDS: PortType = { type: 'list', element: 'string' };
export const vectorOf = (size?: number): PortType =>
  size === undefined || size < 0 ? { type: 'vector' } : { type: 'vector', size };

/** The type of an input with a shape; the values are doubles. */
export function typeOfShape(shape: DataShape | undefined): PortType {
  if (shape?.base === 'list') return { type: 'list', element: 'double' };
  if (shape?.base !== 'tensor') return DOUBLE;
  const [size, ...more] = shape.dimensions;
  return more.length === 0 ? vectorOf(size) : vectorOf();
}

interface FrameColumn extends PortType {
  readonly column: Column;
}

/** The existing columns, and which of them requests and responses contain. */
export class BundleFrame {
  readonly builder: PlanBuilder;
  readonly problems: Problems;
  readonly #columns = new Map<string, FrameColumn>();
  readonly #made: { readonly name: string; readonly step: number }[] = [];
  readonly #read = new Set<string>();
  #step = 0;
  #lastPrediction = 0;
  #explained: { readonly step: number; readonly explanation: AnyExplanation } | undefined;

  constructor(builder: PlanBuilder, problems: Problems) {
    this.builder = builder;
    this.problems = problems;
  }

  /** The column, or a new field of requests. */
  input(name: string, as: PortType): Column {
    this.#read.add(name);
    const known = this.#columns.get(name);
    if (known !== undefined) return known.column;
    const column = this.builder.field({ name, ...as });
    this.#columns.set(name, { column, ...as });
    return column;
  }

  /** The size of a vector where it is known. */
  sizeOf(name: string): number | undefined {
    return this.#columns.get(name)?.size;
  }

  typeOf(name: string): Type | undefined {
    return this.#columns.get(name)?.type;
  }

  output(name: string, as: PortType, place: string): Column {
    if (this.#columns.has(name)) {
      this.problems.add(place, `its output '${name}' has the same name as another column`);
    }
    const column = this.builder.column(name, as.type, as.element);
    this.#columns.set(name, { column, ...as });
    this.#made.push({ name, step: this.#step });
    return column;
  }

  /** Says how trees or a linear model make what the node predicts. */
  explains(explanation: AnyExplanation): void {
    this.#explained = { step: this.#step, explanation };
  }

  /** After each node. */
  endNode(isPrediction: boolean): void {
    if (isPrediction) this.#lastPrediction = this.#step;
    this.#step += 1;
  }

  /**
   * Responses have the outputs of the last predicting node and of the nodes after it; if no node
   * predicts, those that no other node reads. Requests can name the others. Source: tabular.md 2.4
   */
  addOutputs(predicts: boolean): void {
    for (const { name, step } of this.#made) {
      const found = this.#columns.get(name);
      if (found === undefined) continue;
      const { column, ...as } = found;
      const isDefault = predicts ? step >= this.#lastPrediction : !this.#read.has(name);
      this.builder.output({ name, column, ...as, ...(isDefault ? {} : { extra: true }) });
    }
    const { step, explanation } = this.#explained ?? {};
    const isTaken = EXPLANATIONS.some((name) => this.#columns.has(name));
    if (explanation === undefined || step !== this.#lastPrediction || isTaken) return;
    addAnyExplanation(this.builder, explanation);
  }
}

/** One node while it is lowered. Errors: ModelInvalid naming the node: a port is not there. */
export class OpNode {
  readonly frame: BundleFrame;
  readonly bundle: Bundle;
  readonly found: FoundModel;
  readonly place: string;
  readonly inputs: readonly Socket[];
  readonly outputs: readonly Socket[];

  constructor(frame: BundleFrame, bundle: Bundle, node: BundleNode, found: FoundModel) {
    this.frame = frame;
    this.bundle = bundle;
    this.found = found;
    this.place = `node '${node.name}' (${found.op})`;
    this.inputs = node.inputs;
    this.outputs = node.outputs;
  }

  get builder(): PlanBuilder {
    return this.frame.builder;
  }

  get attributes(): Attributes {
    return this.found.attributes;
  }

  problem(reason: string): void {
    this.frame.problems.add(this.place, reason);
  }

  /** The column of an input port; different versions name the same port differently. */
  input(as: PortType, ...ports: readonly string[]): Column {
    return this.frame.input(this.#socket(this.inputs, 'input', ports).name, as);
  }

  inputName(...ports: readonly string[]): string {
    return this.#socket(this.inputs, 'input', ports).name;
  }

  hasInput(port: string): boolean {
    return this.inputs.some((socket) => socket.port === port);
  }

  /** All inputs as `input0`, `input1` and so on, in that order. */
  numbered(kind: 'input' | 'output'): readonly string[] {
    const sockets = kind === 'input' ? this.inputs : this.outputs;
    const one = sockets.find((socket) => socket.port === kind);
    if (one !== undefined) return [one.name];
    return Array.from(sockets, (_, i) => this.#socket(sockets, kind, [`${kind}${i}`]).name);
  }

  output(as: PortType, ...ports: readonly string[]): Column {
    return this.outputOf(this.#socket(this.outputs, 'output', ports).name, as);
  }

  outputOf(name: string, as: PortType): Column {
    return this.frame.output(name, as, this.place);
  }

  /** undefined if the node has no such output. */
  optionalOutput(as: PortType, ...ports: readonly string[]): Column | undefined {
    const socket = this.outputs.find(({ port }) => ports.includes(port));
    return socket === undefined ? undefined : this.outputOf(socket.name, as);
  }

  #socket(sockets: readonly Socket[], kind: string, ports: readonly string[]): Socket {
    const found = sockets.find(({ port }) => ports.includes(port));
    if (found !== undefined) return found;
    const there = sockets.map(({ port }) => `'${port}'`).join(', ');
    throw modelInvalid(
      `${this.place}: expected the ${kind} '${ports[0]}', got ${there === '' ? 'none' : there}`,
    );
  }
}

/** How the nodes of one op are lowered. `predicts`: it is a model, not a feature. */
export interface Op {
  readonly predicts: boolean;
  readonly lower: (node: OpNode) => void | Promise<void>;
}

export const feature = (lower: Op['lower']): Op => ({ predicts: false, lower });
export const prediction = (lower: Op['lower']): Op => ({ predicts: true, lower });
