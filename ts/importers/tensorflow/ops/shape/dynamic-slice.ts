// XLA's slices at positions known only at run time, which are clamped so that the whole slice is
// inside the tensor. Text generators read and write their caches this way. Source:
// openxla.org/xla/operation_semantics (DynamicSlice, DynamicUpdateSlice). Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import type { Shape } from '../../types.js';
import { add, max, min, sub } from '../arithmetic/algebra.js';

const unknownDims = (rank: number | undefined): Shape =>
  rank === undefined ? undefined : Array.from({ length: rank }, () => undefined);

/** Fails if two ranks that must be equal are not. */
function checkRank(
  cx: OpContext,
  value: TensorValue,
  other: number | undefined,
  what: string,
): void {
  const rank = value.shape?.length;
  if (rank === undefined || other === undefined || rank === other) return;
  cx.fail(`${what} has ${other} dims, expected ${rank} as ${cx.describe(value)} has`);
}

const dynamicSlice: Lowering = (cx) => {
  const [value, starts, sizes] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  checkRank(cx, value, starts.shape?.[0], 'start_indices');
  checkRank(cx, value, sizes.shape?.[0], 'size_indices');
  const rank = value.shape?.length ?? starts.shape?.[0] ?? sizes.shape?.[0];
  if (rank === 0) return value;
  const isTooLarge = sizes.ints?.some((size, axis) => {
    const dim = value.shape?.[axis];
    return size !== undefined && (size < 0 || (dim !== undefined && size > dim));
  });
  if (isTooLarge) cx.fail(`size_indices [${sizes.ints?.join(',')}] exceed ${cx.describe(value)}`);
  const counts = cx.cast(sizes, 'int64');
  const room = sub(cx, cx.shapeOf(value), counts);
  const start = min(cx, max(cx, cx.cast(starts, 'int64'), cx.scalar('int64', 0)), room);
  const shape = sizes.ints?.map((size) => size) ?? unknownDims(rank);
  const out = cx.op('Slice', [value, start, add(cx, start, counts)], { shape: unknownDims(rank) });
  // ONNX truncates a slice that is larger than the tensor, which should be an error.
  return cx.reshape(out, counts, shape);
};

const dynamicUpdateSlice: Lowering = (cx) => {
  const [value, update, starts] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  if (value.dtype === 'string') cx.fail('strings are not supported');
  checkRank(cx, value, update.shape?.length, 'update');
  checkRank(cx, value, starts.shape?.[0], 'indices');
  const wide = starts.dtype === 'int32' ? starts : cx.cast(starts, 'int64');
  const [out] = cx.custom(
    'DynamicUpdateSlice',
    [update, wide, value],
    [{ dtype: value.dtype, shape: value.shape ?? unknownDims(update.shape?.length) }],
  );
  return out ?? cx.fail('DynamicUpdateSlice has no output');
};

export const DYNAMIC_SLICE: Operators = {
  XlaDynamicSlice: { lower: dynamicSlice, dtypes: 'any', note: 'starts are clamped, as by XLA' },
  XlaDynamicUpdateSlice: {
    lower: dynamicUpdateSlice,
    dtypes: 'numeric and bool',
    note: 'starts are clamped, as by XLA',
  },
};
