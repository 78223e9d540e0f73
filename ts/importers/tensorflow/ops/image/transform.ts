// Projective transforms of images. Importer's worker thread. Source:
// tensorflow/core/kernels/image/image_ops.h.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { abs, add, div, equal, less, max, min, mul, sub, where } from '../arithmetic/algebra.js';
import { type Dim, dimOf, elementDim } from '../conv/dims.js';
import { ofRank } from '../conv/layout.js';
import { positions, sizeScalar } from './matrices.js';
import { pixelsAt } from './pixels.js';

const float = (cx: OpContext, value: number): TensorValue => cx.scalar('float', value);

/** Source of each output pixel, [n, rows, columns] each. NaN: none. */
function sources(cx: OpContext, rows: Dim, columns: Dim): readonly [TensorValue, TensorValue] {
  const table = { ...cx.cast(cx.tensor(1), 'float'), shape: [cx.tensor(1).shape?.[0], 8] };
  const factor = (at: number): TensorValue =>
    cx.unsqueeze(cx.slice(table, [at], [at + 1], [1]), [2]);
  const x = cx.unsqueeze(positions(cx, columns), [0, 1]);
  const y = cx.unsqueeze(cx.unsqueeze(positions(cx, rows), [0]), [2]);
  const line = (at: number, last: TensorValue): TensorValue =>
    add(cx, add(cx, mul(cx, factor(at), x), mul(cx, factor(at + 1), y)), last);
  const depth = line(6, float(cx, 1));
  const isNowhere = equal(cx, depth, float(cx, 0));
  const place = (at: number): TensorValue =>
    where(cx, isNowhere, float(cx, NaN), div(cx, line(at, factor(at + 2)), depth));
  return [place(3), place(0)];
}

type Fill = (cx: OpContext, place: TensorValue, size: TensorValue) => TensorValue;

const last = (cx: OpContext, size: TensorValue): TensorValue => sub(cx, size, float(cx, 1));

const clamped: Fill = (cx, place, size) => max(cx, min(cx, place, last(cx, size)), float(cx, 0));

/** Quotient by `of`, rounded towards 0. */
const whole = (cx: OpContext, value: TensorValue, of: TensorValue): TensorValue =>
  cx.op('Floor', [div(cx, value, of)]);

const reflected: Fill = (cx, place, size) => {
  const twice = mul(cx, size, float(cx, 2));
  // -1 - p is the mirror image of p below 0.
  const up = where(cx, less(cx, place, float(cx, 0)), sub(cx, float(cx, -1), place), place);
  const once = sub(cx, up, mul(cx, twice, whole(cx, up, twice)));
  const back = where(cx, less(cx, once, size), once, sub(cx, sub(cx, twice, once), float(cx, 1)));
  return clamped(cx, where(cx, less(cx, last(cx, size), up), back, up), size);
};

const wrapped: Fill = (cx, place, size) => {
  const span = last(cx, size);
  const zero = float(cx, 0);
  const times = whole(cx, cx.op('Neg', [place]), span);
  const up = add(cx, place, mul(cx, size, add(cx, times, float(cx, 1))));
  const down = sub(cx, place, mul(cx, size, whole(cx, place, span)));
  const moved = where(cx, less(cx, place, zero), up, where(cx, less(cx, span, place), down, place));
  const isOne = equal(cx, span, zero);
  return clamped(cx, where(cx, isOne, zero, moved), size);
};

const FILLS: Readonly<Record<string, Fill>> = {
  CONSTANT: (_, place) => place,
  NEAREST: clamped,
  REFLECT: reflected,
  WRAP: wrapped,
};

/** Rounds halves away from 0. */
function rounded(cx: OpContext, x: TensorValue): TensorValue {
  const size = cx.op('Floor', [add(cx, abs(cx, x), float(cx, 0.5))]);
  return where(cx, less(cx, x, float(cx, 0)), cx.op('Neg', [size]), size);
}

const transform =
  (hasFill: boolean): Lowering =>
  (cx) => {
    const given = ofRank(cx, cx.tensor(0), 4);
    const images = cx.cast(given, 'float');
    const name = cx.text('fill_mode', 'CONSTANT');
    const mode =
      (Object.hasOwn(FILLS, name) ? FILLS[name] : undefined) ??
      cx.fail(`fill_mode ${name} is not supported`);
    const size = cx.tensor(2);
    const [y, x] = sources(cx, elementDim(cx, size, 0), elementDim(cx, size, 1));
    const [row, column] = [y, x].map((one, i) =>
      mode(cx, one, sizeScalar(cx, dimOf(cx, images, i + 1))),
    ) as [TensorValue, TensorValue];
    const count = dimOf(cx, images, 0);
    const image = cx.unsqueeze(cx.cast(positions(cx, count), 'int64'), [1, 2]);
    const fill = hasFill ? cx.cast(cx.tensor(3), 'float') : float(cx, 0);
    const read = (atRow: TensorValue, atColumn: TensorValue): TensorValue =>
      pixelsAt(cx, images, { image, row: atRow, column: atColumn }, fill);
    const interpolation = cx.text('interpolation');
    if (interpolation === 'NEAREST') {
      return cx.cast(read(rounded(cx, row), rounded(cx, column)), given.dtype);
    }
    if (interpolation !== 'BILINEAR') cx.fail(`interpolation ${interpolation} is not supported`);
    return cx.cast(bilinear(cx, row, column, read, fill), given.dtype);
  };

function bilinear(
  cx: OpContext,
  row: TensorValue,
  column: TensorValue,
  read: (row: TensorValue, column: TensorValue) => TensorValue,
  fill: TensorValue,
): TensorValue {
  const [top, left] = [cx.op('Floor', [row]), cx.op('Floor', [column])];
  const [bottom, right] = [add(cx, top, float(cx, 1)), add(cx, left, float(cx, 1))];
  const share = (value: TensorValue): TensorValue => cx.unsqueeze(value, [3]);
  const [toRight, toLeft] = [share(sub(cx, column, left)), share(sub(cx, right, column))];
  const [down, up] = [share(sub(cx, row, top)), share(sub(cx, bottom, row))];
  const along = (line: TensorValue): TensorValue =>
    add(cx, mul(cx, toLeft, read(line, left)), mul(cx, toRight, read(line, right)));
  const value = add(cx, mul(cx, up, along(top)), mul(cx, down, along(bottom)));
  const isNumber = cx.op('Equal', [row, row], { dtype: 'bool' });
  return where(cx, share(isNumber), value, fill);
}

const NOTE = 'computed in float';

export const TRANSFORM: Operators = {
  ImageProjectiveTransformV2: { lower: transform(false), note: NOTE },
  ImageProjectiveTransformV3: { lower: transform(true), note: NOTE },
};
