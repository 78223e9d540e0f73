// Channels last (TensorFlow's default) and channels first (ONNX's only order). Each operator
// transposes its input and its output; the runtime cancels the pairs. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { GraphBuilder } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';

/** The value with a shape of this rank. Fails if it has another. */
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
  const made = notesOf(cx).turned.get(value.name ?? '') ?? prepared(cx, value);
  if (made !== undefined) return made;
  return cx.transpose(value, [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, i) => i + 1)]);
}

/** The inverse. */
export function toChannelsLast(cx: OpContext, value: TensorValue, isFirst = false): TensorValue {
  const rank = cx.rank(value);
  if (isFirst) return value;
  const axes = [0, ...Array.from({ length: rank - 2 }, (_, i) => i + 2), 1];
  const last = cx.transpose(value, axes);
  if (last.name !== undefined) notesOf(cx).turned.set(last.name, value);
  return last;
}

/** An operator of a value [N, spatial..., C] and a constant of its channels, or a scalar. */
interface Prepared {
  readonly op: string;
  readonly source: TensorValue;
  readonly constant: TensorValue;
  readonly isLeft: boolean;
}

/** By the names of results. */
interface Notes {
  readonly prepared: Map<string, Prepared>;
  /** Input of toChannelsLast(). */
  readonly turned: Map<string, TensorValue>;
}

const NOTES = new WeakMap<GraphBuilder, Notes>();

function notesOf({ builder }: OpContext): Notes {
  let notes = NOTES.get(builder);
  if (notes === undefined) {
    notes = { prepared: new Map(), turned: new Map() };
    NOTES.set(builder, notes);
  }
  return notes;
}

/**
 * Records the preparation of a fed image (means subtracted, divided by deviations): with the
 * channels last, each operator processes rows of 3 elements, which takes ten times as long.
 */
export function notePrepared(
  cx: OpContext,
  op: string,
  result: TensorValue,
  a: TensorValue,
  b: TensorValue,
): void {
  const isLeft = isConstant(cx, a);
  const [source, constant] = isLeft ? [b, a] : [a, b];
  const rank = source.shape?.length ?? 0;
  const { facts } = cx.builder.model;
  const dims = constant.shape;
  if (result.name === undefined || source.name === undefined || dims === undefined) return;
  if (isConstant(cx, source) || !isConstant(cx, constant) || rank < IMAGE_RANK) return;
  if (dims.length > rank || facts.isOfWindows(source.name)) return;
  const channels = source.shape?.[rank - 1];
  const fits = dims.every((dim, i) => dim === 1 || (i === dims.length - 1 && dim === channels));
  if (!fits) return;
  notesOf(cx).prepared.set(result.name, { op, source, constant, isLeft });
}

const IMAGE_RANK = 4;

const isConstant = (cx: OpContext, { name, constant }: TensorValue): boolean =>
  constant !== undefined || (name !== undefined && cx.builder.model.facts.isFixed(name));

/** The value with the channels first, by the same operators on their transposed inputs. */
function prepared(cx: OpContext, value: TensorValue): TensorValue | undefined {
  const found = notesOf(cx).prepared.get(value.name ?? '');
  if (found === undefined) return undefined;
  const source = toChannelsFirst(cx, found.source);
  const [channels = 1] = found.constant.shape?.slice(-1) ?? [];
  const after = Array.from({ length: cx.rank(value) - 2 }, () => 1);
  const constant = cx.reshape(found.constant, channels === 1 ? [] : [channels, ...after]);
  const operands = found.isLeft ? [constant, source] : [source, constant];
  return cx.op(found.op, operands, { dtype: value.dtype, shape: source.shape });
}
