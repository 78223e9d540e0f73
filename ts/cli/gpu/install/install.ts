// Installs wheels' libraries into a folder: existing files are kept, interrupted packages resume,
// and the folder's list names a package only when all its files are in place. Control plane.
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import {
  isWhole,
  MANIFEST_FORMAT,
  MANIFEST_NAME,
  readGpuFolder,
  type InstalledPackage,
} from '../../../engine/gpu-folder.js';
import type { Wheel } from '../../../models/placement/wheels.js';
import { download } from './download.js';
import { InstallError } from './install-error.js';
import { megabytes, type Progress } from './progress.js';
import { findWheel } from './simple-index.js';
import { unpack } from './unpack.js';
import { shown, type WebOptions } from './web.js';

const DOWNLOADS = '.downloads';
const LOCK = '.installing';

export interface InstallOptions extends WebOptions {
  readonly folder: string;
  readonly wheels: readonly Wheel[];
  readonly indexes: readonly string[];
  readonly progress: Progress;
  /** Delay between two tries; tests set it. */
  readonly pauseMs?: number;
}

/**
 * Returns the number of packages installed; 0: all were present. Errors: InstallError. A failed run
 * can be repeated: complete files are kept.
 */
export async function install(options: InstallOptions): Promise<number> {
  const { folder, progress } = options;
  await mkdir(join(folder, DOWNLOADS), { recursive: true }).catch((error: unknown) => {
    throw new InstallError(`${folder}: ${reasonOf(error)}`, true);
  });
  await lock(folder);
  try {
    const installed = new Map(
      (readGpuFolder(folder)?.packages ?? []).map((each) => [each.name, each]),
    );
    const missing = options.wheels.filter((wheel) => !isInstalled(folder, wheel, installed));
    await checkSpace(folder, missing);
    for (const wheel of options.wheels) {
      if (!missing.includes(wheel)) {
        progress.say(`${wheel.package} ${wheel.version} is already installed`);
        continue;
      }
      installed.delete(wheel.package);
      await writeManifest(folder, [...installed.values()]);
      installed.set(wheel.package, await installWheel(wheel, options));
      await writeManifest(folder, [...installed.values()]);
    }
    await rm(join(folder, DOWNLOADS), { recursive: true, force: true });
    return missing.length;
  } finally {
    progress.clear();
    await rm(join(folder, LOCK), { force: true });
  }
}

function isInstalled(
  folder: string,
  wheel: Wheel,
  installed: ReadonlyMap<string, InstalledPackage>,
): boolean {
  const found = installed.get(wheel.package);
  if (found === undefined || found.sha256 !== wheel.sha256) return false;
  return found.files.every((file) => isWhole(folder, file));
}

async function installWheel(wheel: Wheel, options: InstallOptions): Promise<InstalledPackage> {
  const { folder, progress, pauseMs } = options;
  const path = join(folder, DOWNLOADS, wheel.file);
  progress.start();
  progress.show(`${wheel.package}: searching`);
  if (!existsSync(path)) {
    const url = await findWheel(wheel, options.indexes, options);
    const size = `${megabytes(wheel.bytes)} MB`;
    progress.say(`${wheel.package} ${wheel.version} (${wheel.about}, ${size}): ${shown(url)}`);
    await download(wheel, url, path, {
      ...options,
      ...(pauseMs === undefined ? {} : { pauseMs }),
      onBytes: (bytes) => progress.at(wheel.package, bytes, wheel.bytes),
    });
  }
  progress.show(`${wheel.package}: unpacking`);
  const files = await unpack(wheel, path, folder).finally(() => rm(path, { force: true }));
  const { package: name, version, sha256 } = wheel;
  return { name, version, sha256, files };
}

/** Needs space for the unpacked packages, and for one wheel at a time. */
async function checkSpace(folder: string, missing: readonly Wheel[]): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const unpacked = missing.reduce((sum, wheel) => sum + wheel.unpackedBytes, 0);
  const needed = unpacked + Math.max(0, ...missing.map((wheel) => wheel.bytes));
  const free = bavail * bsize;
  if (needed <= free) return;
  throw new InstallError(
    `${folder}: expected ${megabytes(needed)} MB of free space, got ${megabytes(free)} MB`,
    true,
  );
}

async function writeManifest(folder: string, packages: readonly InstalledPackage[]): Promise<void> {
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
