// Resizing with a sampling kernel that widens when images shrink (antialias). Importer's worker
// thread. Source: tensorflow/core/kernels/image/{scale_and_translate_op.cc,sampling_kernels.h}.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { abs, add, div, equal, less, max, mul, or, sub, where } from '../arithmetic/algebra.js';
import type { Dim } from '../conv/dims.js';
import { byMatrices, positions, sizeScalar } from './matrices.js';

const float = (cx: OpContext, value: number): TensorValue => cx.scalar('float', value);

type Kernel = (cx: OpContext, distance: TensorValue) => TensorValue;

/** ((c3 x + c2) x + c1) x + c0. */
function polynomial(cx: OpContext, x: TensorValue, factors: readonly number[]): TensorValue {
  const [first = 0, ...rest] = factors;
  return rest.reduce<TensorValue>(
    (sum, next) => add(cx, mul(cx, sum, x), float(cx, next)),
    float(cx, first),
  );
}

/** Zero from `end` on. */
const until = (cx: OpContext, x: TensorValue, end: number, value: TensorValue): TensorValue =>
  where(cx, less(cx, x, float(cx, end)), value, float(cx, 0));

const cubic =
  (near: readonly number[], far: readonly number[]): Kernel =>
  (cx, x) =>
    where(
      cx,
      less(cx, x, float(cx, 1)),
      polynomial(cx, x, near),
      until(cx, x, 2, polynomial(cx, x, far)),
    );

const LANCZOS_CENTRE = 1e-3;

const lanczos =
  (radius: number): Kernel =>
  (cx, x) => {
    const sine = (scale: number): TensorValue =>
      cx.op('Sin', [mul(cx, x, float(cx, Math.PI * scale))]);
    const above = mul(cx, float(cx, radius), mul(cx, sine(1), sine(1 / radius)));
    const value = div(cx, above, mul(cx, float(cx, Math.PI ** 2), mul(cx, x, x)));
    const isCentre = less(cx, x, float(cx, LANCZOS_CENTRE));
    return where(cx, isCentre, float(cx, 1), until(cx, x, radius, value));
  };

const KERNELS: Readonly<Record<string, Kernel>> = {
  lanczos1: lanczos(1),
  lanczos3: lanczos(3),
  lanczos5: lanczos(5),
  gaussian: (cx, x) => until(cx, x, 1.5, cx.op('Exp', [mul(cx, mul(cx, x, x), float(cx, -2))])),
  box: (cx, x) =>
    where(cx, equal(cx, x, float(cx, 0.5)), float(cx, 0.5), until(cx, x, 0.5, float(cx, 1))),
  triangle: (cx, x) => max(cx, sub(cx, float(cx, 1), x), float(cx, 0)),
  keyscubic: cubic([1.5, -2.5, 0, 1], [-0.5, 2.5, -4, 2]),
  mitchellcubic: cubic([7 / 6, -2, 0, 8 / 9], [-7 / 18, 2, -10 / 3, 16 / 9]),
};

const SMALLEST_SUM = 1000 * 1.17549435e-38;

function weights(cx: OpContext, from: Dim, to: Dim, axis: 0 | 1): TensorValue {
  const name = cx.text('kernel_type', 'lanczos3');
  const kernel =
    (Object.hasOwn(KERNELS, name) ? KERNELS[name] : undefined) ??
    cx.fail(`kernel_type ${name} is not supported`);
  const [one, half] = [float(cx, 1), float(cx, 0.5)];
  const operand = (index: number): TensorValue => ({
    ...cx.op('Gather', [cx.tensor(index), cx.scalar('int64', axis)]),
    shape: [],
  });
  const inverse = div(cx, one, operand(2));
  const shift = mul(cx, cx.op('Neg', [inverse]), operand(3));
  const row = cx.unsqueeze(positions(cx, to), [1]);
  const sample = add(cx, mul(cx, add(cx, row, half), inverse), shift);
  const width = cx.bool('antialias', true) ? max(cx, inverse, one) : one;
  const centre = add(cx, cx.unsqueeze(positions(cx, from), [0]), half);
  const weight = kernel(cx, abs(cx, div(cx, sub(cx, centre, sample), width)));
  const sum = cx.op('ReduceSum', [weight, cx.int64s([1])], {
    shape: [weight.shape?.[0], 1],
    attributes: { keepdims: { int: 1 } },
  });
  const isTiny = less(cx, abs(cx, sum), float(cx, SMALLEST_SUM));
  // Rows from outside the image are empty.
  const isOutside = or(cx, less(cx, sample, float(cx, 0)), less(cx, sizeScalar(cx, from), sample));
  const scaled = div(cx, weight, where(cx, isTiny, one, sum));
  return where(cx, or(cx, isOutside, isTiny), float(cx, 0), scaled);
}

const scaleAndTranslate: Lowering = (cx) => byMatrices(cx, weights);

export const SCALE_TRANSLATE: Operators = {
  ScaleAndTranslate: { lower: scaleAndTranslate },
};
