// Records values padded with zeros by known amounts: a following convolution then pads itself.
// Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { GraphBuilder } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';

interface Padded {
  readonly source: TensorValue;
  /** Before and after, per axis. */
  readonly rows: readonly number[];
}

/** By the names of results. */
const NOTES = new WeakMap<GraphBuilder, Map<string, Padded>>();

export function notePadded(cx: OpContext, result: TensorValue, padded: Padded): void {
  if (result.name === undefined) return;
  const notes = NOTES.get(cx.builder) ?? new Map<string, Padded>();
  NOTES.set(cx.builder, notes.set(result.name, padded));
}

/** undefined if the value was not padded. */
export function beforePad(cx: OpContext, { name }: TensorValue): Padded | undefined {
  return name === undefined ? undefined : NOTES.get(cx.builder)?.get(name);
}
