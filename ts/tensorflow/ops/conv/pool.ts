// Pools. Tier T1. Importer's worker thread.
// Source: tensorflow/core/kernels/{maxpooling_op,avgpooling_op,pooling_ops_3d}.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { averaged } from './average.js';
import { type Dim, dimOf, mulDims } from './dims.js';
import { isChannelsFirst, ofRank, toChannelsFirst, toChannelsLast } from './layout.js';
import { asLine, fromLine } from './line.js';
import { withPoolPads } from './padding.js';
import {
  applyWindow,
  makeWindow,
  type Padding,
  spatialInts,
  type Window,
  windowSizes,
} from './window.js';

/** Sizes as operands (MaxPoolV2) or as attributes. */
function poolWindow(cx: OpContext, rank: number): Window {
  const given = (index: number, name: string): readonly number[] =>
    cx.inputs.length > 1 ? cx.requireNumbers(index, name) : cx.ints(name);
  const kernel = spatialInts(cx, given(1, 'ksize'), rank, 'ksize');
  return makeWindow(cx, { kernel, strides: given(2, 'strides'), dilations: [] });
}

/** The padded input and the attributes. */
function apply(
  cx: OpContext,
  window: Window,
  x: TensorValue,
  filledWith: Padding,
): ReturnType<typeof applyWindow> {
  const { value, attributes } = applyWindow(cx, window, x, filledWith);
  const kernel = { ints: window.kernel as readonly number[] };
  return { value, attributes: { ...attributes, kernel_shape: kernel } };
}

type PoolType = 'MaxPool' | 'AveragePool';

const pool =
  (type: PoolType, rank: number): Lowering =>
  (cx) => {
    const window = poolWindow(cx, rank);
    const input = ofRank(cx, cx.tensor(0), rank + 2);
    const line = asLine(cx, input, window);
    return line === undefined
      ? pooled(cx, type, input, window)
      : fromLine(cx, pooled(cx, type, line.source, line.window));
  };

function pooled(cx: OpContext, type: PoolType, given: TensorValue, valid: Window): TensorValue {
  const { input, window } = paddedPool(cx, type, given, valid);
  const x = toChannelsFirst(cx, input, window.isChannelsFirst);
  const counted = type === 'AveragePool' && window !== valid;
  const average = type === 'AveragePool' ? averaged(cx, x, window, counted) : undefined;
  if (average !== undefined) return toChannelsLast(cx, average, window.isChannelsFirst);
  const { value, attributes } = apply(cx, window, x, type === 'MaxPool' ? 'lowest' : 'none');
  const shape = [x.shape?.[0], x.shape?.[1], ...windowSizes(window, x.shape ?? [])];
  const y = cx.op(type, [value], {
    shape,
    attributes: { ...attributes, ...(counted ? { count_include_pad: { int: 1 } } : {}) },
  });
  return toChannelsLast(cx, y, window.isChannelsFirst);
}

/** With zeros that were padded before put in by the pool. An average counts them; a maximum, which
 * pads with what it never takes, is the same where nothing is below 0. */
function paddedPool(
  cx: OpContext,
  type: PoolType,
  input: TensorValue,
  window: Window,
): ReturnType<typeof withPoolPads> {
  const whole = withPoolPads(cx, input, window);
  const isSame =
    type === 'AveragePool' || cx.builder.model.facts.isNotNegative(whole.input.name ?? '');
  return isSame ? whole : { input, window };
}

/** ONNX counts positions over [N, C, H, W], TensorFlow over [H, W, C] (or [N, H, W, C]). */
function positions(cx: OpContext, indices: TensorValue, x: TensorValue): TensorValue {
  const scalar = (dim: Dim): TensorValue =>
    typeof dim === 'number' ? cx.scalar('int64', dim) : dim;
  const [channels, height, width] = [1, 2, 3].map((axis) => dimOf(cx, x, axis));
  const plane = scalar(mulDims(cx, height ?? 1, width ?? 1));
  const each = scalar(channels ?? 1);
  const { shape } = indices;
  const both = (type: string, a: TensorValue, b: TensorValue): TensorValue =>
    cx.op(type, [a, b], { shape });
  const image = both('Div', indices, plane);
  const inPlane = both(
    'Add',
    both('Mul', both('Mod', indices, plane), each),
    both('Mod', image, each),
  );
  if (!cx.bool('include_batch_in_index', false)) return inPlane;
  return both(
    'Add',
    inPlane,
    both('Mul', both('Div', image, each), cx.op('Mul', [plane, each], { shape: plane.shape })),
  );
}

const maxPoolWithArgmax: Lowering = (cx) => {
  if (isChannelsFirst(cx)) cx.fail('data_format NCHW is not supported');
  const window = poolWindow(cx, 2);
  const x = toChannelsFirst(cx, ofRank(cx, cx.tensor(0), 4));
  const shape = [x.shape?.[0], x.shape?.[1], ...windowSizes(window, x.shape ?? [])];
  const { value, attributes } = apply(cx, window, x, 'lowest');
  if (value !== x) cx.fail('strides beyond ksize need sizes that are known');
  const [values, indices] = cx.ops(
    'MaxPool',
    [x],
    [
      { dtype: x.dtype, shape },
      { dtype: 'int64', shape },
    ],
    attributes,
  );
  if (values === undefined || indices === undefined) return cx.fail('MaxPool has two outputs');
  const at = toChannelsLast(cx, positions(cx, indices, x));
  return [toChannelsLast(cx, values), cx.cast(at, cx.type('Targmax', 'int64'))];
};

export const POOL: Operators = {
  MaxPool: { lower: pool('MaxPool', 2) },
  MaxPoolV2: { lower: pool('MaxPool', 2), note: 'ksize and strides must be constants' },
  MaxPool3D: { lower: pool('MaxPool', 3), dtypes: 'floating' },
  AvgPool: { lower: pool('AveragePool', 2), dtypes: 'floating' },
  AvgPool3D: { lower: pool('AveragePool', 3), dtypes: 'floating' },
  MaxPoolWithArgmax: { lower: maxPoolWithArgmax },
};
