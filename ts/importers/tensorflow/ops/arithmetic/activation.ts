// Activation functions. Those that the runtime supports only for float are composed of other
// operators for double. Source:
// tensorflow/core/kernels/{relu_op,softplus_op,softsign_op,softmax_op}.h. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { isFloating } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import {
  abs,
  add,
  div,
  floatLowering,
  less,
  max,
  min,
  mul,
  number,
  sub,
  unary,
  where,
} from './algebra.js';
import { expm1, log1p } from './unary.js';

const SELU_SCALE = 1.0507009873554805;
const SELU_SCALED_ALPHA = 1.7580993408473768;

const relu: Lowering = (cx) => {
  const x = cx.tensor(0);
  return isFloating(x.dtype) ? cx.op('Relu', [x]) : max(cx, x, number(cx, x, 0));
};

const relu6: Lowering = (cx) => {
  const x = cx.tensor(0);
  return cx.op('Clip', [x, number(cx, x, 0), number(cx, x, 6)]);
};

const doubleBy =
  (type: string, written: (cx: OpContext, x: TensorValue) => TensorValue): Lowering =>
  (cx) => {
    const x = cx.tensor(0);
    return x.dtype === 'double' ? written(cx, x) : cx.op(type, [x]);
  };

/** `scale` * (e^x - 1) below 0. */
function exponentialBelow(cx: OpContext, x: TensorValue, scale: number): TensorValue {
  const low = expm1(cx, min(cx, x, number(cx, x, 0)));
  return scale === 1 ? low : mul(cx, low, number(cx, x, scale));
}

const elu = doubleBy('Elu', (cx, x) =>
  where(cx, less(cx, x, number(cx, x, 0)), exponentialBelow(cx, x, 1), x),
);

const selu = doubleBy('Selu', (cx, x) => {
  const above = mul(cx, x, number(cx, x, SELU_SCALE));
  const isBelow = less(cx, x, number(cx, x, 0));
  return where(cx, isBelow, exponentialBelow(cx, x, SELU_SCALED_ALPHA), above);
});

const leakyRelu: Lowering = (cx) => {
  const x = cx.tensor(0);
  const alpha = cx.float('alpha', 0.2);
  if (x.dtype !== 'double') {
    return cx.op('LeakyRelu', [x], { attributes: { alpha: { float: alpha } } });
  }
  const isBelow = less(cx, x, number(cx, x, 0));
  return where(cx, isBelow, mul(cx, x, number(cx, x, alpha)), x);
};

const softplus = doubleBy('Softplus', (cx, x) => {
  const rest = log1p(cx, cx.op('Exp', [cx.op('Neg', [abs(cx, x)])]));
  return add(cx, max(cx, x, number(cx, x, 0)), rest);
});

/** The runtime's own Softsign multiplies by the reciprocal, which is 0 for the largest numbers. */
const softsign = floatLowering((cx, x) => div(cx, x, add(cx, abs(cx, x), number(cx, x, 1))));

const alongLast =
  (type: string): Lowering =>
  (cx) =>
    cx.op(type, [cx.tensor(0)], { attributes: { axis: { int: -1 } } });

const erfc: Lowering = (cx) => {
  const x = cx.tensor(0);
  return cx.cast(sub(cx, cx.scalar('float', 1), cx.op('Erf', [cx.cast(x, 'float')])), x.dtype);
};

const FLOATING = 'floating';

export const ACTIVATION: Operators = {
  Relu: { lower: relu },
  Relu6: { lower: relu6 },
  Elu: { lower: elu, dtypes: FLOATING },
  Selu: { lower: selu, dtypes: FLOATING },
  LeakyRelu: { lower: leakyRelu, dtypes: FLOATING },
  Softplus: { lower: softplus, dtypes: FLOATING },
  Softsign: { lower: softsign, dtypes: FLOATING },
  Sigmoid: { lower: unary('Sigmoid'), dtypes: FLOATING },
  Tanh: { lower: unary('Tanh'), dtypes: FLOATING },
  Softmax: { lower: alongLast('Softmax'), dtypes: FLOATING },
  LogSoftmax: { lower: alongLast('LogSoftmax'), dtypes: FLOATING },
  Erf: { lower: unary('Erf'), dtypes: FLOATING, note: 'double is computed in float' },
  Erfc: {
    lower: erfc,
    dtypes: FLOATING,
    note: '1 - erf, in float: the absolute error is 1e-7; beyond 4 the relative error grows',
  },
};
