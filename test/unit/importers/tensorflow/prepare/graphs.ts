// Graphs, functions and checkpoints written by hand for tests of the preparation.
import { OpTable } from '../../../../../ts/importers/tensorflow/proto/op-defs.js';
import { prepareModel } from '../../../../../ts/importers/tensorflow/prepare/index.js';
import { elementsOf } from '../../../../../ts/importers/tensorflow/prepare/tensors.js';
import { openCheckpoint } from '../../../../../ts/importers/tensorflow/checkpoint/index.js';
import { loadGraph } from '../../../../../ts/importers/tensorflow/load/index.js';
import type {
  ArgDef,
  Attribute,
  AttributeList,
  Attributes,
  Checkpoint,
  Dtype,
  FunctionDef,
  FunctionRef,
  GraphDef,
  LoadedGraph,
  NodeDef,
  PreparedModel,
  Shape,
  Slice,
  Tensor,
} from '../../../../../ts/importers/tensorflow/types.js';

export type Attrs = Readonly<Record<string, Attribute>>;

export const utf8 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

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
export const type = (value: Dtype): Attribute => ({ kind: 'type', value });
export const int = (value: number): Attribute => ({ kind: 'int', value: BigInt(value) });
export const bool = (value: boolean): Attribute => ({ kind: 'bool', value });
export const text = (value: string): Attribute => ({ kind: 'bytes', value: utf8(value) });
export const shape = (value: Shape): Attribute => ({ kind: 'shape', value });
export const tensor = (value: Tensor): Attribute => ({ kind: 'tensor', value });
export const placeholder = (value: string): Attribute => ({ kind: 'placeholder', value });
export const list = (value: Partial<AttributeList>): Attribute => ({
  kind: 'list',
  value: { ...EMPTY_LIST, ...value },
});
export const types = (...value: Dtype[]): Attribute => list({ types: value });
export const ref = (name: string, attributes: Attrs = {}): FunctionRef => ({
  name,
  attributes: new Map(Object.entries(attributes)),
});
export const func = (name: string, attributes: Attrs = {}): Attribute => ({
  kind: 'function',
  value: ref(name, attributes),
});

export function node(
  name: string,
  op: string,
  inputs: readonly string[] = [],
  attributes: Attrs = {},
): NodeDef {
  return { name, op, inputs, attributes: new Map(Object.entries(attributes)) };
}

export function floats(values: readonly number[], dims: readonly number[] = []): Tensor {
  const bytes = new Uint8Array(new Float32Array(values).buffer);
  return { dtype: 'float', shape: dims, data: { kind: 'bytes', bytes } };
}

export function int32s(values: readonly number[], dims: readonly number[]): Tensor {
  const bytes = new Uint8Array(new Int32Array(values).buffer);
  return { dtype: 'int32', shape: dims, data: { kind: 'bytes', bytes } };
}

export function int64s(values: readonly (number | bigint)[], dims: readonly number[]): Tensor {
  const bytes = new Uint8Array(new BigInt64Array(values.map(BigInt)).buffer);
  return { dtype: 'int64', shape: dims, data: { kind: 'bytes', bytes } };
}

export function strings(values: readonly string[], dims: readonly number[]): Tensor {
  return { dtype: 'string', shape: dims, data: { kind: 'strings', values: values.map(utf8) } };
}

/** A Const node. */
export function constant(name: string, value: Tensor, inputs: readonly string[] = []): NodeDef {
  return node(name, 'Const', inputs, { value: tensor(value), dtype: type(value.dtype) });
}

export function variable(name: string, dtype: Dtype = 'float', dims: Shape = []): NodeDef {
  return node(name, 'VarHandleOp', [], {
    dtype: type(dtype),
    shape: shape(dims),
    shared_name: text(name),
  });
}

/** "x", "x:T" (type attribute), "x*N" (number), "x+Ts" (list of types); else of `dtype`. */
export function arg(spelling: string, dtype: Dtype = 'float'): ArgDef {
  const [, name = '', mark = '', attribute = ''] = /^(\w+)(?:([:*+])(\w+))?$/.exec(spelling) ?? [];
  const own = {
    name,
    isRef: false,
    typeAttr: mark === ':' ? attribute : '',
    numberAttr: mark === '*' ? attribute : '',
    typeListAttr: mark === '+' ? attribute : '',
  };
  return mark === ':' || mark === '+' ? own : { ...own, type: dtype };
}

export interface FunctionText {
  readonly inputs?: readonly (string | ArgDef)[];
  readonly nodes: readonly NodeDef[];
  readonly returns?: Readonly<Record<string, string>>;
  readonly outputs?: readonly ArgDef[];
  readonly control?: Readonly<Record<string, string>>;
  readonly defaults?: Attrs;
}

