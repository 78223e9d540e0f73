// Patterns that ONNX Runtime's graph optimizers search for, as exporters write them. Test data.
import type { OnnxAttribute } from '../../../ts/importers/onnx/builder.js';

type Attributes = Readonly<Record<string, OnnxAttribute>>;
/** Operator, inputs separated by blanks, output. */
type Node = readonly [string, string, string, Attributes?];

export interface Pattern {
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly nodes: readonly Node[];
  /** Constants by name: their dimensions, or the number itself. */
  readonly weights?: Readonly<Record<string, readonly number[] | number>>;
  /** Constants whose elements are above 0. */
  readonly positive?: readonly string[];
  readonly integers?: Readonly<Record<string, readonly number[]>>;
  readonly opset?: number;
}

const LAST = { axes: { ints: [-1] } };
const epsilon = (value: number): Attributes => ({ axis: { int: -1 }, epsilon: { float: value } });
const perm = (...ints: number[]): Attributes => ({ perm: { ints } });

const X = { x: [2, 3, 8] };
const XZ = { x: [2, 3, 8], z: [2, 3, 8] };
const IMAGE = { x: [1, 3, 6, 6] };
const FILTER = { w: [4, 3, 3, 3], b: [4] };

/** x / sqrt(mean(x^2) + eps) * g, of the value `x`. */
const rms = (x: string): Node[] => [
  ['Pow', `${x} two`, 'p'],
  ['ReduceMean', 'p', 'v', LAST],
  ['Add', 'v eps', 'e'],
  ['Sqrt', 'e', 's'],
  ['Div', `${x} s`, 'n'],
  ['Mul', 'n g', 'y'],
];
const layerNorm = (x: string): Node[] => [
  ['ReduceMean', x, 'm', LAST],
  ['Sub', `${x} m`, 'd'],
  ['Pow', 'd two', 'p'],
  ['ReduceMean', 'p', 'v', LAST],
  ['Add', 'v eps', 'e'],
  ['Sqrt', 'e', 's'],
  ['Div', 'd s', 'n'],
  ['Mul', 'n g', 'k'],
  ['Add', 'k b', 'y'],
];
const gelu = (x: string): Node[] => [
  ['Div', `${x} root`, 'd'],
  ['Erf', 'd', 'e'],
  ['Add', 'e one', 'a'],
  ['Mul', `${x} a`, 'm'],
  ['Mul', 'm half', 'y'],
];
const fastGelu = (x: string): Node[] => [
  ['Pow', `${x} three`, 'c'],
  ['Mul', 'c k', 'ck'],
  ['Add', `${x} ck`, 'a'],
  ['Mul', 'a s', 'sa'],
  ['Tanh', 'sa', 't'],
  ['Add', 't one', 'o'],
  ['Mul', `${x} o`, 'xo'],
  ['Mul', 'xo half', 'y'],
];
const GELU = { root: Math.SQRT2, one: 1, half: 0.5 };
const FAST_GELU = { three: 3, k: 0.044715, s: Math.sqrt(2 / Math.PI), one: 1, half: 0.5 };
const NORM = { two: 2, g: [8] };

/** Self-attention with 2 heads of 4, as in BERT. */
function attention(): Pattern {
  const projections = ['q', 'k', 'v'].flatMap((one): Node[] => [
    ['MatMul', `ln w${one}`, `m${one}`],
    ['Add', `b${one} m${one}`, `a${one}`],
    ['Reshape', `a${one} heads`, `r${one}`],
    ['Transpose', `r${one}`, `t${one}`, one === 'k' ? perm(0, 2, 3, 1) : perm(0, 2, 1, 3)],
  ]);
  const square = [8, 8];
  return {
    inputs: { x: [2, 3, 8], mask: [2, 1, 1, 3] },
    weights: {
      g: [8],
      b: [8],
      ...{ wq: square, wk: square, wv: square, wo: square },
      ...{ bq: [8], bk: [8], bv: [8], bo: [8] },
      scale: 2,
    },
    integers: { heads: [0, 0, 2, 4], joined: [0, 0, 8] },
    nodes: [
      ['LayerNormalization', 'x g b', 'ln', epsilon(0.01)],
      ...projections,
      ['MatMul', 'tq tk', 'qk'],
      ['Div', 'qk scale', 'qs'],
      ['Add', 'qs mask', 'qm'],
      ['Softmax', 'qm', 'sm'],
      ['MatMul', 'sm tv', 'context'],
      ['Transpose', 'context', 'tc', perm(0, 2, 1, 3)],
      ['Reshape', 'tc joined', 'rc'],
      ['MatMul', 'rc wo', 'mo'],
      ['Add', 'mo bo', 'ao'],
      ['Add', 'ao ln', 'y'],
    ],
  };
}

