// Graphs for any ONNX runtime: replaces Serval's operators that check indices and sizes, or order
// NaN, as TensorFlow does, by ONNX operators. The runtime then refuses invalid inputs, if ONNX can
// express the check. Operators without an ONNX form stay. Importer's worker thread; pure.
import {
  ELEMENT_TYPES,
  int64Bytes,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxNode,
} from '../onnx/builder.js';
import type { ElementType } from '../../model/datatype.js';

const BEYOND = 2 ** 31 - 1;
const KEEP_NONE = { keepdims: { int: 0 } };

/** Adds the nodes that replace one node and produce its outputs. */
class Form {
  readonly nodes: OnnxNode[] = [];
  readonly #node: OnnxNode;
  readonly #types: ReadonlyMap<string, ElementType>;

  constructor(node: OnnxNode, types: ReadonlyMap<string, ElementType>) {
    this.#node = node;
    this.#types = types;
  }

  input(index: number): string {
    return this.#node.inputs[index] ?? '';
  }

  /** The element type of the first output. */
  get type(): ElementType {
    return this.#types.get(this.#node.outputs[0] ?? '') ?? 'int64';
  }

  int(name: string, fallback: number): number {
    const value = this.#node.attributes?.[name];
    return value !== undefined && 'int' in value ? Number(value.int) : fallback;
  }

  /** Adds an intermediate operator; returns its output. */
  add(op: string, inputs: readonly string[], attributes = {}): string {
    const output = `${this.#node.outputs[0]}_${this.nodes.length}`;
    this.nodes.push({ op, name: `n_${output}`, inputs, outputs: [output], attributes });
    return output;
  }

  /** Integers of rank 1, or a scalar, of type `as`. */
  constant(values: readonly number[] | number, as: ElementType = 'int64'): string {
    const isScalar = typeof values === 'number';
    const dims = isScalar ? [] : [values.length];
    const data = int64Bytes(isScalar ? [values] : values);
    const value: OnnxAttribute = { tensor: { name: '', type: 'int64', dims, data } };
    const made = this.add('Constant', [], { value });
    return as === 'int64' ? made : this.cast(made, as);
  }

  cast(value: string, to: ElementType): string {
    return this.add('Cast', [value], { to: { int: ELEMENT_TYPES[to] } });
  }

