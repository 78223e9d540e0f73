// Differences of lists, places in sorted rows, coordinates of flat indices. Tier T3. Source:
// tensorflow/core/kernels/{list_diff,searchsorted,unravel_index}_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { isFloating, type TensorValue } from '../../lower/values.js';
import {
  div,
  equal,
  greaterOrEqual,
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

/** Both lists' elements are numbered in the order in which they came first, y's before x's: those
 * of x that y has not are numbered behind the last of y. */
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
  // No NaN is another.
  const isNew = isFloating(x.dtype)
    ? or(cx, not(cx, isOld), cx.op('IsNaN', [x], { dtype: 'bool' }))
    : not(cx, isOld);
  const found = cx.op('NonZero', [isNew], { dtype: 'int64', shape: [1, undefined] });
  const places = cx.squeeze(found, [0]);
  return [cx.rows(x, places, [undefined]), cx.cast(places, cx.type('out_idx', 'int32'))];
};

/** How many elements of its sorted row are below each value (`upper`: or equal to it). Both are
 * sorted together, of equal ones the first given first. */
function bound(upper: boolean): Lowering {
  return (cx) => {
    if (cx.tensor(0).dtype === 'uint64') return cx.fail('uint64 is not supported');
    const [row, values] = [computable(cx, cx.tensor(0)), computable(cx, cx.tensor(1))];
    const wanted = isFloating(values.dtype) ? withoutNan(cx, values, upper) : values;
    const all = cx.concat(upper ? [row, wanted] : [wanted, row], 1);
    const first = axisSize(cx, upper ? row : wanted);
    const [, order] = cx.ops(
      'TopK',
      [all, axisSize(cx, all)],
      [
        { dtype: all.dtype, shape: all.shape },
        { dtype: 'int64', shape: all.shape },
      ],
      { axis: { int: 1 }, largest: { int: 0 }, sorted: { int: 1 } },
    );
    if (order === undefined) return cx.fail('has no output');
    const isRow = upper ? less(cx, order, first) : greaterOrEqual(cx, order, first);
    const counts = cx.op('CumSum', [cx.cast(isRow, 'int64'), cx.scalar('int64', 1)]);
    const back = cx.op('ScatterElements', [counts, order, counts], {
      attributes: { axis: { int: 1 } },
    });
    const [from, to] = upper ? [first, cx.int64s([END])] : [cx.int64s([0]), first];
    const found = cx.op('Slice', [back, from, to, cx.int64s([1])], { shape: values.shape });
    return cx.cast(found, cx.type('out_type', 'int32'));
  };
}

const axisSize = (cx: OpContext, value: TensorValue): TensorValue =>
  cx.slice(cx.shapeOf(value), [1], [2], [0]);

/** NaN is not above any element and not below any. */
function withoutNan(cx: OpContext, values: TensorValue, upper: boolean): TensorValue {
  const isNan = cx.op('IsNaN', [values], { dtype: 'bool' });
  return where(cx, isNan, number(cx, values, upper ? Infinity : -Infinity), values);
}

/** From the last dim to the first: the rest of a division is the coordinate. */
const unravelIndex: Lowering = (cx) => {
  const [indices, dims] = [cx.tensor(0), cx.tensor(1)];
  const rank = dims.shape?.[0] ?? cx.fail('the number of dims (input 1) is not known');
  if (rank === 0) return cx.fail('expected at least one dim (input 1)');
  const [zero, one] = [number(cx, indices, 0), number(cx, indices, 1)];
  // The runtime must not divide by 0.
  const isWrong = less(cx, dims, one);
  const sizes = where(cx, isWrong, one, dims);
  let rest = mul(cx, indices, oneUnlessAny(cx, isWrong, indices.dtype));
  rest = mul(cx, rest, oneUnlessAny(cx, less(cx, rest, zero), indices.dtype));
  const rows: TensorValue[] = [];
  for (let axis = rank - 1; axis >= 0; axis--) {
    const size = cx.reshape(cx.slice(sizes, [axis], [axis + 1], [0]), []);
    const quotient = div(cx, rest, size);
    rows.unshift(cx.unsqueeze(sub(cx, rest, mul(cx, quotient, size)), [0]));
    rest = quotient;
  }
  const isBeyond = not(cx, equal(cx, rest, zero));
  return mul(cx, cx.concat(rows, 0), oneUnlessAny(cx, isBeyond, indices.dtype));
};

export const SEARCH: Operators = {
  ListDiff: { lower: listDiff, dtypes: 'any' },
  LowerBound: { lower: bound(false) },
  UpperBound: { lower: bound(true) },
  UnravelIndex: {
    lower: unravelIndex,
    dtypes: 'int32, int64',
    note: 'the number of dims must be known',
  },
};
