// Batch normalization that was exported as arithmetic (Keras 3): x * scale + offset, with one
// constant per channel. Between convolutions and pools it becomes ONNX's operator, which the
// runtime fuses into a preceding convolution, or computes together with the next operator in the
// blocked layout of its convolutions. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { GraphBuilder } from '../../lower/graph-builder.js';
import { numbersTensor, tensorBytes } from '../../lower/tensors.js';
import type { TensorValue } from '../../lower/values.js';
import { toChannelsFirst, toChannelsLast } from '../conv/layout.js';

interface Scaled {
  readonly source: TensorValue;
  readonly scale: TensorValue;
}

/** Keyed by the name of the product. */
const NOTES = new WeakMap<GraphBuilder, Map<string, Scaled>>();

// Rank of images; volumes have more.
const RANK_MIN = 4;
const RANK_MAX = 5;

const isFixed = (cx: OpContext, { name, constant }: TensorValue): boolean =>
  constant !== undefined || (name !== undefined && cx.builder.model.facts.isFixed(name));

/** Records a product of a value and a constant. */
export function noteScaled(
  cx: OpContext,
  product: TensorValue,
  a: TensorValue,
  b: TensorValue,
): void {
  const [source, scale] = isFixed(cx, b) ? [a, b] : [b, a];
  if (product.name === undefined || product.dtype !== 'float') return;
  if (isFixed(cx, source) || !isFixed(cx, scale)) return;
  const notes = NOTES.get(cx.builder) ?? new Map<string, Scaled>();
  NOTES.set(cx.builder, notes.set(product.name, { source, scale }));
}

/**
 * The axis of `value` that a constant applies along; undefined if there are several, or the sizes
 * differ.
 */
function axisOf(value: TensorValue, { shape }: TensorValue): number | undefined {
  const rank = value.shape?.length ?? 0;
  if (shape === undefined || shape.length > rank) return undefined;
  const axes = shape.flatMap((dim, i) => (dim === 1 ? [] : [i]));
  const [axis] = axes;
  if (axis === undefined || axes.length > 1 || shape[axis] === undefined) return undefined;
  const at = axis + rank - shape.length;
  return value.shape?.[at] === shape[axis] ? at : undefined;
}

/** The sum of `a` and `b` as batch normalization; undefined if it is not one. */
export function normalised(cx: OpContext, a: TensorValue, b: TensorValue): TensorValue | undefined {
  const notes = NOTES.get(cx.builder);
  if (notes === undefined) return undefined;
  const [product, offset] = isFixed(cx, b) ? [a, b] : [b, a];
  const found = notes.get(product.name ?? '');
  if (found === undefined || !isFixed(cx, offset)) return undefined;
  const { source, scale } = found;
  const rank = source.shape?.length ?? 0;
  const axis = axisOf(source, scale);
  if (rank < RANK_MIN || rank > RANK_MAX || axis === undefined) return undefined;
  if (axisOf(source, offset) !== axis || (axis !== 1 && axis !== rank - 1)) return undefined;
  if (!cx.builder.model.facts.isOfWindows(source.name ?? '')) return undefined;
  const isFirst = axis === 1;
  const count = source.shape?.[axis] ?? 0;
  // Equal constants of all layers are shared.
  const filled = (value: number): TensorValue => {
    const element = tensorBytes(numbersTensor('float', [], [value]));
    return cx.constant({ dtype: 'float', shape: [count], data: { kind: 'fill', element } });
  };
  const vector = (of: TensorValue): TensorValue => cx.reshape(of, [count], [count]);
  const y = cx.op(
    'BatchNormalization',
    [toChannelsFirst(cx, source, isFirst), vector(scale), vector(offset), filled(0), filled(1)],
    { attributes: { epsilon: { float: 0 } } },
  );
  return { ...toChannelsLast(cx, y, isFirst), shape: product.shape };
}
