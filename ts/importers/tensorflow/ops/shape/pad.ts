// Padding. Source: tensorflow/core/kernels/{pad_op,mirror_pad_op}.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { Shape } from '../../types.js';
import type { TensorValue } from '../../lower/values.js';
import { notePadded } from './padded.js';
import { add, less, mul, sub, where } from '../arithmetic/algebra.js';

/** Rows of [before, after] if they are known. */
function knownRows(cx: OpContext): readonly number[] | undefined {
  const numbers = cx.numbers(1);
  const negative = numbers?.find((one) => one < 0);
  if (negative !== undefined) cx.fail(`padding ${negative} is below 0`);
  return numbers;
}

/** ONNX's form: all begins, then all ends. */
function pads(cx: OpContext, rows: readonly number[] | undefined): TensorValue {
  if (rows !== undefined) {
    return cx.int64s([...rows.filter((_, i) => i % 2 === 0), ...rows.filter((_, i) => i % 2)]);
  }
  return checkedPads(cx, 0);
}

/** The same, checked as in TensorFlow's kernel. `mirror`: 1 = without the edge, 2 = with it. */
function checkedPads(cx: OpContext, mirror: number): TensorValue {
  const [value, paddings] = [cx.tensor(0), cx.tensor(1)];
  const rank = value.shape?.length ?? paddings.shape?.[0];
  const [out] = cx.custom(
    'PadsOf',
    [cx.shapeOf(value), cx.cast(paddings, 'int64')],
    [{ dtype: 'int64', shape: [rank === undefined ? undefined : 2 * rank] }],
    { mirror: { int: mirror } },
  );
  return out ?? cx.fail('PadsOf has no output');
}

/** Whether the tensor is known to be large enough for the paddings. */
function isRoomy(
  value: TensorValue,
  rows: readonly number[] | undefined,
  mirror: number,
): rows is readonly number[] {
  const room = 2 - mirror; // part of a dim that cannot be mirrored
  return (
    rows?.every((one, i) => {
      const dim = value.shape?.[Math.floor(i / 2)];
      return one === 0 || (dim !== undefined && one <= dim - room);
    }) ?? false
  );
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
    const amounts = isRoomy(value, rows, 1) ? pads(cx, rows) : checkedPads(cx, 1);
    return cx.op('Pad', [value, amounts], {
      shape: paddedShape(cx, value, rows),
      attributes: { mode: { string: 'reflect' } },
    });
  }
  const rank =
    value.shape?.length ?? cx.tensor(1).shape?.[0] ?? cx.fail('the rank of its input is not known');
  const amounts = isRoomy(value, rows, 2) ? pads(cx, rows) : checkedPads(cx, 2);
  let mirrored = value;
  for (let axis = 0; axis < rank; axis++) {
    if (rows?.[2 * axis] === 0 && rows[2 * axis + 1] === 0) continue;
    const edges = [axis, axis + rank].map((at) =>
      cx.reshape(cx.slice(amounts, [at], [at + 1], [0]), []),
    );
    mirrored = symmetric(cx, mirrored, axis, { rows, edges });
  }
  return mirrored;
};

/** Padding of an axis: int64 scalars, and whether all are constants. */
interface Edges {
  readonly rows: readonly number[] | undefined;
  readonly edges: readonly TensorValue[];
}

/** ONNX has no mirroring that repeats the edge, so the axis is gathered by mirrored indices. */
function symmetric(
  cx: OpContext,
  value: TensorValue,
  axis: number,
  { rows, edges }: Edges,
): TensorValue {
  const [before, after] = [rows?.[2 * axis], rows?.[2 * axis + 1]];
  const dim = value.shape?.[axis];
  const size =
    before === undefined || after === undefined || dim === undefined
      ? undefined
      : dim + before + after;
  return cx.op('Gather', [value, mirrorIndices(cx, value, axis, edges)], {
    shape: value.shape?.map((one, each) => (each === axis ? size : one)),
    attributes: { axis: { int: axis } },
  });
}

/** i below 0 becomes -1 - i, i from the size n on becomes 2n - 1 - i. */
function mirrorIndices(
  cx: OpContext,
  value: TensorValue,
  axis: number,
  edges: readonly TensorValue[],
): TensorValue {
  const [zero, one] = [cx.scalar('int64', 0), cx.scalar('int64', 1)];
  const [before = zero, after = zero] = edges;
  const size = cx.op('Gather', [cx.shapeOf(value), cx.scalar('int64', axis)], { shape: [] });
  const index = cx.op('Range', [sub(cx, zero, before), add(cx, size, after), one], {
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
