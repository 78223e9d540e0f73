// Bicubic resizing, with the weights that TensorFlow reads from a table. Importer's worker thread.
// Source: tensorflow/core/kernels/image/resize_bicubic_op.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { abs, add, div, less, max, min, mul, sub, where } from '../arithmetic/algebra.js';
import type { Dim } from '../conv/dims.js';
import { byMatrices, positions, resizeScale, sizeScalar } from './matrices.js';

// Table entries between two pixels.
const TABLE_SIZE = 1024;
const KEYS = -0.5;
const LEGACY = -0.75;

const float = (cx: OpContext, value: number): TensorValue => cx.scalar('float', value);

/** ((c3 x + c2) x + c1) x + c0. */
function polynomial(
  cx: OpContext,
  x: TensorValue,
  [c3, c2, c1, c0]: readonly [number, number, number, number],
): TensorValue {
  const step = (sum: TensorValue, next: number): TensorValue =>
    add(cx, mul(cx, sum, x), float(cx, next));
  return step(step(step(float(cx, c3), c2), c1), c0);
}

/** The kernel's value at a distance of less than 1 pixel, and of 1 to 2. */
const near = (cx: OpContext, x: TensorValue, a: number): TensorValue =>
  polynomial(cx, x, [a + 2, -(a + 3), 0, 1]);
const far = (cx: OpContext, x: TensorValue, a: number): TensorValue =>
  polynomial(cx, x, [a, -5 * a, 8 * a, -4 * a]);

/** Position of each output row among the input rows, [to, 1]. */
function places(cx: OpContext, from: Dim, to: Dim, isHalfPixel: boolean): TensorValue {
  const row = cx.unsqueeze(positions(cx, to), [1]);
  const scale = resizeScale(cx, from, to);
  if (!isHalfPixel) return mul(cx, row, scale);
  const half = float(cx, 0.5);
  return sub(cx, mul(cx, add(cx, row, half), scale), half);
}

function weights(cx: OpContext, from: Dim, to: Dim): TensorValue {
  const isHalfPixel = cx.bool('half_pixel_centers', false);
  const a = isHalfPixel ? KEYS : LEGACY;
  const place = places(cx, from, to, isHalfPixel);
  const base = cx.op('Floor', [place]);
  const table = float(cx, TABLE_SIZE);
  const offset = div(cx, cx.op('Round', [mul(cx, sub(cx, place, base), table)]), table);
  const rest = sub(cx, float(cx, 1), offset);
  const one = float(cx, 1);
  const each = [
    far(cx, add(cx, offset, one), a),
    near(cx, offset, a),
    near(cx, rest, a),
    far(cx, add(cx, rest, one), a),
  ];
  const last = sub(cx, sizeScalar(cx, from), one);
  const column = cx.unsqueeze(positions(cx, from), [0]);
  const parts = each.map((weight, i) => {
    const at = add(cx, base, float(cx, i - 1));
    const inside = max(cx, min(cx, at, last), float(cx, 0));
    // Keys' kernel ignores pixels beyond the edge, the older one repeats the edge.
    const place = isHalfPixel ? at : inside;
    const hits = cx.op('Equal', [place, column], { dtype: 'bool', shape: matrixShape(from, to) });
    return where(cx, hits, weight, float(cx, 0));
  });
  const sum = cx.op('Sum', parts, { shape: matrixShape(from, to) });
  return isHalfPixel ? normalised(cx, sum) : sum;
}

const matrixShape = (from: Dim, to: Dim): (number | undefined)[] =>
  [to, from].map((one) => (typeof one === 'number' ? one : undefined));

const SMALLEST_SUM = 1000 * 1.17549435e-38;

function normalised(cx: OpContext, matrix: TensorValue): TensorValue {
  const sum = cx.op('ReduceSum', [matrix, cx.int64s([1])], {
    shape: [matrix.shape?.[0], 1],
    attributes: { keepdims: { int: 1 } },
  });
  const isTiny = less(cx, abs(cx, sum), float(cx, SMALLEST_SUM));
  return div(cx, matrix, where(cx, isTiny, float(cx, 1), sum));
}

const bicubic: Lowering = (cx) => byMatrices(cx, weights);

export const RESIZE_BICUBIC: Operators = {
  ResizeBicubic: { lower: bicubic },
};
