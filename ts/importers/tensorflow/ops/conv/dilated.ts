// Dilated convolutions: TensorFlow writes them as a convolution between SpaceToBatchND and
// BatchToSpaceND. Here they become one ONNX Conv; the nodes emitted for the three are then unused
// and are removed from the graph. Importer's worker thread. Source: tensorflow/python/ops/nn_ops.py
// (with_space_to_batch).
import type { OpContext } from '../../lower/context.js';
import type { GraphBuilder } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';
import { type Dim, subDims } from './dims.js';
import type { Window } from './window.js';

type Edges = readonly (readonly [Dim, Dim])[];

/** The parameters of SpaceToBatchND on a value. */
interface Spread {
  readonly source: TensorValue;
  readonly block: readonly Dim[];
  readonly edges: Edges;
}

/** A convolution of a value with given dilations and pads. */
type Convolve = (source: TensorValue, window: Window) => TensorValue;

interface Convolved {
  readonly spread: Spread;
  readonly window: Window;
  readonly convolve: Convolve;
}

/** By the names of values. */
interface Notes {
  readonly spread: Map<string, Spread>;
  readonly convolved: Map<string, Convolved>;
}

const NOTES = new WeakMap<GraphBuilder, Notes>();

function notesOf({ builder }: OpContext): Notes {
  let notes = NOTES.get(builder);
  if (notes === undefined) {
    notes = { spread: new Map(), convolved: new Map() };
    NOTES.set(builder, notes);
  }
  return notes;
}

export function noteSpread(cx: OpContext, result: TensorValue, spread: Spread): void {
  if (result.name !== undefined) notesOf(cx).spread.set(result.name, spread);
}

/** Records a convolution of a value that SpaceToBatchND made, if it can be dilated. */
export function noteConvolved(
  cx: OpContext,
  input: TensorValue,
  result: TensorValue,
  window: Window,
  convolve: Convolve,
): void {
  const notes = notesOf(cx);
  const isPlain =
    window.padding === 'VALID' &&
    !window.isChannelsFirst &&
    [...window.strides, ...window.dilations].every((one) => one === 1);
  if (notes.spread.size === 0 || !isPlain || result.name === undefined) return;
  const spread = notes.spread.get(input.name ?? '');
  if (spread?.block.length !== window.kernel.length) return;
  notes.convolved.set(result.name, { spread, window, convolve });
}

/** The dilated convolution, if BatchToSpaceND of `value` completes one. */
export function dilatedConvolution(
  cx: OpContext,
  value: TensorValue,
  block: readonly Dim[],
  crops: Edges,
): TensorValue | undefined {
  const { convolved } = notesOf(cx);
  if (convolved.size === 0) return undefined;
  const found = convolved.get(value.name ?? '');
  if (found === undefined || found.spread.block.length !== block.length) return undefined;
  const { spread, window, convolve } = found;
  const isSame = block.every((one, i) => typeof one === 'number' && one === spread.block[i]);
  const pads = spread.edges.map(([first, last], i): [Dim, Dim] => [
    subDims(cx, first, crops[i]?.[0] ?? 0),
    subDims(cx, last, crops[i]?.[1] ?? 0),
  ]);
  if (!isSame || pads.flat().some((one) => typeof one === 'number' && one < 0)) return undefined;
  return convolve(spread.source, {
    ...window,
    padding: 'EXPLICIT',
    dilations: block as number[],
    pads: [...pads.map(([first]) => first), ...pads.map(([, last]) => last)],
  });
}
