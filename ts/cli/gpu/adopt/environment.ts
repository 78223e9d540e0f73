// Finds the folders of libraries in a Python environment, a conda environment or an installation of
// CUDA, and which package each file belongs to. Control plane; reads folders and lists of files,
// opens no library. Source: PyPA's specification of installed projects (RECORD); conda-meta/*.json.
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import { InstallError } from '../install/install-error.js';

/** The package that a file belongs to. */
export interface Owner {
  /** "" if only the file's name says its version. */
  readonly name: string;
  /** "" = unknown. */
  readonly version: string;
  /** Size by the package's list of files; undefined if that has none. */
  readonly bytes?: number;
  /** CUDA's major version that the package is for, if it says so apart from its name. */
  readonly cuda?: number;
  /** Path of the package's licence. */
  readonly licence?: string;
}

export interface Environment {
  readonly path: string;
  /** Folders with libraries, in the order in which they are searched. */
  readonly folders: readonly string[];
  readonly ownerOf: (file: string) => Owner;
}

/** Packages whose lists of files are read. */
const WANTED_PACKAGES = /^(?:nvidia|tensorrt|onnxruntime|cuda|cudnn|lib(?:cublas|cu|nv))/i;
const LIBRARY = /\.so(?:\.\d+)*$/;
const LICENCE = /(?:^|\/)licen[cs]e[^/]*$/i;
/** Folders below an environment, or an installation of CUDA, that may contain libraries. */
const PLAIN_FOLDERS = ['.', 'lib', 'lib64', 'targets/x86_64-linux/lib', 'lib/x86_64-linux-gnu'];
const PYTHON_PARENTS = ['lib', 'lib64', 'local/lib'];
const RECORD_BYTES_MAX = 64 * 1024 * 1024;

/**
 * `dir`: an environment, its site-packages, the folder nvidia in that, a conda environment, or a
 * folder of CUDA. Errors: InstallError: `dir` is no folder.
 */
export function readEnvironment(dir: string): Environment {
  const path = resolve(dir);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new InstallError(`${path} does not exist`, true);
  if (!found.isDirectory()) throw new InstallError(`${path}: expected a folder`, true);
  const owners = new Map<string, Owner>();
  const sites = siteFolders(path);
  for (const site of sites) readDistributions(site, owners);
  readCondaPackages(path, owners);
  const folders = [
    ...sites.flatMap(foldersOfSite),
    ...[...owners.keys()].filter((file) => LIBRARY.test(file)).map((file) => dirname(file)),
    ...PLAIN_FOLDERS.map((name) => join(path, name)),
  ];
  return {
    path,
    folders: [...new Set(folders)].filter((folder) => existsSync(folder)),
    ownerOf: (file) => owners.get(file) ?? { name: '', version: versionOfName(file) },
  };
}

/** Returns the names in a folder, sorted; none if it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** site-packages and dist-packages of all of the environment's Pythons, the newest first. */
function siteFolders(path: string): readonly string[] {
  const near = basename(path) === 'nvidia' ? [dirname(path)] : [path];
  const below = PYTHON_PARENTS.flatMap((parent) =>
    namesIn(join(path, parent))
      .filter((name) => /^python3/.test(name))
      .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
      .flatMap((name) => [
        join(path, parent, name, 'site-packages'),
        join(path, parent, name, 'dist-packages'),
      ]),
  );
  return [...near, ...below].filter((folder) =>
    namesIn(folder).some((name) => name === 'nvidia' || /\.dist-info$/.test(name)),
  );
}

function foldersOfSite(site: string): readonly string[] {
  const nvidia = join(site, 'nvidia');
  return [
    ...namesIn(nvidia).map((name) => join(nvidia, name, 'lib')),
    join(site, 'tensorrt_libs'),
    join(site, 'onnxruntime', 'capi'),
  ];
}

function readDistributions(site: string, owners: Map<string, Owner>): void {
  for (const folder of namesIn(site)) {
    const [, written = '', version = ''] = /^(.+)-([^-]+)\.dist-info$/.exec(folder) ?? [];
    const name = written.replace(/[-_.]+/g, '-').toLowerCase();
    if (!WANTED_PACKAGES.test(name)) continue;
    const listed = recordOf(join(site, folder, 'RECORD'));
    const licence = listed.map(([file]) => file).find((file) => LICENCE.test(file));
    for (const [file, bytes] of listed) {
      if (!LIBRARY.test(file)) continue;
      owners.set(resolve(site, file), {
        ...{ name, version },
        ...(bytes === undefined ? {} : { bytes }),
        ...(licence === undefined ? {} : { licence: resolve(site, licence) }),
      });
    }
  }
}

/** Lines "path,sha256=...,size"; a path with a comma is quoted. */
function recordOf(path: string): readonly (readonly [file: string, bytes: number | undefined])[] {
  return textOf(path)
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, file = '', size = ''] = /^(.+?),[^,]*,(\d*)$/.exec(line) ?? [];
      const bytes = size === '' ? undefined : Number(size);
      return file === '' ? [] : [[file.replace(/^"(.*)"$/, '$1'), bytes] as const];
    });
}

interface CondaPackage {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly depends?: unknown;
  readonly files?: unknown;
}

function readCondaPackages(path: string, owners: Map<string, Owner>): void {
  const folder = join(path, 'conda-meta');
  for (const file of namesIn(folder)) {
    if (!file.endsWith('.json') || !WANTED_PACKAGES.test(file)) continue;
    const found = condaPackage(join(folder, file));
    const texts = (value: unknown): readonly string[] =>
      Array.isArray(value) ? value.map(String) : [];
    const cuda = texts(found.depends)
      .map(cudaOfDependency)
      .find((major) => major !== undefined);
    for (const name of texts(found.files)) {
      if (!LIBRARY.test(name)) continue;
      owners.set(resolve(path, name), {
        name: String(found.name ?? ''),
        version: String(found.version ?? ''),
        ...(cuda === undefined ? {} : { cuda }),
      });
    }
  }
}

function condaPackage(path: string): CondaPackage {
  try {
    const parsed: unknown = JSON.parse(textOf(path));
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {}; // Such a package owns no file.
  }
}

/** "cuda-version >=13.0,<14.0a0" -> 13 */
function cudaOfDependency(text: string): number | undefined {
  const major = /^cuda-version\s+[>=~]*(\d+)/.exec(text)?.[1];
  return major === undefined ? undefined : Number(major);
}

function textOf(path: string): string {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return '';
  if (size > RECORD_BYTES_MAX) {
    throw new InstallError(
      `${path}: expected at most ${RECORD_BYTES_MAX} bytes, got ${size}`,
      true,
    );
  }
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new InstallError(`${path}: ${reasonOf(error)}`, true);
  }
}

/** libcublas.so.13 is a link to libcublas.so.13.1.0.3 in CUDA's own installation -> "13.1.0.3" */
function versionOfName(file: string): string {
  try {
    return /\.so\.(\d+(?:\.\d+)+)$/.exec(basename(realpathSync(file)))?.[1] ?? '';
  } catch {
    return '';
  }
}
