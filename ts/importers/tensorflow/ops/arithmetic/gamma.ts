// The logarithm of the gamma function and its derivative, which ONNX lacks, computed in double:
// Lanczos' approximation with g = 7 and 9 terms; the asymptotic series of the digamma function.
// Importer's worker thread.
import type { OpContext, Operators } from '../../lower/context.js';
import { numbersTensor } from '../../lower/tensors.js';
import type { TensorValue } from '../../lower/values.js';
import { add, and, div, equal, less, mul, number, sub, where } from './algebra.js';

const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
  -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
];
const LANCZOS_FIRST = 0.9999999999998099;
const HALF_LOG_2_PI = 0.9189385332046727;

/** The sum over i of numerators[i] / (x + first + i). */
function fractions(
  cx: OpContext,
  x: TensorValue,
  numerators: readonly number[],
  first: number,
): TensorValue {
  const vector = (values: readonly number[]): TensorValue =>
    cx.constant(numbersTensor('double', [values.length], values));
  const shape = x.shape === undefined ? undefined : [...x.shape, 1];
  const column = cx.op('Unsqueeze', [x, cx.int64s([-1])], { shape });
  const terms = div(
    cx,
    vector(numerators),
    add(cx, column, vector(numerators.map((_, i) => first + i))),
  );
  // Counts axes from the front if the rank is known: see reduce.ts.
  return cx.op('ReduceSum', [terms, cx.int64s([x.shape?.length ?? -1])], {
    shape: x.shape,
    attributes: { keepdims: { int: 0 } },
  });
}

const log = (cx: OpContext, x: TensorValue): TensorValue => cx.op('Log', [x]);

/** pi times the fractional part: for functions of period 1. */
const turn = (cx: OpContext, x: TensorValue): TensorValue =>
  mul(cx, sub(cx, x, cx.op('Floor', [x])), number(cx, x, Math.PI));

/** For x from 0.5 on: log of gamma(z + 1) with z = x - 1. */
function logGammaAbove(cx: OpContext, x: TensorValue): TensorValue {
  const z = sub(cx, x, number(cx, x, 1));
  const t = add(cx, z, number(cx, x, 7.5));
  const sum = add(cx, fractions(cx, z, LANCZOS, 1), number(cx, x, LANCZOS_FIRST));
  const power = sub(cx, mul(cx, add(cx, z, number(cx, x, 0.5)), log(cx, t)), t);
  return add(cx, add(cx, power, log(cx, sum)), number(cx, x, HALF_LOG_2_PI));
}

interface Reflected {
  /** x, or 1 - x if x is below 0.5. */
  readonly above: TensorValue;
  readonly isBelow: TensorValue;
  /** x is 0 or a negative integer. */
  readonly isPole: TensorValue;
}

function reflected(cx: OpContext, x: TensorValue): Reflected {
  const isBelow = less(cx, x, number(cx, x, 0.5));
  const above = where(cx, isBelow, sub(cx, number(cx, x, 1), x), x);
  return { above, isBelow, isPole: and(cx, isBelow, equal(cx, x, cx.op('Floor', [x]))) };
}

function logGamma(cx: OpContext, x: TensorValue): TensorValue {
  const { above, isBelow, isPole } = reflected(cx, x);
  const infinity = number(cx, x, Infinity);
  const plain = logGammaAbove(cx, above);
  const sine = cx.op('Sin', [turn(cx, x)]);
  const other = sub(cx, log(cx, div(cx, number(cx, x, Math.PI), sine)), plain);
  const value = where(cx, isBelow, other, plain);
  const isInfinite = equal(cx, cx.op('Abs', [x]), infinity);
  return where(cx, isInfinite, infinity, where(cx, isPole, infinity, value));
}

/** Steps up from 0.5 after which the series is exact to 1e-14. */
const STEPS = 10;
/** Coefficients of x^-2, x^-4 ...: the Bernoulli numbers B(2k) / 2k. */
const SERIES = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32_760, 1 / 12];

function digamma(cx: OpContext, x: TensorValue): TensorValue {
  const { above, isBelow, isPole } = reflected(cx, x);
  const high = add(cx, above, number(cx, x, STEPS));
  const inverse = cx.op('Reciprocal', [high]);
  const square = mul(cx, inverse, inverse);
  const series =
    [...SERIES].reverse().reduce<TensorValue | undefined>((sum, factor) => {
      const term = number(cx, x, factor);
      return mul(cx, square, sum === undefined ? term : add(cx, sum, term));
    }, undefined) ?? square;
  const asymptotic = sub(cx, sub(cx, log(cx, high), mul(cx, inverse, number(cx, x, 0.5))), series);
  const plain = sub(cx, asymptotic, fractions(cx, above, Array<number>(STEPS).fill(1), 0));
  const angle = turn(cx, x);
  const cotangent = div(cx, cx.op('Cos', [angle]), cx.op('Sin', [angle]));
  const other = sub(cx, plain, mul(cx, cotangent, number(cx, x, Math.PI)));
  return where(cx, isPole, number(cx, x, NaN), where(cx, isBelow, other, plain));
}

const inDouble =
  (compute: (cx: OpContext, x: TensorValue) => TensorValue) =>
  (cx: OpContext): TensorValue => {
    const x = cx.tensor(0);
    return cx.cast(compute(cx, cx.cast(x, 'double')), x.dtype);
  };

export const GAMMA: Operators = {
  Lgamma: { lower: inDouble(logGamma), dtypes: 'floating' },
  Digamma: { lower: inDouble(digamma), dtypes: 'floating' },
};
