// Models with independent rows and models without, all with free first dimensions: batching may
// never show in a response of either kind. Test time only.
import { floatBytes, int64Bytes } from '../../../ts/importers/onnx/builder.js';
import type {
  OnnxAttribute,
  OnnxDim,
  OnnxModel,
  OnnxNode,
  OnnxTensor,
  OnnxValue,
} from '../../../ts/importers/onnx/builder.js';

export interface ZooModel {
  readonly name: string;
  readonly model: OnnxModel;
  /** True if each row's result is independent: such a model is batched by default. */
  readonly rowwise: boolean;
  /** True if inputs may have different first dimensions. */
  readonly towers?: boolean;
  /** Free inner dimensions get one of these, in order of appearance. */
  readonly inner?: readonly number[];
}

type Shape = readonly OnnxDim[];
type Attributes = Readonly<Record<string, OnnxAttribute>>;

const N = undefined;
const FEATURES = 4;

const ints = (...values: number[]): OnnxAttribute => ({ ints: values });
const int = (value: number): OnnxAttribute => ({ int: value });
const port = (name: string, shape: Shape, type: OnnxValue['type'] = 'float'): OnnxValue => ({
  name,
  type,
  shape,
});
const op = (
  name: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Attributes = {},
): OnnxNode => ({ op: name, inputs, outputs, attributes });
const whole = (name: string, values: readonly number[]): OnnxTensor => ({
  name,
  type: 'int64',
  dims: [values.length],
  data: int64Bytes(values),
});

/** Fixed numbers in [-1, 1). */
function weights(name: string, dims: readonly number[], seed: number): OnnxTensor {
  const next = generator(seed);
  const count = dims.reduce((product, dim) => product * dim, 1);
  const values = Array.from({ length: count }, () => next() * 2 - 1);
  return { name, type: 'float', dims, data: floatBytes(values) };
}

