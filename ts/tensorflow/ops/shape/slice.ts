// Slice. Tier T1. Source: tensorflow/core/kernels/slice_op.cc.
// Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add, binary, where } from '../arithmetic/algebra.js';

/** Beyond the end of any axis; TensorRT has no larger one. */
export const TO_END = 2 ** 31 - 1;

const slice: Lowering = (cx) => {
  const [value, begin, size] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  const rank = value.shape?.length ?? begin.shape?.[0] ?? size.shape?.[0];
  if (rank === 0) return value;
  if (rank === undefined) return runTimeSlice(cx, value, begin, size, undefined);
  const starts = begin.ints;
  const sizes = size.ints;
  const isKnown =
    starts?.every((one) => one !== undefined) === true &&
    sizes?.every((one) => one !== undefined) === true;
  if (!isKnown) return runTimeSlice(cx, value, begin, size, rank);
  const from = starts as readonly number[];
  const counts = sizes as readonly number[];
  checkInside(cx, value, from, counts);
  const axes = from.flatMap((one, axis) => (one === 0 && counts[axis] === -1 ? [] : [axis]));
  if (axes.length === 0) return value;
  const ends = axes.map((axis) =>
    counts[axis] === -1 ? TO_END : (from[axis] ?? 0) + (counts[axis] ?? 0),
  );
  const shaped = value.shape === undefined ? { ...value, shape: from.map(() => undefined) } : value;
  const out = cx.slice(
    shaped,
    axes.map((axis) => from[axis] ?? 0),
    ends,
    axes,
  );
  return checkedSizes(cx, out, counts);
};

function checkInside(
  cx: OpContext,
  value: TensorValue,
  from: readonly number[],
  counts: readonly number[],
): void {
  from.forEach((start, axis) => {
    const dim = value.shape?.[axis];
    const end = start + Math.max(counts[axis] ?? 0, 0);
    if (start < 0 || (counts[axis] ?? 0) < -1 || (dim !== undefined && end > dim)) {
      cx.fail(
        `begin [${from.join(',')}] and size [${counts.join(',')}] are outside of ` +
          cx.describe(value),
      );
    }
  });
}

/** ONNX takes what there is where TensorFlow has an error: a reshape to the sizes asked for fails
 * then. Possible while at most one size is free. */
function checkedSizes(cx: OpContext, out: TensorValue, counts: readonly number[]): TensorValue {
  const isStatic = out.shape?.every((dim, axis) => dim !== undefined || counts[axis] === -1);
  const shape = counts.map((count, axis) => (count === -1 ? out.shape?.[axis] : count));
  const free = counts.filter((count) => count === -1).length;
  if (isStatic || free > 1 || (free === 1 && counts.includes(0))) return { ...out, shape };
  return cx.reshape(out, counts, shape);
}

function runTimeSlice(
  cx: OpContext,
  value: TensorValue,
  begin: TensorValue,
  size: TensorValue,
  rank: number | undefined,
): TensorValue {
  const start = cx.cast(begin, 'int64');
  const count = cx.cast(size, 'int64');
  const isToEnd = binary(cx, 'Equal', count, cx.scalar('int64', -1), 'bool');
  const end = where(cx, isToEnd, cx.scalar('int64', TO_END), add(cx, start, count));
  const shape =
    rank === undefined
      ? undefined
      : Array.from({ length: rank }, (_, axis) => known(value, begin, size, axis));
  const out = cx.op('Slice', [value, start, end], { shape });
  const counts = size.ints;
  if (counts?.every((one) => one !== undefined)) {
    return checkedSizes(
      cx,
      { ...out, shape: shape?.map(() => undefined) },
      counts as readonly number[],
    );
  }
  return cx.reshape(
    out,
    where(cx, isToEnd, cx.shapeOf({ ...out, shape: undefined }), count),
    shape,
  );
}

function known(
  value: TensorValue,
  begin: TensorValue,
  size: TensorValue,
  axis: number,
): number | undefined {
  const count = size.ints?.[axis];
  if (count !== -1) return count;
  const [dim, start] = [value.shape?.[axis], begin.ints?.[axis]];
  return dim === undefined || start === undefined ? undefined : dim - start;
}

export const SLICE: Operators = { Slice: { lower: slice, dtypes: 'any' } };