const batchNorm = (x: string, y: string): Node => [
  'BatchNormalization',
  `${x} g b2 mean var`,
  y,
  { epsilon: { float: 0.01 } },
];
const BATCH_NORM = { g: [4], b2: [4], mean: [4], var: [4] };

/** A pattern after a convolution. */
const convolved = (op: string, attributes: Attributes = {}): Pattern => ({
  inputs: IMAGE,
  weights: FILTER,
  nodes: [
    ['Conv', 'x w b', 'm'],
    [op, 'm', 'y', attributes],
  ],
});

/** A pattern after a Gemm. */
const multiplied = (op: string): Pattern => ({
  inputs: { x: [3, 8] },
  weights: { w: [8, 5], b: [5] },
  nodes: [
    ['Gemm', 'x w b', 'm'],
    [op, 'm', 'y'],
  ],
});

export const PATTERNS: Readonly<Record<string, Pattern>> = {
  'RMS norm, large epsilon': { inputs: X, weights: { ...NORM, eps: 0.5 }, nodes: rms('x') },
  'RMS norm, small epsilon': { inputs: X, weights: { ...NORM, eps: 1e-12 }, nodes: rms('x') },
  'RMS norm by 1 / sqrt': {
    inputs: X,
    weights: { ...NORM, eps: 0.5, one: 1 },
    nodes: [
      ...rms('x').slice(0, 4),
      ['Div', 'one s', 'q'],
      ['Mul', 'x q', 'n'],
      ['Mul', 'n g', 'y'],
    ],
  },
  'RMS norm of a sum': {
    inputs: XZ,
    weights: { ...NORM, eps: 0.5 },
    nodes: [['Add', 'x z', 'a'], ...rms('a')],
  },
  'layer norm': { inputs: X, weights: { ...NORM, b: [8], eps: 1e-3 }, nodes: layerNorm('x') },
  'layer norm, a bias that does not fit': {
    inputs: X,
    weights: { ...NORM, b: [3, 8], eps: 0.5 },
    nodes: layerNorm('x'),
  },
  'layer norm of a sum': {
    inputs: XZ,
    weights: { ...NORM, b: [8], eps: 0.01 },
    nodes: [['Add', 'x z', 'a'], ...layerNorm('a')],
  },
  'layer norm of a sum with a bias': {
    inputs: XZ,
    weights: { ...NORM, b: [8], bias: [8], eps: 0.01 },
    nodes: [['Add', 'x bias', 'xb'], ['Add', 'xb z', 'a'], ...layerNorm('a')],
  },
  'LayerNormalization of a sum': {
    inputs: XZ,
    weights: { g: [8], b: [8] },
    nodes: [
      ['Add', 'x z', 'a'],
      ['LayerNormalization', 'a g b', 'y', epsilon(0.01)],
    ],
  },
  GELU: { inputs: X, weights: GELU, nodes: gelu('x') },
  'GELU with a bias': {
    inputs: X,
    weights: { ...GELU, b: [8] },
    nodes: [['Add', 'x b', 'xb'], ...gelu('xb')],
  },
  'fast GELU': { inputs: X, weights: FAST_GELU, nodes: fastGelu('x') },
  'fast GELU with a bias': {
    inputs: X,
    weights: { ...FAST_GELU, b: [8] },
    nodes: [['Add', 'x b', 'xb'], ...fastGelu('xb')],
  },
  SiLU: {
    inputs: X,
    nodes: [
      ['Sigmoid', 'x', 's'],
      ['Mul', 'x s', 'y'],
    ],
  },
  'quick GELU': {
    inputs: X,
    weights: { k: 1.702 },
    nodes: [
      ['Mul', 'x k', 'q'],
      ['Sigmoid', 'q', 's'],
      ['Mul', 'x s', 'y'],
    ],
  },
  'MatMul and Add': {
    inputs: X,
    weights: { w: [8, 5], b: [5] },
    nodes: [
      ['MatMul', 'x w', 'm'],
      ['Add', 'm b', 'y'],
    ],
  },
  'a factor before MatMul': {
    inputs: X,
    weights: { k: 0.3, w: [8, 5] },
    nodes: [
      ['Mul', 'x k', 'a'],
      ['MatMul', 'a w', 'y'],
    ],
  },
  'a factor after MatMul': {
    inputs: { x: [2, 3, 8], z: [2, 8, 5] },
    weights: { k: 0.7 },
    nodes: [
      ['MatMul', 'x z', 'a'],
      ['Div', 'a k', 'y'],
    ],
  },
  'MatMul of a transpose, scaled': {
    inputs: { x: [2, 3, 8], z: [2, 5, 8] },
    weights: { k: 0.3 },
    nodes: [
      ['Transpose', 'z', 't', perm(0, 2, 1)],
      ['MatMul', 'x t', 'a'],
      ['Mul', 'a k', 'y'],
    ],
  },
  'MatMul and batch norm': {
    inputs: { x: [3, 8] },
    weights: { w: [8, 4], ...BATCH_NORM },
    positive: ['var'],
    nodes: [['MatMul', 'x w', 'm'], batchNorm('m', 'y')],
  },
  'Gemm and Relu': multiplied('Relu'),
  'Gemm and Tanh': multiplied('Tanh'),
  'Gemm and LeakyRelu': multiplied('LeakyRelu'),
  'Gemm and Sum': {
    inputs: { x: [3, 8] },
    weights: { w: [8, 5], b: [5] },
    nodes: [
      ['Gemm', 'x w', 'm'],
      ['Sum', 'm b', 'y'],
    ],
  },
  'Softmax of a sum': {
    inputs: { x: [2, 4, 3, 8], z: [2, 1, 1, 8] },
    nodes: [
      ['Add', 'x z', 'a'],
      ['Softmax', 'a', 'y'],
    ],
  },
  attention: attention(),
  'Conv and batch norm': {
    inputs: IMAGE,
    weights: { ...FILTER, ...BATCH_NORM },
    positive: ['var'],
    nodes: [['Conv', 'x w b', 'm'], batchNorm('m', 'n'), ['Relu', 'n', 'y']],
  },
  'Conv, Mul and Add': {
    inputs: IMAGE,
    weights: { ...FILTER, k: [4, 1, 1], c: [4, 1, 1] },
    nodes: [
      ['Conv', 'x w b', 'm'],
      ['Mul', 'm k', 'n'],
      ['Add', 'n c', 'y'],
    ],
  },
  'Conv, Add and Relu': {
    inputs: { ...IMAGE, z: [1, 4, 4, 4] },
    weights: FILTER,
    nodes: [
      ['Conv', 'x w b', 'm'],
      ['Add', 'm z', 'a'],
      ['Relu', 'a', 'y'],
    ],
  },
  'Conv and Relu': convolved('Relu'),
  'Conv and Sigmoid': convolved('Sigmoid'),
  'Conv and HardSwish': convolved('HardSwish'),
  'Conv and LeakyRelu': convolved('LeakyRelu', { alpha: { float: 0.123 } }),
  'Pad and Conv': {
    inputs: IMAGE,
    weights: FILTER,
    integers: { pads: [0, 0, 1, 1, 0, 0, 1, 1] },
    nodes: [
      ['Pad', 'x pads', 'p'],
      ['Conv', 'p w b', 'y'],
    ],
  },
  'Conv between transposes': {
    inputs: { x: [1, 6, 6, 3] },
    weights: FILTER,
    nodes: [
      ['Transpose', 'x', 't', perm(0, 3, 1, 2)],
      ['Conv', 't w b', 'm'],
      ['Relu', 'm', 'a'],
      ['Transpose', 'a', 'y', perm(0, 2, 3, 1)],
    ],
  },
  'group norm': {
    inputs: { x: [1, 4, 6, 6] },
    weights: { one: [2], none: [2], g: [4, 1, 1], b: [4, 1, 1] },
    integers: { grouped: [0, 2, -1], whole: [1, 4, 6, 6] },
    nodes: [
      ['Reshape', 'x grouped', 'q'],
      ['InstanceNormalization', 'q one none', 'i', { epsilon: { float: 0.1 } }],
      ['Reshape', 'i whole', 'r'],
      ['Mul', 'r g', 'm'],
      ['Add', 'm b', 'y'],
    ],
  },
  'Relu and Clip': {
    inputs: X,
    weights: { low: -1, high: 0.5 },
    nodes: [
      ['Relu', 'x', 'a'],
      ['Clip', 'a low high', 'y'],
    ],
  },
  'Casts one after the other': {
    inputs: X,
    nodes: [
      ['Cast', 'x', 'a', { to: { int: 11 } }],
      ['Mul', 'a a', 'b'],
      ['Cast', 'b', 'c', { to: { int: 1 } }],
      ['Cast', 'c', 'y2', { to: { int: 11 } }],
      ['CastLike', 'y2 x', 'y'],
    ],
  },
  'what changes nothing': {
    inputs: X,
    weights: { zero: 0, one: 1 },
    nodes: [
      ['Add', 'x zero', 'a'],
      ['Mul', 'a one', 'b'],
      ['Div', 'b one', 'y'],
    ],
  },
};
