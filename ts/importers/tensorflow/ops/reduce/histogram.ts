// Counts of values by bins of equal width. Source: tensorflow/core/kernels/histogram_op.cc.
// Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import { div, less, max, min, mul, not, oneUnlessAny, sub } from '../arithmetic/algebra.js';

const RANGE = 'value_range should satisfy value_range[0] < value_range[1]';
const BINS = 'nbins should be a positive number';

/** Values outside of the range count in the first or last bin. */
const histogram: Lowering = (cx) => {
  const values = cx.reshape(cx.tensor(0), [-1], [undefined]);
  const range = cx.tensor(1);
  const low = cx.reshape(cx.slice(range, [0], [1], [0]), []);
  const high = cx.reshape(cx.slice(range, [1], [2], [0]), []);
  const count = cx.cast(cx.reshape(cx.tensor(2), []), 'int64');
  const inOrder = oneUnlessAny(cx, not(cx, less(cx, low, high)), 'double', RANGE);
  const some = oneUnlessAny(cx, less(cx, count, cx.scalar('int64', 1)), 'int64', BINS);
  const bins = mul(cx, count, some);
  const width = div(cx, cx.cast(sub(cx, high, low), 'double'), cx.cast(bins, 'double'));
  const above = cx.cast(sub(cx, max(cx, values, low), low), 'double');
  const last = sub(cx, cx.cast(bins, 'double'), inOrder);
  const places = cx.cast(min(cx, div(cx, above, width), last), 'int64');
  const dtype = cx.type('dtype', 'int32');
  const ones = cx.op('Expand', [cx.scalar(dtype, 1), cx.shapeOf(places)], { shape: [undefined] });
  return cx.custom(
    'UnsortedSegmentReduce',
    [ones, places, cx.reshape(bins, [1])],
    [{ dtype, shape: [undefined] }],
    { reduction: { string: 'sum' }, highest: { float: 0 } },
  );
};

export const HISTOGRAM: Operators = {
  HistogramFixedWidth: { lower: histogram },
};
