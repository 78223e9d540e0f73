// Padding. Tier T1. Source: tensorflow/core/kernels/{pad_op,mirror_pad_op}.cc.
// Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { Shape } from '../../types.js';
import type { TensorValue } from '../../lower/values.js';
import { notePadded } from './padded.js';
import { add, less, mul, sub, where } from '../arithmetic/algebra.js';

/** Rows of [before, after] where they are known. */
function knownRows(cx: OpContext): readonly number[] | undefined {
  const numbers = cx.numbers(1);
  const negative = numbers?.find((one) => one < 0);
  if (negative !== undefined) cx.fail(`padding ${negative} is below 0`);
  return numbers;
}

/** ONNX's form: all befores, then all afters. */
function pads(cx: OpContext, rows: readonly number[] | undefined): TensorValue {
  if (rows !== undefined) {
    return cx.int64s([...rows.filter((_, i) => i % 2 === 0), ...rows.filter((_, i) => i % 2)]);
  }
  const paddings = cx.cast(cx.tensor(1), 'int64');
  const columns = cx.op('Transpose', [paddings], {
    shape: [2, paddings.shape?.[0]],
    attributes: { perm: { ints: [1, 0] } },
  });
  return cx.reshape(columns, [-1]);
}

function paddedShape(
  cx: OpContext,
  value: TensorValue,
  rows: readonly number[] | undefined,
): Shape {
  const rank = value.shape?.length ?? cx.tensor(1).shape?.[0];
  if (rank === undefined) return undefined;
  return Array.from({ length: rank }, (_, axis) => {
    const dim = value.shape?.[axis];
    const [before, after] = [rows?.[2 * axis], rows?.[2 * axis + 1]];
    return dim === undefined || before === undefined || after === undefined
      ? undefined
      : dim + before + after;
  });
}

const pad: Lowering = (cx) => padded(cx, undefined);
const padV2: Lowering = (cx) => padded(cx, cx.tensor(2));

function padded(cx: OpContext, fill: TensorValue | undefined): TensorValue {
  const value = cx.tensor(0);
  const rows = knownRows(cx);
  if (rows?.every((one) => one === 0)) return value;
  const result = cx.op('Pad', [value, pads(cx, rows), fill], {
    shape: paddedShape(cx, value, rows),
  });
  const isZero = fill === undefined || (cx.numbers(2)?.every((one) => one === 0) ?? false);
  if (rows !== undefined && isZero) notePadded(cx, result, { source: value, rows });
  return result;
}

const mirrorPad: Lowering = (cx) => {
  const value = cx.tensor(0);
  const rows = knownRows(cx);
  if (rows?.every((one) => one === 0)) return value;
  if (cx.text('mode') === 'REFLECT') {
    return cx.op('Pad', [value, pads(cx, rows)], {
      shape: paddedShape(cx, value, rows),
      attributes: { mode: { string: 'reflect' } },
    });
  }
  const rank =
    value.shape?.length ?? cx.tensor(1).shape?.[0] ?? cx.fail('the rank of its input is not known');
  let mirrored = value;
  for (let axis = 0; axis < rank; axis++) mirrored = symmetric(cx, mirrored, axis, rows);
  return mirrored;
};

/** ONNX has no mirror that repeats the edge: the axis is gathered by its mirrored indices. */
function symmetric(
  cx: OpContext,
  value: TensorValue,
  axis: number,
  rows: readonly number[] | undefined,
): TensorValue {
  const [before, after] = [rows?.[2 * axis], rows?.[2 * axis + 1]];
  if (before === 0 && after === 0) return value;
  const dim = value.shape?.[axis];
  const size =
    before === undefined || after === undefined || dim === undefined
      ? undefined
      : dim + before + after;
  return cx.op('Gather', [value, mirrorIndices(cx, value, axis, rows)], {
    shape: value.shape?.map((one, each) => (each === axis ? size : one)),
    attributes: { axis: { int: axis } },
  });
}

/** i below 0 is -1 - i, i from the size n on is 2n - 1 - i. */
function mirrorIndices(
  cx: OpContext,
  value: TensorValue,
  axis: number,
  rows: readonly number[] | undefined,
): TensorValue {
  const scalar = (from: TensorValue, at: number): TensorValue =>
    cx.op('Gather', [from, cx.scalar('int64', at)], { shape: [] });
  const size = scalar(cx.shapeOf(value), axis);
  const edge = (side: number): TensorValue => {
    const known = rows?.[2 * axis + side];
    if (known !== undefined) return cx.scalar('int64', known);
    const row = scalar(cx.cast(cx.tensor(1), 'int64'), axis);
    return scalar({ ...row, shape: [2] }, side);
  };
  const [zero, one] = [cx.scalar('int64', 0), cx.scalar('int64', 1)];
  const index = cx.op('Range', [sub(cx, zero, edge(0)), add(cx, size, edge(1)), one], {
    shape: [undefined],
  });
  const up = where(cx, less(cx, index, zero), sub(cx, cx.scalar('int64', -1), index), index);
  const mirror = sub(cx, sub(cx, mul(cx, size, cx.scalar('int64', 2)), one), up);
  return where(cx, less(cx, up, size), up, mirror);
}

export const PAD: Operators = {
  Pad: { lower: pad },
  PadV2: { lower: padV2 },
  MirrorPad: { lower: mirrorPad },
};
