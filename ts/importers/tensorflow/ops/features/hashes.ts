// Hashes of strings and crossed columns, by Serval's own operators. Source:
// tensorflow/core/kernels/string_to_hash_bucket_op.h, sparse_cross_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';
import type { Dtype } from '../../types.js';
import { requireStrings, wideInt, wideInts } from './attributes.js';

/** Strings to buckets; `keyed` adds the strong hash's key. */
function buckets(type: string, keyed = false): Lowering {
  return (cx) => {
    const text = cx.tensor(0);
    const key = keyed ? { key: { ints: cx.list('key').ints } } : {};
    return cx.custom(type, [text], [{ dtype: 'int64', shape: text.shape }], {
      num_buckets: { int: wideInt(cx, 'num_buckets') },
      ...key,
    });
  };
}

const fingerprint: Lowering = (cx) => {
  const [method] = requireStrings(cx, 1, 'method');
  if (Buffer.from(method ?? '').toString() !== 'farmhash64') {
    cx.fail('only the method farmhash64 is supported');
  }
  const data = cx.tensor(0);
  return cx.custom('Fingerprint', [data], [{ dtype: 'uint8', shape: [data.shape?.[0], 8] }]);
};

/** Indices, values and shape; `count` inputs after the columns are constants. */
function cross(
  cx: OpContext,
  constants: number,
  dtype: Dtype,
  attributes: OnnxAttributes,
): TensorValue[] {
  const sparse = cx.int('N', 0);
  const columns = cx
    .tensors(0, cx.inputs.length - constants)
    .map((value) => (value.dtype === 'string' ? value : cx.cast(value, 'int64')));
  return cx.custom(
    'SparseCross',
    columns,
    [
      { dtype: 'int64', shape: [undefined, 2] },
      { dtype, shape: [undefined] },
      { dtype: 'int64', shape: [2] },
    ],
    { num_sparse: { int: sparse }, ...attributes },
  );
}

const sparseCross: Lowering = (cx) => {
  if (!cx.bool('hashed_output')) return cross(cx, 0, 'string', { mode: { string: 'join' } });
  return cross(cx, 0, 'int64', {
    mode: { string: 'hash' },
    num_buckets: { int: wideInt(cx, 'num_buckets') },
    hash_key: { int: wideInt(cx, 'hash_key') },
  });
};

const sparseCrossV2: Lowering = (cx) => {
  const [separator] = requireStrings(cx, cx.inputs.length - 1, 'sep');
  return cross(cx, 1, 'string', {
    mode: { string: 'join' },
    separator: { string: separator ?? '' },
  });
};

const sparseCrossHashed: Lowering = (cx) => {
  const at = cx.inputs.length - 3;
  const [count] = wideInts(cx, at, 'num_buckets');
  const [strong] = cx.requireNumbers(at + 1, 'strong_hash');
  return cross(cx, 3, 'int64', {
    mode: { string: 'salted' },
    num_buckets: { int: count ?? 0 },
    strong_hash: { int: strong ?? 0 },
    salt: { ints: wideInts(cx, at + 2, 'salt') },
  });
};

export const HASHES: Operators = {
  StringToHashBucketFast: { lower: buckets('StringToHashBucketFast'), dtypes: 'string' },
  StringToHashBucketStrong: { lower: buckets('StringToHashBucketStrong', true), dtypes: 'string' },
  StringToHashBucket: { lower: buckets('StringToHashBucket'), dtypes: 'string' },
  Fingerprint: { lower: fingerprint, dtypes: 'any', note: 'farmhash64' },
  SparseCross: { lower: sparseCross, dtypes: 'string, int64' },
  SparseCrossV2: { lower: sparseCrossV2, dtypes: 'string, int64' },
  SparseCrossHashed: {
    lower: sparseCrossHashed,
    dtypes: 'string, int64',
    note: 'num_buckets, strong_hash and salt must be constants',
  },
};
