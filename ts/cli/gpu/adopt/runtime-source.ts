// ONNX Runtime for GPUs from a place that the user names: a folder, or a wheel that was fetched
// elsewhere. Control plane.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import type { InstalledPackage } from '../../../engine/gpu-folder.js';
import type { Wheel } from '../../../models/placement/wheels.js';
import { DOWNLOADS } from '../install/folder.js';
import { InstallError } from '../install/install-error.js';
import { unpack } from '../install/unpack.js';
import { readEnvironment, type Environment } from './environment.js';
import { findPackage } from './match.js';

/** The runtime's folder below the folders that a user may name. */
const CAPI = ['.', 'capi', 'onnxruntime/capi'];

export const isWheelFile = (path: string): boolean =>
  path.endsWith('.whl') && statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/**
 * `path`: the libraries' folder, onnxruntime's package folder, site-packages or an environment.
 * Errors: InstallError: it is no folder.
 */
export function runtimeFolders(path: string): Environment {
  const environment = readEnvironment(path);
  const folders = [...CAPI.map((name) => join(environment.path, name)), ...environment.folders];
  return { ...environment, folders: [...new Set(folders)].filter((one) => existsSync(one)) };
}

/**
 * Errors: InstallError if it is not a wheel of the pinned version for this kind of machine, or if
 * it has the pinned name but not the pinned hash.
 */
export async function checkWheelFile(wheel: Wheel, path: string): Promise<void> {
  const stem = `${wheel.package.replaceAll('-', '_')}-${wheel.version}-`;
  const name = basename(path);
  if (!name.startsWith(stem) || !/(?:x86_64|-any)\.whl$/.test(name)) {
    throw new InstallError(`${path}: expected a wheel ${stem}*x86_64.whl`, true);
  }
  if (name !== wheel.file) return;
  const got = await hashOf(path);
  if (got === wheel.sha256) return;
  throw new InstallError(`${path}: expected sha256 ${wheel.sha256}, got ${got}`, true);
}

/**
 * Extracts the libraries into `folder` after they were checked. Errors: InstallError; then no file
 * of the folder has changed.
 */
export async function unpackWheelFile(
  wheel: Wheel,
  path: string,
  folder: string,
): Promise<InstalledPackage> {
  const parent = join(folder, DOWNLOADS);
  await mkdir(parent, { recursive: true });
  const unpacked = await mkdtemp(join(parent, 'wheel-'));
  try {
    const files = await unpack(wheel, path, unpacked);
    const ownerOf = () => ({ name: wheel.package, version: wheel.version });
    const found = findPackage(wheel, { path: unpacked, folders: [unpacked], ownerOf });
    if (!('match' in found)) throw new InstallError(`${path}: ${found.obstacle}`, true);
    for (const { name } of files) await rename(join(unpacked, name), join(folder, name));
    const sha256 = await hashOf(path);
    const from = sha256 === wheel.sha256 ? {} : { from: path };
    return { name: wheel.package, version: wheel.version, sha256, ...from, files };
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  } catch (error) {
    throw new InstallError(`${path}: ${reasonOf(error)}`, true);
  }
  return hash.digest('hex');
}
