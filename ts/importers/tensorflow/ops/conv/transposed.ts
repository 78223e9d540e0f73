// Transposed convolutions. Importer's worker thread. Source:
// tensorflow/core/kernels/conv_grad_input_ops.h; tensorflow-import.md 4.3.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { turnDepthwise, turnFilter } from './conv.js';
import {
  addDims,
  type Dim,
  dimOf,
  dimVector,
  divDims,
  elementDim,
  knownDims,
  maxDims,
  subDims,
} from './dims.js';
import { ofRank, toChannelsFirst, toChannelsLast } from './layout.js';
import { readWindow, type Window } from './window.js';

interface Transposed {
  readonly x: TensorValue;
  readonly filter: TensorValue;
  readonly window: Window;
  readonly group: number;
  /** Channels of the result. */
  readonly channels: number | undefined;
  readonly sizes: readonly Dim[];
}

/** Extent of the dilated kernel, per axis. */
const extents = ({ kernel, dilations }: Window): number[] =>
  kernel.map((one, i) => ((one ?? 1) - 1) * (dilations[i] ?? 1) + 1);

/** The node's ConvTranspose with these pads and the final additions. */
function emit(
  cx: OpContext,
  { x, filter, window, group, channels }: Transposed,
  pads: readonly number[],
  added: readonly number[],
  sizes: readonly (number | undefined)[],
): TensorValue {
  const { kernel, strides, dilations } = window;
  if (kernel.includes(undefined)) cx.fail('the size of the filter is not known');
  return cx.op('ConvTranspose', [x, filter], {
    shape: [x.shape?.[0], channels, ...sizes],
    attributes: {
      strides: { ints: strides },
      dilations: { ints: dilations },
      group: { int: group },
      kernel_shape: { ints: kernel as readonly number[] },
      pads: { ints: pads },
      output_padding: { ints: added },
    },
  });
}

/** The output's sizes determine the forward padding. */
function ofKnownSizes(cx: OpContext, node: Transposed, sizes: readonly number[]): TensorValue {
  const {
    window: { strides, padding },
  } = node;
  // Pads from attributes are numbers.
  const pads = node.window.pads as readonly number[];
  const rank = sizes.length;
  const befores: number[] = [];
  const afters: number[] = [];
  const added: number[] = [];
  extents(node.window).forEach((covered, i) => {
    const [size, stride] = [sizes[i] ?? 0, strides[i] ?? 1];
    const given = (pads[i] ?? 0) + (pads[i + rank] ?? 0);
    const steps =
      padding === 'SAME'
        ? Math.ceil(size / stride)
        : Math.ceil((size + given - covered + 1) / stride);
    const from = node.x.shape?.[i + 2];
    if (from !== undefined && from !== steps) {
      cx.fail(`input_sizes request ${size} along axis ${i}, which ${from} rows cannot produce`);
    }
    const full = (steps - 1) * stride + covered;
    const total = padding === 'SAME' ? Math.max(full - size, 0) : given;
    const before = padding === 'SAME' ? Math.floor(total / 2) : (pads[i] ?? 0);
    befores.push(before);
    afters.push(total - before);
    added.push(size - (full - total));
  });
  return emit(cx, node, [...befores, ...afters], added, sizes);
}

/** Computed in full with extra space at the end, and cut to the sizes known at run time. */
function ofFreeSizes(cx: OpContext, node: Transposed): TensorValue {
  const {
    window: { strides, padding, pads },
    sizes,
  } = node;
  const rank = sizes.length;
  const full = emit(
    cx,
    node,
    Array.from({ length: 2 * rank }, () => 0),
    strides.map((stride) => stride - 1),
    sizes.map(() => undefined),
  );
  const starts = strides.map((stride, i): Dim => {
    if (padding !== 'SAME') return pads[i] ?? 0;
    const end = addDims(cx, dimOf(cx, full, i + 2), 1 - stride);
    const total = maxDims(cx, subDims(cx, end, sizes[i] ?? 0), 0);
    return divDims(cx, total, 2);
  });
  const ends = starts.map((start, i) => addDims(cx, start, sizes[i] ?? 0));
  const axes = cx.int64s(sizes.map((_, i) => i + 2));
  const inputs = [full, dimVector(cx, starts), dimVector(cx, ends), axes];
  return cx.op('Slice', inputs, {
    shape: [node.x.shape?.[0], node.channels, ...knownDims(sizes)],
  });
}

function transposedConvolution(cx: OpContext, rank: number, isDepthwise: boolean): TensorValue {
  const wanted = cx.tensor(0);
  const weights = ofRank(cx, cx.tensor(1), rank + 2);
  const window = readWindow(cx, weights.shape?.slice(0, rank) ?? []);
  const x = toChannelsFirst(cx, ofRank(cx, cx.tensor(2), rank + 2), window.isChannelsFirst);
  // Short size lists have only the spatial dims.
  const first = wanted.shape?.[0] === rank ? 0 : window.isChannelsFirst ? 2 : 1;
  const sizes = window.kernel.map((_, i) => elementDim(cx, wanted, first + i));
  const channels = weights.shape?.[isDepthwise ? 2 : rank];
  const asked = first === 0 ? undefined : wanted.ints?.[window.isChannelsFirst ? 1 : rank + 1];
  if (asked !== undefined && channels !== undefined && asked !== channels) {
    cx.fail(`input_sizes: expected ${channels} channels, as the filter has, got ${asked}`);
  }
  const node: Transposed = {
    x,
    window,
    channels,
    sizes,
    filter: isDepthwise ? turnDepthwise(cx, weights) : turnFilter(cx, weights),
    group: !isDepthwise ? 1 : (channels ?? cx.fail('the number of channels is not known')),
  };
  const isKnown = sizes.every((one) => typeof one === 'number');
  const y = isKnown ? ofKnownSizes(cx, node, sizes as readonly number[]) : ofFreeSizes(cx, node);
  return toChannelsLast(cx, y, window.isChannelsFirst);
}

const transposed =
  (rank: number, isDepthwise = false): Lowering =>
  (cx) =>
    transposedConvolution(cx, rank, isDepthwise);

const NOTE = 'computed in float; the size of the filter must be known';

export const TRANSPOSED_CONV: Operators = {
  Conv2DBackpropInput: { lower: transposed(2), note: NOTE },
  Conv3DBackpropInputV2: { lower: transposed(3), note: NOTE },
  DepthwiseConv2dNativeBackpropInput: { lower: transposed(2, true), note: NOTE },
};
