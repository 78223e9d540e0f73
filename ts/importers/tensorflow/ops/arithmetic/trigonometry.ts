// Trigonometric and hyperbolic functions. Those that the runtime supports only for float are
// composed of other operators for double, if that keeps its range. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import {
  abs,
  add,
  and,
  div,
  equal,
  floatLowering,
  less,
  mul,
  number,
  or,
  sub,
  unary,
  where,
} from './algebra.js';
import { expm1, log1p } from './unary.js';

type Written = (cx: OpContext, x: TensorValue) => TensorValue;

const doubleBy =
  (type: string, written: Written): Lowering =>
  (cx) => {
    const x = cx.tensor(0);
    return x.dtype === 'double' ? written(cx, x) : cx.op(type, [x]);
  };

const tan: Written = (cx, x) => div(cx, cx.op('Sin', [x]), cx.op('Cos', [x]));

const negative = (cx: OpContext, x: TensorValue): TensorValue => cx.op('Neg', [x]);

const sinh: Written = (cx, x) => {
  const half = number(cx, x, 0.5);
  return mul(cx, half, sub(cx, expm1(cx, x), expm1(cx, negative(cx, x))));
};

const cosh: Written = (cx, x) => {
  const half = number(cx, x, 0.5);
  return mul(cx, half, add(cx, cx.op('Exp', [x]), cx.op('Exp', [negative(cx, x)])));
};

/** sign(x) * log1p(a + a^2 / (1 + sqrt(a^2 + 1))), a = |x|. */
const asinh: Written = (cx, x) => {
  const one = number(cx, x, 1);
  const size = abs(cx, x);
  const square = mul(cx, size, size);
  const root = cx.op('Sqrt', [add(cx, square, one)]);
  const inner = add(cx, size, div(cx, square, add(cx, root, one)));
  return mul(cx, cx.op('Sign', [x]), log1p(cx, inner));
};

/** log(x + sqrt(x - 1) * sqrt(x + 1)): NaN below 1. */
const acosh: Written = (cx, x) => {
  const one = number(cx, x, 1);
  const below = cx.op('Sqrt', [sub(cx, x, one)]);
  return cx.op('Log', [add(cx, x, mul(cx, below, cx.op('Sqrt', [add(cx, x, one)])))]);
};

/** (log1p(x) - log1p(-x)) / 2. */
const atanh: Written = (cx, x) =>
  mul(cx, number(cx, x, 0.5), sub(cx, log1p(cx, x), log1p(cx, negative(cx, x))));

/** Negative, including -0: its reciprocal is negative. */
function isSigned(cx: OpContext, x: TensorValue): TensorValue {
  const zero = number(cx, x, 0);
  return or(cx, less(cx, x, zero), less(cx, cx.op('Reciprocal', [x]), zero));
}

/** The angle of (x, y): that of (|x|, |y|), moved into its quadrant. */
const atan2 = floatLowering((cx, y, x) => {
  const zero = number(cx, x, 0);
  const [width, height] = [abs(cx, x), abs(cx, y)];
  const ratio = where(cx, equal(cx, width, height), number(cx, x, 1), div(cx, height, width));
  const isOrigin = and(cx, equal(cx, width, zero), equal(cx, height, zero));
  const steep = where(cx, isOrigin, zero, cx.op('Atan', [ratio]));
  const isLeft = isSigned(cx, x);
  const turned = where(cx, isLeft, sub(cx, number(cx, x, Math.PI), steep), steep);
  return where(cx, isSigned(cx, y), negative(cx, turned), turned);
});

const DTYPES = 'floating';
const IN_FLOAT = 'double is computed in float';

export const TRIGONOMETRY: Operators = {
  Sin: { lower: unary('Sin'), dtypes: DTYPES },
  Cos: { lower: unary('Cos'), dtypes: DTYPES },
  Tan: { lower: doubleBy('Tan', tan), dtypes: DTYPES },
  Asin: { lower: unary('Asin'), dtypes: DTYPES, note: IN_FLOAT },
  Acos: { lower: unary('Acos'), dtypes: DTYPES, note: IN_FLOAT },
  Atan: { lower: unary('Atan'), dtypes: DTYPES, note: IN_FLOAT },
  Sinh: { lower: doubleBy('Sinh', sinh), dtypes: DTYPES },
  Cosh: { lower: doubleBy('Cosh', cosh), dtypes: DTYPES },
  Asinh: { lower: doubleBy('Asinh', asinh), dtypes: DTYPES },
  Acosh: { lower: doubleBy('Acosh', acosh), dtypes: DTYPES },
  Atanh: { lower: doubleBy('Atanh', atanh), dtypes: DTYPES },
  Atan2: { lower: atan2, dtypes: DTYPES, note: IN_FLOAT },
};
