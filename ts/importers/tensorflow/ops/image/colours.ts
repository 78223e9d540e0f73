// Color conversions. Importer's worker thread. Source:
// tensorflow/core/kernels/image/{colorspace_op,adjust_*_op}.{h,cc}.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { Shape } from '../../types.js';
import type { TensorValue } from '../../lower/values.js';
import {
  abs,
  add,
  div,
  equal,
  floatLowering,
  less,
  max,
  min,
  mul,
  number,
  sub,
  where,
} from '../arithmetic/algebra.js';

type Triple = readonly [TensorValue, TensorValue, TensorValue];

/** The three channels, each with a last dim of 1. */
function channels(cx: OpContext, images: TensorValue): Triple {
  const axis = cx.rank(images) - 1;
  const last = images.shape?.[axis];
  if (last !== undefined && last !== 3) cx.fail(`expected 3 channels, got ${cx.describe(images)}`);
  const shape: Shape = images.shape?.map((dim, i) => (i === axis ? 1 : dim));
  const split = cx.ops(
    'Split',
    [images],
    [0, 1, 2].map(() => ({ dtype: images.dtype, shape })),
    { axis: { int: axis }, num_outputs: { int: 3 } },
  );
  return split as unknown as Triple;
}

const join = (cx: OpContext, parts: Triple): TensorValue => cx.concat(parts, cx.rank(parts[0]) - 1);

function toHsv(cx: OpContext, [red, green, blue]: Triple): Triple {
  const zero = number(cx, red, 0);
  const value = max(cx, max(cx, red, green), blue);
  const range = sub(cx, value, min(cx, min(cx, red, green), blue));
  const isBlack = equal(cx, value, zero);
  const saturation = where(cx, less(cx, zero, value), div(cx, range, value), zero);
  const norm = div(cx, number(cx, red, 1 / 6), range);
  const sixths = (count: number): TensorValue => number(cx, red, count / 6);
  const byRed = mul(cx, norm, sub(cx, green, blue));
  const byGreen = add(cx, mul(cx, norm, sub(cx, blue, red)), sixths(2));
  const byBlue = add(cx, mul(cx, norm, sub(cx, red, green)), sixths(4));
  const hue = where(
    cx,
    equal(cx, red, value),
    byRed,
    where(cx, equal(cx, green, value), byGreen, byBlue),
  );
  const coloured = where(cx, less(cx, zero, range), hue, zero);
  const turned = where(
    cx,
    less(cx, coloured, zero),
    add(cx, coloured, number(cx, red, 1)),
    coloured,
  );
  return [where(cx, isBlack, zero, turned), saturation, value];
}

function toRgb(cx: OpContext, [hue, saturation, value]: Triple): Triple {
  const at = (count: number): TensorValue => number(cx, hue, count);
  const sixth = mul(cx, hue, at(6));
  const away = (from: number): TensorValue => abs(cx, sub(cx, sixth, at(from)));
  const unit = (of: TensorValue): TensorValue => max(cx, min(cx, of, at(1)), at(0));
  const grey = sub(cx, at(1), saturation);
  const mixed = (share: TensorValue): TensorValue =>
    mul(cx, add(cx, grey, mul(cx, saturation, unit(share))), value);
  return [
    mixed(sub(cx, away(3), at(1))),
    mixed(sub(cx, at(2), away(2))),
    mixed(sub(cx, at(2), away(4))),
  ];
}

const rgbToHsv = floatLowering((cx, images) => join(cx, toHsv(cx, channels(cx, images))));
const hsvToRgb = floatLowering((cx, images) => join(cx, toRgb(cx, channels(cx, images))));

/** A lowering of images and one number that changes their hue and saturation. */
const adjust =
  (change: (cx: OpContext, hsv: Triple, by: TensorValue) => Triple): Lowering =>
  (cx) => {
    const images = cx.tensor(0);
    const by = cx.cast(cx.tensor(1), 'float');
    const hsv = toHsv(cx, channels(cx, cx.cast(images, 'float')));
    return cx.cast(join(cx, toRgb(cx, change(cx, hsv, by))), images.dtype);
  };

const adjustSaturation = adjust((cx, [hue, saturation, value], by) => {
  const scaled = mul(cx, saturation, by);
  return [hue, max(cx, min(cx, scaled, number(cx, scaled, 1)), number(cx, scaled, 0)), value];
});

const adjustHue = adjust((cx, [hue, saturation, value], by) => {
  const moved = add(cx, hue, by);
  return [sub(cx, moved, cx.op('Floor', [moved])), saturation, value];
});

/** Scales the distance from each channel's mean. */
const adjustContrast: Lowering = (cx) => {
  const images = cx.tensor(0);
  const wide = cx.cast(images, 'float');
  const rank = cx.rank(wide);
  const mean = cx.op('ReduceMean', [wide, cx.int64s([rank - 3, rank - 2])], {
    shape: wide.shape?.map((dim, i) => (i === rank - 3 || i === rank - 2 ? 1 : dim)),
    attributes: { keepdims: { int: 1 } },
  });
  const factor = cx.cast(cx.tensor(1), 'float');
  return cx.cast(add(cx, mul(cx, sub(cx, wide, mean), factor), mean), images.dtype);
};

const FLOATING = 'floating';

export const COLOURS: Operators = {
  RGBToHSV: { lower: rgbToHsv, dtypes: FLOATING },
  HSVToRGB: { lower: hsvToRgb, dtypes: FLOATING },
  AdjustSaturation: { lower: adjustSaturation, dtypes: FLOATING },
  AdjustHue: { lower: adjustHue, dtypes: FLOATING },
  AdjustContrastv2: { lower: adjustContrast, dtypes: FLOATING },
};
