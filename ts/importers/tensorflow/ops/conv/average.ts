// Averages over small windows as convolutions, one channel each. The runtime's own pools are fast
// only if the channels fill whole blocks of its layout; otherwise they take five to ten times as
// long as its convolutions. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import { numbersTensor, tensorBytes } from '../../lower/tensors.js';
import { isStatic } from '../../lower/values.js';
import type { TensorValue } from '../../lower/values.js';
import { allPads, applyWindow, type Window, windowSizes } from './window.js';

/** Channels per block on the widest processors. */
const BLOCK = 16;
const ELEMENTS_MAX = 9;
/**
 * Maximum outputs along an axis: more would become a weight, a separate one for every signature.
 */
const OUTPUTS_MAX = 255;

/** For each output along an axis, the number of input elements in its window. */
function counts(
  size: number,
  outputs: number,
  kernel: number,
  stride: number,
  before: number,
): number[] {
  return Array.from({ length: outputs }, (_, i) => {
    const start = i * stride - before;
    return Math.min(start + kernel, size) - Math.max(start, 0);
  });
}

/**
 * The averages of `x` [N, C, H, W]; undefined if a pool is as fast. `isCounted`: padding counts as
 * zeros.
 */
export function averaged(
  cx: OpContext,
  x: TensorValue,
  window: Window,
  isCounted: boolean,
): TensorValue | undefined {
  const [batch, channels, ...sizes] = x.shape ?? [];
  const { kernel, strides } = window;
  const [height, width] = kernel;
  const { facts } = cx.builder.model;
  if (x.dtype !== 'float' || sizes.length !== 2 || !facts.isOfWindows(x.name ?? ''))
    return undefined;
  if (channels === undefined || channels % BLOCK === 0 || !isStatic(sizes)) return undefined;
  if (height === undefined || width === undefined) return undefined;
  if (height * width > ELEMENTS_MAX) return undefined;
  const outputs = windowSizes(window, x.shape ?? []);
  const pads = allPads(cx, window, x);
  if (!isStatic(outputs) || !pads.every((pad) => typeof pad === 'number')) return undefined;
  const [rows = [], columns = []] = [0, 1].map((axis) =>
    counts(
      sizes[axis] ?? 0,
      outputs[axis] ?? 0,
      kernel[axis] ?? 1,
      strides[axis] ?? 1,
      pads[axis] ?? 0,
    ),
  );
  if (Math.max(rows.length, columns.length) > OUTPUTS_MAX) return undefined;
  if (!isCounted && [...rows, ...columns].some((count) => count < 1)) return undefined;
  const element = tensorBytes(numbersTensor('float', [], [1 / (height * width)]));
  const filter = cx.constant({
    dtype: 'float',
    shape: [channels, 1, height, width],
    data: { kind: 'fill', element },
  });
  const { value, attributes } = applyWindow(cx, window, x);
  const shape = [batch, channels, ...outputs];
  const y = cx.op('Conv', [value, filter], {
    shape,
    attributes: {
      ...attributes,
      kernel_shape: { ints: [height, width] },
      group: { int: channels },
    },
  });
  const isWhole = rows.every((one) => one === height) && columns.every((one) => one === width);
  if (isCounted || isWhole) return y;
  const shares = (dims: readonly number[], each: readonly number[], full: number): TensorValue =>
    cx.constant(
      numbersTensor(
        'float',
        dims,
        each.map((one) => full / one),
      ),
    );
  const ofRows = shares([rows.length, 1], rows, height);
  const ofColumns = shares([1, columns.length], columns, width);
  const plane = cx.op('Mul', [ofRows, ofColumns], { shape: [rows.length, columns.length] });
  return cx.op('Mul', [y, plane], { shape });
}