  /** The operator that produces output `index` of the node. */
  end(op: string, inputs: readonly string[], attributes = {}, index = 0): void {
    const output = this.#node.outputs[index] ?? '';
    const name = index === 0 ? (this.#node.name ?? '') : `${this.#node.name}_${index}`;
    this.nodes.push({ op, name, inputs, outputs: [output], attributes });
  }
}

/** Replaces an index below 0 by one beyond any end, which runtimes refuse. */
function checked(form: Form): void {
  const indices = form.input(1);
  const isBelow = form.add('Less', [indices, form.constant(0, form.type)]);
  form.end('Where', [isBelow, form.constant(BEYOND, form.type), indices]);
}

function reduced(op: string): (form: Form) => void {
  return (form) =>
    form.end(op, [form.input(1), form.input(0)], {
      keepdims: { int: form.int('keepdims', 1) },
      noop_with_empty_axes: { int: 1 },
    });
}

function topK(form: Form): void {
  const k = form.cast(form.input(0), 'int64');
  const [values, places] = [`${form.input(1)}_top_${k}`, `${form.input(1)}_places_${k}`];
  form.nodes.push({
    op: 'TopK',
    name: `n_${values}`,
    inputs: [form.input(1), k],
    outputs: [values, places],
    attributes: { axis: { int: -1 }, sorted: { int: form.int('sorted', 1) } },
  });
  form.end('Identity', [values]);
  form.end('Cast', [places], { to: { int: form.int('index_type', ELEMENT_TYPES.int32) } }, 1);
}

/** The int64 1; if a flag is set, an index beyond a table of one element makes it fail. */
function oneUnless(form: Form, flags: string): string {
  const count = form.add('ReduceSum', [form.cast(flags, 'int32')], KEEP_NONE);
  return form.add('Gather', [form.constant([1]), count]);
}

/** A value of any type whose shape depends on the flags. */
function required(form: Form): void {
  const one = oneUnless(form, form.input(0));
  const shape = form.add('Mul', [form.add('Shape', [form.input(2)]), one]);
  form.end('Reshape', [form.input(2), shape], { allowzero: { int: 1 } });
}

function sliceEnds(form: Form): void {
  const [dims, begin, size] = [form.input(0), form.input(1), form.input(2)];
  const isToEnd = form.add('Equal', [size, form.constant(-1)]);
  const end = form.add('Where', [isToEnd, dims, form.add('Add', [begin, size])]);
  const isBefore = form.add('Less', [begin, form.constant(0)]);
  const isShort = form.add('Or', [isBefore, form.add('Less', [end, begin])]);
  const isWrong = form.add('Or', [isShort, form.add('Less', [dims, end])]);
  form.end('Mul', [end, oneUnless(form, isWrong)]);
}

function padsOf(form: Form): void {
  const columns = form.add('Transpose', [form.input(1)], { perm: { ints: [1, 0] } });
  form.end('Reshape', [columns, form.constant([-1])]);
}

function axesFromFront(form: Form): void {
  const isNegative = form.add('Less', [form.input(1), form.constant(0)]);
  const moved = form.add('Add', [form.input(1), form.input(0)]);
  form.end('Where', [isNegative, moved, form.input(1)]);
}

function inverse(form: Form): void {
  const order = form.cast(form.input(0), 'int64');
  const places = form.add('Range', [form.constant(0), form.add('Size', [order]), form.constant(1)]);
  const found = form.add('ScatterElements', [places, order, places]);
  form.end('Cast', [found], { to: { int: ELEMENT_TYPES[form.type] } });
}

function scatterExtreme(form: Form): void {
  const reduction = { string: form.int('smaller', 0) === 1 ? 'min' : 'max' };
  form.end('ScatterND', [form.input(2), form.input(0), form.input(1)], { reduction });
}

const FORMS: Readonly<Record<string, (form: Form) => void>> = {
  BroadcastDims: (form) => form.end('Identity', [form.input(1)]),
  CheckIndices: (form) =>
    form.int('negative_ok', 0) === 1 ? form.end('Identity', [form.input(1)]) : checked(form),
  CheckTuples: checked,
  IntegerPower: (form) => form.end('Pow', [form.input(0), form.input(1)]),
  InvertPermutation: inverse,
  PadsOf: padsOf,
  ReduceMax: reduced('ReduceMax'),
  ReduceMin: reduced('ReduceMin'),
  ReductionAxes: axesFromFront,
  Require: required,
  ScatterExtreme: scatterExtreme,
  SliceEnds: sliceEnds,
  TopK: topK,
  WithoutNan: (form) => form.end('Identity', [form.input(0)]),
};

/** The graph, including its bodies. `domain`: that of Serval's operators. */
export function portableGraph(graph: OnnxGraph, domain: string): OnnxGraph {
  const types = new Map((graph.valueInfos ?? []).map(({ name, type }) => [name, type]));
  const nodes = graph.nodes.flatMap((node) => {
    const make = node.domain === domain ? FORMS[node.op] : undefined;
    if (make === undefined) return [withPortableBodies(node, domain)];
    const form = new Form(node, types);
    make(form);
    return form.nodes;
  });
  return { ...graph, nodes };
}

function withPortableBodies(node: OnnxNode, domain: string): OnnxNode {
  const attributes = Object.entries(node.attributes ?? {});
  if (!attributes.some(([, value]) => 'graph' in value)) return node;
  return {
    ...node,
    attributes: Object.fromEntries(
      attributes.map(([name, value]) => [
        name,
        'graph' in value ? { graph: portableGraph(value.graph, domain) } : value,
      ]),
    ),
  };
}
