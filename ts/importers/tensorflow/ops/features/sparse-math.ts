// Reductions and arithmetic of sparse tensors. Source: tensorflow/core/kernels/
// {sparse_reduce_op,sparse_dense_binary_op_shared,sparse_softmax_op}.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { numbersTensor } from '../../lower/tensors.js';
import type { Shape } from '../../types.js';
import { isFloating, type TensorValue } from '../../lower/values.js';
import {
  add,
  div,
  equal,
  inFloat,
  less,
  mul,
  not,
  oneUnlessAny,
  or,
  sub,
  where,
} from '../arithmetic/algebra.js';
import { computable } from './attributes.js';
import { numberedRows } from './rows.js';

const OUTSIDE = 'Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape';
const MISFIT = 'SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes';
const FLAT = 'Input should have rank >= 2';

const END = 2 ** 31 - 1;

/** Rank of the sparse tensor, if known. */
const knownRank = (cx: OpContext): number | undefined =>
  cx.tensor(0).shape?.[1] ?? cx.tensor(2).shape?.[0];

const dimsOf = (cx: OpContext): TensorValue => cx.reshape(cx.tensor(2), [-1], [knownRank(cx)]);

/** For each index, whether it is outside its dim. */
const outside = (cx: OpContext, indices: TensorValue, dims: TensorValue): TensorValue =>
  or(cx, less(cx, indices, cx.scalar('int64', 0)), not(cx, less(cx, indices, dims)));

const gathered = (cx: OpContext, value: TensorValue, at: TensorValue, axis: number): TensorValue =>
  cx.op('Gather', [value, at], {
    shape: value.shape?.map((dim, i) => (i === axis ? undefined : dim)),
    attributes: { axis: { int: axis } },
  });

/** `value` at every position of a tensor of this shape. */
function filled(cx: OpContext, like: TensorValue, value: number, dims: TensorValue): TensorValue {
  const shape = dims.ints ?? Array.from({ length: dims.shape?.[0] ?? 0 }, () => undefined);
  const one = cx.constant(numbersTensor(like.dtype, [1], [value]));
  return cx.op('Expand', [one, dims], { shape });
}

/**
 * The elements are reduced into their positions among the remaining axes; positions without any are
 * 0.
 */
const reduced =
  (reduction: 'add' | 'max'): Lowering =>
  (cx) => {
    const [indices, values, dims] = [cx.tensor(0), cx.tensor(1), dimsOf(cx)];
    const axes = cx.reshape(cx.tensor(3), [-1], [undefined]);
    const one = cx.scalar('int64', 1);
    const rank = cx.shapeOf(dims);
    const isReduced = cx.op(
      'ScatterElements',
      [
        filled(cx, indices, 0, rank),
        cx.cast(axes, 'int64'),
        filled(cx, indices, 1, cx.shapeOf(axes)),
      ],
      { shape: dims.shape },
    );
    const stays = less(cx, isReduced, one);
    const kept = cx.squeeze(
      cx.op('NonZero', [stays], { dtype: 'int64', shape: [1, undefined] }),
      [0],
    );
    const sizes = gathered(cx, dims, kept, 0);
    // One axis more than the remaining ones: a scalar has no positions.
    const ok = oneUnlessAny(cx, outside(cx, indices, dims), 'int64', OUTSIDE);
    const wide = cx.concat([mul(cx, indices, ok), column(cx, indices)], 1);
    const places = gathered(cx, wide, cx.concat([kept, rank], 0), 1);
    const out = scattered(
      cx,
      computable(cx, values),
      places,
      cx.concat([sizes, cx.int64s([1])], 0),
      reduction,
    );
    const keeps = cx.bool('keep_dims', false);
    const shape = keeps ? where(cx, stays, dims, one) : sizes;
    return cx.cast(cx.reshape(out, shape, reducedShape(cx, keeps)), values.dtype);
  };

/** The shape of the result, with its known dimensions. */
function reducedShape(cx: OpContext, keeps: boolean): Shape {
  const [rank, axes] = [knownRank(cx), cx.numbers(3)];
  if (rank === undefined || axes === undefined) return undefined;
  const isReduced = axes.map((axis) => cx.axis(axis, rank));
  const dims = Array.from({ length: rank }, (_, i) => i);
  if (!keeps) return dims.filter((i) => !isReduced.includes(i)).map(() => undefined);
  return dims.map((i) => (isReduced.includes(i) ? 1 : undefined));
}

