// Replaces zeros that a Pad adds around a window's input by the window's own pads. Importer's
// worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { beforePad } from '../shape/padded.js';
import { addDims } from './dims.js';
import type { Window } from './window.js';

/** The window with the preceding padding included. */
export function withPads(
  cx: OpContext,
  input: TensorValue,
  window: Window,
): { readonly input: TensorValue; readonly window: Window } {
  const padded = window.padding === 'SAME' ? undefined : beforePad(cx, input);
  const rank = window.kernel.length;
  if (padded?.rows.length !== 2 * (rank + 2) || padded.source.shape === undefined) {
    return { input, window };
  }
  const first = window.isChannelsFirst ? 2 : 1;
  const isSpatial = padded.rows.every(
    (one, i) => one === 0 || (i >= 2 * first && i < 2 * (first + rank)),
  );
  if (!isSpatial) return { input, window };
  const own = window.kernel.flatMap((_, i) => [window.pads[i] ?? 0, window.pads[i + rank] ?? 0]);
  const rows = padded.rows
    .slice(2 * first, 2 * (first + rank))
    .map((one, i) => addDims(cx, one, own[i] ?? 0));
  const pads = [...rows.filter((_, i) => i % 2 === 0), ...rows.filter((_, i) => i % 2 === 1)];
  return { input: padded.source, window: { ...window, padding: 'EXPLICIT', pads } };
}

/** The same for a pool whose windows each have at least one element of the input. */
export function withPoolPads(
  cx: OpContext,
  input: TensorValue,
  window: Window,
): { readonly input: TensorValue; readonly window: Window } {
  const whole = window.padding === 'VALID' ? withPads(cx, input, window) : { input, window };
  const { kernel } = window;
  const fits = whole.window.pads.every((pad, i) => {
    const size = kernel[i % kernel.length];
    return typeof pad === 'number' && size !== undefined && pad < size;
  });
  return fits ? whole : { input, window };
}
