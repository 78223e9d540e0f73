// Common part of convolutions and pools: kernel, strides, dilations, padding. Importer's worker
// thread. Source: tensorflow/core/framework/kernel_shape_util.cc; tensorflow-import.md 4.3.
import type { OpContext } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import { isFloating } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import {
  addDims,
  ceilDims,
  type Dim,
  dimOf,
  dimVector,
  divDims,
  knownDims,
  maxDims,
  mulDims,
  subDims,
} from './dims.js';
import { isChannelsFirst } from './layout.js';

/** All lists contain the spatial axes. */
export interface Window {
  readonly isChannelsFirst: boolean;
  /** undefined if the filter's size is unknown. */
  readonly kernel: readonly (number | undefined)[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padding: 'SAME' | 'VALID' | 'EXPLICIT';
  /** For EXPLICIT: all begins, then all ends. */
  readonly pads: readonly Dim[];
}

interface Given {
  readonly kernel: readonly (number | undefined)[];
  /** In the order of data_format, including batch and channel. */
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
}

/** The node's window; strides and dilations as attributes of these names. */
export function readWindow(
  cx: OpContext,
  kernel: Given['kernel'],
  dilations = 'dilations',
): Window {
  return makeWindow(cx, { kernel, strides: cx.ints('strides'), dilations: cx.ints(dilations) });
}

export function makeWindow(cx: OpContext, { kernel, strides, dilations }: Given): Window {
  const rank = kernel.length;
  const padding = cx.text('padding');
  if (padding !== 'SAME' && padding !== 'VALID' && padding !== 'EXPLICIT') {
    cx.fail(`padding ${padding} is not supported`);
  }
  return {
    isChannelsFirst: isChannelsFirst(cx),
    kernel,
    padding,
    strides: spatialInts(cx, strides, rank, 'strides'),
    dilations:
      dilations.length === 0 ? kernel.map(() => 1) : spatialInts(cx, dilations, rank, 'dilations'),
    pads: padding === 'EXPLICIT' ? explicitPads(cx, rank) : [],
  };
}

/** The spatial part of a list over all axes; batch and channel must have 1. */
export function spatialInts(
  cx: OpContext,
  all: readonly number[],
  rank: number,
  what: string,
): number[] {
  if (all.length !== rank + 2) {
    cx.fail(`${what}: expected ${rank + 2} numbers, got ${all.length}`);
  }
  const first = isChannelsFirst(cx) ? 2 : 1;
  const spatial = all.slice(first, first + rank);
  const others = [...all.slice(0, first), ...all.slice(first + rank)];
  if (others.some((one) => one !== 1)) {
    cx.fail(`${what} [${all.join(',')}] of the batch or the channels is not supported`);
  }
  if (spatial.some((one) => one < 1)) cx.fail(`${what} [${all.join(',')}]: expected 1 or more`);
  return spatial;
}

function explicitPads(cx: OpContext, rank: number): number[] {
  const all = cx.ints('explicit_paddings');
  if (all.length !== 2 * (rank + 2)) {
    cx.fail(`explicit_paddings: expected ${2 * (rank + 2)} numbers, got ${all.length}`);
  }
  const first = isChannelsFirst(cx) ? 2 : 1;
  const spatial = all.slice(2 * first, 2 * (first + rank));
  if (all.some((one) => one < 0) || sum(all) !== sum(spatial)) {
    cx.fail(`explicit_paddings [${all.join(',')}]: only spatial axes can be padded`);
  }
  return [...spatial.filter((_, i) => i % 2 === 0), ...spatial.filter((_, i) => i % 2 === 1)];
}

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

/** Extent of a dilated kernel. */
const extent = (kernel: number, dilation: number): number => (kernel - 1) * dilation + 1;

/** The output sizes for input [N, C, spatial...], as far as known. */
export function windowSizes(
  window: Window,
  input: readonly (number | undefined)[],
): (number | undefined)[] {
  const { kernel, strides, dilations, padding, pads } = window;
  return kernel.map((size, i) => {
    const [from, stride] = [input[i + 2], strides[i] ?? 1];
    if (from === undefined) return undefined;
    if (padding === 'SAME') return Math.ceil(from / stride);
    if (size === undefined) return undefined;
    const [before = 0, after = 0] = [pads[i], pads[i + kernel.length]];
    if (typeof before !== 'number' || typeof after !== 'number') return undefined;
    const padded = from + before + after;
    return Math.max(0, Math.ceil((padded - extent(size, dilations[i] ?? 1) + 1) / stride));
  });
}

/** [begin, end] of one axis under SAME. */
function samePads(cx: OpContext, window: Window, axis: number, size: Dim): [Dim, Dim] {
  const stride = window.strides[axis] ?? 1;
  const kernel = window.kernel[axis] ?? cx.fail('padding SAME needs the size of the filter');
  const covered = extent(kernel, window.dilations[axis] ?? 1);
  if (covered === 1) return [0, 0];
  let total: Dim = covered - 1;
  if (stride > 1) {
    const reach = mulDims(cx, subDims(cx, ceilDims(cx, size, stride), 1), stride);
    total = maxDims(cx, subDims(cx, addDims(cx, reach, covered), size), 0);
  }
  const before = divDims(cx, total, 2);
  return [before, subDims(cx, total, before)];
}

/** All begins, then all ends, of [N, C, spatial...]. */
export function allPads(cx: OpContext, window: Window, input: TensorValue): Dim[] {
  if (window.padding === 'EXPLICIT') return [...window.pads];
  if (window.padding === 'VALID') return window.kernel.map(() => 0).flatMap((one) => [one, one]);
  const pairs = window.kernel.map((_, axis) =>
    samePads(cx, window, axis, dimOf(cx, input, axis + 2)),
  );
  return [...pairs.map(([before]) => before), ...pairs.map(([, after]) => after)];
}

/** Pads the spatial axes of [N, C, spatial...] by a separate Pad. */
export function padSpatial(
  cx: OpContext,
  value: TensorValue,
  pads: readonly Dim[],
  fill?: TensorValue,
): TensorValue {
  if (pads.every((one) => one === 0)) return value;
  const rank = pads.length / 2;
  const all = [0, 0, ...pads.slice(0, rank), 0, 0, ...pads.slice(rank)];
  const known = knownDims(all);
  const shape = value.shape?.map((dim, i) => {
    const [before, after] = [known[i], known[i + rank + 2]];
    return dim === undefined || before === undefined || after === undefined
      ? undefined
      : dim + before + after;
  });
  return cx.op('Pad', [value, dimVector(cx, all), fill], { shape });
}

/** The padding value: 0, one that no maximum selects, or none that is counted. */
export type Padding = 'zero' | 'lowest' | 'none';

/** The input, padded if an attribute cannot express it, and the ONNX attributes of the window. */
export function applyWindow(
  cx: OpContext,
  window: Window,
  input: TensorValue,
  filledWith: Padding = 'zero',
): { readonly value: TensorValue; readonly attributes: OnnxAttributes } {
  const { strides, dilations, padding, kernel } = window;
  const attributes: Record<string, OnnxAttributes[string]> = { strides: { ints: strides } };
  if (dilations.some((one) => one > 1)) attributes['dilations'] = { ints: dilations };
  if (padding === 'VALID') return { value: input, attributes };
  // The runtime's own SAME does not support dilations, nor strides that skip elements.
  const isPlain =
    dilations.every((one) => one === 1) &&
    strides.every((stride, i) => stride <= (kernel[i] ?? stride));
  const same = { ...attributes, auto_pad: { string: 'SAME_UPPER' } };
  if (padding === 'SAME' && isPlain) return { value: input, attributes: same };
  const pads = allPads(cx, window, input);
  if (pads.every((one) => one === 0)) return { value: input, attributes };
  if (pads.every((one) => typeof one === 'number')) {
    return { value: input, attributes: { ...attributes, pads: { ints: pads } } };
  }
  if (filledWith === 'none') return { value: input, attributes: same };
  const fill = filledWith === 'zero' ? undefined : lowest(cx, input);
  return { value: padSpatial(cx, input, pads, fill), attributes };
}

const INTEGER_BITS: Readonly<Record<string, number>> = { int8: 8, int16: 16, int32: 32, int64: 64 };

/** The lowest number of the value's type. */
function lowest(cx: OpContext, { dtype }: TensorValue): TensorValue {
  if (isFloating(dtype)) return cx.scalar(dtype, -Infinity);
  const bits = INTEGER_BITS[dtype];
  return cx.scalar(dtype, bits === undefined ? 0 : -(2 ** (bits - 1)));
}
