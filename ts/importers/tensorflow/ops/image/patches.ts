// Sliding windows extracted from images, and grey-scale dilation, which computes their maximum.
// Importer's worker thread. Source:
// tensorflow/core/kernels/{extract_image_patches_op,dilation_ops}.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { add } from '../arithmetic/algebra.js';
import {
  allPads,
  makeWindow,
  padSpatial,
  spatialInts,
  type Window,
  windowSizes,
} from '../conv/window.js';
import { dimOf, divDims, reshapeTo } from '../conv/dims.js';
import { ofRank, toChannelsFirst, toChannelsLast } from '../conv/layout.js';

// Maximum slices that one node may be expanded to.
const PLACES_MAX = 4096;
const TO_THE_END = 2 ** 31 - 1;

/** For each position of the kernel, the part of [N, C, H, W] that it covers, row by row. */
function places(cx: OpContext, x: TensorValue, window: Window, fill?: TensorValue): TensorValue[] {
  const kernel = window.kernel as readonly [number, number];
  if (kernel[0] * kernel[1] > PLACES_MAX) cx.fail(`a window of ${kernel.join('x')} is too large`);
  const padded = padSpatial(cx, x, allPads(cx, window, x), fill);
  const shape = [x.shape?.[0], x.shape?.[1], ...windowSizes(window, x.shape ?? [])];
  const slices: TensorValue[] = [];
  for (let row = 0; row < kernel[0]; row++) {
    for (let column = 0; column < kernel[1]; column++) {
      const starts = [row, column].map((at, i) => at * (window.dilations[i] ?? 1));
      const ends = starts.map((start, i) => {
        const back = ((kernel[i] ?? 1) - 1) * (window.dilations[i] ?? 1) - start;
        return back === 0 ? TO_THE_END : -back;
      });
      const one = cx.slice(padded, starts, ends, [2, 3], window.strides);
      slices.push({ ...one, shape });
    }
  }
  return slices;
}

/** Adjacent windows without overlap only need reordering. */
function tiles(cx: OpContext, images: TensorValue, size: readonly number[]): TensorValue {
  const [rows, columns] = [size[0] ?? 1, size[1] ?? 1];
  const [high, wide] = [1, 2].map((axis) => images.shape?.[axis]);
  const cut =
    high === undefined || wide === undefined
      ? undefined
      : cx.slice(images, [0, 0], [high - (high % rows), wide - (wide % columns)], [1, 2]);
  const even = cut ?? cx.fail('the size of the images is not known');
  const [batch, height, width, channels] = [0, 1, 2, 3].map((axis) => dimOf(cx, even, axis)) as [
    ReturnType<typeof dimOf>,
    number,
    number,
    ReturnType<typeof dimOf>,
  ];
  const [down, across] = [divDims(cx, height, rows), divDims(cx, width, columns)];
  const split = reshapeTo(cx, even, [batch, down, rows, across, columns, channels]);
  const depth = typeof channels === 'number' ? rows * columns * channels : -1;
  const turned = cx.transpose(split, [0, 1, 3, 2, 4, 5]);
  return depth === -1
    ? cx.reshape(
        turned,
        cx.concat([cx.slice(cx.shapeOf(turned), [0], [3], [0]), cx.int64s([-1])], 0),
      )
    : reshapeTo(cx, turned, [batch, down, across, depth]);
}

const extractPatches: Lowering = (cx) => {
  const images = ofRank(cx, cx.tensor(0), 4);
  const kernel = spatialInts(cx, cx.ints('ksizes'), 2, 'ksizes');
  const window = makeWindow(cx, {
    kernel,
    strides: cx.ints('strides'),
    dilations: cx.ints('rates'),
  });
  const touches =
    window.padding === 'VALID' &&
    kernel.every((size, i) => size === window.strides[i] && window.dilations[i] === 1);
  if (touches && images.shape?.[1] !== undefined && images.shape[2] !== undefined) {
    return tiles(cx, images, kernel);
  }
  const found = places(cx, toChannelsFirst(cx, images), window);
  return toChannelsLast(cx, cx.concat(found, 1));
};

/** The maximum over the window of image plus filter [h, w, C]; the padding never wins. */
const dilation2d: Lowering = (cx) => {
  const x = toChannelsFirst(cx, ofRank(cx, cx.tensor(0), 4));
  const filter = ofRank(cx, cx.tensor(1), 3);
  const [rows, columns] = [filter.shape?.[0], filter.shape?.[1]];
  if (rows === undefined || columns === undefined) {
    return cx.fail('the size of the filter is not known');
  }
  const window = makeWindow(cx, {
    kernel: [rows, columns],
    strides: cx.ints('strides'),
    dilations: cx.ints('rates'),
  });
  const found = places(cx, cx.cast(x, 'float'), window, cx.scalar('float', -Infinity));
  const sums = found.map((place, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    const at = cx.slice(cx.cast(filter, 'float'), [row, column], [row + 1, column + 1], [0, 1]);
    return add(cx, place, cx.reshape(at, [1, -1, 1, 1], [1, x.shape?.[1], 1, 1]));
  });
  const most = cx.op('Max', sums, { shape: sums[0]?.shape });
  return toChannelsLast(cx, cx.cast(most, x.dtype));
};

export const PATCHES: Operators = {
  ExtractImagePatches: { lower: extractPatches },
  Dilation2D: { lower: dilation2d, note: "computed in float; the filter's size must be known" },
};
