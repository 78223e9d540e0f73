// Matrix products. Source: tensorflow/core/kernels/matmul_op_impl.h. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { Dtype, Shape } from '../../types.js';
import { broadcastShapes } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';

/** The last two axes swapped. */
function adjoint(cx: OpContext, value: TensorValue, is: boolean): TensorValue {
  if (!is) return value;
  const rank = cx.rank(value, 'a matrix that is to be transposed');
  const axes = Array.from({ length: rank }, (_, axis) => axis);
  return cx.transpose(value, [...axes.slice(0, -2), rank - 1, rank - 2]);
}

function productShape(a: Shape, b: Shape): Shape {
  if (a === undefined || b === undefined) return undefined;
  const batch = broadcastShapes(a.slice(0, -2), b.slice(0, -2));
  return batch === undefined ? undefined : [...batch, a.at(-2), b.at(-1)];
}

function product(cx: OpContext, a: TensorValue, b: TensorValue, dtype: Dtype): TensorValue {
  const inputs = [cx.cast(a, dtype), cx.cast(b, dtype)];
  return cx.op('MatMul', inputs, { shape: productShape(a.shape, b.shape) });
}

/** TensorFlow's MatMul accepts matrices only. */
function matrix(cx: OpContext, index: number): TensorValue {
  const value = cx.tensor(index);
  cx.requireRank(value, 2, 2); // ONNX's MatMul accepts vectors too
  if (value.shape === undefined) return { ...value, shape: [undefined, undefined] };
  if (value.shape.length === 2) return value;
  return cx.fail(`input ${index}: expected a matrix, got ${cx.describe(value)}`);
}

export const matMul: Lowering = (cx) => {
  const a = adjoint(cx, matrix(cx, 0), cx.bool('transpose_a', false));
  const b = adjoint(cx, matrix(cx, 1), cx.bool('transpose_b', false));
  return product(cx, a, b, a.dtype);
};

const batchMatMul: Lowering = (cx) => {
  const [x, y] = [cx.tensor(0), cx.tensor(1)];
  for (const one of [x, y]) cx.requireRank(one, 2); // ONNX's MatMul accepts vectors too
  const a = adjoint(cx, x, cx.bool('adj_x', false));
  const b = adjoint(cx, y, cx.bool('adj_y', false));
  return product(cx, a, b, cx.type('Tout', a.dtype));
};

export const MATMUL: Operators = {
  MatMul: { lower: matMul },
  BatchMatMul: { lower: batchMatMul },
  BatchMatMulV2: { lower: batchMatMul },
  BatchMatMulV3: { lower: batchMatMul },
};
