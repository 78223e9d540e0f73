// Recurrent layers of TensorFlow Lite whose state begins with zeros in each call. Importer's worker
// thread; pure. Source: tensorflow/lite/kernels/unidirectional_sequence_{lstm,rnn}.cc.
import { bool, float, int, text, type } from '../attributes.js';
import { ACTIVATION, OPTIONS } from '../generated/schema.js';
import type { LiteOp, LiteOperators, Translate } from '../op.js';
import type { NodeRef } from '../scope.js';

/** Inputs of the LSTM by their position; gates are input, forget, cell, output. */
const WEIGHTS = [1, 2, 3, 4];
const RECURRENT = [5, 6, 7, 8];
const PEEPHOLES = [9, 10, 11];
const BIASES = [12, 13, 14, 15];
const PROJECTIONS = [16, 17];
const STATES = [18, 19];
const NORMALIZATIONS = [20, 21, 22, 23];
/** The number of BlockLSTMV2's output of all steps. */
const BLOCK_LSTM_H = 6;

/** A state that keeps its contents between calls of the interpreter begins with zeros here. */
function refuseFed(of: LiteOp, positions: readonly number[]): void {
  const fed = positions.find((position) => of.has(position) && !of.tensor(position).isVariable);
  if (fed !== undefined) of.fail(`input ${fed}: a state that is computed is not supported`);
}

/** A cell grows by less than 1 in each step: it is not clipped before that many. */
function mayBeClipped(of: LiteOp, clip: number, isTimeMajor: boolean): boolean {
  if (clip <= 0) return false;
  const steps = of.shape(0)?.[isTimeMajor ? 0 : 1];
  return steps === undefined || steps > clip;
}

const all = (of: LiteOp, positions: readonly number[]): NodeRef[] =>
  positions.map((position) => of.real(position));

/** ONNX's LSTM does not clip cells: TensorFlow's operator of all steps, which is an ONNX Scan. */
function clippedLstm(of: LiteOp, clip: number, isTimeMajor: boolean): NodeRef {
  const steps = (value: NodeRef): NodeRef =>
    isTimeMajor ? value : of.add('Transpose', [value, of.int32s([1, 0, 2])]);
  const joined = (parts: readonly NodeRef[]): NodeRef =>
    of.add('ConcatV2', [...parts, of.scalar(0, 'int32')], { N: int(parts.length) });
  const columns = (positions: readonly number[]): NodeRef =>
    of.add('Transpose', [joined(all(of, positions)), of.int32s([1, 0])]);
  const x = steps(of.real(0));
  const size = of.add('Shape', [x], { out_type: type('int32') });
  const dim = (at: number): NodeRef => of.add('Slice', [size, of.int32s([at]), of.int32s([1])]);
  const units = of.shape(RECURRENT[0] ?? 0)?.[1] ?? of.fail('the number of units is not known');
  const zeros = of.add('Fill', [joined([dim(1), of.int32s([units])]), of.scalar(0)]);
  const count = of.add('Cast', [dim(0)], { SrcT: type('int32'), DstT: type('int64') });
  const weights = joined([columns(WEIGHTS), columns(RECURRENT)]);
  const noPeephole = of.scalar(0);
  const { node } = of.add(
    'BlockLSTMV2',
    [count, x, zeros, zeros, weights, noPeephole, noPeephole, noPeephole, joined(all(of, BIASES))],
    { cell_clip: float(clip), use_peephole: bool(false) },
  );
  return steps({ node, output: BLOCK_LSTM_H });
}

const lstm: Translate = (of) => {
  const options = of.options(OPTIONS.UnidirectionalSequenceLSTMOptions);
  const { cellClip, timeMajor, fusedActivationFunction } = options;
  if (options.diagonalRecurrentTensors) of.fail('diagonal recurrent weights are not supported');
  if (ACTIVATION[fusedActivationFunction] !== 'TANH') {
    of.fail(`the activation ${ACTIVATION[fusedActivationFunction]} is not supported`);
  }
  for (const [what, positions] of [
    ['peepholes', PEEPHOLES],
    ['a projection', PROJECTIONS],
    ['normalization', NORMALIZATIONS],
  ] as const) {
    if (positions.some((position) => of.has(position))) of.fail(`${what} is not supported`);
  }
  if (!of.has(1)) of.fail('a coupled input gate is not supported');
  refuseFed(of, STATES);
  if (mayBeClipped(of, cellClip, timeMajor)) return of.give(clippedLstm(of, cellClip, timeMajor));
  const inputs = [of.real(0), ...all(of, WEIGHTS), ...all(of, RECURRENT), ...all(of, BIASES)];
  return of.give(of.add('LiteLstm', inputs, { time_major: bool(timeMajor) }));
};

/** Inputs: values, weights, recurrent weights, bias, state. */
const rnn: Translate = (of) => {
  const { timeMajor, fusedActivationFunction } = of.options(OPTIONS.SequenceRNNOptions);
  const name = ACTIVATION[fusedActivationFunction] ?? '';
  if (name !== 'TANH' && name !== 'RELU') of.fail(`the activation ${name} is not supported`);
  refuseFed(of, [4]);
  const attributes = {
    time_major: bool(timeMajor),
    activation: text(name === 'TANH' ? 'Tanh' : 'Relu'),
  };
  of.give(of.add('LiteRnn', all(of, [0, 1, 2, 3]), attributes));
};

const FRESH = 'the state begins with zeros in each call';

export const RECURRENT_LAYERS: LiteOperators = {
  UNIDIRECTIONAL_SEQUENCE_LSTM: {
    translate: lstm,
    note: `${FRESH}; no peepholes, projection, normalization`,
  },
  UNIDIRECTIONAL_SEQUENCE_RNN: { translate: rnn, note: `${FRESH}; tanh, relu` },
};
