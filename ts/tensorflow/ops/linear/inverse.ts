// Inverses and determinants of square matrices, and products of vectors in space. Tier T1.
// Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import { mul, sub } from '../arithmetic/algebra.js';

const MICROSOFT = 'com.microsoft';

const inverse: Lowering = (cx) => {
  const x = cx.tensor(0);
  const rank = cx.rank(x);
  const axes = Array.from({ length: rank - 2 }, (_, axis) => axis);
  const matrix = cx.bool('adjoint', false) ? cx.transpose(x, [...axes, rank - 1, rank - 2]) : x;
  return cx.builder.add('Inverse', [matrix], [matrix], {}, MICROSOFT);
};

const determinant: Lowering = (cx) => {
  const x = cx.tensor(0);
  return cx.op('Det', [x], { shape: x.shape?.slice(0, -2) });
};

/** Of vectors of three along the last axis. */
const cross: Lowering = (cx) => {
  const [a, b] = [cx.tensor(0), cx.tensor(1)];
  const attributes = { axis: { int: -1 } };
  const turned = (value: typeof a, order: readonly number[]): typeof a =>
    cx.op('Gather', [value, cx.int64s(order)], { attributes });
  const [next, last] = [
    [1, 2, 0],
    [2, 0, 1],
  ] as const;
  return sub(
    cx,
    mul(cx, turned(a, next), turned(b, last)),
    mul(cx, turned(a, last), turned(b, next)),
  );
};

const FLOATING = 'floating';
const NO_INVERSE = 'of a matrix that has none: not finite, and no error';

export const INVERSE: Operators = {
  MatrixInverse: { lower: inverse, dtypes: FLOATING, note: NO_INVERSE },
  BatchMatrixInverse: { lower: inverse, dtypes: FLOATING, note: NO_INVERSE },
  MatrixDeterminant: { lower: determinant, dtypes: FLOATING, note: 'double is computed in float' },
  BatchMatrixDeterminant: {
    lower: determinant,
    dtypes: FLOATING,
    note: 'double is computed in float',
  },
  Cross: { lower: cross },
};
