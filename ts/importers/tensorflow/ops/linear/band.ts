// The diagonals of a matrix that an operator selects, their lengths and alignment. Source:
// tensorflow/core/ops/array_ops.cc (MatrixDiagV3). Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add, min, sub } from '../arithmetic/algebra.js';

/** Diagonals `low` to `high` (0 is the main one, above it positive) of rows x columns. */
export interface Band {
  readonly low: number;
  readonly high: number;
  /** The diagonals are given without a separate axis. */
  readonly isSingle: boolean;
  readonly align: string;
  /** int64 scalars. */
  readonly rows: TensorValue;
  readonly columns: TensorValue;
}

/** Without an input k, the main diagonal. V2 aligns to the left. */
export function bandOf(
  cx: OpContext,
  input: number,
): Pick<Band, 'low' | 'high' | 'isSingle' | 'align'> {
  const align = cx.text('align', 'LEFT_LEFT');
  if (cx.inputs.length <= input) return { low: 0, high: 0, isSingle: true, align };
  const k = cx.requireNumbers(input, 'k');
  const [low = 0, high = low] = k;
  if (k.length > 2 || low > high) cx.fail(`k [${k.join(',')}] is not a band`);
  return { low, high, isSingle: low === high, align };
}

/** An int64 scalar. */
export const int64 = (cx: OpContext, value: number): TensorValue => cx.scalar('int64', value);

/** The size of an axis, an int64 scalar. */
export function dimOf(cx: OpContext, value: TensorValue, axis: number): TensorValue {
  const known = value.shape?.[axis];
  if (known !== undefined) return int64(cx, known);
  return cx.op('Gather', [cx.shapeOf(value), int64(cx, axis)], { shape: [] });
}

/** 0, 1 ... below the size. */
export const indices = (cx: OpContext, size: TensorValue): TensorValue =>
  cx.op('Range', [int64(cx, 0), size, int64(cx, 1)], { shape: [size.ints?.[0]] });

/** How many elements diagonal d has. */
export function diagonalLength(cx: OpContext, band: Band, d: number): TensorValue {
  return min(
    cx,
    add(cx, band.rows, int64(cx, Math.min(d, 0))),
    sub(cx, band.columns, int64(cx, Math.max(d, 0))),
  );
}

/**
 * Offset of diagonal d in a row of the longest one's size. "RIGHT_LEFT": those above the main one
 * are aligned to the right, those below to the left.
 */
export function offsetOf(cx: OpContext, band: Band, d: number, longest: TensorValue): TensorValue {
  const [above, below] = band.align.split('_');
  const isRight = (d >= 0 ? above : below) === 'RIGHT';
  if (!isRight || band.isSingle) return int64(cx, 0);
  return sub(cx, longest, diagonalLength(cx, band, d));
}
