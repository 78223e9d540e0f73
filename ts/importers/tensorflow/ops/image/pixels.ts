// Reads pixels at computed positions. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import { broadcastShapes } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { add, max, min, mul, not, less, or, where } from '../arithmetic/algebra.js';
import { type Dim, dimOf, mulDims, reshapeTo, subDims } from '../conv/dims.js';
import { sizeScalar } from './matrices.js';

export interface Places {
  /** Image index, int64; rows and columns, integers as float. All broadcast. */
  readonly image: TensorValue;
  readonly row: TensorValue;
  readonly column: TensorValue;
}

/** Pixels [..., C] of images [N, H, W, C]; `fill` (a scalar) if a position is outside. */
export function pixelsAt(
  cx: OpContext,
  images: TensorValue,
  { image, row, column }: Places,
  fill: TensorValue,
): TensorValue {
  const [batch, height, width, channels] = [0, 1, 2, 3].map((axis) => dimOf(cx, images, axis)) as [
    Dim,
    Dim,
    Dim,
    Dim,
  ];
  const rows = inside(cx, row, height);
  const columns = inside(cx, column, width);
  const scalar = (dim: Dim): TensorValue =>
    typeof dim === 'number' ? cx.scalar('int64', dim) : dim;
  const line = add(cx, mul(cx, image, scalar(height)), rows.at);
  const index = add(cx, mul(cx, line, scalar(width)), columns.at);
  const pixels = mulDims(cx, mulDims(cx, batch, height), width);
  const flat = reshapeTo(cx, images, [pixels, channels]);
  const found = cx.op('Gather', [flat, index], {
    shape: index.shape && [...index.shape, images.shape?.[3]],
  });
  const isOutside = or(cx, rows.isOutside, columns.isOutside);
  const shape = broadcastShapes(index.shape, isOutside.shape);
  const rank = shape?.length ?? cx.fail('the rank of the coordinates is not known');
  return where(cx, cx.unsqueeze(isOutside, [rank]), fill, found);
}

/** Positions along one axis, clamped, and whether they were outside. */
function inside(
  cx: OpContext,
  place: TensorValue,
  size: Dim,
): { readonly at: TensorValue; readonly isOutside: TensorValue } {
  const last = sizeScalar(cx, subDims(cx, size, 1));
  const zero = cx.scalar('float', 0);
  // Written so that NaN counts as outside and never becomes an index.
  const isInside = not(cx, or(cx, less(cx, place, zero), less(cx, last, place)));
  const isNumber = cx.op('Equal', [place, place], { dtype: 'bool' });
  const good = cx.op('And', [isInside, isNumber]);
  const cut = max(cx, min(cx, where(cx, good, place, zero), last), zero);
  return { at: cx.cast(cut, 'int64'), isOutside: not(cx, good) };
}
