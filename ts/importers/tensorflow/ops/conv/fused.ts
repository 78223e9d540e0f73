// Operators that TensorFlow's graph optimiser fuses from several: frozen graphs may contain them.
// They are decomposed again; the runtime fuses in its own way. Importer's worker thread. Source:
// tensorflow/core/grappler/optimizers/remapper.cc, tensorflow/core/ops/nn_ops.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { broadcastShapes } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { add, mul, number } from '../arithmetic/algebra.js';
import { matMul } from '../linear/matmul.js';
import { fusedBatchNorm, normalise, type NormOperands } from '../norm/batch-norm.js';
import { convolution, depthwiseConvolution } from './conv.js';
import { isChannelsFirst, toChannelsFirst, toChannelsLast } from './layout.js';

type Step = (cx: OpContext, value: TensorValue, args: readonly TensorValue[]) => TensorValue;

interface Fused {
  /** Number of its operands. */
  readonly args: number;
  readonly apply: Step;
}

const activation = (type: string): Fused => ({ args: 0, apply: (cx, x) => cx.op(type, [x]) });

const gelu = (approximate: string): Fused => ({
  args: 0,
  apply: (cx, x) => cx.op('Gelu', [x], { attributes: { approximate: { string: approximate } } }),
});

/** Applied along the channel axis, wherever that is. */
const bias: Step = (cx, value, [column]) => {
  if (column === undefined) return cx.fail('has no bias');
  const axes = !isChannelsFirst(cx)
    ? []
    : Array.from({ length: cx.rank(value) - 2 }, (_, i) => i + 1);
  const shaped = cx.unsqueeze(column, axes);
  return cx.op('Add', [value, shaped], { shape: broadcastShapes(value.shape, shaped.shape) });
};

const batchNorm: Step = (cx, value, args) => {
  const isFirst = isChannelsFirst(cx);
  const operands = [toChannelsFirst(cx, value, isFirst), ...args] as unknown as NormOperands;
  return toChannelsLast(cx, normalise(cx, operands, cx.float('epsilon', 1e-4)), isFirst);
};

const STEPS: Readonly<Record<string, Fused>> = {
  BiasAdd: { args: 1, apply: bias },
  FusedBatchNorm: { args: 4, apply: batchNorm },
  Add: { args: 1, apply: (cx, x, [other]) => add(cx, x, other ?? cx.fail('has no addend')) },
  Relu: activation('Relu'),
  Elu: activation('Elu'),
  Tanh: activation('Tanh'),
  Sigmoid: activation('Sigmoid'),
  Relu6: { args: 0, apply: (cx, x) => cx.op('Clip', [x, number(cx, x, 0), number(cx, x, 6)]) },
  LeakyRelu: {
    args: 0,
    apply: (cx, x) =>
      cx.op('LeakyRelu', [x], {
        attributes: { alpha: { float: cx.float('leakyrelu_alpha', 0.2) } },
      }),
  },
  GeluExact: gelu('none'),
  GeluApproximate: gelu('tanh'),
  _MklSwish: { args: 0, apply: (cx, x) => mul(cx, x, cx.op('Sigmoid', [x])) },
  _FusedHardSwish: { args: 0, apply: (cx, x) => cx.op('HardSwish', [x]) },
};

/** The operations after the product: the node's fused_ops in order, operands from input 2 on. */
function applySteps(cx: OpContext, product: TensorValue): TensorValue {
  let next = 2;
  let value = product;
  for (const bytes of cx.list('fused_ops').bytes) {
    const name = Buffer.from(bytes).toString();
    const step = Object.hasOwn(STEPS, name) ? STEPS[name] : undefined;
    if (step === undefined) return cx.fail(`fused_ops: ${name} is not supported`);
    value = step.apply(cx, value, cx.tensors(next, next + step.args));
    next += step.args;
  }
  const given = 2 + cx.int('num_args', next - 2);
  if (given !== next)
    cx.fail(`num_args: expected ${next - 2}, the operands of fused_ops, got ${given - 2}`);
  return value;
}

const fusedConv: Lowering = (cx) => applySteps(cx, convolution(cx, cx.tensor(0), cx.tensor(1), 2));
const fusedConv3d: Lowering = (cx) =>
  applySteps(cx, convolution(cx, cx.tensor(0), cx.tensor(1), 3));
const fusedDepthwise: Lowering = (cx) =>
  applySteps(cx, depthwiseConvolution(cx, cx.tensor(0), cx.tensor(1)));
const fusedMatMul: Lowering = (cx) => applySteps(cx, matMul(cx) as TensorValue);

/** A batch norm with an addend and an activation. */
const fusedNorm: Lowering = (cx) => {
  const [y, mean, variance] = fusedBatchNorm(cx);
  const sides = cx.tensors(5);
  const sum = sides.reduce((all, one) => add(cx, all, one), y);
  const mode = cx.text('activation_mode', 'Identity');
  if (mode !== 'Identity' && mode !== 'Relu') cx.fail(`activation_mode ${mode} is not supported`);
  const out = mode === 'Relu' ? cx.op('Relu', [sum]) : sum;
  return [out, mean, variance, mean, variance, cx.scalar('float', 0)];
};

export const FUSED: Operators = {
  _FusedConv2D: { lower: fusedConv, dtypes: 'floating' },
  _FusedConv3D: { lower: fusedConv3d, dtypes: 'floating' },
  _FusedDepthwiseConv2dNative: { lower: fusedDepthwise, dtypes: 'floating' },
  _FusedMatMul: { lower: fusedMatMul, dtypes: 'floating' },
  _FusedBatchNormEx: { lower: fusedNorm, dtypes: 'floating' },
};
