// The folder of GPU libraries while a command changes it: its lock, its list of packages and its
// free space. Control plane.
import { mkdir, open, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import {
  MANIFEST_FORMAT,
  MANIFEST_NAME,
  type InstalledPackage,
} from '../../../engine/gpu-folder.js';
import { InstallError } from './install-error.js';
import { megabytes } from './progress.js';

/** Folder of downloads that are not complete. */
export const DOWNLOADS = '.downloads';
const LOCK = '.installing';

/**
 * Makes the folder if it is missing and runs `change` while no other process changes the folder.
 * Errors: InstallError.
 */
export async function whileLocked<T>(folder: string, change: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new InstallError(`${folder}: ${reasonOf(error)}`, true);
  });
  await lock(folder);
  try {
    return await change();
  } finally {
    await rm(join(folder, LOCK), { force: true });
  }
}

/** Errors: InstallError with the free space expected and got. */
export async function checkSpace(folder: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (needed <= free) return;
  throw new InstallError(
    `${folder}: expected ${megabytes(needed)} MB of free space, got ${megabytes(free)} MB`,
    true,
  );
}

/** Replaces the folder's list of packages. */
export async function writeManifest(
  folder: string,
  packages: readonly InstalledPackage[],
): Promise<void> {
  const path = join(folder, MANIFEST_NAME);
  const text = JSON.stringify({ format: MANIFEST_FORMAT, packages }, undefined, 2);
  await writeFile(`${path}.part`, `${text}\n`);
  await rename(`${path}.part`, path);
}

/** Allows one installation at a time. The lock of a process that has ended is ignored. */
async function lock(folder: string): Promise<void> {
  const path = join(folder, LOCK);
  for (let turn = 0; turn < 2; turn++) {
    try {
      const file = await open(path, 'wx');
      await file.writeFile(String(process.pid)).finally(() => file.close());
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new InstallError(`${folder}: ${reasonOf(error)}`, true);
      }
    }
    const pid = Number(await readFile(path, 'utf8').catch(() => ''));
    if (pid > 0 && isAlive(pid)) {
      throw new InstallError(`${folder}: process ${pid} is installing into it`, true);
    }
    await rm(path, { force: true });
  }
  throw new InstallError(`${folder}: another process is installing into it`, true);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
