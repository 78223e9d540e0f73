// Small models of several formats whose results are exact for whole numbers and halves, so that no
// order of sums shows, and random ensembles of them. Test time only.
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  encodeModel,
  floatBytes,
  int64Bytes,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValue,
} from '../../../ts/importers/onnx/builder.js';
import { plusModel, put, putDelayModel } from '../support/operating.js';
import type { Random } from '../support/random/choices.js';
import type { Datatype, Tensor, Tensors } from '../support/random/tensors.js';
import { HALF, MODELS } from '../tensorflow/support.js';

/** Kinds of tensors; the first dimension is the number of rows. */
export type Kind = 'matrix' | 'vector' | 'whole' | 'double' | 'text';

interface KindFacts {
  readonly datatype: Datatype;
  /** Dimensions after the rows. */
  readonly inner: readonly number[];
}

const KINDS: Readonly<Record<Kind, KindFacts>> = {
  matrix: { datatype: 'FP32', inner: [4] },
  vector: { datatype: 'FP32', inner: [] },
  whole: { datatype: 'INT64', inner: [4] },
  double: { datatype: 'FP64', inner: [] },
  text: { datatype: 'BYTES', inner: [] },
};

export interface Port {
  readonly name: string;
  readonly kind: Kind;
}

export interface ZooModel {
  readonly name: string;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
}

const node = (op: string, inputs: readonly string[], ...outputs: readonly string[]): OnnxNode => ({
  ...{ op, inputs, outputs },
});

const cast = (to: number): OnnxNode => ({
  ...node('Cast', ['x'], 'y'),
  attributes: { to: { int: to } },
});

const axes = (name: string): OnnxTensor => ({
  ...{ name, type: 'int64', dims: [1] },
  data: int64Bytes([1]),
});

const floats = (name: string, dims: readonly number[], ...data: readonly number[]): OnnxTensor => ({
  ...{ name, type: 'float', dims },
  data: floatBytes(data),
});

/** Two of each column are not 0, so that values grow by 2 at most. */
const MIX = floats(
  'w',
  [4, 4],
  ...[1, 0, -1, 0],
  ...[0, 1, 0, 1],
  ...[1, 0, 1, 0],
  ...[0, -1, 0, 1],
);
const DOUBLE_TO_FLOAT = 1;
const FLOAT_TO_INT64 = 7;

const ELEMENTS = { FP32: 'float', FP64: 'double', INT64: 'int64', BYTES: 'string' } as const;

const value = ({ name, kind }: Port): OnnxValue => ({
  name,
  type: ELEMENTS[KINDS[kind].datatype],
  shape: ['n', ...KINDS[kind].inner],
});

/** y = 2 f + 1, in PMML. */
export const LINE = `<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
<DataDictionary>
<DataField name="f" optype="continuous" dataType="double"/>
<DataField name="y" optype="continuous" dataType="double"/>
</DataDictionary>
<RegressionModel functionName="regression"><MiningSchema>
<MiningField name="f"/><MiningField name="y" usageType="target"/>
</MiningSchema><RegressionTable intercept="1">
<NumericPredictor name="f" coefficient="2"/>
</RegressionTable></RegressionModel></PMML>`;

/** The version that adds this number, as an ONNX file. */
export function shiftModel(number: number): Uint8Array {
  const [x, y] = [port('x', 'matrix'), port('y', 'matrix')];
  return encodeModel({
    graph: {
      ...{ name: 'shift', inputs: [value(x)], outputs: [value(y)] },
      initializers: [floats('c', [1], number)],
      nodes: [node('Add', ['x', 'c'], 'y')],
    },
  });
}

const port = (name: string, kind: Kind): Port => ({ name, kind });

const BATCHED = `max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }
dynamic_batching { max_queue_delay_microseconds: 200 }
instance_group { count: 2 }`;

