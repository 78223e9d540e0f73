// Opens <model folder>/warmup/<file>, and nothing outside that folder: neither ".." nor a symbolic
// link can leave it. Control plane. Source: Triton's model configuration,
// ModelWarmup.Input.input_data_file.
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { WARMUP_BYTES_MAX } from '../../model/infer/tensor.js';

/**
 * Reads the first `bytes` bytes of the file, or all of it if undefined. Errors: InvalidArgument for
 * a path outside the folder and for a file that is too short; ModelInvalid for one that cannot be
 * read.
 */
export async function readWarmupDataFile(
  modelFolder: string,
  file: string,
  bytes: number | undefined,
): Promise<Uint8Array> {
  const path = await resolveInside(modelFolder, file);
  try {
    const handle = await open(
      path,
      constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW,
    );
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) {
        throw new ServalError(ErrorCode.ModelInvalid, `${path}: expected a regular file`);
      }
      return await readStart(handle, path, bytes ?? stat.size, stat.size);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw asReadError(error, path);
  }
}

async function readStart(
  handle: FileHandle,
  path: string,
  bytes: number,
  size: number,
): Promise<Uint8Array> {
  if (bytes > WARMUP_BYTES_MAX) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `${path}: expected at most ${WARMUP_BYTES_MAX} bytes, got ${bytes}`,
    );
  }
  if (size < bytes) throw tooShort(path, bytes, size);
  const out = new Uint8Array(bytes);
  let filled = 0;
  while (filled < bytes) {
    const { bytesRead } = await handle.read(out, filled, bytes - filled, filled);
    if (bytesRead === 0) throw tooShort(path, bytes, filled);
    filled += bytesRead;
  }
  return out;
}

function tooShort(path: string, bytes: number, got: number): ServalError {
  return new ServalError(ErrorCode.InvalidArgument, `${path}: expected ${bytes} bytes, got ${got}`);
}

async function resolveInside(modelFolder: string, file: string): Promise<string> {
  const parts = file.split(sep);
  if (file === '' || isAbsolute(file) || file.includes('\0') || parts.includes('..')) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `input_data_file ${JSON.stringify(file)}: expected a path below the model's warmup folder`,
    );
  }
  const wanted = join(modelFolder, 'warmup', file);
  try {
    const folder = join(await realpath(modelFolder), 'warmup');
    const path = await realpath(wanted);
    if (path.startsWith(folder + sep)) return path;
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `input_data_file ${JSON.stringify(file)}: leads outside of ${folder}, to ${path}`,
    );
  } catch (error) {
    throw asReadError(error, wanted);
  }
}

function asReadError(error: unknown, path: string): ServalError {
  if (error instanceof ServalError) return error;
  return new ServalError(
    ErrorCode.ModelInvalid,
    `${path}: cannot be read: ${(error as Error).message}`,
  );
}
