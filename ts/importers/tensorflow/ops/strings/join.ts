// Joining and splitting strings: joins, n-grams, splits. All use Serval's own operators. Importer's
// worker thread. Source: tensorflow/core/ops/string_ops.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { emit, flag } from './elements.js';

const separator = (cx: OpContext): { separator: { string: Uint8Array } } => ({
  separator: { string: cx.bytes('separator', new Uint8Array()) },
});

const join: Lowering = (cx) => {
  const inputs = cx.tensors();
  const isKnown = inputs.every(({ shape }) => shape !== undefined);
  const shaped = inputs.find((one) => (one.shape?.length ?? 0) > 0);
  const shape = shaped?.shape ?? (isKnown ? [] : undefined);
  return emit(cx, inputs, 'string', shape, separator(cx));
};

const reduceJoin: Lowering = (cx) => {
  const [text, axes] = [cx.tensor(0), cx.tensor(1)];
  const keep = cx.bool('keep_dims', false);
  const rank = text.shape?.length;
  const places = cx
    .numbers(1)
    ?.map((axis) => (rank === undefined ? undefined : cx.axis(axis, rank)));
  const shape =
    places === undefined
      ? undefined
      : text.shape
          ?.map((dim, i) => (places.includes(i) ? 1 : dim))
          .filter((_, i) => keep || !places.includes(i));
  return emit(cx, [text, axes], 'string', shape, { ...separator(cx), keep_dims: flag(keep) });
};

const segmentJoin: Lowering = (cx) => {
  const [text, ids, count] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  const known = text.shape !== undefined && ids.shape !== undefined;
  const shape = known ? [count.ints?.[0], ...text.shape.slice(ids.shape.length)] : undefined;
  return emit(cx, [text, ids, count], 'string', shape, separator(cx));
};

const ngrams: Lowering = (cx) => {
  const [data, splits] = [cx.tensor(0), cx.tensor(1)];
  const specs = [
    { dtype: 'string', shape: [undefined] },
    { dtype: splits.dtype, shape: splits.shape },
  ] as const;
  return cx.custom('StringNGrams', [data, splits], specs, {
    ...separator(cx),
    left_pad: { string: cx.bytes('left_pad') },
    right_pad: { string: cx.bytes('right_pad') },
    ngram_widths: { ints: cx.ints('ngram_widths') },
    pad_width: { int: cx.int('pad_width') },
    preserve_short_sequences: flag(cx.bool('preserve_short_sequences')),
  });
};

/** Indices, values, shape of a sparse matrix. */
function split(
  cx: OpContext,
  inputs: readonly TensorValue[],
  attribute: string,
  value: number,
): TensorValue[] {
  const free: Shape = [undefined];
  return cx.custom(
    cx.node.op,
    inputs,
    [
      { dtype: 'int64', shape: [undefined, 2] },
      { dtype: 'string', shape: free },
      { dtype: 'int64', shape: [2] },
    ],
    { [attribute]: { int: value } },
  );
}

const splitV1: Lowering = (cx) =>
  split(cx, cx.tensors(0, 2), 'skip_empty', cx.bool('skip_empty', true) ? 1 : 0);

const splitV2: Lowering = (cx) => split(cx, cx.tensors(0, 2), 'maxsplit', cx.int('maxsplit', -1));

export const STRING_JOIN: Operators = {
  StringJoin: { lower: join, dtypes: 'string' },
  ReduceJoin: { lower: reduceJoin, dtypes: 'string' },
  UnsortedSegmentJoin: { lower: segmentJoin, dtypes: 'string' },
  StringNGrams: { lower: ngrams, dtypes: 'string' },
  StringSplit: { lower: splitV1, dtypes: 'string' },
  StringSplitV2: { lower: splitV2, dtypes: 'string' },
};
