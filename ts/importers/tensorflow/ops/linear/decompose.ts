// Inverses, determinants, solutions and decompositions of matrices, by Serval's own operators.
// 16-bit floats use the kernels of float. Source: tensorflow/core/kernels/linalg. Importer's worker
// thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OutputSpec } from '../../lower/graph-builder.js';
import { broadcastShapes, type TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { computable } from '../features/attributes.js';

type Dims = readonly (number | undefined)[];

/** The batch dims and the last two, as far as known. */
interface MatrixShape {
  readonly batch: Shape;
  readonly rows: number | undefined;
  readonly columns: number | undefined;
}

const matrixShape = ({ shape }: TensorValue): MatrixShape => ({
  batch: shape?.slice(0, -2),
  rows: shape?.at(-2),
  columns: shape?.at(-1),
});

const within = (batch: Shape, last: Dims): Shape => batch && [...batch, ...last];

/** Serval's operator with the node's name, with outputs in the node's type. */
function matrices(
  cx: OpContext,
  name: string,
  outputs: readonly Shape[],
  flags: readonly (readonly [string, boolean])[] = [],
): TensorValue[] {
  const inputs = cx.tensors();
  inputs.forEach((one, i) => {
    if (one.shape !== undefined && one.shape.length < 2) {
      cx.fail(`input ${i}: expected matrices, got ${cx.describe(one)}`);
    }
  });
  const given = inputs.map((one) => computable(cx, one));
  const dtype = given[0]?.dtype ?? 'float';
  const specs = outputs.map((shape): OutputSpec => ({ dtype, shape }));
  const attributes = flags.map(([flag, fallback]) => [
    flag,
    { int: cx.bool(flag, fallback) ? 1 : 0 },
  ]);
  const values = cx.custom(name, given, specs, Object.fromEntries(attributes));
  return values.map((value) => cx.cast(value, inputs[0]?.dtype ?? 'float'));
}

const cholesky: Lowering = (cx) => matrices(cx, 'Cholesky', [cx.tensor(0).shape]);

const inverse: Lowering = (cx) =>
  matrices(cx, 'MatrixInverse', [cx.tensor(0).shape], [['adjoint', false]]);

const determinant: Lowering = (cx) =>
  matrices(cx, 'MatrixDeterminant', [cx.tensor(0).shape?.slice(0, -2)]);

const logDeterminant: Lowering = (cx) => {
  const batch = cx.tensor(0).shape?.slice(0, -2);
  return matrices(cx, 'LogMatrixDeterminant', [batch, batch]);
};

const solve: Lowering = (cx) =>
  matrices(cx, 'MatrixSolve', [cx.tensor(1).shape], [['adjoint', false]]);

const triangularSolve: Lowering = (cx) => {
  const [a, b] = [matrixShape(cx.tensor(0)), matrixShape(cx.tensor(1))];
  const shape = within(broadcastShapes(a.batch, b.batch), [b.rows, b.columns]);
  return matrices(
    cx,
    'MatrixTriangularSolve',
    [shape],
    [
      ['lower', true],
      ['adjoint', false],
    ],
  );
};

const lu: Lowering = (cx) => {
  const matrix = cx.tensor(0);
  if (matrix.shape !== undefined && matrix.shape.length < 2) {
    return cx.fail(`expected matrices, got ${cx.describe(matrix)}`);
  }
  const given = computable(cx, matrix);
  const order = { dtype: 'int64', shape: matrix.shape?.slice(0, -1) } as const;
  const [factors, places] = cx.custom('Lu', [given], [given, order]);
  if (factors === undefined || places === undefined) return cx.fail('has no outputs');
  return [cx.cast(factors, matrix.dtype), cx.cast(places, cx.type('output_idx_type', 'int32'))];
};

const tridiagonalSolve: Lowering = (cx) =>
  matrices(
    cx,
    'TridiagonalSolve',
    [cx.tensor(1).shape],
    [
      ['partial_pivoting', true],
      ['perturb_singular', false],
    ],
  );

/** The smaller of two dims, if both are known. */
const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : Math.min(a, b);

/** Output for vectors that are not requested. */
const NONE: Shape = [];

const svd: Lowering = (cx) => {
  const { batch, rows, columns } = matrixShape(cx.tensor(0));
  const rank = smaller(rows, columns);
  const [left, right] = cx.bool('full_matrices', false) ? [rows, columns] : [rank, rank];
  const vectors = cx.bool('compute_uv', true);
  const outputs = [
    within(batch, [rank]),
    vectors ? within(batch, [rows, left]) : NONE,
    vectors ? within(batch, [columns, right]) : NONE,
  ];
  return matrices(cx, 'Svd', outputs, [
    ['compute_uv', true],
    ['full_matrices', false],
  ]);
};

const qr: Lowering = (cx) => {
  const { batch, rows, columns } = matrixShape(cx.tensor(0));
  const kept = cx.bool('full_matrices', false) ? rows : smaller(rows, columns);
  const outputs = [within(batch, [rows, kept]), within(batch, [kept, columns])];
  return matrices(cx, 'Qr', outputs, [['full_matrices', false]]);
};

const selfAdjointEigen: Lowering = (cx) => {
  const { shape } = cx.tensor(0);
  const vectors = cx.bool('compute_v', true) ? shape : NONE;
  return matrices(cx, 'SelfAdjointEigV2', [shape?.slice(0, -1), vectors], [['compute_v', true]]);
};

const FLOATING = 'floating';

export const DECOMPOSE: Operators = {
  Cholesky: { lower: cholesky, dtypes: FLOATING },
  BatchCholesky: { lower: cholesky, dtypes: FLOATING },
  MatrixInverse: { lower: inverse, dtypes: FLOATING },
  BatchMatrixInverse: { lower: inverse, dtypes: FLOATING },
  MatrixDeterminant: { lower: determinant, dtypes: FLOATING },
  BatchMatrixDeterminant: { lower: determinant, dtypes: FLOATING },
  LogMatrixDeterminant: { lower: logDeterminant, dtypes: FLOATING },
  MatrixSolve: { lower: solve, dtypes: FLOATING },
  BatchMatrixSolve: { lower: solve, dtypes: FLOATING },
  MatrixTriangularSolve: { lower: triangularSolve, dtypes: FLOATING },
  BatchMatrixTriangularSolve: { lower: triangularSolve, dtypes: FLOATING },
  Lu: { lower: lu, dtypes: FLOATING },
  TridiagonalSolve: { lower: tridiagonalSolve, dtypes: FLOATING },
  Svd: { lower: svd, dtypes: FLOATING },
  BatchSvd: { lower: svd, dtypes: FLOATING },
  Qr: { lower: qr, dtypes: FLOATING },
  SelfAdjointEigV2: { lower: selfAdjointEigen, dtypes: FLOATING },
  BatchSelfAdjointEigV2: { lower: selfAdjointEigen, dtypes: FLOATING },
};
