// Ragged tensors in their row partitions, and counting, by Serval's own operators. Source:
// tensorflow/core/kernels/ragged_*_op.cc, bincount_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { netstrings, typeNumber } from './attributes.js';

const FIRST_DIM_SIZE = 'FIRST_DIM_SIZE';

/** The shape from the shape input; if that is unspecified, the rank follows from the partitions. */
function paddedShape(wanted: TensorValue, values: TensorValue, levels: number): Shape {
  if (wanted.ints !== undefined && wanted.shape?.length === 1) {
    const inner = values.shape?.slice(1);
    return wanted.ints.map((dim, i) => {
      if (dim !== undefined && dim >= 0) return dim;
      return i > levels ? inner?.[i - levels - 1] : undefined;
    });
  }
  if (values.shape === undefined) return undefined;
  return [...Array.from({ length: levels + 1 }, () => undefined), ...values.shape.slice(1)];
}

const toTensor: Lowering = (cx) => {
  const types = cx.list('row_partition_types').bytes.map((one) => Buffer.from(one).toString());
  const levels = types.filter((type) => type !== FIRST_DIM_SIZE).length;
  const [shape, values] = [cx.tensor(0), cx.tensor(1)];
  return cx.custom(
    'RaggedTensorToTensor',
    cx.tensors(),
    [{ dtype: values.dtype, shape: paddedShape(shape, values, levels) }],
    { row_partition_types: netstrings(types) },
  );
};

const toSparse: Lowering = (cx) => {
  const inputs = cx.tensors();
  const values = cx.tensor(inputs.length - 1);
  const rank = values.shape === undefined ? undefined : inputs.length - 1 + values.shape.length;
  return cx.custom('RaggedTensorToSparse', inputs, [
    { dtype: 'int64', shape: [undefined, rank] },
    { dtype: values.dtype, shape: [undefined] },
    { dtype: 'int64', shape: [rank] },
  ]);
};

const range: Lowering = (cx) => {
  const splits = cx.type('Tsplits', 'int64');
  return cx.custom(
    'RaggedRange',
    cx.tensors(),
    [
      { dtype: splits, shape: [undefined] },
      { dtype: cx.tensor(0).dtype, shape: [undefined] },
    ],
    { splits_type: { int: typeNumber(splits) } },
  );
};

const gather: Lowering = (cx) => {
  const inputs = cx.tensors();
  const values = cx.tensor(inputs.length - 2);
  const { dtype } = cx.tensor(0);
  const splits = Array.from({ length: cx.int('OUTPUT_RAGGED_RANK') }, () => ({
    dtype,
    shape: [undefined],
  }));
  const shape = values.shape === undefined ? undefined : [undefined, ...values.shape.slice(1)];
  return cx.custom('RaggedGather', inputs, [...splits, { dtype: values.dtype, shape }]);
};

/** Counts by value. `rows`: the output's leading dims; `size` and `weights` are the last inputs. */
function count(type: string, rows: (cx: OpContext) => Shape): Lowering {
  return (cx) => {
    const inputs = cx.tensors();
    const [size, weights] = [cx.tensor(inputs.length - 2), cx.tensor(inputs.length - 1)];
    const leading = rows(cx);
    const shape = leading === undefined ? undefined : [...leading, size.ints?.[0]];
    return cx.custom(type, inputs, [{ dtype: weights.dtype, shape }], {
      binary_output: { int: cx.bool('binary_output', false) ? 1 : 0 },
    });
  };
}

function denseRows(cx: OpContext): Shape {
  const { shape } = cx.tensor(0);
  return shape?.slice(0, shape.length - 1);
}

function splitRows(cx: OpContext): Shape {
  const splits = cx.tensor(0).shape?.[0];
  return [splits === undefined ? undefined : splits - 1];
}

function sparseRows(cx: OpContext): Shape {
  const shape = cx.tensor(2);
  const rank = shape.shape?.[0];
  if (rank === undefined) return undefined;
  return rank === 2 ? [shape.ints?.[0]] : [];
}

export const RAGGED: Operators = {
  RaggedTensorToTensor: { lower: toTensor, dtypes: 'any' },
  RaggedTensorToSparse: { lower: toSparse, dtypes: 'any' },
  RaggedRange: { lower: range },
  RaggedGather: { lower: gather, dtypes: 'any' },
  Bincount: { lower: count('Bincount', () => []) },
  DenseBincount: { lower: count('DenseBincount', denseRows) },
  RaggedBincount: { lower: count('RaggedBincount', splitRows) },
  SparseBincount: { lower: count('SparseBincount', sparseRows) },
};