export function fun(
  name: string,
  { inputs = [], nodes, returns = {}, control = {}, outputs, defaults = {} }: FunctionText,
): FunctionDef {
  const args = inputs.map((input) => (typeof input === 'string' ? arg(input) : input));
  return {
    signature: {
      name,
      inputs: args,
      isStateful: false,
      defaults: new Map(Object.entries(defaults)),
      outputs: outputs ?? Object.keys(returns).map((output) => arg(output)),
    },
    nodes,
    returns: new Map(Object.entries(returns)),
    controlReturns: new Map(Object.entries(control)),
    attributes: new Map(),
  };
}

export function graph(nodes: readonly NodeDef[], ...functions: readonly FunctionDef[]): GraphDef {
  return {
    nodes,
    functions: new Map(functions.map((each) => [each.signature.name, each])),
    producer: 0,
  };
}

export function call(
  name: string,
  of: string,
  inputs: readonly string[],
  results: readonly Dtype[],
  attributes: Attrs = {},
  inside: Attrs = {},
): NodeDef {
  return node(name, 'StatefulPartitionedCall', inputs, {
    f: func(of, inside),
    Tout: types(...results),
    ...attributes,
  });
}

/** A loaded model with one signature of the given tensors. */
export function loaded(
  source: GraphDef,
  outputs: readonly string[],
  more: Partial<LoadedGraph> = {},
  inputs: readonly string[] = [],
): LoadedGraph {
  const infos = (names: readonly string[]) =>
    new Map(names.map((name) => [name, { name, dtypeCode: 1 }]));
  const signature = { methodName: 'm', inputs: infos(inputs), outputs: infos(outputs) };
  return {
    format: 'saved-model',
    tags: ['serve'],
    tensorflowVersion: '',
    graph: source,
    assets: [],
    signatures: new Map([['serving_default', { ...signature, defaults: new Map() }]]),
    checkpoint: { version: 2, prefix: '/model/variables' },
    warnings: [],
    initOp: undefined,
    saver: { filenameTensor: 'file:0', restoreOp: 'restore' },
    ...more,
  };
}

/** A checkpoint in memory; `reads` collects the names that were read. */
export function checkpoint(
  tensors: Readonly<Record<string, Tensor>>,
  reads: string[] = [],
): Checkpoint {
  const find = (name: string): Tensor => {
    const found = tensors[name];
    if (found === undefined) throw new Error(`test: no tensor ${name}`);
    return found;
  };
  return {
    names: Object.keys(tensors).sort(),
    has: (name) => name in tensors,
    describe: (name) => find(name),
    read(name, slice?: Slice) {
      const [first] = slice ?? [];
      reads.push(first === undefined ? name : `${name}@${first.start},${first.length}`);
      const whole = find(name);
      if (first === undefined || whole.data.kind !== 'bytes') return whole;
      const row = whole.data.bytes.length / (whole.shape[0] ?? 1);
      const length = first.length ?? whole.shape[0] ?? 0;
      const bytes = whole.data.bytes.slice(first.start * row, (first.start + length) * row);
      return {
        dtype: whole.dtype,
        shape: [length, ...whole.shape.slice(1)],
        data: { kind: 'bytes', bytes },
      };
    },
  };
}

export function prepared(source: LoadedGraph, stored?: Checkpoint): PreparedModel {
  return prepareModel(source, stored, new OpTable(source.opDefs ?? [], source.graph.functions));
}

/** A model on disk. */
export function preparedFolder(path: string): PreparedModel {
  const source = loadGraph(path);
  const files = source.checkpoint;
  return prepared(source, files === undefined ? undefined : openCheckpoint(files));
}

/** Elements as plain values: strings as text, 64-bit integers as numbers. */
export function values(of: Tensor | undefined): (number | string)[] {
  if (of === undefined) return ['no tensor'];
  return elementsOf(of).map((element) =>
    element instanceof Uint8Array ? Buffer.from(element).toString('utf8') : Number(element),
  );
}

export function variablesOf(model: PreparedModel): Record<string, (number | string)[]> {
  return Object.fromEntries(
    [...model.state.variables]
      .map(([name, value]): [string, (number | string)[]] => [name, values(value)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** "name = op(input:0, ...) ^control", by name. */
export function nodesText(nodes: PreparedModel['main']['nodes']): string[] {
  return [...nodes.values()]
    .map(
      ({ name, op, inputs, control }) =>
        `${name} = ${op}(${inputs.map((input) => `${input.node}:${input.output}`).join(', ')})` +
        [...control]
          .sort()
          .map((each) => ` ^${each}`)
          .join(''),
    )
    .sort();
}

export function attribute(attributes: Attributes | undefined, name: string): unknown {
  return attributes?.get(name)?.value;
}
