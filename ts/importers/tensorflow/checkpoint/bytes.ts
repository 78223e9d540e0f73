// Common tools of the checkpoint readers: errors with a location, bounded numbers, memory, and
// pieces of files. Control plane: the importer's worker thread.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { VARINT_BYTES_MAX } from '../../../protobuf/wire.js';
import { ServalError, modelInvalid } from '../../../base/errors.js';

/** Maximum of one read call; the system allows less than 2 GiB. */
const READ_BYTES_MAX = 1_073_741_824;

/** Zeroed memory. The caller has checked that the checkpoint has bytes for it. */
export function allocate(bytes: number, where: string): Uint8Array {
  try {
    return new Uint8Array(bytes);
  } catch {
    throw modelInvalid(where, `cannot allocate ${bytes} bytes of memory`);
  }
}

/** Reads bytes sequentially. Errors: ModelInvalid naming `where` and the byte. */
export class Cursor {
  position: number;
  readonly end: number;
  readonly #bytes: Uint8Array;
  readonly #where: string;

  constructor(bytes: Uint8Array, where: string, position = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#where = where;
    this.position = position;
    this.end = end;
  }

  get left(): number {
    return this.end - this.position;
  }

  /** A varint below 2^53. */
  varint(what: string): number {
    const start = this.position;
    let value = 0;
    for (let i = 0, scale = 1; i < VARINT_BYTES_MAX; i += 1, scale *= 128) {
      const byte = this.#byte(start, what);
      value += (byte & 0x7f) * scale;
      if (byte >= 0x80) continue;
      if (value <= Number.MAX_SAFE_INTEGER) return value;
      return this.fail(start, `${what}: expected a number below 2^53`);
    }
    return this.fail(start, `${what}: a number is longer than ${VARINT_BYTES_MAX} bytes`);
  }

  /** The next `count` bytes: a view. */
  take(count: number, what: string): Uint8Array {
    if (count > this.left) {
      this.fail(this.position, `${what}: expected ${count} bytes, got ${this.left}`);
    }
    this.position += count;
    return this.#bytes.subarray(this.position - count, this.position);
  }

  fail(position: number, what: string): never {
    throw modelInvalid(this.#where, `byte ${position}: ${what}`);
  }

  #byte(start: number, what: string): number {
    if (this.position >= this.end) this.fail(start, `${what}: the data end inside a number`);
    const byte = this.#bytes[this.position] ?? 0;
    this.position += 1;
    return byte;
  }
}

/** `bytes` as text with one character per byte, which preserves equality and order. */
export function byteText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

export const hex32 = (value: number): string => `0x${value.toString(16).padStart(8, '0')}`;

/** The size of a regular file. Errors: ModelInvalid. */
export function fileBytes(path: string): number {
  return withFile(path, (_, size) => size);
}

/**
 * `count` bytes of a file from `offset` on. Errors: ModelInvalid, also if the file is too short.
 */
export function readRange(path: string, offset: number, count: number): Uint8Array {
  return withFile(path, (file, size) => {
    if (offset + count > size) {
      throw modelInvalid(
        path,
        `expected ${count} bytes from byte ${offset} on, got a file of ${size} bytes`,
      );
    }
    const bytes = allocate(count, path);
    let filled = 0;
    while (filled < count) {
      const wanted = Math.min(READ_BYTES_MAX, count - filled);
      const got = readSync(file, bytes, filled, wanted, offset + filled);
      if (got === 0)
        throw modelInvalid(path, `the file ended at byte ${offset + filled} while read`);
      filled += got;
    }
    return bytes;
  });
}

function withFile<T>(path: string, use: (file: number, size: number) => T): T {
  let file: number | undefined;
  try {
    // Non-blocking: a named pipe would wait for a writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) throw modelInvalid(path, 'expected a regular file');
    return use(file, stat.size);
  } catch (error) {
    if (error instanceof ServalError) throw error;
    throw modelInvalid(path, `cannot be read: ${(error as Error).message}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
