// Differences of lists, positions in sorted rows, coordinates of flat indices. Source:
// tensorflow/core/kernels/{list_diff,searchsorted,unravel_index}_op.cc. Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import { isFloating, type TensorValue } from '../../lower/values.js';
import {
  div,
  equal,
  less,
  mul,
  not,
  number,
  oneUnlessAny,
  or,
  sub,
  where,
} from '../arithmetic/algebra.js';
import { computable, typeNumber } from './attributes.js';

const END = 2 ** 31 - 1;
const BEYOND = 'index is out of bound as with dims';
const NO_DIM = 'Input dims must be greater than 0';

/**
 * Both lists' elements are numbered in order of first occurrence, y's before x's: those of x that
 * are not in y have numbers after the last of y.
 */
const listDiff: Lowering = (cx) => {
  const [x, y] = [cx.tensor(0), cx.tensor(1)];
  const all = cx.concat([y, x], 0);
  const [, numbers] = cx.custom(
    'Unique',
    [all],
    [
      { dtype: all.dtype, shape: [undefined] },
      { dtype: 'int64', shape: all.shape },
    ],
    { index_type: { int: typeNumber('int64') }, has_axis: { int: 0 }, axis: { int: 0 } },
  );
  if (numbers === undefined) return cx.fail('has no output');
  const [start, split, axis] = [cx.int64s([0]), cx.shapeOf(y), cx.int64s([0])];
  const part = (from: TensorValue, to: TensorValue, { shape }: TensorValue): TensorValue =>
    cx.op('Slice', [numbers, from, to, axis], { shape });
  const before = cx.concat([cx.int64s([-1]), part(start, split, y)], 0);
  const last = cx.op('ReduceMax', [before], { shape: [], attributes: { keepdims: { int: 0 } } });
  const isOld = not(cx, less(cx, last, part(split, cx.int64s([END]), x)));
  // No NaN equals another.
  const isNew = isFloating(x.dtype)
    ? or(cx, not(cx, isOld), cx.op('IsNaN', [x], { dtype: 'bool' }))
    : not(cx, isOld);
  const found = cx.op('NonZero', [isNew], { dtype: 'int64', shape: [1, undefined] });
  const places = cx.squeeze(found, [0]);
  return [cx.rows(x, places, [undefined]), cx.cast(places, cx.type('out_idx', 'int32'))];
};

/** Number of elements of its sorted row below each value (`upper`: or equal to it). */
function bound(upper: boolean): Lowering {
  return (cx) => {
    const [row, values] = [computable(cx, cx.tensor(0)), computable(cx, cx.tensor(1))];
    const dtype = cx.type('out_type', 'int32') === 'int64' ? 'int64' : 'int32';
    const attributes = { upper: { int: upper ? 1 : 0 }, index_type: { int: typeNumber(dtype) } };
    return cx.custom('SearchSorted', [row, values], [{ dtype, shape: values.shape }], attributes);
  };
}

/** From the last dim to the first: the remainder of a division is the coordinate. */
const unravelIndex: Lowering = (cx) => {
  const [indices, dims] = [cx.tensor(0), cx.tensor(1)];
  const rank = dims.shape?.[0] ?? cx.fail('the number of dims (input 1) is not known');
  if (rank === 0) return cx.fail('dims (input 1): expected at least one, got none');
  const [zero, one] = [number(cx, indices, 0), number(cx, indices, 1)];
  // The runtime must not divide by 0.
  const isWrong = less(cx, dims, one);
  const sizes = where(cx, isWrong, one, dims);
  let rest = mul(cx, indices, oneUnlessAny(cx, isWrong, indices.dtype, NO_DIM));
  rest = mul(cx, rest, oneUnlessAny(cx, less(cx, rest, zero), indices.dtype, BEYOND));
  const rows: TensorValue[] = [];
  for (let axis = rank - 1; axis >= 0; axis--) {
    const size = cx.reshape(cx.slice(sizes, [axis], [axis + 1], [0]), []);
    const quotient = div(cx, rest, size);
    rows.unshift(cx.unsqueeze(sub(cx, rest, mul(cx, quotient, size)), [0]));
    rest = quotient;
  }
  const isBeyond = not(cx, equal(cx, rest, zero));
  return mul(cx, cx.concat(rows, 0), oneUnlessAny(cx, isBeyond, indices.dtype, BEYOND));
};

export const SEARCH: Operators = {
  ListDiff: { lower: listDiff, dtypes: 'any' },
  LowerBound: { lower: bound(false) },
  UpperBound: { lower: bound(true) },
  UnravelIndex: {
    lower: unravelIndex,
    dtypes: 'int32, int64',
    note: 'the number of dimensions must be known',
  },
};
