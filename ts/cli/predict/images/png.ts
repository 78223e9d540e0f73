// Reads a PNG image: every color type, depth and interlacing. Pure; control plane. Source: PNG
// specification, third edition (W3C), 7 to 11 and 13.8. CRCs of chunks are not checked: zlib's
// checksum already protects the pixels.
import { inflateSync } from 'node:zlib';
import { ErrorCode, ServalError, reasonOf } from '../../../base/errors.js';
import { PICTURE_PIXELS_MAX } from '../../../base/limits.js';

/** Pixels row by row, from the top; channels interleaved. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  /** 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha. */
  readonly channels: number;
  /** 0 to 255, or to 65535 for 16-bit images. */
  readonly data: Uint8Array | Uint16Array;
}

interface Header {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  /** Samples per pixel in the file; 1 for a palette. */
  readonly samples: number;
  readonly colorType: number;
  readonly isInterlaced: boolean;
}

/** One pass of Adam7, or the whole image. */
interface Pass {
  readonly x: number;
  readonly y: number;
  readonly stepX: number;
  readonly stepY: number;
}

export const PNG_BEGIN = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const GRAY = 0;
const RGB = 2;
const PALETTE = 3;
const SAMPLES: Readonly<Record<number, number>> = { [GRAY]: 1, [RGB]: 3, [PALETTE]: 1, 4: 2, 6: 4 };
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  [GRAY]: [1, 2, 4, 8, 16],
  [PALETTE]: [1, 2, 4, 8],
};
const WHOLE: readonly Pass[] = [{ x: 0, y: 0, stepX: 1, stepY: 1 }];
const ADAM7: readonly Pass[] = [
  { x: 0, y: 0, stepX: 8, stepY: 8 },
  { x: 4, y: 0, stepX: 8, stepY: 8 },
  { x: 0, y: 4, stepX: 4, stepY: 8 },
  { x: 2, y: 0, stepX: 4, stepY: 4 },
  { x: 0, y: 2, stepX: 2, stepY: 4 },
  { x: 1, y: 0, stepX: 2, stepY: 2 },
  { x: 0, y: 1, stepX: 1, stepY: 2 },
];

const bad = (message: string): ServalError =>
  new ServalError(ErrorCode.InvalidArgument, `PNG: ${message}`);

/** Gamma, color profiles and the background are not applied. Errors: InvalidArgument. */
export function readPng(file: Buffer): Picture {
  const { header, palette, transparency, packed } = readChunks(file);
  const samples = unpacked(header, packed);
  return toPicture(header, samples, palette, transparency);
}

interface Chunks {
  readonly header: Header;
  readonly palette: Uint8Array | undefined;
  readonly transparency: Uint8Array | undefined;
  readonly packed: Buffer;
}

function readChunks(file: Buffer): Chunks {
  if (!file.subarray(0, PNG_BEGIN.length).equals(PNG_BEGIN))
    throw bad('expected the PNG signature');
  let header: Header | undefined;
  let palette: Uint8Array | undefined;
  let transparency: Uint8Array | undefined;
  const data: Buffer[] = [];
  for (let at = PNG_BEGIN.length; at + 8 <= file.length; ) {
    const length = file.readUInt32BE(at);
    const name = file.toString('latin1', at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + length);
    if (body.length < length) throw bad(`the chunk ${JSON.stringify(name)} is truncated`);
    if (name === 'IHDR') header ??= readHeader(body);
    else if (name === 'PLTE') palette ??= body;
    else if (name === 'tRNS') transparency ??= body;
    else if (name === 'IDAT') data.push(body);
    else if (name === 'IEND') break;
    at += 12 + length;
  }
  if (header === undefined) throw bad('expected a header (IHDR)');
  if (header.colorType === PALETTE && palette === undefined) throw bad('expected a palette (PLTE)');
  return { header, palette, transparency, packed: Buffer.concat(data) };
}

