// StridedSlice with all its masks. Source: tensorflow/core/util/strided_slice_op.cc. Importer's
// worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { sliceLength } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add, less, mul, where } from '../arithmetic/algebra.js';
import { gatherAxis } from './gather-axis.js';
import { TO_END } from './slice.js';

/**
 * A backwards end before any start. Not TO_END: the runtime treats the largest integer as the end
 * of the axis in either direction.
 */
const BEHIND = 2 ** 30;
const BEFORE_START = -(2 ** 31 - 1);

/** The effect of a specification entry on its axis. */
type Spec =
  | { readonly kind: 'range'; readonly axis: number; readonly at: number }
  | { readonly kind: 'index'; readonly axis: number; readonly at: number }
  | { readonly kind: 'new' }
  | { readonly kind: 'keep'; readonly axis: number };

interface Masks {
  readonly begin: number;
  readonly end: number;
  readonly ellipsis: number;
  readonly newAxis: number;
  readonly shrink: number;
}

const has = (mask: number, at: number): boolean => ((mask >>> at) & 1) === 1;

const stridedSlice: Lowering = (cx) => {
  const value = cx.tensor(0);
  const masks: Masks = {
    begin: cx.int('begin_mask', 0),
    end: cx.int('end_mask', 0),
    ellipsis: cx.int('ellipsis_mask', 0),
    newAxis: cx.int('new_axis_mask', 0),
    shrink: cx.int('shrink_axis_mask', 0),
  };
  const count =
    [1, 2, 3].map((i) => cx.tensor(i).shape?.[0]).find((one) => one !== undefined) ??
    cx.fail('the length of begin (input 1) is not known');
  const specs = specsOf(cx, value, masks, count);
  const picked = pickIndices(cx, value, specs);
  const sliced = takeRanges(cx, picked, specs, masks);
  return cx.unsqueeze(sliced, newAxes(specs));
};

function specsOf(cx: OpContext, value: TensorValue, masks: Masks, count: number): Spec[] {
  const specs: Spec[] = [];
  let axis = 0;
  for (let at = 0; at < count; at++) {
    if (has(masks.ellipsis, at)) {
      const later = Array.from({ length: count - at - 1 }, (_, i) => at + 1 + i).filter(
        (one) => !has(masks.newAxis, one),
      ).length;
      const isLast = at === count - 1;
      const rank = isLast && value.shape === undefined ? axis : cx.rank(value);
      for (; axis < rank - later; axis++) specs.push({ kind: 'keep', axis });
    } else if (has(masks.newAxis, at)) {
      specs.push({ kind: 'new' });
    } else {
      specs.push({ kind: has(masks.shrink, at) ? 'index' : 'range', axis, at });
      axis += 1;
    }
  }
  const rank = value.shape?.length;
  if (rank !== undefined && axis > rank) {
    cx.fail(`${axis} indices exceed the rank of ${cx.describe(value)}`);
  }
  return specs;
}

/** One element of begin, end or strides if it is known. */
const known = (cx: OpContext, input: number, at: number): number | undefined =>
  cx.numbers(input)?.[at] ?? cx.tensor(input).ints?.[at];

/** int64 of rank 1 with one element. */
function element(cx: OpContext, input: number, at: number): TensorValue {
  const value = known(cx, input, at);
  if (value !== undefined) return cx.int64s([value]);
  const all = cx.cast(cx.tensor(input), 'int64');
  return cx.op('Gather', [all, cx.int64s([at])], { shape: [1] });
}

/**
 * Selects single elements; Gather counts negative indices from the end, as TensorFlow does. Starts
 * with the last axis, so that the indices of the others stay valid.
 */
function pickIndices(cx: OpContext, value: TensorValue, specs: readonly Spec[]): TensorValue {
  let picked = value;
  for (const spec of [...specs].reverse()) {
    if (spec.kind !== 'index') continue;
    const { axis, at } = spec;
    const index = cx.squeeze(element(cx, 1, at), [0]);
    picked = gatherAxis(cx, picked, index, axis);
  }
  return picked;
}

