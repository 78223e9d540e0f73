// Convolutions. Filters keep their stored form: the runtime transposes constants once, when it
// loads the graph. Importer's worker thread. Source:
// tensorflow/core/kernels/{conv_ops,depthwise_conv_op,conv_ops_3d}.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { noteConvolved } from './dilated.js';
import { dimOf, mulDims, reshapeTo } from './dims.js';
import { ofRank, toChannelsFirst, toChannelsLast } from './layout.js';
import { asLine, fromLine } from './line.js';
import { withPads } from './padding.js';
import { beforePad } from '../shape/padded.js';
import { beforeUnsqueeze } from '../shape/unsqueezed.js';
import { applyWindow, readWindow, type Window, windowSizes } from './window.js';

/** [N, C, spatial...] by a filter [out, in, spatial...]. */
function convolve(
  cx: OpContext,
  x: TensorValue,
  filter: TensorValue,
  window: Window,
  group: number,
  bias?: TensorValue,
): TensorValue {
  const { value, attributes } = applyWindow(cx, window, x);
  const known = window.kernel.every((one) => one !== undefined)
    ? { kernel_shape: { ints: window.kernel as readonly number[] } }
    : {};
  return cx.op('Conv', [value, filter, ...(bias === undefined ? [] : [bias])], {
    shape: [x.shape?.[0], filter.shape?.[0], ...windowSizes(window, x.shape ?? [])],
    attributes: { ...attributes, ...known, group: { int: group } },
  });
}

/** [spatial..., in, out] to [out, in, spatial...]. */
export function turnFilter(cx: OpContext, filter: TensorValue): TensorValue {
  const rank = cx.rank(filter) - 2;
  return cx.transpose(filter, [rank + 1, rank, ...Array.from({ length: rank }, (_, i) => i)]);
}

/** [h, w, in, multiplier] to [in * multiplier, 1, h, w]. */
export function turnDepthwise(cx: OpContext, filter: TensorValue): TensorValue {
  const turned = cx.transpose(filter, [2, 3, 0, 1]);
  const [inputs, multiplier, height, width] = [0, 1, 2, 3].map((i) => dimOf(cx, turned, i));
  return reshapeTo(cx, turned, [
    mulDims(cx, inputs ?? 1, multiplier ?? 1),
    1,
    height ?? 1,
    width ?? 1,
  ]);
}

/** A filter with fewer inputs than there are channels means groups. */
function groups(cx: OpContext, channels: number | undefined, inputs: number | undefined): number {
  if (channels === undefined || inputs === undefined || channels === inputs) return 1;
  if (inputs > 0 && channels % inputs === 0) return channels / inputs;
  return cx.fail(`${channels} channels do not divide by the filter's ${inputs}`);
}

/** The number of channels, if it must be known: grouping needs it. */
function channelCount(cx: OpContext, input: TensorValue, axis: number): number | undefined {
  const before = beforeUnsqueeze(cx, input, 1) ?? beforePad(cx, input)?.source;
  const hint = input.hint ?? before?.hint;
  return input.shape?.[axis] ?? (axis === 1 ? input.hint?.[axis] : hint?.at(-1));
}

/** [N, spatial..., C] (or as in the window) by a filter [out, in, spatial...]. */
export function convolveTurned(
  cx: OpContext,
  input: TensorValue,
  filter: TensorValue,
  window: Window,
  group: number,
  bias?: TensorValue,
): TensorValue {
  const x = toChannelsFirst(cx, input, window.isChannelsFirst);
  const y = convolve(cx, x, filter, window, group, bias);
  return toChannelsLast(cx, y, window.isChannelsFirst);
}

/** Conv2D and Conv3D with `rank` spatial axes. */
export function convolution(
  cx: OpContext,
  given: TensorValue,
  weights: TensorValue,
  rank: number,
): TensorValue {
  const shaped = ofRank(cx, weights, rank + 2);
  const window = readWindow(cx, shaped.shape?.slice(0, rank) ?? []);
  const input = ofRank(cx, given, rank + 2);
  const channels = channelCount(cx, input, window.isChannelsFirst ? 1 : rank + 1);
  const group = groups(cx, channels, shaped.shape?.[rank]);
  return dilatable(cx, input, turnFilter(cx, shaped), window, group);
}

export function depthwiseConvolution(
  cx: OpContext,
  given: TensorValue,
  weights: TensorValue,
): TensorValue {
  const shaped = ofRank(cx, weights, 4);
  const window = readWindow(cx, shaped.shape?.slice(0, 2) ?? []);
  const input = ofRank(cx, given, 4);
  const group =
    input.shape?.[window.isChannelsFirst ? 1 : 3] ??
    shaped.shape?.[2] ??
    cx.fail('the number of channels is not known');
  return dilatable(cx, input, turnDepthwise(cx, shaped), window, group);
}

function dilatable(
  cx: OpContext,
  input: TensorValue,
  filter: TensorValue,
  window: Window,
  group: number,
): TensorValue {
  const line = asLine(cx, input, window);
  if (line !== undefined) {
    return fromLine(cx, dilatable(cx, line.source, cx.squeeze(filter, [2]), line.window, group));
  }
  const convolvePadded = (from: TensorValue, by: Window): TensorValue => {
    const whole = withPads(cx, from, by);
    return convolveTurned(cx, whole.input, filter, whole.window, group);
  };
  const y = convolvePadded(input, window);
  noteConvolved(cx, input, y, window, convolvePadded);
  return y;
}

const conv =
  (rank: number): Lowering =>
  (cx) =>
    convolution(cx, cx.tensor(0), cx.tensor(1), rank);

const depthwise: Lowering = (cx) => depthwiseConvolution(cx, cx.tensor(0), cx.tensor(1));

const NOTE = 'computed in float';

export const CONV: Operators = {
  Conv2D: { lower: conv(2), note: NOTE },
  Conv3D: { lower: conv(3), note: NOTE },
  DepthwiseConv2dNative: {
    lower: depthwise,
    note: `${NOTE}; the number of channels must be known`,
  },
};