/** Writes the models; `slowMs`: how long the model "slow" takes. Returns them. */
export function putZoo(repository: string, slowMs: number): readonly ZooModel[] {
  const zoo: ZooModel[] = [];
  const known = (name: string, inputs: readonly Port[], outputs: readonly Port[]): void => {
    zoo.push({ name, inputs, outputs });
  };
  const onnx = (
    name: string,
    inputs: readonly Port[],
    outputs: readonly Port[],
    nodes: readonly OnnxNode[],
    ...initializers: readonly OnnxTensor[]
  ): void => {
    const ports = { inputs: inputs.map(value), outputs: outputs.map(value) };
    const graph = { name, ...ports, nodes, initializers };
    put(join(repository, name, '1', 'model.onnx'), encodeModel({ graph }));
    known(name, inputs, outputs);
  };
  const [matrix, vector] = [port('x', 'matrix'), port('x', 'vector')];
  put(join(repository, 'shift', '1', 'model.onnx'), shiftModel(1));
  known('shift', [matrix], [port('y', 'matrix')]);
  onnx(
    'halve',
    [matrix],
    [port('y', 'matrix')],
    [node('Mul', ['x', 'c'], 'y')],
    floats('c', [1], 0.5),
  );
  put(join(repository, 'halve', 'config.pbtxt'), BATCHED);
  onnx('mix', [matrix], [port('y', 'matrix')], [node('MatMul', ['x', 'w'], 'y')], MIX);
  onnx(
    'add',
    [port('a', 'matrix'), port('b', 'matrix')],
    [port('sum', 'matrix')],
    [node('Add', ['a', 'b'], 'sum')],
  );
  onnx(
    'parts',
    [matrix],
    [port('above', 'matrix'), port('below', 'matrix')],
    [node('Relu', ['x'], 'above'), node('Sub', ['x', 'above'], 'below')],
  );
  onnx('cut', [matrix], [port('y', 'whole')], [cast(FLOAT_TO_INT64)]);
  onnx('twice', [port('x', 'whole')], [port('y', 'whole')], [node('Add', ['x', 'x'], 'y')]);
  onnx(
    'sums',
    [matrix],
    [port('y', 'vector')],
    [{ ...node('ReduceSum', ['x', 'axes'], 'y'), attributes: { keepdims: { int: 0 } } }],
    axes('axes'),
  );
  onnx(
    'spread',
    [vector],
    [port('y', 'matrix')],
    [node('Unsqueeze', ['x', 'axes'], 'column'), node('Mul', ['column', 'c'], 'y')],
    ...[axes('axes'), floats('c', [4], 1, 2, -1, 0)],
  );
  onnx('narrow', [port('x', 'double')], [port('y', 'vector')], [cast(DOUBLE_TO_FLOAT)]);
  onnx('echo', [port('x', 'text')], [port('y', 'text')], [node('Identity', ['x'], 'y')]);
  put(join(repository, 'plus', '1', 'model.onnx'), plusModel(3));
  known('plus', [vector], [port('y', 'vector')]);
  putDelayModel(repository, 'slow', slowMs, 'instance_group { count: 4 }');
  known('slow', [vector], [port('y', 'vector')]);
  put(join(repository, 'line', '1', 'model.pmml'), LINE);
  known('line', [port('f', 'vector')], [port('y', 'double')]);
  if (existsSync(join(MODELS, HALF))) {
    cpSync(join(MODELS, HALF), join(repository, 'tensorflow'), { recursive: true });
    known('tensorflow', [vector], [port('y', 'vector')]);
  }
  return zoo;
}

interface Step {
  readonly model: string;
  /** Tensors of the ensemble by the names of the model. */
  readonly reads: Readonly<Record<string, string>>;
  readonly writes: Readonly<Record<string, string>>;
}

export interface RandomEnsemble extends ZooModel {
  /** In an order in which they can run. */
  readonly steps: readonly Step[];
}

const INPUTS: readonly Kind[] = ['matrix', 'matrix', 'vector', 'whole', 'text'];
const STEPS = { least: 2, most: 6 } as const;

