// Reads a TFRecord file record by record: uint64 length, masked CRC-32C of the length, data, masked
// CRC-32C of the data, little-endian. The whole file is never in memory; a record is read in
// pieces, so that other work of the thread can run in between. Control plane. Source: tfserving.md
// 3.6.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { crc32c, maskCrc } from '../../protobuf/crc32c.js';
import { WARMUP_BYTES_MAX } from '../../model/infer/tensor.js';

/** Maximum records of one warmup file; TensorFlow Serving's own limit. */
export const WARMUP_RECORDS_MAX = 1000;

/** A record: the length and its checksum, the data and its checksum. */
export const LENGTH_BYTES = 8;
export const CRC_BYTES = 4;
const HEAD_BYTES = LENGTH_BYTES + CRC_BYTES;
const PIECE_BYTES = 1_048_576;
const UINT32_RANGE = 4_294_967_296;
const GZIP_MAGIC = 0x8b1f;

export interface TfRecord {
  /** Counted from 0. */
  readonly index: number;
  readonly data: Uint8Array;
}

interface Source {
  readonly path: string;
  readonly handle: FileHandle;
  /** The file's size when it was opened. */
  readonly bytes: number;
}

/**
 * Yields the records of `path`, each read on demand; none if there is no such file. Errors:
 * ServalError (ModelInvalid) that begins with "warmup file PATH" or "warmup record N" and gives the
 * byte.
 */
export async function* readTfRecords(path: string): AsyncGenerator<TfRecord> {
  const handle = await openFile(path);
  if (handle === undefined) return;
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw fileError(path, 'expected a regular file');
    const source = { path, handle, bytes: stat.size };
    let offset = 0;
    for (let index = 0; offset < source.bytes; index += 1) {
      if (index === WARMUP_RECORDS_MAX) {
        throw fileError(
          path,
          `expected at most ${WARMUP_RECORDS_MAX} records, got more; ` +
            `record ${index} begins at byte ${offset}`,
        );
      }
      const data = await readRecord(source, index, offset);
      offset += HEAD_BYTES + data.length + CRC_BYTES;
      yield { index, data };
    }
  } finally {
    await handle.close();
  }
}

/** Returns undefined if the file, or a folder on the way to it, does not exist. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    // Non-blocking: a named pipe would wait for a writer.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw fileError(path, `cannot be opened: ${(error as Error).message}`);
  }
}

async function readRecord(source: Source, index: number, offset: number): Promise<Uint8Array> {
  const fail = (what: string): never => {
    throw new ServalError(
      ErrorCode.ModelInvalid,
      `warmup record ${index}: byte ${offset} of ${source.path}: DATA_LOSS: ${what}; the file must ` +
        'be a whole, uncompressed TFRecord file of tensorflow.serving.PredictionLog',
    );
  };
  const head = new Uint8Array(HEAD_BYTES);
  const headRead = await readInto(source, head, offset, () => undefined);
  if (headRead < HEAD_BYTES) {
    return fail(`the file ends after ${headRead} of the ${HEAD_BYTES} bytes of the length`);
  }
  const view = new DataView(head.buffer);
  const lengthCrc = maskCrc(crc32c(head.subarray(0, LENGTH_BYTES)));
  const stored = view.getUint32(LENGTH_BYTES, true);
  if (lengthCrc !== stored) {
    const gzip = offset === 0 && view.getUint16(0, true) === GZIP_MAGIC;
    const what = `checksum of the length: stored ${hex(stored)}, computed ${hex(lengthCrc)}`;
    return fail(gzip ? `${what} (the file is compressed with gzip)` : what);
  }
  const length = view.getUint32(4, true) * UINT32_RANGE + view.getUint32(0, true);
  const left = source.bytes - offset - HEAD_BYTES;
  if (length + CRC_BYTES > left) {
    return fail(
      `expected ${length} bytes of data and ${CRC_BYTES} of their checksum, ` +
        `only ${left} remain`,
    );
  }
  if (length > WARMUP_BYTES_MAX) {
    return fail(`expected a record of at most ${WARMUP_BYTES_MAX} bytes, got ${length}`);
  }
  return readData(source, offset + HEAD_BYTES, length, fail);
}

async function readData(
  source: Source,
  offset: number,
  length: number,
  fail: (what: string) => never,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length + CRC_BYTES);
  let crc = 0;
  const read = await readInto(source, bytes, offset, (piece, at) => {
    crc = crc32c(piece.subarray(0, Math.max(0, length - at)), crc);
  });
  if (read < bytes.length) {
    return fail(
      `expected ${bytes.length} bytes of data and checksum, the file now ends after ` + `${read}`,
    );
  }
  const computed = maskCrc(crc);
  const stored = new DataView(bytes.buffer).getUint32(length, true);
  if (computed !== stored) {
    return fail(`checksum of the data: stored ${hex(stored)}, computed ${hex(computed)}`);
  }
  return bytes.subarray(0, length);
}

/**
 * Fills `out` from `offset` on; returns fewer bytes than its capacity only at the end of the file.
 * `seen` receives each piece and its position in `out`.
 */
async function readInto(
  source: Source,
  out: Uint8Array,
  offset: number,
  seen: (piece: Uint8Array, at: number) => void,
): Promise<number> {
  let filled = 0;
  while (filled < out.length) {
    const wanted = Math.min(PIECE_BYTES, out.length - filled);
    const { bytesRead } = await readPiece(source, out, filled, wanted, offset + filled);
    if (bytesRead === 0) break;
    seen(out.subarray(filled, filled + bytesRead), filled);
    filled += bytesRead;
  }
  return filled;
}

async function readPiece(
  source: Source,
  out: Uint8Array,
  at: number,
  wanted: number,
  offset: number,
): Promise<{ bytesRead: number }> {
  try {
    return await source.handle.read(out, at, wanted, offset);
  } catch (error) {
    throw fileError(source.path, `cannot be read at byte ${offset}: ${(error as Error).message}`);
  }
}

function fileError(path: string, what: string): ServalError {
  return new ServalError(ErrorCode.ModelInvalid, `warmup file ${path}: ${what}`);
}

const hex = (crc: number): string => `0x${crc.toString(16).padStart(8, '0')}`;
