// Tensors that look like pictures: which they are, and between a canvas and numbers. The browser's
// thread.
/** Which axis is what; `batch` -1: there is none. */
export interface Picture {
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly channels: number;
}

interface Shaped {
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly unknownRank?: boolean;
}

/** How a byte of a colour becomes a number. */
export type Scaling = 'bytes' | 'unit' | 'signed' | 'imagenet';

export const SCALINGS: readonly (readonly [Scaling, string])[] = [
  ['bytes', '0 to 255'],
  ['unit', '0 to 1'],
  ['signed', '-1 to 1'],
  ['imagenet', 'ImageNet mean and deviation'],
];

const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];
const TYPES: ReadonlySet<string> = new Set(['UINT8', 'FP32', 'FP16', 'FP64', 'BF16']);
/** A smaller one is a table. */
const SIDE_MIN = 8;
const SIDE_MAX = 4096;

const isColour = (dim: number | undefined): boolean => dim === 1 || dim === 3;
const isSide = (dim: number | undefined): boolean =>
  dim !== undefined && (dim < 0 || (dim >= SIDE_MIN && dim <= SIDE_MAX));

/** undefined: it does not look like one. Free sides count only where the colours are sure. */
export function pictureOf({ datatype, shape, unknownRank = false }: Shaped): Picture | undefined {
  if (unknownRank || !TYPES.has(datatype) || shape.length < 3 || shape.length > 4) return undefined;
  const from = shape.length - 3;
  const batch = from === 1 ? 0 : -1;
  const [a, b, c] = shape.slice(from);
  if (isSide(a) && isSide(b) && isColour(c)) {
    return { batch, rows: from, columns: from + 1, channels: from + 2 };
  }
  if (isColour(a) && isSide(b) && isSide(c)) {
    return { batch, rows: from + 1, columns: from + 2, channels: from };
  }
  return undefined;
}

/** Strides of a shape in row-major order. */
function strides(shape: readonly number[]): number[] {
  const steps = shape.map(() => 1);
  for (let axis = shape.length - 2; axis >= 0; axis -= 1) {
    steps[axis] = (steps[axis + 1] ?? 1) * (shape[axis + 1] ?? 1);
  }
  return steps;
}

interface Places {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly at: (x: number, y: number, channel: number) => number;
}

function placesOf(picture: Picture, shape: readonly number[]): Places {
  const steps = strides(shape);
  const step = (axis: number): number => steps[axis] ?? 0;
  return {
    width: shape[picture.columns] ?? 0,
    height: shape[picture.rows] ?? 0,
    channels: shape[picture.channels] ?? 1,
    at: (x, y, channel) =>
      y * step(picture.rows) + x * step(picture.columns) + channel * step(picture.channels),
  };
}

function scaled(byte: number, channel: number, scaling: Scaling): number {
  if (scaling === 'bytes') return byte;
  const unit = byte / 255;
  if (scaling === 'unit') return unit;
  if (scaling === 'signed') return unit * 2 - 1;
  return (unit - (MEAN[channel] ?? 0.5)) / (DEVIATION[channel] ?? 0.25);
}

/** The numbers of what `canvas` shows, row-major; every row of a batch gets the same. */
export function canvasValues(
  canvas: HTMLCanvasElement,
  picture: Picture,
  shape: readonly number[],
  scaling: Scaling,
): number[] {
  const { width, height, channels, at } = placesOf(picture, shape);
  const small = document.createElement('canvas');
  [small.width, small.height] = [width, height];
  const context = small.getContext('2d', { willReadFrequently: true });
  if (context === null) throw new Error('this browser cannot draw on a canvas');
  context.drawImage(canvas, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const one = new Array<number>(width * height * channels).fill(0);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const from = (y * width + x) * 4;
      const [red = 0, green = 0, blue = 0] = data.subarray(from, from + 3);
      for (let channel = 0; channel < channels; channel += 1) {
        const grey = 0.299 * red + 0.587 * green + 0.114 * blue;
        const byte = channels === 1 ? grey : ([red, green, blue][channel] ?? 0);
        const value = scaled(scaling === 'bytes' ? Math.round(byte) : byte, channel, scaling);
        one[at(x, y, channel)] = Math.round(value * 1e5) / 1e5;
      }
    }
  }
  const rows = picture.batch < 0 ? 1 : (shape[picture.batch] ?? 1);
  return Array.from({ length: rows }, () => one).flat();
}

/** A canvas with the picture that these numbers are: bytes as they are, others from the least to
 * the largest. */
export function canvasOf(
  values: readonly number[],
  picture: Picture,
  shape: readonly number[],
  datatype: string,
): HTMLCanvasElement {
  const { width, height, channels, at } = placesOf(picture, shape);
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d');
  if (context === null) return canvas;
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) [least, most] = [Math.min(least, value), Math.max(most, value)];
  const isBytes = datatype === 'UINT8' || (least >= 0 && most > 1 && most <= 255);
  const [low, high] = isBytes ? [0, 255] : least >= 0 && most <= 1 ? [0, 1] : [least, most];
  const image = context.createImageData(width, height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      for (let channel = 0; channel < 3; channel += 1) {
        const value = values[at(x, y, Math.min(channel, channels - 1))] ?? 0;
        const byte = high === low ? 0 : ((value - low) / (high - low)) * 255;
        image.data[(y * width + x) * 4 + channel] = byte;
      }
      image.data[(y * width + x) * 4 + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The placeholder image: a coloured circle on a gradient. */
export function testCard(): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [256, 256];
  const context = canvas.getContext('2d');
  if (context === null) return canvas;
  const gradient = context.createLinearGradient(0, 0, 256, 256);
  gradient.addColorStop(0, '#134e5e');
  gradient.addColorStop(1, '#e9c46a');
  context.fillStyle = gradient;
  context.fillRect(0, 0, 256, 256);
  context.fillStyle = '#e76f51';
  context.beginPath();
  context.arc(128, 128, 72, 0, Math.PI * 2);
  context.fill();
  return canvas;
}

/** Draws an image file. Rejects if it is not an image. */
export async function canvasOfFile(file: Blob): Promise<HTMLCanvasElement> {
  const bitmap = await createImageBitmap(file);
  const canvas = document.createElement('canvas');
  const scale = Math.min(1, 1024 / Math.max(bitmap.width, bitmap.height));
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas;
}
