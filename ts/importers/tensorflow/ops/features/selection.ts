// Distinct values, partitions and buckets, by Serval's own operators. Source:
// tensorflow/core/kernels/unique_op.cc, dynamic_*_op.cc, bucketize_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';
import { computable, typeNumber } from './attributes.js';

/** Values, their numbers and (with `counts`) their frequencies. */
function distinct(cx: OpContext, counts: boolean, axis: number | undefined): TensorValue[] {
  const x = cx.tensor(0);
  const index = cx.type('out_idx', 'int32');
  const at = axis === undefined ? 0 : cx.axis(axis, cx.rank(x));
  const shape = x.shape?.map((dim, i) => (i === at ? undefined : dim));
  const attributes: OnnxAttributes = {
    index_type: { int: typeNumber(index) },
    has_axis: { int: axis === undefined ? 0 : 1 },
    axis: { int: axis ?? 0 },
  };
  return cx.custom(
    'Unique',
    [x],
    [
      { dtype: x.dtype, shape },
      { dtype: index, shape: [x.shape?.[at]] },
      ...(counts ? [{ dtype: index, shape: [undefined] }] : []),
    ],
    attributes,
  );
}

function uniqueV2(counts: boolean): Lowering {
  return (cx) => distinct(cx, counts, cx.requireNumbers(1, 'axis')[0]);
}

const partition: Lowering = (cx) => {
  const [data, parts] = [cx.tensor(0), cx.tensor(1)];
  const { shape } = data;
  const dropped = parts.shape?.length;
  const known =
    shape === undefined || dropped === undefined ? undefined : [undefined, ...shape.slice(dropped)];
  const count = cx.int('num_partitions');
  const outputs = Array.from({ length: count }, () => ({ dtype: data.dtype, shape: known }));
  return cx.custom('DynamicPartition', [data, parts], outputs, { num_partitions: { int: count } });
};

const stitch: Lowering = (cx) => {
  const count = cx.int('N');
  const [indices, data] = [cx.tensor(0), cx.tensor(count)];
  const dropped = indices.shape?.length;
  const shape =
    data.shape === undefined || dropped === undefined
      ? undefined
      : [undefined, ...data.shape.slice(dropped)];
  return cx.custom('DynamicStitch', cx.tensors(), [{ dtype: data.dtype, shape }]);
};

const bucketize: Lowering = (cx) => {
  const x = cx.tensor(0);
  return cx.custom('Bucketize', [computable(cx, x)], [{ dtype: 'int32', shape: x.shape }], {
    boundaries: { floats: cx.list('boundaries').floats },
  });
};

export const SELECTION: Operators = {
  Unique: { lower: (cx) => distinct(cx, false, undefined), dtypes: 'any' },
  UniqueV2: { lower: uniqueV2(false), dtypes: 'any' },
  UniqueWithCounts: { lower: (cx) => distinct(cx, true, undefined), dtypes: 'any' },
  UniqueWithCountsV2: { lower: uniqueV2(true), dtypes: 'any' },
  DynamicPartition: { lower: partition, dtypes: 'any' },
  DynamicStitch: { lower: stitch, dtypes: 'any' },
  ParallelDynamicStitch: { lower: stitch, dtypes: 'any' },
  Bucketize: { lower: bucketize },
};
