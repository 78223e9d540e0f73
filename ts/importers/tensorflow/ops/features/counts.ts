// Counts by value as sparse tensors. Source: tensorflow/core/kernels/count_ops.cc. Importer's
// worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import {
  add,
  equal,
  less,
  max,
  mul,
  not,
  number,
  oneUnlessAny,
  or,
} from '../arithmetic/algebra.js';
import { numberedRows } from './rows.js';

/** The counted values; all int64. */
interface Counted {
  /** [n] */
  readonly values: TensorValue;
  /**
   * The row of each [n, 1], and the number of rows [1]; absent or [n, 0] and [0]: one row, which is
   * not a dim of the output.
   */
  readonly rows?: { readonly of: TensorValue; readonly count: TensorValue };
}

const WEIGHTS = 'Weights and values must have the same shape.';
const NEGATIVE = 'Input values must all be non-negative';
const OUTSIDE = 'Index value out of bounds';
const DEEP = 'Input must be a 1 or 2-dimensional tensor.';

const long = (cx: OpContext, value: number): TensorValue => cx.scalar('int64', value);

const sizeOf = (cx: OpContext, value: TensorValue): TensorValue =>
  cx.op('Size', [value], { dtype: 'int64', shape: [] });

/** A weight for each value: 1 if none are given. */
function weightsOf(cx: OpContext, values: TensorValue): TensorValue {
  const given = cx.reshape(cx.tensor(cx.inputs.length - 1), [-1], [undefined]);
  const [count, wanted] = [sizeOf(cx, given), sizeOf(cx, values)];
  const isWrong = not(cx, or(cx, equal(cx, count, long(cx, 0)), equal(cx, count, wanted)));
  const one = oneUnlessAny(cx, isWrong, given.dtype, WEIGHTS);
  const ends = cx.reshape(wanted, [1]);
  const ones = cx.op('Expand', [one, ends], { shape: [undefined] });
  return cx.op('Slice', [cx.concat([given, ones], 0), cx.int64s([0]), ends, cx.int64s([0])], {
    shape: [undefined],
  });
}

/** The output's last dim: from the attributes, or as required by the largest counted value. */
function width(cx: OpContext, values: TensorValue): TensorValue {
  const [least, most] = [cx.int('minlength', -1), cx.int('maxlength', -1)];
  if (most >= 0) return cx.int64s([most]);
  const largest = cx.op('ReduceMax', [cx.concat([cx.int64s([0]), values], 0)], {
    shape: [1],
    attributes: { keepdims: { int: 1 } },
  });
  return max(cx, add(cx, largest, long(cx, 1)), cx.int64s([least]));
}

function counted(cx: OpContext, { values: given, rows }: Counted): TensorValue[] {
  const ok = oneUnlessAny(cx, less(cx, given, long(cx, 0)), 'int64', NEGATIVE);
  const all = mul(cx, given, ok);
  const most = cx.int('maxlength', -1);
  const isCounted = most < 0 ? equal(cx, all, all) : less(cx, all, long(cx, most));
  const places = cx.squeeze(
    cx.op('NonZero', [isCounted], { dtype: 'int64', shape: [1, undefined] }),
    [0],
  );
  const values = cx.rows(all, places, [undefined]);
  const weights = cx.rows(weightsOf(cx, all), places, [undefined]);
  const columns = cx.unsqueeze(values, [1]);
  const cells =
    rows === undefined
      ? columns
      : cx.concat([cx.rows(rows.of, places, [undefined, rows.of.shape?.[1]]), columns], 1);
  const bins = width(cx, values);
  const shape = rows === undefined ? bins : cx.concat([rows.count, bins], 0);
  const { distinct, numbers, count } = numberedRows(cx, cells);
  const [sums] = cx.custom(
    'UnsortedSegmentReduce',
    [weights, numbers, count],
    [{ dtype: weights.dtype, shape: [undefined] }],
    { reduction: { string: 'sum' }, highest: { float: 0 } },
  );
  if (sums === undefined) return cx.fail('has no output');
  const result = cx.bool('binary_output', false)
    ? cx.op('Expand', [number(cx, sums, 1), cx.shapeOf(sums)], { shape: [undefined] })
    : sums;
  const ordered = cx.custom(
    'SparseReorder',
    [distinct, result, shape],
    [
      { dtype: 'int64', shape: distinct.shape },
      { dtype: result.dtype, shape: result.shape },
    ],
  );
  return [...ordered, shape];
}

const dense: Lowering = (cx) => {
  const given = cx.cast(cx.tensor(0), 'int64');
  const rank = cx.rank(given);
  const values = cx.reshape(given, [-1], [undefined]);
  if (rank === 1) return counted(cx, { values });
  if (rank !== 2) return cx.fail(`values of rank ${rank}: expected 1 or 2`);
  const count = cx.slice(cx.shapeOf(given), [0], [1], [0]);
  const range = cx.op('Range', [long(cx, 0), cx.reshape(count, []), long(cx, 1)], {
    shape: [undefined],
  });
  const each = cx.op('Expand', [cx.unsqueeze(range, [1]), cx.shapeOf(given)], {
    shape: [undefined, undefined],
  });
  return counted(cx, { values, rows: { of: cx.reshape(each, [-1, 1]), count } });
};

const ragged: Lowering = (cx) => {
  const [splits, values] = [cx.tensor(0), cx.cast(cx.tensor(1), 'int64')];
  const [places, , shape] = cx.custom(
    'RaggedTensorToSparse',
    [splits, values],
    [
      { dtype: 'int64', shape: [undefined, 2] },
      { dtype: 'int64', shape: [undefined] },
      { dtype: 'int64', shape: [2] },
    ],
  );
  if (places === undefined || shape === undefined) return cx.fail('has no output');
  const rows = { of: cx.slice(places, [0], [1], [1]), count: cx.slice(shape, [0], [1], [0]) };
  return counted(cx, { values, rows });
};

/** Rank 2, or rank 1, which has no row column. */
const sparse: Lowering = (cx) => {
  const [indices, values, shape] = [cx.tensor(0), cx.cast(cx.tensor(1), 'int64'), cx.tensor(2)];
  const rank = indices.shape?.[1] ?? shape.shape?.[0];
  if (rank === 0 || (rank ?? 0) > 2) cx.fail(`a sparse tensor of rank ${rank}: expected 1 or 2`);
  const dims = cx.reshape(shape, [-1], [rank]);
  const isOutside = or(cx, less(cx, indices, long(cx, 0)), not(cx, less(cx, indices, dims)));
  const isDeep = less(cx, long(cx, 2), cx.shapeOf(dims));
  const checked = mul(
    cx,
    values,
    mul(cx, oneUnlessAny(cx, isOutside, 'int64', OUTSIDE), oneUnlessAny(cx, isDeep, 'int64', DEEP)),
  );
  const rows = { of: cx.slice(indices, [0], [-1], [1]), count: cx.slice(dims, [0], [-1], [0]) };
  return counted(cx, { values: checked, rows });
};

const NOTE = 'a negative value fails the request';

export const COUNTS: Operators = {
  DenseCountSparseOutput: { lower: dense, note: NOTE },
  RaggedCountSparseOutput: { lower: ragged, note: NOTE },
  SparseCountSparseOutput: { lower: sparse, note: NOTE },
};
