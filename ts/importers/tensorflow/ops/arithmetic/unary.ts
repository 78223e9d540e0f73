// Arithmetic of one tensor. Source: tensorflow/core/kernels/cwise_ops.h. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { isFloating } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { add, div, floatLowering, max, min, mul, number, sub, unary } from './algebra.js';

const square: Lowering = (cx) => mul(cx, cx.tensor(0), cx.tensor(0));

const rsqrt = floatLowering((cx, x) => cx.op('Reciprocal', [cx.op('Sqrt', [x])]));

/** e^x - 1 without losing small x: tanh(x/2) * (e^x + 1). */
export function expm1(cx: OpContext, x: TensorValue): TensorValue {
  const half = cx.op('Tanh', [mul(cx, x, number(cx, x, 0.5))]);
  return mul(cx, half, add(cx, cx.op('Exp', [x]), number(cx, x, 1)));
}

// From here on 1 + x is x + 1 or x itself, without a rounding error to correct.
const ROUNDED_FROM = 2 ** 60;

/** log(1 + x) without losing small x: log(u) - ((u - 1) - x) / u with u = 1 + x. */
export function log1p(cx: OpContext, x: TensorValue): TensorValue {
  const one = number(cx, x, 1);
  const low = min(cx, x, number(cx, x, ROUNDED_FROM));
  const u = add(cx, low, one);
  const error = sub(cx, sub(cx, u, one), low);
  const smallest = number(cx, x, 1e-30);
  const correction = div(cx, error, max(cx, u, smallest));
  return sub(cx, cx.op('Log', [add(cx, x, one)]), correction);
}

/** Both round halves to even. */
const round: Lowering = (cx) => {
  const x = cx.tensor(0);
  return isFloating(x.dtype) ? cx.op('Round', [x]) : x;
};

/** Integers need no rounding. */
const towards =
  (type: string): Lowering =>
  (cx) => {
    const x = cx.tensor(0);
    return isFloating(x.dtype) ? cx.op(type, [x]) : x;
  };

const reciprocal: Lowering = (cx) => {
  const x = cx.tensor(0);
  return isFloating(x.dtype) ? cx.op('Reciprocal', [x]) : cx.fail(`${x.dtype} has no reciprocal`);
};

const FLOATING = 'floating';

export const UNARY: Operators = {
  Neg: { lower: unary('Neg') },
  Abs: { lower: unary('Abs') },
  Sign: { lower: unary('Sign') },
  Square: { lower: square },
  Sqrt: { lower: unary('Sqrt'), dtypes: FLOATING },
  Rsqrt: { lower: rsqrt, dtypes: FLOATING },
  Exp: { lower: unary('Exp'), dtypes: FLOATING },
  Expm1: { lower: floatLowering(expm1), dtypes: FLOATING },
  Log: { lower: unary('Log'), dtypes: FLOATING },
  Log1p: { lower: floatLowering(log1p), dtypes: FLOATING },
  Floor: { lower: towards('Floor') },
  Ceil: { lower: towards('Ceil') },
  Round: { lower: round },
  Rint: { lower: round },
  Reciprocal: { lower: reciprocal, dtypes: FLOATING },
  Inv: { lower: reciprocal, dtypes: FLOATING },
};
