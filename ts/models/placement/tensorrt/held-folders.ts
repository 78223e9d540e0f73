// Folders held by this process for its lifetime: each is held by a lock on a file in it, which the
// kernel releases however the process ends, so that a later process knows what to remove. Process
// ids would not work: containers that share a folder have the same ones. Control plane, main
// thread.
import { closeSync, constants, fstatSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OWN_FILE_MODE } from '../../../base/own-file.js';
import type { NativeBinding } from '../../../engine/binding.js';
import { TENSORRT } from './cache.js';

export type Locks = Pick<NativeBinding, 'lockFile'>;

/** Process folders: `prefix` plus six characters, below `root`. */
export interface Place {
  readonly root: string;
  readonly prefix: string;
}

const LOCK = 'lock';
/** The suffix that mkdtemp() appends to the prefix. */
const RANDOM = /^[A-Za-z0-9]{6}$/;
const TAKEN = 0;
const OF_ANOTHER = 1;

/** This process's folders, by root and prefix. */
const held = new Map<string, string>();
let removesAtExit = false;

const temporary = (): Place => ({ root: tmpdir(), prefix: 'serval-plans-' });
const below = (cacheFolder: string): Place => ({
  root: join(cacheFolder, TENSORRT, 'plans'),
  prefix: 'server-',
});

/** Location of the folders for engines. `cacheFolder`: --model-cache; "" = none. */
export const tensorRtPlace = (cacheFolder: string): Place =>
  cacheFolder === '' ? temporary() : below(cacheFolder);

/** Creates a new folder inside this process's folder at `place`. Errors: the file system's. */
export async function makeHeldFolder(place: Place, locks: Locks): Promise<string> {
  await mkdir(place.root, { recursive: true });
  const key = join(place.root, place.prefix);
  let folder = held.get(key);
  const isThere = folder !== undefined && (await stat(folder).catch(() => undefined)) !== undefined;
  if (folder === undefined || !isThere) {
    folder = hold(key, locks);
    held.set(key, folder);
  }
  if (!removesAtExit) process.once('exit', removeHeldFolders);
  removesAtExit = true;
  return mkdtemp(join(folder, 'model-'));
}

/** Called when the process ends: nothing loads from them any more. */
export function removeHeldFolders(): void {
  for (const folder of held.values()) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // The next server removes it.
    }
  }
  held.clear();
}

/**
 * Removes the folders of processes that have ended, for models loaded with this cache and without
 * one; returns their paths. Keeps folders whose state is unknown or that belong to another user.
 * Never rejects.
 */
export async function removeLeftovers(
  cacheFolder: string,
  locks: Locks,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const { root, prefix } of [
    temporary(),
    ...(cacheFolder === '' ? [] : [below(cacheFolder)]),
  ]) {
    const names = await readdir(root).catch(() => []);
    const own = names.filter(
      (name) => name.startsWith(prefix) && RANDOM.test(name.slice(prefix.length)),
    );
    for (const name of own) {
      const folder = join(root, name);
      if (await removeLeftover(folder, locks)) removed.push(folder);
    }
  }
  return removed;
}

async function removeLeftover(folder: string, locks: Locks): Promise<boolean> {
  let descriptor: number | undefined;
  try {
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== process.getuid?.()) return false;
    descriptor = openLock(folder);
    if (locks.lockFile(descriptor) !== TAKEN) return false;
    await rm(folder, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/**
 * Makes a folder and locks it. Another process that removes leftovers may lock it first; then a new
 * folder is made. On a file system without locks, the folder is made unlocked and nobody removes
 * it.
 */
function hold(key: string, locks: Locks): string {
  for (;;) {
    const folder = mkdtempSync(key);
    let descriptor: number;
    try {
      descriptor = openLock(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw error;
    }
    const lock = locks.lockFile(descriptor);
    const isGone = lock === OF_ANOTHER || fstatSync(descriptor).nlink === 0;
    // Never closing its file keeps the lock.
    if (!isGone && lock === TAKEN) return folder;
    closeSync(descriptor);
    if (!isGone) return folder;
  }
}

const openLock = (folder: string): number => {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
  return openSync(join(folder, LOCK), O_RDWR | O_CREAT | O_NOFOLLOW, OWN_FILE_MODE);
};
