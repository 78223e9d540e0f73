// Channels last (TensorFlow's default) and channels first (ONNX's only order). Each operator turns
// its input and its output; the runtime cancels the pairs. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';

/** The value with a shape of this rank. Fails where it has another. */
export function ofRank(cx: OpContext, value: TensorValue, rank: number): TensorValue {
  if (value.shape === undefined) {
    return { ...value, shape: Array.from({ length: rank }, () => undefined) };
  }
  if (value.shape.length !== rank) cx.fail(`expected rank ${rank}, got ${cx.describe(value)}`);
  return value;
}

/** Whether the node's data_format has the channels before the spatial axes. */
export function isChannelsFirst(cx: OpContext): boolean {
  const format = cx.text('data_format', 'NHWC');
  if (format === 'NCHW' || format === 'NCDHW') return true;
  if (format === 'NHWC' || format === 'NDHWC' || format === '') return false;
  return cx.fail(`data_format ${format} is not supported`);
}

/** [N, spatial..., C] to [N, C, spatial...]. */
export function toChannelsFirst(cx: OpContext, value: TensorValue, isFirst = false): TensorValue {
  const rank = cx.rank(value);
  if (isFirst) return value;
  return cx.transpose(value, [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, i) => i + 1)]);
}

/** The way back. */
export function toChannelsLast(cx: OpContext, value: TensorValue, isFirst = false): TensorValue {
  const rank = cx.rank(value);
  if (isFirst) return value;
  return cx.transpose(value, [0, ...Array.from({ length: rank - 2 }, (_, i) => i + 2), 1]);
}
