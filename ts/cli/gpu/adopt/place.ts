// Puts an environment's libraries into the folder of GPU libraries: links to them, or copies.
// Control plane.
import { constants, existsSync, lstatSync, readlinkSync } from 'node:fs';
import { copyFile, open, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import {
  isWhole,
  RUNTIME,
  type GpuFolder,
  type InstalledFile,
  type InstalledPackage,
} from '../../../engine/gpu-folder.js';
import { checkSpace } from '../install/folder.js';
import { InstallError } from '../install/install-error.js';
import type { Match } from './match.js';

/**
 * ONNX Runtime's library is always copied: it searches for NVIDIA's libraries beside its real path,
 * so a link would lead it out of the folder.
 */
const isCopied = (name: string, copy: boolean): boolean => copy || RUNTIME.test(name);

/** Whether the folder has exactly these files already, from the same place and in the same way. */
export function isPlaced(folder: GpuFolder, match: Match, from: string, copy: boolean): boolean {
  const found = folder.packages.find(({ name }) => name === match.wheel.package);
  if (found === undefined || found.from !== from || found.version !== match.version) return false;
  if (found.files.length !== match.files.length) return false;
  return match.files.every(({ name, path, bytes }) => {
    const inFolder = join(folder.path, name);
    const link = linkOf(inFolder);
    if (isCopied(name, copy) ? link !== undefined : link !== path) return false;
    return isWhole(folder.path, { name, bytes });
  });
}

/** Places the package's files under their names; each is complete as soon as it is there. */
export async function place(
  folder: string,
  match: Match,
  from: string,
  copy: boolean,
): Promise<InstalledPackage> {
  const files: InstalledFile[] = [];
  for (const { name, path, bytes } of match.files) {
    const to = join(folder, name);
    const part = `${to}.part`;
    try {
      await rm(part, { force: true });
      await (isCopied(name, copy) ? copyWhole(path, part) : symlink(path, part));
      await rename(part, to);
    } catch (error) {
      await rm(part, { force: true });
      throw new InstallError(`${to}: ${reasonOf(error)}`, true);
    }
    files.push({ name, bytes });
  }
  return { name: match.wheel.package, version: match.version, sha256: '', from, files };
}

async function copyWhole(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  const file = await open(to, 'r+');
  await file.sync().finally(() => file.close());
}

/** Removes the files of `before`, if any, that none of `packages` has. */
export async function removeFiles(
  folder: string,
  before: InstalledPackage | undefined,
  packages: readonly InstalledPackage[],
): Promise<void> {
  const kept = new Set(packages.flatMap(({ files }) => files.map(({ name }) => name)));
  for (const { name } of before?.files ?? []) {
    if (!kept.has(name)) await rm(join(folder, name), { force: true });
  }
}

/** Errors: InstallError if the folder's disk has no space for copies. */
export async function checkSpaceToCopy(folder: string, matches: readonly Match[]): Promise<void> {
  const files = matches.flatMap((match) => match.files);
  await checkSpace(
    folder,
    files.reduce((sum, { bytes }) => sum + bytes, 0),
  );
}

/** The target of a link; undefined if `path` is none. */
function linkOf(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
}
