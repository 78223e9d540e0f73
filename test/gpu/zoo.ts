// Small models of the operators that networks consist of, with weights of a fixed seed, for
// comparing a GPU's results with the CPU's. Test time only.
import { ELEMENT_TYPES, encodeModel, floatBytes } from '../../ts/importers/onnx/builder.js';
import type {
  OnnxModel,
  OnnxNode,
  OnnxTensor,
  OnnxValue,
} from '../../ts/importers/onnx/builder.js';

/** Rows of the table of `embedding`: integers in inputs are below this. */
export const TABLE_ROWS = 8;

/** Numbers in (-1, 1), the same each time. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

const value = (name: string, ...shape: readonly (number | string)[]): OnnxValue => ({
  name,
  type: 'float',
  shape,
});

function weights(name: string, ...dims: readonly number[]): OnnxTensor {
  const count = dims.reduce((product, dim) => product * dim, 1);
  const random = randomOf(count + name.length);
  const scale = 1 / Math.sqrt(dims.length > 1 ? count / (dims[0] ?? 1) : count);
  const values = Array.from({ length: count }, () => random() * scale);
  return { name, type: 'float', dims, data: floatBytes(values) };
}

const ints = (...of: readonly number[]) => ({ ints: of });
const node = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: OnnxNode['attributes'] = {},
): OnnxNode => ({ op, inputs, outputs: [output], attributes });

const model = (
  name: string,
  inputs: readonly OnnxValue[],
  outputs: readonly OnnxValue[],
  nodes: readonly OnnxNode[],
  initializers: readonly OnnxTensor[] = [],
): OnnxModel => ({ graph: { name, inputs, outputs, nodes, initializers } });

const MLP = model(
  'mlp',
  [value('x', 'n', 64)],
  [value('y', 'n', 10)],
  [
    node('Gemm', ['x', 'w1', 'b1'], 'a'),
    node('Relu', ['a'], 'b'),
    node('Gemm', ['b', 'w2', 'b2'], 'c'),
    node('Softmax', ['c'], 'y', { axis: { int: 1 } }),
  ],
  [weights('w1', 64, 128), weights('b1', 128), weights('w2', 128, 10), weights('b2', 10)],
);

const CONVOLUTION = model(
  'convolution',
  [value('x', 'n', 3, 32, 32)],
  [value('y', 'n', 5)],
  [
    node('Conv', ['x', 'k1'], 'a', { pads: ints(1, 1, 1, 1), strides: ints(2, 2) }),
    node('Relu', ['a'], 'b'),
    node('MaxPool', ['b'], 'c', { kernel_shape: ints(2, 2), strides: ints(2, 2) }),
    node('Conv', ['c', 'k2'], 'd', { pads: ints(1, 1, 1, 1), group: { int: 8 } }),
    node('GlobalAveragePool', ['d'], 'e'),
    node('Flatten', ['e'], 'f'),
    node('Gemm', ['f', 'w', 'b0'], 'y'),
  ],
  [weights('k1', 16, 3, 3, 3), weights('k2', 16, 2, 3, 3), weights('w', 16, 5), weights('b0', 5)],
);

const ATTENTION = model(
  'attention',
  [value('x', 'n', 12, 32)],
  [value('y', 'n', 12, 32)],
  [
    ...['q', 'k', 'v'].map((one) => node('MatMul', ['x', `w${one}`], one)),
    node('Transpose', ['k'], 'kt', { perm: ints(0, 2, 1) }),
    node('MatMul', ['q', 'kt'], 'scores'),
    node('Softmax', ['scores'], 'shares', { axis: { int: 2 } }),
    node('MatMul', ['shares', 'v'], 'mixed'),
    node('Add', ['x', 'mixed'], 'sum'),
    node('LayerNormalization', ['sum', 'scale', 'shift'], 'normal', { axis: { int: -1 } }),
    node('Erf', ['normal'], 'erf'),
    node('Mul', ['normal', 'erf'], 'y'),
  ],
  [
    ...['wq', 'wk', 'wv'].map((name) => weights(name, 32, 32)),
    ...[weights('scale', 32), weights('shift', 32)],
  ],
);

const EMBEDDING = model(
  'embedding',
  [{ name: 'ids', type: 'int64', shape: ['n', 6] }],
  [value('y', 'n', 16)],
  [
    node('Gather', ['table', 'ids'], 'rows', { axis: { int: 0 } }),
    node('Transpose', ['rows'], 'turned', { perm: ints(0, 2, 1) }),
    node('GlobalAveragePool', ['turned'], 'mean'),
    node('Flatten', ['mean'], 'y'),
  ],
  [weights('table', TABLE_ROWS, 16)],
);

const ELEMENTS = model(
  'elements',
  [value('x', 'n', 20), value('z', 'n', 20)],
  [value('y', 'n', 20), value('less', 'n', 20)],
  [
    ...[node('Tanh', ['x'], 'a'), node('Sigmoid', ['z'], 'b'), node('Exp', ['a'], 'c')],
    ...[node('Mul', ['b', 'c'], 'd'), node('Abs', ['x'], 'e'), node('Sqrt', ['e'], 'f')],
    ...[node('Add', ['d', 'f'], 'y'), node('Less', ['x', 'z'], 'is')],
    node('Cast', ['is'], 'less', { to: { int: ELEMENT_TYPES.float } }),
  ],
);

const HALVES = model(
  'halves',
  [value('x', 'n', 64)],
  [value('y', 'n', 16)],
  [
    node('Cast', ['x'], 'h', { to: { int: ELEMENT_TYPES.float16 } }),
    node('Cast', ['w'], 'wh', { to: { int: ELEMENT_TYPES.float16 } }),
    node('MatMul', ['h', 'wh'], 'p'),
    node('Cast', ['p'], 'y', { to: { int: ELEMENT_TYPES.float } }),
  ],
  [weights('w', 64, 16)],
);

/**
 * The allowed difference between GPU and CPU, relative to the largest value: sums in another order,
 * and TF32 (10 bits of fraction) in matrix products; halves have 10 bits everywhere.
 */
const CLOSE = 3e-3;
const HALF_CLOSE = 1e-2;

export interface ZooModel {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly tolerance: number;
}

export const ZOO: readonly ZooModel[] = [
  MLP,
  CONVOLUTION,
  ATTENTION,
  EMBEDDING,
  ELEMENTS,
  HALVES,
].map((one) => ({
  name: one.graph.name,
  bytes: encodeModel(one),
  tolerance: one === HALVES ? HALF_CLOSE : CLOSE,
}));
