// Downloads a wheel to a file: it is hashed while it streams, and interrupted downloads resume.
// Control plane.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { reasonOf } from '../../../base/errors.js';
import type { Wheel } from '../../../models/placement/wheels.js';
import { InstallError } from './install-error.js';
import { get, shown, unavailable, type WebOptions } from './web.js';

/** Consecutive failed connections without progress, per wheel. */
const TRIES_MAX = 5;
const PAUSE_MS = 1000;

export interface DownloadOptions extends WebOptions {
  /** Called with the number of bytes downloaded so far. */
  readonly onBytes: (bytes: number) => void;
  readonly pauseMs?: number;
}

/**
 * Writes `url` to `to`, which exists only once it is complete and correct; `to`.part keeps the data
 * of an interrupted download, also for a later process. Errors: InstallError with the hash expected
 * and got (then nothing is kept).
 */
export async function download(
  wheel: Wheel,
  url: string,
  to: string,
  options: DownloadOptions,
): Promise<void> {
  const part = `${to}.part`;
  let tries = 0;
  let state = await resumed(part, wheel, options);
  while (state.bytes < wheel.bytes) {
    const before = state.bytes;
    try {
      state = await fetchRest(wheel, url, part, state, options);
    } catch (error) {
      const size = (await stat(part).catch(() => undefined))?.size ?? 0;
      tries = size > before ? 1 : tries + 1;
      if (tries >= TRIES_MAX || isFinal(error)) throw error;
      await pause((options.pauseMs ?? PAUSE_MS) * tries);
      state = await resumed(part, wheel, options);
    }
  }
  const got = state.hash.digest('hex');
  if (state.bytes === wheel.bytes && got === wheel.sha256) return rename(part, to);
  await rm(part, { force: true });
  throw new InstallError(
    `${wheel.file} of ${shown(url)}: expected ${wheel.bytes} bytes of sha256 ${wheel.sha256}, ` +
      `got ${state.bytes} of ${got}; the download was discarded`,
    true,
  );
}

interface Received {
  readonly bytes: number;
  readonly hash: Hash;
}

/** Rehashes the data of an interrupted download. */
async function resumed(part: string, wheel: Wheel, options: DownloadOptions): Promise<Received> {
  const hash = createHash('sha256');
  const size = (await stat(part).catch(() => undefined))?.size ?? 0;
  if (size === 0) return { bytes: 0, hash };
  if (size > wheel.bytes) {
    await rm(part);
    return { bytes: 0, hash };
  }
  for await (const chunk of createReadStream(part) as AsyncIterable<Buffer>) hash.update(chunk);
  options.onBytes(size);
  return { bytes: size, hash };
}

async function fetchRest(
  wheel: Wheel,
  url: string,
  part: string,
  have: Received,
  options: DownloadOptions,
): Promise<Received> {
  const range = have.bytes === 0 ? {} : { range: `bytes=${have.bytes}-` };
  const found = await get(url, range, options);
  const goesOn = have.bytes > 0 && found.status === 206 && startsAt(found.headers) === have.bytes;
  if (!goesOn && found.status !== 200) {
    found.body.destroy();
    if (have.bytes > 0) await rm(part);
    throw new InstallError(`${shown(url)} answered ${found.status}`, found.status === 404);
  }
  const hash = goesOn ? have.hash : createHash('sha256');
  let bytes = goesOn ? have.bytes : 0;
  const file = await open(part, goesOn ? 'a' : 'w');
  try {
    for await (const chunk of found.body as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > wheel.bytes) return { bytes, hash };
      hash.update(chunk);
      await file.write(chunk);
      options.onBytes(bytes);
    }
    if (bytes < wheel.bytes)
      throw new Error(`the download ended after ${bytes} of ${wheel.bytes} bytes`);
    await file.sync();
  } catch (error) {
    throw isDiskError(error) ? error : unavailable(url, reasonOf(error));
  } finally {
    found.body.destroy();
    await file.close();
  }
  return { bytes, hash };
}

/** "bytes 100-199/200" -> 100 */
function startsAt(headers: { readonly 'content-range'?: string | undefined }): number {
  return Number(/^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1] ?? -1);
}

const isDiskError = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Whether retrying cannot help. */
function isFinal(error: unknown): boolean {
  if (isDiskError(error)) return true;
  return error instanceof InstallError && error.isFinal;
}