/** An ensemble of 2 to 6 steps; tensors that no step reads are outputs, and some others. */
export function randomEnsemble(
  { below, one, shuffled }: Random,
  name: string,
  zoo: readonly ZooModel[],
): RandomEnsemble {
  const readable = new Set(zoo.flatMap(({ inputs }) => inputs.map(({ kind }) => kind)));
  const pool: Port[] = shuffled(INPUTS.filter((kind) => readable.has(kind)))
    .slice(0, 1 + below(3))
    .map((kind, at) => ({ name: `in${at}`, kind }));
  const given = new Set(pool.map((tensor) => tensor.name));
  const read = new Set<string>();
  const count = STEPS.least + below(STEPS.most - STEPS.least + 1);
  const steps: Step[] = [];
  while (steps.length < count) {
    const kinds = new Set(pool.map(({ kind }) => kind));
    const model = one(zoo.filter(({ inputs }) => inputs.every(({ kind }) => kinds.has(kind))));
    const reads = model.inputs.map(({ name: own, kind }): [string, string] => {
      const fitting = pool.filter((tensor) => tensor.kind === kind);
      const unread = fitting.filter((tensor) => !read.has(tensor.name));
      // Mostly the newest results, so that chains become long.
      const tensor = unread.length > 0 && below(3) > 0 ? one(unread) : one(fitting);
      read.add(tensor.name);
      return [own, tensor.name];
    });
    const some = model.outputs.length > 1 && below(3) === 0 ? [one(model.outputs)] : model.outputs;
    const writes = some.map(({ name: own, kind }): [string, string] => {
      const tensor = { name: `t${pool.length}`, kind };
      pool.push(tensor);
      return [own, tensor.name];
    });
    const maps = { reads: Object.fromEntries(reads), writes: Object.fromEntries(writes) };
    steps.push({ model: model.name, ...maps });
  }
  const written = pool.filter((tensor) => !given.has(tensor.name));
  return {
    ...{ name, steps },
    inputs: pool.filter((tensor) => given.has(tensor.name) && read.has(tensor.name)),
    outputs: shuffled(written.filter((tensor) => !read.has(tensor.name) || below(3) === 0)),
  };
}

/** Its config.pbtxt, with the steps in any order. */
export function configOf({ inputs, outputs, steps }: RandomEnsemble, random: Random): string {
  const ports = (list: string, all: readonly Port[]): readonly string[] =>
    all.map(({ name, kind }) => {
      const { datatype, inner } = KINDS[kind];
      const type = datatype === 'BYTES' ? 'STRING' : datatype;
      return `${list} { name: "${name}" data_type: TYPE_${type} dims: [ ${[-1, ...inner].join(', ')} ] }`;
    });
  const map = (list: string, links: Readonly<Record<string, string>>): readonly string[] =>
    Object.entries(links).map(([key, tensor]) => `${list} { key: "${key}" value: "${tensor}" }`);
  const text = random.shuffled(steps).map(({ model, reads, writes }) => {
    const maps = [...map('input_map', reads), ...map('output_map', writes)].join(' ');
    return `step { model_name: "${model}" model_version: -1 ${maps} }`;
  });
  return `platform: "ensemble"
${ports('input', inputs).join('\n')}
${ports('output', outputs).join('\n')}
ensemble_scheduling { ${text.join('\n')} }
`;
}

const WORDS = ['', 'a', 'ünï', '0', 'a\nb', '"', 'long '.repeat(20)];

/** Values for all inputs of a model, each of 1 to 4 rows. */
export function randomInputs({ inputs }: ZooModel, { below, one }: Random): Tensors {
  const rows = 1 + below(4);
  const tensorOf = (kind: Kind): Tensor => {
    const { datatype, inner } = KINDS[kind];
    const shape = [rows, ...inner];
    const count = shape.reduce((product, dim) => product * dim, 1);
    const make = (): number | string =>
      datatype === 'BYTES'
        ? one(WORDS)
        : datatype === 'INT64'
          ? below(100) - 50
          : (below(100) - 50) / 2;
    return { datatype, shape, data: Array.from({ length: count }, make) };
  };
  return Object.fromEntries(inputs.map(({ name, kind }) => [name, tensorOf(kind)]));
}

/**
 * The outputs of an ensemble, computed as a client does that calls one step after the other.
 * `call` runs one model.
 */
export async function oneByOne(
  { steps, outputs }: RandomEnsemble,
  inputs: Tensors,
  call: (model: string, inputs: Tensors) => Promise<Tensors>,
): Promise<Tensors> {
  const known: Record<string, Tensor> = { ...inputs };
  const tensorOf = (name: string): Tensor => {
    const tensor = known[name];
    if (tensor === undefined) throw new Error(`tensor ${name} is not known yet`);
    return tensor;
  };
  for (const { model, reads, writes } of steps) {
    const given = Object.entries(reads).map(([own, name]) => [own, tensorOf(name)] as const);
    const got = await call(model, Object.fromEntries(given));
    for (const [own, name] of Object.entries(writes)) {
      const tensor = got[own];
      if (tensor === undefined) throw new Error(`${model} returns no ${own}`);
      known[name] = tensor;
    }
  }
  return Object.fromEntries(outputs.map(({ name }) => [name, tensorOf(name)]));
}
