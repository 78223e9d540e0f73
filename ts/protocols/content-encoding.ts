// What is said of a body before it is read (length, coding), and compressed bodies, both ways: gzip
// and deflate through Node's zlib, off the listener's thread.
// Hot plane's slow lane; the listener's thread starts it.
import { constants, deflate, gunzip, gzip, inflate, inflateRaw } from 'node:zlib';
import { ErrorCode, ServalError } from '../errors.js';

export type Coding = 'identity' | 'gzip' | 'deflate';

/** Codings that the engine unpacks; native/codec/inflate.h has the same numbers. */
export const PACKED_CODINGS: ReadonlyMap<string, number> = new Map([['gzip', 0], ['deflate', 1]]);

// Fast rather than small: the answer waits for it.
const COMPRESSION = { level: constants.Z_BEST_SPEED };

/** What a Content-Encoding header means; undefined = none that we read. */
export function requestCoding(header: string): Coding | undefined {
  const name = header.trim().toLowerCase();
  if (name === '' || name === 'identity') return 'identity';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  return name === 'deflate' ? 'deflate' : undefined;
}

/** A Content-Length header in bytes; 0 when it is absent. Errors: BodyTooLarge. */
export function checkedLength(header: string, bytesMax: number): number {
  const length = header === '' ? 0 : Number(header);
  if (!(length > bytesMax)) return length;
  throw new ServalError(ErrorCode.BodyTooLarge,
    `request body of ${header} bytes is over the limit of ${bytesMax} bytes`);
}

/** Of a body that turned out to be longer than it may be. */
export function overLimit(bytesMax: number): ServalError {
  return new ServalError(ErrorCode.BodyTooLarge,
    `request body is over the limit of ${bytesMax} bytes`);
}

/** A Content-Encoding header's coding. Errors: UnsupportedEncoding. */
export function bodyCoding(header: string): Coding {
  const coding = requestCoding(header);
  if (coding !== undefined) return coding;
  throw new ServalError(ErrorCode.UnsupportedEncoding,
    `Content-Encoding '${header.slice(0, 64)}' is not supported; `
    + 'expected gzip, deflate or identity');
}

/** The coding that an Accept-Encoding header likes best; identity where it wants neither.
 * Source: RFC 9110 12.5.3 (q values, "*"). */
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

/** Unpacks a body; at most `bytesMax` bytes come out.
 * Errors: BodyTooLarge, MalformedBody (cut, broken, wrong trailer, bytes behind its end). */
export function unpack(coding: Coding, body: Buffer, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { maxOutputLength: bytesMax, info: true };
    const done = (error: Error | null, result: unknown): void => {
      if (error !== null) {
        reject(unpackError(coding, error, bytesMax));
        return;
      }
      const { buffer, engine } = result as Unpacked;
      const left = body.length - engine.bytesWritten;
      if (left === 0) resolve(buffer);
      else reject(unpackError(coding, new Error(`${left} bytes behind its end`), bytesMax));
    };
    if (coding === 'gzip') gunzip(body, options, done);
    // "deflate" means the zlib format; some clients send the bare stream, whose first byte differs.
    else if (((body[0] ?? 0) & 0x0f) === 8) inflate(body, options, done);
    else inflateRaw(body, options, done);
  });
}

/** What zlib calls back with under `info`. */
interface Unpacked {
  readonly buffer: Buffer;
  /** Of the packed body, how many bytes were read. */
  readonly engine: { readonly bytesWritten: number };
}

function unpackError(coding: Coding, error: Error, bytesMax: number): ServalError {
  if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
    const text = `request body is over the limit of ${bytesMax} bytes once unpacked (${coding})`;
    return new ServalError(ErrorCode.BodyTooLarge, text);
  }
  const text = `request body is not valid ${coding}: ${error.message}`;
  return new ServalError(ErrorCode.MalformedBody, text);
}

/** Packs an answer. Errors: Internal. */
export function pack(coding: 'gzip' | 'deflate', body: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, result: Buffer): void => {
      if (error === null) resolve(result);
      else {
      const text = `cannot compress the answer: ${error.message}`;
      reject(new ServalError(ErrorCode.Internal, text));
    }
    };
    if (coding === 'gzip') gzip(body, COMPRESSION, done);
    else deflate(body, COMPRESSION, done);
  });
}
