// Body headers (length, coding), and compressed bodies in both directions: gzip, deflate and zstd
// through Node's zlib, off the listener's thread. (The engine and the native listener handle gzip
// and deflate of inference requests.) Hot path, compressed bodies only; the listener's thread
// starts it.
import * as zlib from 'node:zlib';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { PackedCoding } from '../../base/generated/engine.js';
import { hasWholeFrames } from './zstd-frames.js';

export type PackedName = 'gzip' | 'deflate' | 'zstd';
export type Coding = 'identity' | PackedName;

/** Types that @types/node 20 lacks. */
interface Zstd {
  readonly createZstdDecompress: () => zlib.Gunzip;
  readonly zstdCompress: (
    body: Buffer,
    options: { readonly params: Readonly<Record<number, number>> },
    done: (error: Error | null, result: Buffer) => void,
  ) => void;
}

/** Node's implementation, from 22.15 on; undefined before. */
const zstd = 'zstdCompress' in zlib ? (zlib as unknown as Zstd) : undefined;
const ZSTD_PARAMETER_LEVEL = 100;

/** The supported request codings, for a client that used another one. */
export const READ_CODINGS: readonly PackedName[] = [
  'gzip',
  'deflate',
  ...(zstd === undefined ? [] : (['zstd'] as const)),
];

/** Codings that the engine decompresses. */
export const PACKED_CODINGS: ReadonlyMap<string, number> = new Map([
  ['gzip', PackedCoding.Gzip],
  ['deflate', PackedCoding.Deflate],
]);

// Fast rather than small: the response waits for it.
const COMPRESSION = { level: zlib.constants.Z_BEST_SPEED };
const ZSTD_COMPRESSION = { params: { [ZSTD_PARAMETER_LEVEL]: 1 } };

/** The coding that a Content-Encoding header names; undefined if unsupported. */
export function requestCoding(header: string): Coding | undefined {
  const name = header.trim().toLowerCase();
  if (name === '' || name === 'identity') return 'identity';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === 'zstd' && zstd !== undefined) return 'zstd';
  return name === 'deflate' ? 'deflate' : undefined;
}

/** A Content-Length header in bytes; 0 if it is absent. Errors: BodyTooLarge. */
export function checkedLength(header: string, bytesMax: number): number {
  const length = header === '' ? 0 : Number(header);
  if (!(length > bytesMax)) return length;
  throw new ServalError(
    ErrorCode.BodyTooLarge,
    `request body of ${header} bytes is over the limit of ${bytesMax} bytes`,
  );
}

/** The error for a body that turned out to be longer than allowed. */
export function overLimit(bytesMax: number): ServalError {
  return new ServalError(
    ErrorCode.BodyTooLarge,
    `request body is over the limit of ${bytesMax} bytes`,
  );
}

/** A Content-Encoding header's coding. Errors: UnsupportedEncoding. */
export function bodyCoding(header: string): Coding {
  const coding = requestCoding(header);
  if (coding !== undefined) return coding;
  throw new ServalError(
    ErrorCode.UnsupportedEncoding,
    `Content-Encoding '${header.slice(0, 64)}' is not supported; ` +
      `expected ${READ_CODINGS.join(', ')} or identity`,
  );
}

/**
 * The coding that an Accept-Encoding header prefers; identity if it allows neither. Source: RFC
 * 9110 12.5.3 (q values, "*").
 */
export function answerCoding(header: string): Coding {
  if (header === '') return 'identity';
  let best: Coding = 'identity';
  let bestQuality = 0;
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const coding = name === '*' ? 'gzip' : requestCoding(name);
    const quality = parameters.find((text) => text.startsWith('q='));
    const q = quality === undefined ? 1 : Number(quality.slice(2));
    if (coding === undefined || name === '' || coding === 'identity') continue;
    if (!(q > bestQuality)) continue;
    best = coding;
    bestQuality = q;
  }
  return best;
}

/** Limits of decompression. */
export interface UnpackLimits {
  readonly bytesMax: number;
  /** Called for each piece before it is kept; false: there is no memory. */
  readonly take: (bytes: number) => boolean;
}

/**
 * Decompresses a body, piece by piece. Errors: BodyTooLarge, MemoryFull, MalformedBody (truncated,
 * corrupt, wrong trailer, trailing bytes).
 */
export async function unpack(
  coding: Coding,
  body: Buffer,
  { bytesMax, take }: UnpackLimits,
): Promise<Buffer> {
  if (coding === 'zstd' && !hasWholeFrames(body))
    throw malformed(coding, 'a frame is truncated or corrupt');
  const unpacker = unpackerOf(coding, body);
  const parts: Buffer[] = [];
  let bytes = 0;
  unpacker.end(body);
  try {
    for await (const part of unpacker as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > bytesMax) {
        throw new ServalError(
          ErrorCode.BodyTooLarge,
          `request body is over the limit of ${bytesMax} bytes after decompression (${coding})`,
        );
      }
      if (!take(2 * part.length)) {
        // counted once more for the whole
        throw new ServalError(
          ErrorCode.MemoryFull,
          `no memory for a request body of more than ${bytes} bytes after decompression`,
        );
      }
      parts.push(part);
    }
  } catch (error) {
    unpacker.destroy();
    throw error instanceof ServalError ? error : malformed(coding, (error as Error).message);
  }
  const left = body.length - unpacker.bytesWritten;
  if (left !== 0) throw malformed(coding, `${left} bytes after its end`);
  return Buffer.concat(parts, bytes);
}

function unpackerOf(coding: Coding, body: Buffer) {
  if (coding === 'gzip') return zlib.createGunzip();
  if (coding === 'zstd' && zstd !== undefined) return zstd.createZstdDecompress();
  // "deflate" means the zlib format; some clients send the bare stream, whose first byte differs.
  return ((body[0] ?? 0) & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw();
}

function malformed(coding: Coding, reason: string): ServalError {
  return new ServalError(ErrorCode.MalformedBody, `request body is not valid ${coding}: ${reason}`);
}

/** Compresses a response. Errors: Internal. */
export function pack(coding: PackedName, body: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, result: Buffer): void => {
      if (error === null) resolve(result);
      else {
        const text = `cannot compress the response: ${error.message}`;
        reject(new ServalError(ErrorCode.Internal, text));
      }
    };
    if (coding === 'zstd') zstd?.zstdCompress(body, ZSTD_COMPRESSION, done);
    else if (coding === 'gzip') zlib.gzip(body, COMPRESSION, done);
    else zlib.deflate(body, COMPRESSION, done);
  });
}
