// Reductions by segment ids, by Serval's own operators. Source:
// tensorflow/core/kernels/segment_reduction_ops_impl.h. Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import type { Dtype } from '../../types.js';
import { computable } from './attributes.js';

/** Ids are sorted: the last one determines the number of rows. */
function sorted(reduction: string): Lowering {
  return (cx) => {
    const data = cx.tensor(0);
    const given = computable(cx, data);
    const shape = data.shape === undefined ? undefined : [undefined, ...data.shape.slice(1)];
    const [out] = cx.custom(
      'SegmentReduce',
      [given, cx.tensor(1)],
      [{ dtype: given.dtype, shape }],
      { reduction: { string: reduction } },
    );
    return out === undefined ? cx.fail('has no output') : cx.cast(out, data.dtype);
  };
}

/**
 * Value of rows without members (min; max: its negative) for types that are computed as float. 0 =
 * float's own.
 */
const HIGHEST: Partial<Record<Dtype, number>> = { half: 65504, bfloat16: 2 ** 127 * (2 - 2 ** -7) };

/** Ids in any order, with any shape that is a prefix of the data's. */
function unsorted(reduction: string): Lowering {
  return (cx) => {
    const [data, ids, count] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
    const given = computable(cx, data);
    const [out] = cx.custom(
      'UnsortedSegmentReduce',
      [given, ids, count],
      [{ dtype: given.dtype, shape: shapeOf(data.shape, ids.shape?.length, count.ints?.[0]) }],
      { reduction: { string: reduction }, highest: { float: HIGHEST[data.dtype] ?? 0 } },
    );
    return out === undefined ? cx.fail('has no output') : cx.cast(out, data.dtype);
  };
}

function shapeOf(
  data: readonly (number | undefined)[] | undefined,
  dropped: number | undefined,
  rows: number | undefined,
): (number | undefined)[] | undefined {
  return data === undefined || dropped === undefined ? undefined : [rows, ...data.slice(dropped)];
}

const join: Lowering = (cx) => {
  const [text, ids, count] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  return cx.custom(
    'UnsortedSegmentJoin',
    [text, ids, count],
    [{ dtype: 'string', shape: shapeOf(text.shape, ids.shape?.length, count.ints?.[0]) }],
    { separator: { string: cx.bytes('separator', new Uint8Array()) } },
  );
};

export const SEGMENTS: Operators = {
  SegmentSum: { lower: sorted('sum') },
  SegmentMean: { lower: sorted('mean') },
  SegmentProd: { lower: sorted('prod') },
  SegmentMin: { lower: sorted('min') },
  SegmentMax: { lower: sorted('max') },
  UnsortedSegmentSum: { lower: unsorted('sum') },
  UnsortedSegmentProd: { lower: unsorted('prod') },
  UnsortedSegmentMin: { lower: unsorted('min') },
  UnsortedSegmentMax: { lower: unsorted('max') },
  UnsortedSegmentJoin: { lower: join, dtypes: 'string' },
};
