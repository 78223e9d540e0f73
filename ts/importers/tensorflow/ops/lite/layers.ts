// Layers of TensorFlow Lite whose weights are stored in ONNX's order, or that TensorFlow has no
// operator of. Importer's worker thread. Source: tensorflow/lite/kernels/internal/reference;
// ONNX's Operators.md.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { mul } from '../arithmetic/algebra.js';
import { convolveTurned } from '../conv/conv.js';
import { ofRank } from '../conv/layout.js';
import { readWindow } from '../conv/window.js';

/** Values [N, spatial..., C], weights [out, in, spatial...], bias. */
const conv: Lowering = (cx) => {
  const filter = cx.tensor(1);
  const rank = cx.rank(filter, 'its weights');
  const window = readWindow(cx, filter.shape?.slice(2) ?? []);
  const bias = cx.inputs.length > 2 ? cx.tensor(2) : undefined;
  const input = ofRank(cx, cx.tensor(0), rank);
  return convolveTurned(cx, input, filter, window, cx.int('group'), bias);
};

const gelu: Lowering = (cx) => {
  const approximate = cx.bool('approximate') ? 'tanh' : 'none';
  return cx.op('Gelu', [cx.tensor(0)], { attributes: { approximate: { string: approximate } } });
};

const hardSwish: Lowering = (cx) => cx.op('HardSwish', [cx.tensor(0)]);

/** x * W + h * U + b of one direction: ONNX takes [1, gates, ...] and the sum of two biases. */
function recurrent(
  cx: OpContext,
  type: 'LSTM' | 'RNN',
  gates: { weights: TensorValue; recurrent: TensorValue; bias: TensorValue },
  activations: readonly string[],
): TensorValue {
  const isTimeMajor = cx.bool('time_major');
  const given = ofRank(cx, cx.tensor(0), 3);
  const x = isTimeMajor ? given : cx.transpose(given, [1, 0, 2]);
  const units = gates.recurrent.shape?.[1] ?? cx.fail('the number of units is not known');
  const both = cx.concat([gates.bias, mul(cx, gates.bias, cx.scalar('float', 0))], 0);
  const inputs = [
    x,
    ...[gates.weights, gates.recurrent, both].map((one) => cx.unsqueeze(one, [0])),
  ];
  const shape = [x.shape?.[0], 1, x.shape?.[1], units];
  const [y] = cx.ops(type, inputs, [{ dtype: 'float', shape }], {
    hidden_size: { int: units },
    activations: { strings: activations },
  });
  const steps = cx.squeeze(y ?? cx.fail('has no output'), [1]);
  return isTimeMajor ? steps : cx.transpose(steps, [1, 0, 2]);
}

/** Inputs: values, then weights, recurrent weights and biases of input, forget, cell, output. */
const lstm: Lowering = (cx) => {
  // ONNX's order: input, output, forget, cell.
  const ordered = (first: number): TensorValue =>
    cx.concat(
      [0, 3, 1, 2].map((gate) => cx.tensor(first + gate)),
      0,
    );
  const gates = { weights: ordered(1), recurrent: ordered(5), bias: ordered(9) };
  return recurrent(cx, 'LSTM', gates, ['Sigmoid', 'Tanh', 'Tanh']);
};

const rnn: Lowering = (cx) => {
  const gates = { weights: cx.tensor(1), recurrent: cx.tensor(2), bias: cx.tensor(3) };
  return recurrent(cx, 'RNN', gates, [cx.text('activation')]);
};

export const LITE_LAYERS: Operators = {
  LiteConv: { lower: conv },
  LiteGelu: { lower: gelu },
  LiteHardSwish: { lower: hardSwish },
  LiteLstm: { lower: lstm },
  LiteRnn: { lower: rnn },
};
