// Boxes cropped from images and resized. Importer's worker thread. Source:
// tensorflow/core/kernels/image/crop_and_resize_op.cc.
import { CONTRIB_DOMAIN } from '../../../../model/onnx-names.js';
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add, div, less, mul, not, oneUnlessAny, or, sub, where } from '../arithmetic/algebra.js';
import { checkedIndices } from '../arithmetic/checks.js';
import { type Dim, dimOf, subDims } from '../conv/dims.js';
import { ofRank, toChannelsFirst, toChannelsLast } from '../conv/layout.js';
import { positions, sizeScalar } from './matrices.js';
import { pixelsAt } from './pixels.js';

/**
 * The image index of each box; the request fails if there is no such image, which the runtime does
 * not check.
 */
function imageOfBox(cx: OpContext, images: TensorValue): TensorValue {
  const index = cx.tensor(2);
  const count = dimOf(cx, images, 0);
  const end = typeof count === 'number' ? cx.int64s([count]) : cx.cast(count, 'int64');
  const text = 'box_index has values outside [0, batch_size)';
  return checkedIndices(cx, index, end, { below: text, beyond: text });
}

/** Corners; the request fails if one is NaN, which could be read as any position. */
function corners(cx: OpContext): TensorValue {
  const boxes = cx.cast(cx.tensor(1), 'float');
  const isSmall = less(cx, cx.op('Abs', [boxes]), cx.scalar('float', Infinity));
  return mul(cx, boxes, oneUnlessAny(cx, not(cx, isSmall), 'float', 'boxes values must be finite'));
}

/** Positions of the crops' rows (or columns) in the image: two ends [boxes, 1] to [boxes, n]. */
function places(
  cx: OpContext,
  ends: readonly [TensorValue, TensorValue],
  size: Dim,
  count: number,
): TensorValue {
  const last = sizeScalar(cx, subDims(cx, size, 1));
  const [first, end] = ends;
  if (count === 1) return mul(cx, mul(cx, add(cx, first, end), cx.scalar('float', 0.5)), last);
  const step = div(cx, mul(cx, sub(cx, end, first), last), cx.scalar('float', count - 1));
  return add(cx, mul(cx, first, last), mul(cx, cx.unsqueeze(positions(cx, count), [0]), step));
}

/** The runtime's own operator does not round halves up. */
function nearest(
  cx: OpContext,
  images: TensorValue,
  boxes: TensorValue,
  [rows, columns]: readonly number[],
): TensorValue {
  const column = (at: number): TensorValue => cx.slice(boxes, [at], [at + 1], [1]);
  const axis = (at: 0 | 1, count: number): TensorValue =>
    places(cx, [column(at), column(at + 2)], dimOf(cx, images, at + 1), count);
  // A position that is outside before rounding stays outside.
  const outside = (place: TensorValue, at: 0 | 1): TensorValue => {
    const last = sizeScalar(cx, subDims(cx, dimOf(cx, images, at + 1), 1));
    const isOutside = or(cx, less(cx, place, cx.scalar('float', 0)), less(cx, last, place));
    const rounded = cx.op('Floor', [add(cx, place, cx.scalar('float', 0.5))]);
    return where(cx, isOutside, cx.scalar('float', -1), rounded);
  };
  const image = { ...cx.cast(imageOfBox(cx, images), 'int64'), shape: [boxes.shape?.[0]] };
  return pixelsAt(
    cx,
    images,
    {
      image: cx.unsqueeze(image, [1, 2]),
      row: cx.unsqueeze(outside(axis(0, rows ?? 1), 0), [2]),
      column: cx.unsqueeze(outside(axis(1, columns ?? 1), 1), [1]),
    },
    cx.scalar('float', cx.float('extrapolation_value', 0)),
  );
}

const cropAndResize: Lowering = (cx) => {
  const images = cx.cast(ofRank(cx, cx.tensor(0), 4), 'float');
  const size = cx.tensor(3);
  if (size.ints?.some((one) => one !== undefined && one < 1)) {
    cx.fail(`crop_size [${size.ints.join(',')}]: expected 1 or more`);
  }
  if (cx.text('method', 'bilinear') === 'nearest') {
    const boxes = { ...corners(cx), shape: [cx.tensor(1).shape?.[0], 4] };
    return nearest(cx, images, boxes, cx.requireNumbers(3, 'crop_size'));
  }
  const x = toChannelsFirst(cx, images);
  const inputs = [x, corners(cx), imageOfBox(cx, images), cx.cast(size, 'int32')];
  const [crops] = cx.builder.add(
    'CropAndResize',
    inputs,
    [
      {
        dtype: 'float',
        shape: [cx.tensor(1).shape?.[0], x.shape?.[1], size.ints?.[0], size.ints?.[1]],
      },
    ],
    {
      mode: { string: 'bilinear' },
      extrapolation_value: { float: cx.float('extrapolation_value', 0) },
    },
    CONTRIB_DOMAIN,
  );
  return crops === undefined ? cx.fail('has no output') : toChannelsLast(cx, crops);
};

export const CROP: Operators = {
  CropAndResize: { lower: cropAndResize, note: 'method nearest: crop_size must be a constant' },
};
