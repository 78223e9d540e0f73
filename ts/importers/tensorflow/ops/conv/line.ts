// Windows over one spatial axis that are written as windows over two, the first of size 1.
// Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { beforeUnsqueeze, unsqueezed } from '../shape/unsqueezed.js';
import type { Window } from './window.js';

// [N, 1, W, C].
const LINE_AXIS = 1;

export interface Line {
  /** [N, W, C]. */
  readonly source: TensorValue;
  readonly window: Window;
}

/** The same over [N, W, C]; undefined if the input has two spatial axes. */
export function asLine(cx: OpContext, input: TensorValue, window: Window): Line | undefined {
  const { kernel, strides, dilations, pads, isChannelsFirst } = window;
  if (kernel.length !== 2 || kernel[0] !== 1 || isChannelsFirst) return undefined;
  const source = beforeUnsqueeze(cx, input, LINE_AXIS);
  const [before = 0, along = 0, after = 0, behind = 0] = pads;
  if (source?.shape?.length !== 3 || before !== 0 || after !== 0) return undefined;
  return {
    source,
    window: {
      ...window,
      kernel: kernel.slice(1),
      strides: strides.slice(1),
      dilations: dilations.slice(1),
      pads: pads.length === 0 ? [] : [along, behind],
    },
  };
}

/** The inverse: Squeeze then finds the line. */
export const fromLine = (cx: OpContext, line: TensorValue): TensorValue =>
  unsqueezed(cx, line, LINE_AXIS);