function readHeader(body: Buffer): Header {
  if (body.length !== 13) throw bad(`expected a header of 13 bytes, got ${body.length}`);
  const [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
  const [depth = 0, colorType = 0, compression = 0, filter = 0, interlace = 0] = body.subarray(8);
  const samples = SAMPLES[colorType];
  const isKnown = samples !== undefined && (DEPTHS[colorType] ?? [8, 16]).includes(depth);
  if (!isKnown) throw bad(`invalid color type ${colorType} with ${depth} bits`);
  if (compression !== 0 || filter !== 0 || interlace > 1) throw bad('an unknown method');
  if (width === 0 || height === 0) throw bad(`an image of ${width} x ${height}`);
  if (width * height > PICTURE_PIXELS_MAX) {
    throw bad(`expected at most ${PICTURE_PIXELS_MAX} pixels, got ${width} x ${height}`);
  }
  return { width, height, depth, samples, colorType, isInterlaced: interlace === 1 };
}

/** Bytes of a row after its filter byte. */
const rowBytes = ({ depth, samples }: Header, pixels: number): number =>
  Math.ceil((pixels * depth * samples) / 8);

const sizeOf = ({ width, height }: Header, { x, y, stepX, stepY }: Pass) => ({
  columns: Math.max(0, Math.ceil((width - x) / stepX)),
  rows: Math.max(0, Math.ceil((height - y) / stepY)),
});

/** All samples in their positions, with the file's values. */
function unpacked(header: Header, packed: Buffer): Uint8Array | Uint16Array {
  const passes = header.isInterlaced ? ADAM7 : WHOLE;
  const total = passes.reduce((sum, pass) => {
    const { columns, rows } = sizeOf(header, pass);
    return sum + (columns === 0 ? 0 : rows * (1 + rowBytes(header, columns)));
  }, 0);
  const bytes = inflated(packed, total);
  const { width, height, samples, depth } = header;
  const count = width * height * samples;
  const out = depth === 16 ? new Uint16Array(count) : new Uint8Array(count);
  let at = 0;
  for (const pass of passes) {
    const { columns, rows } = sizeOf(header, pass);
    if (columns === 0) continue;
    const stride = rowBytes(header, columns);
    const pixelBytes = Math.max(1, (samples * depth) / 8);
    let above: Uint8Array = new Uint8Array(stride);
    for (let row = 0; row < rows; row += 1) {
      const line = bytes.subarray(at + 1, at + 1 + stride);
      unfilter(bytes[at] ?? 0, line, above, pixelBytes);
      const place = (pass.y + row * pass.stepY) * width + pass.x;
      putRow(header, line, columns, out, { place, step: pass.stepX });
      above = line;
      at += 1 + stride;
    }
  }
  return out;
}

function inflated(packed: Buffer, total: number): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = inflateSync(packed, { maxOutputLength: total });
  } catch (error) {
    throw bad(`its pixels cannot be decompressed: ${reasonOf(error)}`);
  }
  if (bytes.length !== total) throw bad(`expected ${total} bytes of pixels, got ${bytes.length}`);
  return bytes;
}

/** Source: PNG 9. Works in place. */
function unfilter(filter: number, line: Uint8Array, above: Uint8Array, pixelBytes: number): void {
  if (filter > 4) throw bad(`unknown filter ${filter}`);
  for (let i = 0; filter !== 0 && i < line.length; i += 1) {
    const left = i < pixelBytes ? 0 : (line[i - pixelBytes] ?? 0);
    const up = above[i] ?? 0;
    const corner = i < pixelBytes ? 0 : (above[i - pixelBytes] ?? 0);
    line[i] = (line[i] ?? 0) + predicted(filter, left, up, corner);
  }
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function putRow(
  { depth, samples }: Header,
  line: Uint8Array,
  columns: number,
  out: Uint8Array | Uint16Array,
  { place, step }: { readonly place: number; readonly step: number },
): void {
  const mask = 2 ** depth - 1;
  for (let i = 0; i < columns * samples; i += 1) {
    const pixel = Math.floor(i / samples);
    const at = (place + pixel * step) * samples + (i % samples);
    if (depth === 8) out[at] = line[i] ?? 0;
    else if (depth === 16) out[at] = ((line[2 * i] ?? 0) << 8) | (line[2 * i + 1] ?? 0);
    else {
      const bit = i * depth;
      out[at] = ((line[bit >> 3] ?? 0) >> (8 - depth - (bit & 7))) & mask;
    }
  }
}

function toPicture(
  header: Header,
  samples: Uint8Array | Uint16Array,
  palette: Uint8Array | undefined,
  transparency: Uint8Array | undefined,
): Picture {
  const { width, height, depth, colorType } = header;
  const count = width * height;
  if (palette !== undefined && colorType === PALETTE) {
    const channels = transparency === undefined ? 3 : 4;
    const data = new Uint8Array(count * channels);
    for (let i = 0; i < count; i += 1) {
      const entry = samples[i] ?? 0;
      if (entry * 3 + 3 > palette.length) throw bad(`the palette has no entry ${entry}`);
      for (let c = 0; c < 3; c += 1) data[i * channels + c] = palette[entry * 3 + c] ?? 0;
      if (channels === 4) data[i * channels + 3] = transparency?.[entry] ?? 255;
    }
    return { width, height, channels, data };
  }
  const own = header.samples;
  const isKeyed = transparency !== undefined && (colorType === GRAY || colorType === RGB);
  const key = isKeyed ? keyOf(transparency, own) : undefined;
  // Scales 1, 2 and 4 bits to the range of 8.
  const factor = depth < 8 ? 255 / (2 ** depth - 1) : 1;
  if (key === undefined && factor === 1) return { width, height, channels: own, data: samples };
  const channels = key === undefined ? own : own + 1;
  const Values = depth === 16 ? Uint16Array : Uint8Array;
  const data = new Values(count * channels);
  for (let i = 0; i < count; i += 1) {
    let isKey = key !== undefined;
    for (let c = 0; c < own; c += 1) {
      const sample = samples[i * own + c] ?? 0;
      isKey &&= sample === key?.[c];
      data[i * channels + c] = sample * factor;
    }
    if (key !== undefined) data[i * channels + own] = isKey ? 0 : 2 ** Math.max(8, depth) - 1;
  }
  return { width, height, channels, data };
}

function keyOf(transparency: Uint8Array, samples: number): readonly number[] {
  if (transparency.length !== samples * 2) throw bad('a color key (tRNS) of the wrong length');
  return Array.from(
    { length: samples },
    (_, c) => ((transparency[2 * c] ?? 0) << 8) | (transparency[2 * c + 1] ?? 0),
  );
}
