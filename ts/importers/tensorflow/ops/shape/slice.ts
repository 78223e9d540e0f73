// Slice. Source: tensorflow/core/kernels/slice_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';

/** Beyond the end of any axis; TensorRT supports no larger value. */
export const TO_END = 2 ** 31 - 1;

const slice: Lowering = (cx) => {
  const [value, begin, size] = [cx.tensor(0), cx.tensor(1), cx.tensor(2)];
  const rank = value.shape?.length ?? begin.shape?.[0] ?? size.shape?.[0];
  if (rank === 0) return value;
  if (rank === undefined) return runTimeSlice(cx, value, begin, size, undefined);
  const starts = begin.ints;
  const sizes = size.ints;
  checkBelow(cx, starts, sizes);
  const isKnown =
    starts?.every((one) => one !== undefined) === true &&
    sizes?.every((one) => one !== undefined) === true;
  const isSeen = (start: number | undefined, axis: number): boolean =>
    value.shape?.[axis] !== undefined || (start === 0 && sizes?.[axis] === -1);
  if (!isKnown || !starts?.every(isSeen)) return runTimeSlice(cx, value, begin, size, rank);
  const from = starts as readonly number[];
  const counts = sizes as readonly number[];
  checkInside(cx, value, from, counts);
  const axes = from.flatMap((one, axis) => (one === 0 && counts[axis] === -1 ? [] : [axis]));
  if (axes.length === 0) return value;
  const ends = axes.map((axis) =>
    counts[axis] === -1 ? TO_END : (from[axis] ?? 0) + (counts[axis] ?? 0),
  );
  const shaped = value.shape === undefined ? { ...value, shape: from.map(() => undefined) } : value;
  return cx.slice(
    shaped,
    axes.map((axis) => from[axis] ?? 0),
    ends,
    axes,
  );
};

/** Refuses constants that no tensor can satisfy. */
function checkBelow(
  cx: OpContext,
  starts: readonly (number | undefined)[] | undefined,
  sizes: readonly (number | undefined)[] | undefined,
): void {
  const isWrong = starts?.some((one) => (one ?? 0) < 0) || sizes?.some((one) => (one ?? 0) < -1);
  if (isWrong) cx.fail(`begin [${starts?.join(',')}] or size [${sizes?.join(',')}] is below 0`);
}

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

/**
 * The slice's end is computed with TensorFlow's checks: ONNX truncates a slice that is not inside
 * the tensor.
 */
function runTimeSlice(
  cx: OpContext,
  value: TensorValue,
  begin: TensorValue,
  size: TensorValue,
  rank: number | undefined,
): TensorValue {
  const start = cx.cast(begin, 'int64');
  const dims = cx.shapeOf(value);
  const [end] = cx.custom(
    'SliceEnds',
    [dims, start, cx.cast(size, 'int64')],
    [{ dtype: 'int64', shape: [rank] }],
  );
  const shape =
    rank === undefined
      ? undefined
      : Array.from({ length: rank }, (_, axis) => known(value, begin, size, axis));
  return cx.op('Slice', [value, start, end ?? cx.fail('has no end')], { shape });
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
