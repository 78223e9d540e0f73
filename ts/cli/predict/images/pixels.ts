// Converts an image to the values of an input: channels, size, layout and numbers as the model or
// the options say. Ambiguity is an error that names the option. Pure; control plane.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { DecodedImage } from '../../../engine/binding.js';
import { dataTypeOf } from '../../../model/datatype.js';
import type { InputInfo } from '../../../library/types.js';
import type { PictureOptions } from './options.js';

/** Position of each letter in the input's shape. */
interface Layout {
  readonly letters: string;
  readonly channels: number;
  /** undefined: dynamic. */
  readonly width: number | undefined;
  readonly height: number | undefined;
}

type Numbers = Uint8Array | Uint16Array | Float64Array;

export interface Pixels {
  readonly data: Numbers;
  readonly shape: readonly number[];
}

/** `path` is for errors. Errors: InvalidArgument naming file and input. */
export function pixelsFor(
  path: string,
  picture: DecodedImage,
  info: InputInfo,
  options: PictureOptions,
): Pixels {
  const bad = (message: string): ServalError =>
    new ServalError(ErrorCode.InvalidArgument, `${path}: input '${info.name}' ${message}`);
  const layout = layoutOf(info, options, bad);
  const colored = coloredAs(picture, layout.channels, options, bad);
  const { width, height } = options.size ?? picture;
  const isWanted = (layout.width ?? width) === width && (layout.height ?? height) === height;
  if (!isWanted) {
    const [w, h] = [layout.width ?? width, layout.height ?? height];
    throw bad(`expects ${w} x ${h} pixels, got ${width} x ${height}: use ?resize=${w}x${h}`);
  }
  const isFloat = dataTypeOf(info.datatype).kind === 'float';
  const sized = options.size ? resized(colored, options.size, isFloat) : colored;
  return arranged(counted(sized, options, bad), sized, layout.letters);
}

const isChannels = (dim: number | undefined): boolean => dim === 1 || dim === 3 || dim === 4;

function layoutOf(
  { shape, unknownRank, datatype }: InputInfo,
  { layout, color }: PictureOptions,
  bad: (message: string) => ServalError,
): Layout {
  const shown = unknownRank ? '[...]' : `[${shape.map((dim) => (dim < 0 ? '?' : dim)).join(',')}]`;
  const { kind } = dataTypeOf(datatype);
  if (kind !== 'float' && kind !== 'signed' && kind !== 'unsigned') {
    throw bad(`is ${datatype}: images need a numeric type`);
  }
  const letters = layout ?? (unknownRank ? undefined : shownLayout(shape));
  if (letters === undefined) {
    const how = 'use ?layout=nhwc (or nchw, hwc, chw, nhw, hw)';
    throw bad(`has the shape ${shown}, which does not tell where the channels are: ${how}`);
  }
  if (!unknownRank && letters.length !== shape.length) {
    throw bad(`has the shape ${shown}, which is not ${letters}`);
  }
  const dim = (letter: string): number => {
    const at = letters.indexOf(letter);
    return unknownRank || at < 0 ? -1 : (shape[at] ?? -1);
  };
  const free = (size: number): number | undefined => (size < 0 ? undefined : size);
  if (dim('n') > 1) throw bad(`has the shape ${shown}: a batch of ${dim('n')}, not one image`);
  const channels = letters.includes('c') ? (free(dim('c')) ?? (color === 'gray' ? 1 : 3)) : 1;
  if (!isChannels(channels)) throw bad(`has ${channels} channels, expected 1, 3 or 4`);
  return { letters, channels, width: free(dim('w')), height: free(dim('h')) };
}

/** undefined: the shape does not tell. */
function shownLayout(shape: readonly number[]): string | undefined {
  const batch = shape.length === 4 ? 'n' : '';
  if (shape.length !== 3 && shape.length !== 4) return undefined;
  const [first, , last] = shape.slice(-3);
  if (isChannels(last) && !isChannels(first)) return `${batch}hwc`;
  return isChannels(first) && !isChannels(last) ? `${batch}chw` : undefined;
}

