// Options after an image's name in --input: `@photo.png?scale=1/255&resize=224x224`. Pure; control
// plane.
import { configError } from '../../../config/values/values.js';
import { echo } from '../../../base/text.js';

export interface PictureOptions {
  /** Letters of the dimensions: n, h, w, c; undefined: derived from the model's shape. */
  readonly layout: string | undefined;
  /** undefined: the image's own size. */
  readonly size: { readonly width: number; readonly height: number } | undefined;
  readonly color: 'rgb' | 'bgr' | 'gray';
  /** Whether the alpha channel may be dropped. */
  readonly dropsAlpha: boolean;
  /** value = (pixel * scale - mean) / std; one number, or one for each channel. */
  readonly scale: number;
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

const WHERE = '--input';
const SIDE_MAX = 65_535;
const FILE = /^(.*\.(?:png|jpe?g|jpe))(?:\?(.*))?$/is;
const NUMBER = String.raw`[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?`;
const FRACTION = new RegExp(`^(${NUMBER})(?:/(${NUMBER}))?$`, 'i');
const LAYOUTS: readonly string[] = ['nhwc', 'nchw', 'hwc', 'chw', 'nhw', 'hw'];
const COLORS: readonly string[] = ['rgb', 'bgr', 'gray'];
const KNOWN = 'scale, mean, std, resize, layout, color, alpha';

/**
 * The file and its options; undefined: the name is not an image's. Errors: InvalidArgument naming
 * the option.
 */
export function pictureFile(
  text: string,
): { readonly path: string; readonly options: PictureOptions } | undefined {
  const [, path, query] = FILE.exec(text) ?? [];
  if (path === undefined) return undefined;
  const given = new Map<string, string>();
  for (const part of (query ?? '').split('&').filter((one) => one !== '')) {
    const [, name = part, value = ''] = /^([^=]*)=(.*)$/s.exec(part) ?? [];
    if (given.has(name)) throw configError(WHERE, `${echo(text)}: ${name} is given twice`);
    given.set(name, value);
  }
  return { path, options: optionsOf(given) };
}

function optionsOf(given: Map<string, string>): PictureOptions {
  const take = (name: string): string | undefined => {
    const value = given.get(name);
    given.delete(name);
    return value;
  };
  const one = (name: string, known: readonly string[]): string | undefined => {
    const value = take(name);
    if (value === undefined || known.includes(value)) return value;
    throw configError(WHERE, `${name}: expected ${known.join(', ')}, got ${echo(value)}`);
  };
  const options: PictureOptions = {
    layout: one('layout', LAYOUTS),
    size: sizeOf(take('resize')),
    color: (one('color', COLORS) ?? 'rgb') as PictureOptions['color'],
    dropsAlpha: one('alpha', ['drop']) !== undefined,
    scale: numberOf('scale', take('scale') ?? '1'),
    mean: numbersOf('mean', take('mean') ?? '0'),
    std: numbersOf('std', take('std') ?? '1'),
  };
  const [unknown] = given.keys();
  if (unknown !== undefined) {
    throw configError(WHERE, `expected image options ${KNOWN}, got ${echo(unknown)}`);
  }
  if (options.std.includes(0)) throw configError(WHERE, 'std: must not be 0');
  return options;
}

function sizeOf(text: string | undefined): PictureOptions['size'] {
  if (text === undefined) return undefined;
  const [, width, height] = (/^(\d+)x(\d+)$/.exec(text) ?? []).map(Number);
  const isGood = [width, height].every((side = 0) => side > 0 && side <= SIDE_MAX);
  if (width !== undefined && height !== undefined && isGood) return { width, height };
  throw configError(WHERE, `resize: expected WIDTHxHEIGHT, got ${echo(text)}`);
}

function numbersOf(name: string, text: string): readonly number[] {
  const numbers = text.split(',').map((one) => numberOf(name, one));
  if (numbers.length === 1 || numbers.length === 3 || numbers.length === 4) return numbers;
  throw configError(
    WHERE,
    `${name}: expected one number, or one for each channel, got ${echo(text)}`,
  );
}

function numberOf(name: string, text: string): number {
  const [, above, below = '1'] = FRACTION.exec(text.trim()) ?? [];
  const value = Number(above ?? Number.NaN) / Number(below);
  if (Number.isFinite(value)) return value;
  throw configError(WHERE, `${name}: expected a number or a fraction (1/255), got ${echo(text)}`);
}
