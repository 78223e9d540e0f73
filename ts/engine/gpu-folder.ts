// The folder of libraries for GPUs: where `serval gpu install` puts them and where a server finds
// them. Control plane, start-up; it looks at a few files and loads none of them.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Of a folder that `serval gpu install` made; its last act for each package. */
export const MANIFEST_NAME = 'installed.json';
export const MANIFEST_FORMAT = 1;
/** ONNX Runtime's library in it. */
const RUNTIME = /^libonnxruntime\.so\.\d+\.\d+\.\d+$/;

export interface InstalledFile {
  readonly name: string;
  readonly bytes: number;
}

/** One package of the folder. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** Of the wheel that its files come from. */
  readonly sha256: string;
  readonly files: readonly InstalledFile[];
}

export interface GpuFolder {
  readonly path: string;
  readonly packages: readonly InstalledPackage[];
  /** ONNX Runtime's library; undefined where it is not there. */
  readonly runtime: string | undefined;
  /** Files that the manifest has and the folder has not, or not whole. */
  readonly broken: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** SERVAL_GPU_FOLDER, else below the user's data. */
export function defaultGpuFolder(env: Environment = process.env): string {
  const own = env['SERVAL_GPU_FOLDER'];
  if (own !== undefined && own !== '') return resolve(own);
  const data = env['XDG_DATA_HOME'];
  const root = data !== undefined && data !== '' ? data : join(homedir(), '.local', 'share');
  return resolve(root, 'serval', 'gpu');
}

/** What is installed in a folder; undefined where nothing of ours is. */
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

/** What a driver of NVIDIA's makes, and WSL's. */
const DRIVER_MARKS = ['/dev/nvidiactl', '/proc/driver/nvidia/version', '/dev/dxg'];

/** ONNX Runtime of the folder, where it is whole and there is a driver, or SERVAL_GPU_FOLDER says
 * that it is wanted. Without a driver this is a look at three files. */
export function installedRuntime(env: Environment = process.env): string | undefined {
  const wanted = (env['SERVAL_GPU_FOLDER'] ?? '') !== '';
  if (!wanted && !DRIVER_MARKS.some((path) => existsSync(path))) return undefined;
  const folder = readGpuFolder(defaultGpuFolder(env));
  return folder?.broken.length === 0 ? folder.runtime : undefined;
}

/** Whether `file` is there with all its bytes. */
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
    return undefined; // Cut short or another's: as if it were not there.
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
  return texts && value['files'].every(isFile);
}

function isFile(value: unknown): value is InstalledFile {
  if (!isObject(value) || typeof value['name'] !== 'string') return false;
  return !value['name'].includes('/') && typeof value['bytes'] === 'number';
}
