// Cross products of 3D vectors. (Matrices: decompose.ts.) Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import { mul, sub } from '../arithmetic/algebra.js';

/** Operands are vectors of three along the last axis. */
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

export const CROSS: Operators = {
  Cross: { lower: cross },
};
