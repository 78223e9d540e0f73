// Sparse tensors, by Serval's own operators. Source: the kernels of the same names in
// tensorflow/core/kernels. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { computable } from './attributes.js';

/** Dims given by a vector input, as far as known. */
function dimsOf(value: TensorValue): Shape {
  if (value.ints !== undefined && value.shape?.length === 1) {
    return value.ints.map((dim) => (dim === undefined || dim < 0 ? undefined : dim));
  }
  const rank = value.shape?.length === 1 ? value.shape[0] : undefined;
  return rank === undefined ? undefined : Array.from({ length: rank }, () => undefined);
}

const reshape: Lowering = (cx) => {
  const [indices, shape, target] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  const rank = target.shape?.[0];
  return cx.custom(
    'SparseReshape',
    [indices, shape, cx.cast(target, 'int64')],
    [
      { dtype: 'int64', shape: [indices.shape?.[0], rank] },
      { dtype: 'int64', shape: [rank] },
    ],
  );
};

const fillEmptyRows: Lowering = (cx) => {
  const [indices, values, shape, fallback] = cx.tensors() as [
    TensorValue,
    TensorValue,
    TensorValue,
    TensorValue,
  ];
  return cx.custom(
    'SparseFillEmptyRows',
    [indices, values, shape, fallback],
    [
      { dtype: 'int64', shape: [undefined, shape.shape?.[0]] },
      { dtype: values.dtype, shape: [undefined] },
      { dtype: 'bool', shape: [shape.ints?.[0]] },
      { dtype: 'int64', shape: [indices.shape?.[0]] },
    ],
  );
};

const editDistance: Lowering = (cx) => {
  const rank = cx.tensor(2).shape?.[0] ?? cx.tensor(5).shape?.[0];
  const shape = rank === undefined ? undefined : Array.from({ length: rank - 1 }, () => undefined);
  return cx.custom('EditDistance', cx.tensors(), [{ dtype: 'float', shape }], {
    normalize: { int: cx.bool('normalize', true) ? 1 : 0 },
  });
};

const SETS: readonly string[] = ['a-b', 'b-a', 'intersection', 'union'];

const setOperation: Lowering = (cx) => {
  const operation = cx.text('set_operation', '');
  if (!SETS.includes(operation))
    return cx.fail(`set_operation "${operation}": expected one of ${SETS.join(', ')}`);
  const [values, shape] = [cx.tensor(1), cx.tensor(2)];
  const rank = shape.shape?.[0];
  return cx.custom(
    'SparseToSparseSetOperation',
    cx.tensors(),
    [
      { dtype: 'int64', shape: [undefined, rank] },
      { dtype: values.dtype, shape: [undefined] },
      { dtype: 'int64', shape: [rank] },
    ],
    {
      set_operation: { string: operation },
      validate_indices: { int: cx.bool('validate_indices', true) ? 1 : 0 },
    },
  );
};

const toDense: Lowering = (cx) => {
  const [, shape, values] = cx.tensors() as [TensorValue, TensorValue, TensorValue];
  return cx.custom('SparseToDense', cx.tensors(), [{ dtype: values.dtype, shape: dimsOf(shape) }], {
    validate_indices: { int: cx.bool('validate_indices', true) ? 1 : 0 },
  });
};

const reorder: Lowering = (cx) => {
  const [indices, values] = [cx.tensor(0), cx.tensor(1)];
  return cx.custom('SparseReorder', cx.tensors(), [
    { dtype: 'int64', shape: indices.shape },
    { dtype: values.dtype, shape: values.shape },
  ]);
};

const slice: Lowering = (cx) => {
  const [values, shape] = [cx.tensor(1), cx.tensor(2)];
  const rank = shape.shape?.[0];
  return cx.custom('SparseSlice', cx.tensors(), [
    { dtype: 'int64', shape: [undefined, rank] },
    { dtype: values.dtype, shape: [undefined] },
    { dtype: 'int64', shape: [rank] },
  ]);
};

const concat: Lowering = (cx) => {
  const count = cx.int('N');
  const [values, shape] = [cx.tensor(count), cx.tensor(2 * count)];
  const rank = shape.shape?.[0];
  return cx.custom(
    'SparseConcat',
    cx.tensors(),
    [
      { dtype: 'int64', shape: [undefined, rank] },
      { dtype: values.dtype, shape: [undefined] },
      { dtype: 'int64', shape: [rank] },
    ],
    { concat_dim: { int: cx.int('concat_dim') } },
  );
};

const matMul: Lowering = (cx) => {
  const [indices, values, shape, b] = cx.tensors() as [
    TensorValue,
    TensorValue,
    TensorValue,
    TensorValue,
  ];
  const flag = (name: string): { int: number } => ({ int: cx.bool(name, false) ? 1 : 0 });
  const [adjointA, adjointB] = [flag('adjoint_a'), flag('adjoint_b')];
  const out = [shape.ints?.[adjointA.int], b.shape?.[1 - adjointB.int]];
  const inputs = [indices, computable(cx, values), shape, computable(cx, b)];
  const [product] = cx.custom(
    'SparseTensorDenseMatMul',
    inputs,
    [{ dtype: inputs[1]?.dtype ?? 'float', shape: out }],
    { adjoint_a: adjointA, adjoint_b: adjointB },
  );
  return product === undefined ? cx.fail('has no output') : cx.cast(product, values.dtype);
};

/** Sums (or means) of rows by index: embedding lookups. */
function segments(reduction: string, counted: boolean): Lowering {
  return (cx: OpContext) => {
    const data = cx.tensor(0);
    const given = computable(cx, data);
    const rows = counted ? cx.tensor(3).ints?.[0] : undefined;
    const shape = data.shape === undefined ? undefined : [rows, ...data.shape.slice(1)];
    const [sums] = cx.custom(
      'SparseSegmentReduce',
      [given, ...cx.tensors(1, counted ? 4 : 3)],
      [{ dtype: given.dtype, shape }],
      { reduction: { string: reduction } },
    );
    return sums === undefined ? cx.fail('has no output') : cx.cast(sums, data.dtype);
  };
}

export const SPARSE: Operators = {
  SparseReshape: { lower: reshape },
  SparseFillEmptyRows: { lower: fillEmptyRows, dtypes: 'any' },
  SparseToDense: { lower: toDense, dtypes: 'any' },
  SparseReorder: { lower: reorder, dtypes: 'any' },
  EditDistance: { lower: editDistance, dtypes: 'any' },
  SparseToSparseSetOperation: { lower: setOperation, dtypes: 'integer, string' },
  SparseSlice: { lower: slice, dtypes: 'any' },
  SparseConcat: { lower: concat, dtypes: 'any' },
  SparseTensorDenseMatMul: { lower: matMul },
  SparseSegmentSum: { lower: segments('sum', false) },
  SparseSegmentSumWithNumSegments: { lower: segments('sum', true) },
  SparseSegmentMean: { lower: segments('mean', false) },
  SparseSegmentMeanWithNumSegments: { lower: segments('mean', true) },
  SparseSegmentSqrtN: { lower: segments('sqrtn', false) },
  SparseSegmentSqrtNWithNumSegments: { lower: segments('sqrtn', true) },
};