interface Range {
  readonly axis: number;
  readonly step: number;
  readonly start: TensorValue;
  readonly end: TensorValue;
}

function takeRanges(
  cx: OpContext,
  value: TensorValue,
  specs: readonly Spec[],
  masks: Masks,
): TensorValue {
  const ranges: Range[] = [];
  let axis = 0;
  for (const spec of specs) {
    if (spec.kind === 'range') {
      const range = rangeOf(cx, value, spec.at, axis, masks);
      if (range !== undefined) ranges.push(range);
    }
    if (spec.kind === 'range' || spec.kind === 'keep') axis += 1;
  }
  if (ranges.length === 0) return value;
  const shape = value.shape?.map((dim, each) => {
    const range = ranges.find((one) => one.axis === each);
    const [start, end] = [range?.start.ints?.[0], range?.end.ints?.[0]];
    if (range === undefined) return dim;
    return start === undefined || end === undefined
      ? undefined
      : sliceLength(dim, start, end, range.step);
  });
  const steps = ranges.map(({ step }) => step);
  return cx.op(
    'Slice',
    [
      value,
      cx.concat(
        ranges.map(({ start }) => start),
        0,
      ),
      cx.concat(
        ranges.map(({ end }) => end),
        0,
      ),
      cx.int64s(ranges.map((one) => one.axis)),
      steps.every((step) => step === 1) ? undefined : cx.int64s(steps),
    ],
    { shape },
  );
}

/** undefined if the whole axis is selected. */
function rangeOf(
  cx: OpContext,
  value: TensorValue,
  at: number,
  axis: number,
  masks: Masks,
): Range | undefined {
  const step = known(cx, 3, at) ?? cx.fail('strides (input 3) must be a constant');
  if (step === 0) cx.fail('a stride is 0');
  const isFromStart = has(masks.begin, at);
  const isToEnd = has(masks.end, at);
  const first = isFromStart ? 0 : known(cx, 1, at);
  if (step === 1 && first === 0 && isToEnd) return undefined;
  const end = isToEnd ? cx.int64s([step > 0 ? TO_END : BEFORE_START]) : element(cx, 2, at);
  if (isFromStart) return { axis, step, start: cx.int64s([step > 0 ? 0 : TO_END]), end };
  const start = element(cx, 1, at);
  // A backwards range that starts before the first element is empty; ONNX would return the first
  // element.
  const isBefore = step < 0 && (first === undefined || first < -1);
  return { axis, step, start, end: isBefore ? endOf(cx, value, axis, start, end) : end };
}

function endOf(
  cx: OpContext,
  value: TensorValue,
  axis: number,
  start: TensorValue,
  end: TensorValue,
): TensorValue {
  const [dim, first] = [value.shape?.[axis], start.ints?.[0]];
  if (dim !== undefined && first !== undefined) {
    return first + dim < 0 ? cx.int64s([BEHIND]) : end;
  }
  const zero = cx.scalar('int64', 0);
  const size = cx.op('Gather', [cx.shapeOf(value), cx.int64s([axis])], { shape: [1] });
  const isNegative = cx.cast(less(cx, start, zero), 'int64');
  const absolute = add(cx, start, mul(cx, isNegative, size));
  return where(cx, less(cx, absolute, zero), cx.int64s([BEHIND]), end);
}

function newAxes(specs: readonly Spec[]): number[] {
  const axes: number[] = [];
  let axis = 0;
  for (const spec of specs) {
    if (spec.kind === 'new') axes.push(axis);
    if (spec.kind !== 'index') axis += 1;
  }
  return axes;
}

export const STRIDED_SLICE: Operators = {
  StridedSlice: { lower: stridedSlice, dtypes: 'any', note: 'strides must be constants' },
};
