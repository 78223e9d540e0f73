// Installs wheels' libraries into a folder: existing files are kept, interrupted packages resume,
// and the folder's list names a package only when all its files are in place. Control plane.
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isWhole, readGpuFolder, type InstalledPackage } from '../../../engine/gpu-folder.js';
import type { Wheel } from '../../../models/placement/wheels.js';
import { judgeVersion } from '../../../models/placement/versions.js';
import { download } from './download.js';
import { checkSpace, DOWNLOADS, whileLocked, writeManifest } from './folder.js';
import { megabytes, type Progress } from './progress.js';
import { findWheel } from './simple-index.js';
import { unpack } from './unpack.js';
import { shown, type WebOptions } from './web.js';

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
  return whileLocked(folder, async () => {
    const installed = new Map(
      (readGpuFolder(folder)?.packages ?? []).map((each) => [each.name, each]),
    );
    const missing = options.wheels.filter((wheel) => !isInstalled(folder, wheel, installed));
    await checkSpace(folder, spaceFor(missing));
    try {
      for (const wheel of options.wheels) {
        if (!missing.includes(wheel)) {
          const from = installed.get(wheel.package)?.from;
          const how = from === undefined ? 'is already installed' : `is adopted from ${from}`;
          progress.say(`${wheel.package} ${installed.get(wheel.package)?.version} ${how}`);
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
    }
  });
}

/** Needs space for the unpacked packages, and for one wheel at a time. */
const spaceFor = (missing: readonly Wheel[]): number =>
  missing.reduce((sum, wheel) => sum + wheel.unpackedBytes, 0) +
  Math.max(0, ...missing.map((wheel) => wheel.bytes));

/** Whether the folder has the package, from the pinned wheel or adopted in a usable version. */
function isInstalled(
  folder: string,
  wheel: Wheel,
  installed: ReadonlyMap<string, InstalledPackage>,
): boolean {
  const found = installed.get(wheel.package);
  if (found === undefined) return false;
  const usable = found.from !== undefined && judgeVersion(wheel, found.version).usable;
  if (!usable && found.sha256 !== wheel.sha256) return false;
  return found.files.every((file) => isWhole(folder, file));
}

/** Downloads and unpacks one wheel; the folder exists and is locked. Errors: InstallError. */
export async function installWheel(
  wheel: Wheel,
  options: Omit<InstallOptions, 'wheels'>,
): Promise<InstalledPackage> {
  const { folder, progress, pauseMs } = options;
  const path = join(folder, DOWNLOADS, wheel.file);
  await mkdir(join(folder, DOWNLOADS), { recursive: true });
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