/** A column of zeros with the length of the indices. */
const column = (cx: OpContext, indices: TensorValue): TensorValue =>
  filled(
    cx,
    indices,
    0,
    cx.concat([cx.slice(cx.shapeOf(indices), [0], [1], [0]), cx.int64s([1])], 0),
  );

function scattered(
  cx: OpContext,
  values: TensorValue,
  places: TensorValue,
  sizes: TensorValue,
  reduction: 'add' | 'max',
): TensorValue {
  const scatter = (into: TensorValue, updates: TensorValue, kind: string): TensorValue =>
    cx.op('ScatterND', [into, places, updates], { attributes: { reduction: { string: kind } } });
  const zeros = filled(cx, values, 0, sizes);
  if (reduction === 'add') return scatter(zeros, values, 'add');
  // Each position that has elements starts from one of them.
  return scatter(scatter(zeros, values, 'none'), values, 'max');
}

/** The dense tensor's elements at the sparse one's positions; the dense one is broadcast. */
function denseAt(cx: OpContext): TensorValue {
  const [indices, dense, all] = [cx.tensor(0), cx.tensor(3), dimsOf(cx)];
  const rank = cx.rank(dense, 'its dense input');
  if (rank > (knownRank(cx) ?? rank)) {
    cx.fail(
      `dense input: expected a rank of at most ${knownRank(cx)}, that of the sparse one, got ${rank}`,
    );
  }
  if (rank === 0) return dense;
  const dims = cx.shapeOf(dense);
  const isOne = equal(cx, dims, cx.scalar('int64', 1));
  const sizes = cx.slice(all, [-rank], [END], [0]);
  const isWrong = or(
    cx,
    less(cx, cx.shapeOf(all), cx.scalar('int64', rank)),
    not(cx, or(cx, isOne, equal(cx, dims, sizes))),
  );
  const places = cx.slice(indices, [-rank], [END], [1]);
  const factor = mul(
    cx,
    cx.cast(not(cx, isOne), 'int64'),
    mul(
      cx,
      oneUnlessAny(cx, isWrong, 'int64', MISFIT),
      oneUnlessAny(cx, outside(cx, places, sizes), 'int64', OUTSIDE),
    ),
  );
  return cx.op('GatherND', [dense, mul(cx, places, factor)], { shape: [indices.shape?.[0]] });
}

const withDense =
  (compute: typeof add): Lowering =>
  (cx) => {
    const values = cx.tensor(1);
    if (compute === div && !isFloating(values.dtype)) cx.fail(`${values.dtype} is not supported`);
    return inFloat(cx, [values, denseAt(cx)], (a, b) => ({
      ...compute(cx, a as TensorValue, b as TensorValue),
      shape: values.shape,
    }));
  };

/** Over the existing elements of each innermost row. */
const softmax: Lowering = (cx) => {
  const [indices, given] = [cx.tensor(0), cx.tensor(1)];
  const isFlat = less(cx, cx.shapeOf(dimsOf(cx)), cx.scalar('int64', 2));
  const leading = cx.slice(indices, [0], [-1], [1]);
  const rows = numberedRows(cx, mul(cx, leading, oneUnlessAny(cx, isFlat, 'int64', FLAT)));
  return inFloat(cx, [given], (values) => {
    if (values === undefined) return cx.fail('has no input');
    const over = (reduction: string, of: TensorValue): TensorValue => {
      const [out] = cx.custom(
        'UnsortedSegmentReduce',
        [of, rows.numbers, rows.count],
        [{ dtype: of.dtype, shape: [undefined] }],
        { reduction: { string: reduction }, highest: { float: 0 } },
      );
      return cx.rows(out ?? cx.fail('has no output'), rows.numbers, given.shape);
    };
    const powers = cx.op('Exp', [sub(cx, values, over('max', values))]);
    return div(cx, powers, over('sum', powers));
  });
};

export const SPARSE_MATH: Operators = {
  SparseReduceSum: { lower: reduced('add') },
  SparseReduceMax: { lower: reduced('max') },
  SparseDenseCwiseAdd: { lower: withDense(add) },
  SparseDenseCwiseMul: { lower: withDense(mul) },
  SparseDenseCwiseDiv: { lower: withDense(div), dtypes: 'floating' },
  SparseSoftmax: { lower: softmax, dtypes: 'floating' },
};
