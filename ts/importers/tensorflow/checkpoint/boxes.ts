// Boxes in a tensor's index space: the area of slices, their overlaps, and the runs of elements to
// copy from one to another. Control plane; pure. Source: tensorflow/core/framework/tensor_slice.cc,
// core/util/tensor_slice_set.cc.
import { modelInvalid } from '../../../base/errors.js';
import { elementCountWithin } from '../../../model/shape.js';
import type { Extent } from './ordered-code.js';

/** Per dimension of the whole tensor: first index and count. */
export interface Box {
  readonly starts: readonly number[];
  readonly lengths: readonly number[];
}

export function wholeBox(shape: readonly number[]): Box {
  return { starts: shape.map(() => 0), lengths: shape };
}

/** A slice in a tensor of this shape. Errors: ModelInvalid if it does not fit. */
export function boxOf(extents: readonly Extent[], shape: readonly number[], where: string): Box {
  if (extents.length !== shape.length) {
    throw modelInvalid(where, `slice: expected ${shape.length} dimensions, got ${extents.length}`);
  }
  const lengths = extents.map(({ start, length }, axis) => {
    const size = shape[axis] ?? 0;
    const count = length ?? size;
    const fits =
      Number.isSafeInteger(start) &&
      Number.isSafeInteger(count) &&
      start >= 0 &&
      count >= 0 &&
      start + count <= size;
    if (fits) return count;
    throw modelInvalid(where, `slice: dimension ${axis} of ${size}: ${count} from ${start} on`);
  });
  return { starts: extents.map(({ start }) => start), lengths };
}

/** Number of elements of a shape. Errors: ModelInvalid above 2^53. */
export function volume(lengths: readonly number[], where: string): number {
  const count = elementCountWithin(lengths, Number.MAX_SAFE_INTEGER);
  if (count !== undefined) return count;
  throw modelInvalid(where, `shape [${lengths.join(',')}] has more than 2^53 - 1 elements`);
}

export function sameBox(a: Box, b: Box): boolean {
  return (
    a.starts.every((start, axis) => start === b.starts[axis]) &&
    a.lengths.every((length, axis) => length === b.lengths[axis])
  );
}

/** The common part of both; undefined if it is empty. */
export function intersection(a: Box, b: Box): Box | undefined {
  const starts: number[] = [];
  const lengths: number[] = [];
  for (let axis = 0; axis < a.starts.length; axis += 1) {
    const start = Math.max(at(a.starts, axis), at(b.starts, axis));
    const end = Math.min(
      at(a.starts, axis) + at(a.lengths, axis),
      at(b.starts, axis) + at(b.lengths, axis),
    );
    if (end <= start) return undefined;
    starts.push(start);
    lengths.push(end - start);
  }
  return { starts, lengths };
}

/** Same as intersection() without building the box, since it is called for many pairs. */
function overlap(a: Box, b: Box): boolean {
  return a.starts.every((start, axis) => {
    const other = at(b.starts, axis);
    const end = Math.min(start + at(a.lengths, axis), other + at(b.lengths, axis));
    return end > Math.max(start, other);
  });
}

/** Two boxes that overlap; undefined if none do. */
export function findOverlap(boxes: readonly Box[]): readonly [Box, Box] | undefined {
  const axis = axisOfMostStarts(boxes);
  const sorted = [...boxes].sort((a, b) => at(a.starts, axis) - at(b.starts, axis));
  for (const [i, box] of sorted.entries()) {
    const end = axis < 0 ? 1 : at(box.starts, axis) + at(box.lengths, axis);
    for (let j = i + 1; j < sorted.length; j += 1) {
      const other = sorted[j];
      if (other === undefined || at(other.starts, axis) >= end) break;
      if (overlap(box, other)) return [box, other];
    }
  }
  return undefined;
}

/** The axis by which sorting leaves the fewest boxes to compare. -1 for scalars. */
function axisOfMostStarts(boxes: readonly Box[]): number {
  let best = -1;
  let most = 0;
  for (let axis = 0; axis < (boxes[0]?.starts.length ?? 0); axis += 1) {
    const count = new Set(boxes.map(({ starts }) => starts[axis])).size;
    if (count > most) [best, most] = [axis, count];
  }
  return best;
}

/**
 * Calls `copy` for each run of elements that is contiguous in both boxes, which are stored row by
 * row: first element in `from`, first element in `to`, count.
 */
export function eachRun(
  from: Box,
  to: Box,
  copy: (fromIndex: number, toIndex: number, count: number) => void,
): void {
  const common = intersection(from, to);
  if (common === undefined) return;
  const inFrom = layout(from, common);
  const inTo = layout(to, common);
  let outer = common.lengths.length;
  let count = 1;
  // A run extends into the preceding dimension while it fills this one in both boxes.
  while (outer > 0) {
    outer -= 1;
    const length = at(common.lengths, outer);
    count *= length;
    if (length !== at(from.lengths, outer) || length !== at(to.lengths, outer)) break;
  }
  const index = common.lengths.map(() => 0);
  let [fromIndex, toIndex] = [inFrom.first, inTo.first];
  for (;;) {
    copy(fromIndex, toIndex, count);
    let axis = outer - 1;
    for (; axis >= 0; axis -= 1) {
      const next = at(index, axis) + 1;
      fromIndex += at(inFrom.strides, axis);
      toIndex += at(inTo.strides, axis);
      if (next < at(common.lengths, axis)) {
        index[axis] = next;
        break;
      }
      index[axis] = 0;
      fromIndex -= next * at(inFrom.strides, axis);
      toIndex -= next * at(inTo.strides, axis);
    }
    if (axis < 0) return;
  }
}

/** Strides per dimension, and the offset where `part` begins. */
function layout(box: Box, part: Box): { strides: number[]; first: number } {
  const strides = box.lengths.map(() => 1);
  let first = 0;
  let stride = 1;
  for (let axis = strides.length - 1; axis >= 0; axis -= 1) {
    strides[axis] = stride;
    first += (at(part.starts, axis) - at(box.starts, axis)) * stride;
    stride *= at(box.lengths, axis);
  }
  return { strides, first };
}

const at = (list: readonly number[], index: number): number => list[index] ?? 0;

/** "[4+3, 0+4]": start and count per dimension. */
export function boxText(box: Box): string {
  return `[${box.starts.map((start, axis) => `${start}+${at(box.lengths, axis)}`).join(', ')}]`;
}
