// The folder of GPU libraries: `serval gpu install` writes it and a server finds it. Control plane,
// start-up; checks a few files and loads none of them.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * The manifest of a folder that `serval gpu install` made; updated as the last step for each
 * package.
 */
export const MANIFEST_NAME = 'installed.json';
export const MANIFEST_FORMAT = 1;
/** File name of ONNX Runtime's library. */
export const RUNTIME = /^libonnxruntime\.so\.\d+\.\d+\.\d+$/;

export interface InstalledFile {
  readonly name: string;
  readonly bytes: number;
}

/** One package of the folder. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** Hash of the wheel that its files come from; "" if they were adopted. */
  readonly sha256: string;
  /** The place from which `serval gpu adopt` linked or copied its files. */
  readonly from?: string;
  readonly files: readonly InstalledFile[];
}

export interface GpuFolder {
  readonly path: string;
  readonly packages: readonly InstalledPackage[];
  /** Path of ONNX Runtime's library; undefined if it is absent. */
  readonly runtime: string | undefined;
  /** Files of the manifest that are missing or incomplete in the folder. */
  readonly broken: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** SERVAL_GPU_FOLDER, else a folder in the user's data. */
export function defaultGpuFolder(env: Environment = process.env): string {
  const own = env['SERVAL_GPU_FOLDER'];
  if (own !== undefined && own !== '') return resolve(own);
  const data = env['XDG_DATA_HOME'];
  const root = data !== undefined && data !== '' ? data : join(homedir(), '.local', 'share');
  return resolve(root, 'serval', 'gpu');
}

/** Reads the contents of a folder; undefined if Serval installed nothing there. */
export function readGpuFolder(path: string): GpuFolder | undefined {
  const packages = readManifest(path);
  if (packages === undefined) return undefined;
  const files = packages.flatMap((each) => each.files);
  const broken = files.filter((file) => !isWhole(path, file)).map(({ name }) => name);
  const runtime = files.map(({ name }) => name).find((name) => RUNTIME.test(name));
  return {
    path,
    packages,
    runtime: runtime === undefined ? undefined : join(path, runtime),
    broken,
  };
}

/** A place from which `serval gpu adopt` brought libraries. */
export interface AdoptedSource {
  readonly from: string;
  readonly exists: boolean;
  /** Its files that are missing or incomplete in the folder. */
  readonly broken: readonly string[];
}

/** The places from which packages of the folder were adopted, each once. */
export function adoptedSources(folder: GpuFolder): readonly AdoptedSource[] {
  const places = new Set(folder.packages.flatMap(({ from }) => (from === undefined ? [] : [from])));
  return [...places].map((from) => ({
    from,
    exists: existsSync(from),
    broken: folder.packages
      .filter((each) => each.from === from)
      .flatMap((each) => each.files.map(({ name }) => name))
      .filter((name) => folder.broken.includes(name)),
  }));
}

/** Files that NVIDIA's driver creates, and WSL's. */
const DRIVER_MARKS = ['/dev/nvidiactl', '/proc/driver/nvidia/version', '/dev/dxg'];

/**
 * Returns the folder's ONNX Runtime if it is complete and there is a driver, or SERVAL_GPU_FOLDER
 * requests it. Without a driver this only checks three files.
 */
export function installedRuntime(env: Environment = process.env): string | undefined {
  const wanted = (env['SERVAL_GPU_FOLDER'] ?? '') !== '';
  if (!wanted && !DRIVER_MARKS.some((path) => existsSync(path))) return undefined;
  const folder = readGpuFolder(defaultGpuFolder(env));
  return folder?.broken.length === 0 ? folder.runtime : undefined;
}

/** Returns whether `file` exists with its full size. */
export function isWhole(folder: string, file: InstalledFile): boolean {
  const found = statSync(join(folder, file.name), { throwIfNoEntry: false });
  return found?.isFile() === true && found.size === file.bytes;
}

function readManifest(folder: string): readonly InstalledPackage[] | undefined {
  const path = join(folder, MANIFEST_NAME);
  if (!existsSync(path)) return undefined;
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return packagesOf(parsed);
  } catch {
    return undefined; // A truncated or foreign manifest counts as absent.
  }
}

function packagesOf(parsed: unknown): readonly InstalledPackage[] | undefined {
  if (!isObject(parsed) || parsed['format'] !== MANIFEST_FORMAT) return undefined;
  const packages = parsed['packages'];
  if (!Array.isArray(packages)) return undefined;
  return packages.every(isPackage) ? packages : undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function isPackage(value: unknown): value is InstalledPackage {
  if (!isObject(value) || !Array.isArray(value['files'])) return false;
  const texts = ['name', 'version', 'sha256'].every((key) => typeof value[key] === 'string');
  const fromIsText = value['from'] === undefined || typeof value['from'] === 'string';
  return texts && fromIsText && value['files'].every(isFile);
}

function isFile(value: unknown): value is InstalledFile {
  if (!isObject(value) || typeof value['name'] !== 'string') return false;
  return !value['name'].includes('/') && typeof value['bytes'] === 'number';
}
