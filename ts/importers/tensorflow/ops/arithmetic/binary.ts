// Arithmetic of two tensors, and sums of several. Source: tensorflow/core/kernels/cwise_ops.h.
// Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import { broadcastShapes, isFloating } from '../../lower/values.js';
import {
  add,
  binary,
  binaryLowering,
  div,
  equal,
  floatLowering,
  mul,
  number,
  sub,
  where,
} from './algebra.js';
import { log1p } from './unary.js';
import { noteScaled, normalised } from '../norm/affine.js';
import { notePrepared } from '../conv/layout.js';

/** Records operators that layers near convolutions are written with. */
const noted =
  (type: string): Lowering =>
  (cx) => {
    const [x, y] = [cx.tensor(0), cx.tensor(1)];
    const result = binary(cx, type, x, y);
    notePrepared(cx, type, result, x, y);
    if (type === 'Mul') noteScaled(cx, result, x, y);
    return result;
  };

const added = noted('Add');
const sum: Lowering = (cx) => {
  const [x, y] = [cx.tensor(0), cx.tensor(1)];
  if (x.dtype === 'string') {
    return cx.op('StringConcat', [x, y], { shape: broadcastShapes(x.shape, y.shape) });
  }
  return normalised(cx, x, y) ?? added(cx);
};

const squaredDifference = floatLowering((cx, x, y) => {
  const difference = sub(cx, x, y);
  return mul(cx, difference, difference);
});

/** 0 if y is 0. */
const divNoNan = floatLowering((cx, x, y) => {
  const zero = number(cx, y, 0);
  return where(cx, equal(cx, y, zero), zero, div(cx, x, y));
});

/** 0 if y is 0, even for infinite and NaN x. */
const mulNoNan = floatLowering((cx, x, y) => {
  const zero = number(cx, y, 0);
  return where(cx, equal(cx, y, zero), zero, mul(cx, x, y));
});

const xdivy = floatLowering((cx, x, y) => {
  const zero = number(cx, x, 0);
  return where(cx, equal(cx, x, zero), zero, div(cx, x, y));
});

const xlogy = floatLowering((cx, x, y) => {
  const zero = number(cx, x, 0);
  return where(cx, equal(cx, x, zero), zero, mul(cx, x, cx.op('Log', [y])));
});

const xlog1py = floatLowering((cx, x, y) => {
  const zero = number(cx, x, 0);
  return where(cx, equal(cx, x, zero), zero, mul(cx, x, log1p(cx, y)));
});

const addN: Lowering = (cx) => {
  const values = cx.tensors();
  const [first, ...rest] = values;
  if (first === undefined) return cx.fail('has no inputs');
  if (rest.length === 0) return first;
  const shape = values.find((one) => one.shape !== undefined)?.shape;
  if (isFloating(first.dtype)) return cx.op('Sum', values, { shape });
  return rest.reduce((sum, one) => add(cx, sum, one), first);
};

/** The bias applies along the last axis, or in NCHW along the second. */
const biasAdd: Lowering = (cx) => {
  const [value, bias] = [cx.tensor(0), cx.tensor(1)];
  cx.requireRank(value, 2); // ONNX's Add accepts vectors too
  const shape = value.shape ?? (bias.shape === undefined ? undefined : value.shape);
  if (cx.text('data_format', 'NHWC') !== 'NCHW') {
    return cx.op('Add', [value, bias], { shape });
  }
  const after = cx.rank(value) - 2;
  const axes = Array.from({ length: after }, (_, i) => i + 1);
  const column = cx.unsqueeze(bias, axes);
  return cx.op('Add', [value, column], { shape: broadcastShapes(value.shape, column.shape) });
};

const pow: Lowering = (cx) => {
  const [x, y] = [cx.tensor(0), cx.tensor(1)];
  if (isFloating(x.dtype)) return floatLowering((_, a, b) => power(cx, a, b))(cx);
  const exponents = cx.numbers(1);
  if (exponents?.some((one) => one < 0)) cx.fail('an integer exponent is below 0');
  const [out] = cx.custom(
    'IntegerPower',
    [x, y],
    [{ dtype: x.dtype, shape: broadcastShapes(x.shape, y.shape) }],
    { serval_node: { string: cx.node.name } },
  );
  return out ?? cx.fail('has no output');
};

const power = (...[cx, x, y]: Parameters<typeof add>): ReturnType<typeof add> =>
  cx.op('Pow', [x, y], { shape: broadcastShapes(x.shape, y.shape) });

export const BINARY: Operators = {
  Add: { lower: sum, dtypes: 'numeric, string' },
  AddV2: { lower: sum },
  Sub: { lower: noted('Sub') },
  Mul: { lower: noted('Mul') },
  RealDiv: { lower: noted('Div'), dtypes: 'floating' },
  Maximum: { lower: binaryLowering('Max') },
  Minimum: { lower: binaryLowering('Min') },
  SquaredDifference: { lower: squaredDifference },
  Pow: { lower: pow },
  DivNoNan: { lower: divNoNan, dtypes: 'floating' },
  MulNoNan: { lower: mulNoNan, dtypes: 'floating' },
  Xdivy: { lower: xdivy, dtypes: 'floating' },
  Xlogy: { lower: xlogy, dtypes: 'floating' },
  Xlog1py: { lower: xlog1py, dtypes: 'floating' },
  AddN: { lower: addN },
  AccumulateNV2: { lower: addN },
  BiasAdd: { lower: biasAdd },
  BiasAddV1: { lower: biasAdd },
};
