// Records values with an inserted dim of 1: TensorFlow writes a convolution over one spatial axis
// as ExpandDims, Conv2D, Squeeze, which is undone here. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { GraphBuilder } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';

interface Unsqueezed {
  readonly source: TensorValue;
  /** Axis of the result, counted from the front. */
  readonly axis: number;
}

/** By the names of results. */
const NOTES = new WeakMap<GraphBuilder, Map<string, Unsqueezed>>();

/** The value with a dim of 1 at `axis`, counted from the front. */
export function unsqueezed(cx: OpContext, source: TensorValue, axis: number): TensorValue {
  const result = cx.unsqueeze(source, [axis]);
  if (result.name === undefined) return result;
  const notes = NOTES.get(cx.builder) ?? new Map<string, Unsqueezed>();
  NOTES.set(cx.builder, notes.set(result.name, { source, axis }));
  return result;
}

/** The value from which unsqueezed() made this one by this axis; undefined if it did not. */
export function beforeUnsqueeze(
  cx: OpContext,
  { name }: TensorValue,
  axis: number,
): TensorValue | undefined {
  const note = name === undefined ? undefined : NOTES.get(cx.builder)?.get(name);
  return note?.axis === axis ? note.source : undefined;
}
