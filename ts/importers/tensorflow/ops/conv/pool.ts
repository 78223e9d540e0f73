// Pools. Importer's worker thread. Source:
// tensorflow/core/kernels/{maxpooling_op,avgpooling_op,pooling_ops_3d}.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { isFloating, type TensorValue } from '../../lower/values.js';
import { computable } from '../features/attributes.js';
import { averaged } from './average.js';
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
  const source = type === 'MaxPool' ? withoutNan(cx, x) : x;
  const { value, attributes } = apply(cx, window, source, type === 'MaxPool' ? 'lowest' : 'none');
  const shape = [x.shape?.[0], x.shape?.[1], ...windowSizes(window, x.shape ?? [])];
  const y = cx.op(type, [value], {
    shape,
    attributes: { ...attributes, ...(counted ? { count_include_pad: { int: 1 } } : {}) },
  });
  return toChannelsLast(cx, y, window.isChannelsFirst);
}

/**
 * TensorFlow's maxima start from the lowest number and continue to larger ones: NaN, and -infinity
 * alone, become that number.
 */
function withoutNan(cx: OpContext, value: TensorValue): TensorValue {
  if (!isFloating(value.dtype)) return value;
  const wide = computable(cx, value);
  const [out] = cx.custom('WithoutNan', [wide], [{ dtype: wide.dtype, shape: wide.shape }]);
  return out === undefined ? cx.fail('has no output') : cx.cast(out, value.dtype);
}

/**
 * The pool with preceding zero padding included. An average counts the zeros; a maximum, which pads
 * with a value that never wins, is the same if nothing is below 0.
 */
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

/** Uses Serval's own operator: TensorFlow's kernel keeps a NaN that is first in its window. */
const maxPoolWithArgmax: Lowering = (cx) => {
  if (isChannelsFirst(cx)) cx.fail('data_format NCHW is not supported');
  const window = poolWindow(cx, 2);
  const given = ofRank(cx, cx.tensor(0), 4);
  const x = computable(cx, given);
  const [height, width] = windowSizes(window, [
    x.shape?.[0],
    x.shape?.[3],
    x.shape?.[1],
    x.shape?.[2],
  ]);
  const shape = [x.shape?.[0], height, width, x.shape?.[3]];
  const outputs = [
    { dtype: x.dtype, shape },
    { dtype: 'int64', shape },
  ] as const;
  const [values, places] = cx.custom('MaxPoolWithArgmax', [x], outputs, {
    kernel: { ints: window.kernel as readonly number[] },
    strides: { ints: window.strides },
    same: { int: cx.text('padding') === 'SAME' ? 1 : 0 },
    with_batch: { int: cx.bool('include_batch_in_index', false) ? 1 : 0 },
  });
  if (values === undefined || places === undefined) return cx.fail('has no outputs');
  return [cx.cast(values, given.dtype), cx.cast(places, cx.type('Targmax', 'int64'))];
};

export const POOL: Operators = {
  MaxPool: { lower: pool('MaxPool', 2) },
  MaxPoolV2: { lower: pool('MaxPool', 2), note: 'ksize and strides must be constants' },
  MaxPool3D: { lower: pool('MaxPool', 3), dtypes: 'floating' },
  AvgPool: { lower: pool('AveragePool', 2), dtypes: 'floating' },
  AvgPool3D: { lower: pool('AveragePool', 3), dtypes: 'floating' },
  MaxPoolWithArgmax: { lower: maxPoolWithArgmax },
};