/** Drops no information unless requested. */
function coloredAs(
  picture: DecodedImage,
  channels: number,
  { color, dropsAlpha }: PictureOptions,
  bad: (message: string) => ServalError,
): DecodedImage {
  const { width, height, channels: own, data } = picture;
  const opaque = data instanceof Uint16Array ? 65_535 : 255;
  const Values = data instanceof Uint16Array ? Uint16Array : Uint8Array;
  const out = new Values(width * height * channels);
  const hasAlpha = own === 2 || own === 4;
  const order = color === 'bgr' ? [2, 1, 0] : [0, 1, 2];
  for (let i = 0; i < width * height; i += 1) {
    const from = i * own;
    const sample = (c: number): number => data[from + (own < 3 ? 0 : c)] ?? 0;
    const alpha = hasAlpha ? (data[from + own - 1] ?? 0) : opaque;
    if (channels === 1) {
      const [r, g, b] = [sample(0), sample(1), sample(2)];
      if (color !== 'gray' && (r !== g || g !== b)) {
        throw bad('has one channel, but the image has colors: use ?color=gray');
      }
      // ITU-R 601, as in Pillow and TensorFlow.
      out[i] = r === g && g === b ? r : Math.round(0.299 * r + 0.587 * g + 0.114 * b);
    } else {
      order.forEach((c, at) => {
        out[i * channels + at] = sample(c);
      });
    }
    if (channels === 4) out[i * 4 + 3] = alpha;
    else if (alpha !== opaque && !dropsAlpha) {
      const how = 'the image has an alpha channel: use ?alpha=drop to ignore it';
      throw bad(`has ${channels === 1 ? 'one channel' : '3 channels'}, but ${how}`);
    }
  }
  return { width, height, channels, data: out };
}

/** Bilinear between pixel centers, without antialiasing: tf.image.resize. */
function resized(
  { width, height, channels, data }: DecodedImage,
  to: { readonly width: number; readonly height: number },
  isFloat: boolean,
): { width: number; height: number; channels: number; data: Float64Array } {
  const out = new Float64Array(to.width * to.height * channels);
  const between = (at: number, from: number, size: number) => {
    const exact = Math.max(0, Math.min(from - 1, ((at + 0.5) * from) / size - 0.5));
    const low = Math.floor(exact);
    return { low, high: Math.min(from - 1, low + 1), part: exact - low };
  };
  const columns = Array.from({ length: to.width }, (_, x) => between(x, width, to.width));
  let at = 0;
  for (let y = 0; y < to.height; y += 1) {
    const row = between(y, height, to.height);
    for (const column of columns) {
      for (let c = 0; c < channels; c += 1) {
        const pixel = (py: number, px: number): number =>
          data[(py * width + px) * channels + c] ?? 0;
        const mixed = (py: number): number =>
          pixel(py, column.low) * (1 - column.part) + pixel(py, column.high) * column.part;
        const value = mixed(row.low) * (1 - row.part) + mixed(row.high) * row.part;
        out[at] = isFloat ? value : Math.round(value);
        at += 1;
      }
    }
  }
  return { ...to, channels, data: out };
}

/** (pixel * scale - mean) / std. */
function counted(
  { channels, data }: { readonly channels: number; readonly data: Numbers },
  { scale, mean, std }: PictureOptions,
  bad: (message: string) => ServalError,
): Numbers {
  for (const [name, { length }] of [
    ['mean', mean],
    ['std', std],
  ] as const) {
    if (length !== 1 && length !== channels) {
      throw bad(`has ${channels} channels: expected as many numbers for ${name}, got ${length}`);
    }
  }
  const isAsItIs = scale === 1 && mean.every((one) => one === 0) && std.every((one) => one === 1);
  if (isAsItIs) return data;
  return Float64Array.from(data, (pixel, i) => {
    const own = (list: readonly number[]): number =>
      list[list.length === 1 ? 0 : i % channels] ?? 0;
    return (pixel * scale - own(mean)) / own(std);
  });
}

function arranged(
  data: Numbers,
  { width, height, channels }: { width: number; height: number; channels: number },
  letters: string,
): Pixels {
  const size: Readonly<Record<string, number>> = { n: 1, h: height, w: width, c: channels };
  const shape = [...letters].map((letter) => size[letter] ?? 1);
  if (!letters.includes('chw')) return { data, shape };
  const out = data.slice();
  const plane = width * height;
  for (let i = 0; i < plane; i += 1) {
    for (let c = 0; c < channels; c += 1) out[c * plane + i] = data[i * channels + c] ?? 0;
  }
  return { data: out, shape };
}
