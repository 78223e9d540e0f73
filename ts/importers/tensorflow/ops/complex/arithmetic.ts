// Arithmetic of complex tensors, and the operators between them and real ones. Source:
// tensorflow/core/kernels/cwise_ops.h. Importer's worker thread.
import { complexValue, isComplexDtype, partDtype } from '../../lower/complex.js';
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { broadcastShapes, type ComplexValue, type TensorValue } from '../../lower/values.js';
import { abs, add, and, div, max, mul, not, number, sub } from '../arithmetic/algebra.js';
import { complexInput } from './parts.js';

type Binary = (cx: OpContext, a: ComplexValue, b: ComplexValue) => ComplexValue;
type Unary = (cx: OpContext, a: ComplexValue) => ComplexValue;

const binary =
  (compute: Binary): Lowering =>
  (cx) =>
    compute(cx, complexInput(cx, 0), complexInput(cx, 1));

const unary =
  (compute: Unary): Lowering =>
  (cx) =>
    compute(cx, complexInput(cx, 0));

const neg = (cx: OpContext, x: TensorValue): TensorValue => cx.op('Neg', [x]);

const product: Binary = (cx, a, b) =>
  complexValue(
    sub(cx, mul(cx, a.real, b.real), mul(cx, a.imaginary, b.imaginary)),
    add(cx, mul(cx, a.real, b.imaginary), mul(cx, a.imaginary, b.real)),
  );

/** The divisor is scaled by its larger part, so that its square does not overflow. */
const quotient: Binary = (cx, a, b) => {
  const scale = max(cx, abs(cx, b.real), abs(cx, b.imaginary));
  const [re, im] = [div(cx, b.real, scale), div(cx, b.imaginary, scale)];
  const size = add(cx, mul(cx, b.real, re), mul(cx, b.imaginary, im));
  return complexValue(
    div(cx, add(cx, mul(cx, a.real, re), mul(cx, a.imaginary, im)), size),
    div(cx, sub(cx, mul(cx, a.imaginary, re), mul(cx, a.real, im)), size),
  );
};

const conjugate: Unary = (cx, a) => complexValue(a.real, neg(cx, a.imaginary));

const custom = (cx: OpContext, name: string, a: ComplexValue): TensorValue => {
  const [out] = cx.custom(name, [a.real, a.imaginary], [a.real]);
  return out ?? cx.fail('has no output');
};
const size = (cx: OpContext, a: ComplexValue): TensorValue => custom(cx, 'ComplexAbs', a);
const angle = (cx: OpContext, a: ComplexValue): TensorValue => custom(cx, 'Angle', a);

/** A complex number from magnitude and angle. */
const turned = (cx: OpContext, length: TensorValue, by: TensorValue): ComplexValue =>
  complexValue(mul(cx, length, cx.op('Cos', [by])), mul(cx, length, cx.op('Sin', [by])));

const exp: Unary = (cx, a) => turned(cx, cx.op('Exp', [a.real]), a.imaginary);
const log: Unary = (cx, a) => complexValue(cx.op('Log', [size(cx, a)]), angle(cx, a));

const half = (cx: OpContext, x: TensorValue): TensorValue => mul(cx, x, number(cx, x, 0.5));

const sqrt: Unary = (cx, a) => turned(cx, cx.op('Sqrt', [size(cx, a)]), half(cx, angle(cx, a)));

/** 1 in the shape of a value. */
const one = (cx: OpContext, a: ComplexValue): ComplexValue =>
  complexValue(number(cx, a.real, 1), number(cx, a.real, 0));

const squaredDifference: Binary = (cx, a, b) => {
  const [re, im] = [sub(cx, a.real, b.real), sub(cx, a.imaginary, b.imaginary)];
  return withZeros(cx, add(cx, mul(cx, re, re), mul(cx, im, im)));
};

/** A real tensor as a complex one. */
function withZeros(cx: OpContext, real: TensorValue): ComplexValue {
  const zero = cx.op('Expand', [number(cx, real, 0), cx.shapeOf(real)], {
    dtype: real.dtype,
    shape: real.shape,
  });
  return complexValue(real, zero);
}

const equal = (cx: OpContext): TensorValue => {
  const [a, b] = [complexInput(cx, 0), complexInput(cx, 1)];
  const same = (x: TensorValue, y: TensorValue): TensorValue =>
    cx.op('Equal', [x, y], { dtype: 'bool', shape: broadcastShapes(x.shape, y.shape) });
  return and(cx, same(a.real, b.real), same(a.imaginary, b.imaginary));
};

/** Casts from and to complex types; to a real type, the real part is kept. */
const cast: Lowering = (cx) => {
  const [value, target] = [cx.input(0), cx.type('DstT')];
  const part = partDtype(target);
  if (value.kind !== 'complex') {
    const real = cx.tensor(0);
    if (real.dtype === 'string') return cx.fail(`string cannot be cast to ${target}`);
    return withZeros(cx, cx.cast(real, part));
  }
  const real = cx.cast(value.real, part);
  return isComplexDtype(target) ? complexValue(real, cx.cast(value.imaginary, part)) : real;
};

/** Broadcasts the two parts to one shape. */
const joined: Lowering = (cx) => {
  const [real, imaginary] = [cx.tensor(0), cx.tensor(1)];
  const isOne =
    real.shape !== undefined &&
    real.shape.length === imaginary.shape?.length &&
    real.shape.every((dim, axis) => dim !== undefined && dim === imaginary.shape?.[axis]);
  if (isOne) return complexValue(real, imaginary);
  const shape = broadcastShapes(real.shape, imaginary.shape);
  const spread = (value: TensorValue, to: TensorValue): TensorValue =>
    cx.op('Expand', [value, cx.shapeOf(to)], { shape });
  return complexValue(spread(real, imaginary), spread(imaginary, real));
};

const onlyComplex: Lowering = (cx) => cx.fail('its input must be complex');
const forComplex = (complex: Lowering): Operators[string] => ({
  lower: onlyComplex,
  complex,
  dtypes: 'complex',
});

/** Operators that only complex tensors have. */
export const COMPLEX_ONLY: Operators = {
  Complex: { lower: joined, dtypes: 'float, double' },
  Real: forComplex((cx) => complexInput(cx, 0).real),
  Imag: forComplex((cx) => complexInput(cx, 0).imaginary),
  Conj: forComplex(unary(conjugate)),
  ComplexAbs: forComplex((cx) => size(cx, complexInput(cx, 0))),
  Angle: forComplex((cx) => angle(cx, complexInput(cx, 0))),
};

/** Complex forms of operators that real tensors have too. */
export const COMPLEX_ARITHMETIC: Readonly<Record<string, Lowering>> = {
  Mul: binary(product),
  RealDiv: binary(quotient),
  Div: binary(quotient),
  Square: unary((cx, a) => product(cx, a, a)),
  SquaredDifference: binary(squaredDifference),
  Reciprocal: unary((cx, a) => quotient(cx, one(cx, a), a)),
  Inv: unary((cx, a) => quotient(cx, one(cx, a), a)),
  Exp: unary(exp),
  Log: unary(log),
  Sqrt: unary(sqrt),
  Rsqrt: unary((cx, a) => quotient(cx, one(cx, a), sqrt(cx, a))),
  Pow: binary((cx, a, b) => exp(cx, product(cx, b, log(cx, a)))),
  Equal: equal,
  NotEqual: (cx) => not(cx, equal(cx)),
  Cast: cast,
};