/** Numbers in [0, 1), the same for the same seed. */
export function generator(seed: number): () => number {
  let state = seed + 0x6d2b79f5;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

function model(
  inputs: readonly OnnxValue[],
  outputs: readonly OnnxValue[],
  nodes: readonly OnnxNode[],
  initializers: readonly OnnxTensor[] = [],
): OnnxModel {
  return { graph: { name: 'zoo', inputs, outputs, nodes, initializers }, opsets: { '': 17 } };
}

const X = port('x', [N, FEATURES]);

/** y = op(x) with its other nodes; x and y are [n, 4] unless stated otherwise. */
function one(
  nodes: readonly OnnxNode[],
  initializers: readonly OnnxTensor[] = [],
  output: OnnxValue = port('y', [N, FEATURES]),
  input: OnnxValue = X,
): OnnxModel {
  return model([input], [output], nodes, initializers);
}

const rowwise: Readonly<Record<string, OnnxModel>> = {
  elementwise: one([op('Tanh', ['x'], ['t']), op('Add', ['t', 'x'], ['y'])]),
  matmul: one(
    [op('MatMul', ['x', 'w'], ['y'])],
    [weights('w', [FEATURES, 3], 1)],
    port('y', [N, 3]),
  ),
  conv: one(
    [op('Conv', ['x', 'w'], ['y'], { pads: ints(1, 1, 1, 1) })],
    [weights('w', [3, 2, 3, 3], 2)],
    port('y', [N, 3, 5, 5]),
    port('x', [N, 2, 5, 5]),
  ),
  softmax_1: one([op('Softmax', ['x'], ['y'], { axis: int(1) })]),
  reduce_1: one([op('ReduceMean', ['x'], ['y'], { axes: ints(1) })], [], port('y', [N, 1])),
  topk_1: model(
    [X],
    [port('y', [N, 2]), port('at', [N, 2], 'int64')],
    [op('TopK', ['x', 'k'], ['y', 'at'], { axis: int(1) })],
    [whole('k', [2])],
  ),
  cumsum_1: one([op('CumSum', ['x', 'axis'], ['y'])], [{ ...whole('axis', [1]), dims: [] }]),
  concat_1: model(
    [X, port('z', [N, 2])],
    [port('y', [N, 6])],
    [op('Concat', ['x', 'z'], ['y'], { axis: int(1) })],
  ),
  constant: one(
    [op('Mul', ['x', 'zero'], ['none']), op('Add', ['none', 'c'], ['y'])],
    [{ name: 'zero', type: 'float', dims: [], data: floatBytes([0]) }, weights('c', [FEATURES], 3)],
  ),
  words: one(
    [op('Identity', ['x'], ['y'])],
    [],
    port('y', [N, 2], 'string'),
    port('x', [N, 2], 'string'),
  ),
};

const mixing: Readonly<Record<string, OnnxModel>> = {
  softmax_0: one([op('Softmax', ['x'], ['y'], { axis: int(0) })]),
  mean_0: one([op('ReduceMean', ['x'], ['m'], { axes: ints(0) }), op('Sub', ['x', 'm'], ['y'])]),
  max_0: one([op('ReduceMax', ['x'], ['y'], { axes: ints(0) })]),
  above_mean_0: one(
    [op('ReduceMean', ['x'], ['m'], { axes: ints(0) }), op('Greater', ['x', 'm'], ['y'])],
    [],
    port('y', [N, FEATURES], 'bool'),
  ),
  topk_0: one([op('TopK', ['x', 'k'], ['y', 'unused'], { axis: int(0) })], [whole('k', [1])]),
  sorted_0: one([
    op('Shape', ['x'], ['k'], { end: int(1) }),
    op('TopK', ['x', 'k'], ['y', 'unused'], { axis: int(0) }),
  ]),
  cumsum_0: one([op('CumSum', ['x', 'axis'], ['y'])], [{ ...whole('axis', [0]), dims: [] }]),
  flipped_0: one(
    [op('Slice', ['x', 'from', 'to', 'axes', 'steps'], ['y'])],
    [whole('from', [-1]), whole('to', [-1_000_000]), whole('axes', [0]), whole('steps', [-1])],
  ),
  reshaped: one(
    [op('Reshape', ['x', 'shape'], ['y'])],
    [whole('shape', [-1, 2])],
    port('y', [N, 2]),
  ),
  squeezed: one([op('Squeeze', ['x'], ['y'])], [], { name: 'y', type: 'float' }),
  gram: one(
    [op('Transpose', ['x'], ['t']), op('MatMul', ['x', 't'], ['y'])],
    [],
    port('y', [N, N]),
  ),
  nearest: one(
    [
      op('Transpose', ['x'], ['t']),
      op('MatMul', ['x', 't'], ['s']),
      op('ArgMin', ['s'], ['y'], { axis: int(1), keepdims: int(0) }),
    ],
    [],
    port('y', [N], 'int64'),
  ),
  concat_0: model(
    [X, port('z', [N, FEATURES])],
    [port('y', [N, FEATURES])],
    [op('Concat', ['x', 'z'], ['y'], { axis: int(0) })],
  ),
  constant_rows: one(
    [
      op('ReduceMean', ['x'], ['m'], { axes: ints(0, 1) }),
      op('Mul', ['m', 'zero'], ['none']),
      op('Add', ['none', 'c'], ['y']),
    ],
    [
      { name: 'zero', type: 'float', dims: [], data: floatBytes([0]) },
      weights('c', [2, FEATURES], 4),
    ],
  ),
};

/** softmax(x xT) x over [n, time, 4], and the same with time and n swapped. */
function attention(): OnnxModel {
  const shape = [N, N, FEATURES] as const;
  return one(
    [
      op('Transpose', ['x'], ['t'], { perm: ints(0, 2, 1) }),
      op('MatMul', ['x', 't'], ['s']),
      op('Softmax', ['s'], ['p'], { axis: int(-1) }),
      op('MatMul', ['p', 'x'], ['y']),
    ],
    [],
    port('y', shape),
    port('x', shape),
  );
}

function attentionOverRows(): OnnxModel {
  const shape = [N, N, FEATURES] as const;
  return one(
    [
      op('Transpose', ['x'], ['q'], { perm: ints(1, 0, 2) }),
      op('Transpose', ['x'], ['k'], { perm: ints(1, 2, 0) }),
      op('MatMul', ['q', 'k'], ['s']),
      op('Softmax', ['s'], ['p'], { axis: int(-1) }),
      op('MatMul', ['p', 'q'], ['o']),
      op('Transpose', ['o'], ['y'], { perm: ints(1, 0, 2) }),
    ],
    [],
    port('y', shape),
    port('x', shape),
  );
}

/** LSTM or GRU of 3: over [time, n, 4] as in PyTorch, or over [n, time, 4]. */
function recurrent(kind: 'LSTM' | 'GRU', batchFirst: boolean): OnnxModel {
  const gates = kind === 'LSTM' ? 12 : 9;
  const perm = { perm: ints(1, 0, 2) };
  const cell = (input: string, output: string): readonly OnnxNode[] => [
    op(kind, [input, 'w', 'r'], ['d'], { hidden_size: int(3) }),
    op('Squeeze', ['d', 'one'], [output]),
  ];
  const nodes = batchFirst
    ? [op('Transpose', ['x'], ['t'], perm), ...cell('t', 'o'), op('Transpose', ['o'], ['y'], perm)]
    : cell('x', 'y');
  return one(
    nodes,
    [weights('w', [1, gates, FEATURES], 5), weights('r', [1, gates, 3], 6), whole('one', [1])],
    port('y', [N, N, 3]),
    port('x', [N, N, FEATURES]),
  );
}

/** Similarities of two normalized towers, as in CLIP. */
export function twoTowers(): OnnxModel {
  const unit = (from: string, to: string): readonly OnnxNode[] => [
    op('MatMul', [from, `w_${from}`], [`e_${from}`]),
    op('ReduceL2', [`e_${from}`], [`l_${from}`], { axes: ints(1) }),
    op('Div', [`e_${from}`, `l_${from}`], [to]),
  ];
  return model(
    [port('image', [N, FEATURES]), port('text', [N, FEATURES])],
    [port('per_image', [N, N]), port('per_text', [N, N])],
    [
      ...unit('image', 'i'),
      ...unit('text', 't'),
      op('Transpose', ['t'], ['tt']),
      op('MatMul', ['i', 'tt'], ['s']),
      op('Mul', ['s', 'scale'], ['per_image']),
      op('Transpose', ['per_image'], ['per_text']),
    ],
    [
      weights('w_image', [FEATURES, 8], 7),
      weights('w_text', [FEATURES, 8], 8),
      { name: 'scale', type: 'float', dims: [], data: floatBytes([10]) },
    ],
  );
}

export const timeFirstLstm = (): OnnxModel => recurrent('LSTM', false);
export const softmaxOverRows = (): OnnxModel => mixing['softmax_0'] as OnnxModel;

export function joiningZoo(): readonly ZooModel[] {
  const of = (models: Readonly<Record<string, OnnxModel>>, isRowwise: boolean): ZooModel[] =>
    Object.entries(models).map(([name, one]) => ({ name, model: one, rowwise: isRowwise }));
  const time = (name: string, one: OnnxModel, isRowwise: boolean): ZooModel => ({
    name,
    model: one,
    rowwise: isRowwise,
    inner: [3, 2],
  });
  return [
    ...of(rowwise, true),
    ...of(mixing, false),
    time('attention', attention(), true),
    time('attention_over_rows', attentionOverRows(), false),
    time('lstm_batch_first', recurrent('LSTM', true), true),
    time('lstm_time_first', timeFirstLstm(), false),
    time('gru_batch_first', recurrent('GRU', true), true),
    time('gru_time_first', recurrent('GRU', false), false),
    { name: 'two_towers', model: twoTowers(), rowwise: false, towers: true },
  ];
}
