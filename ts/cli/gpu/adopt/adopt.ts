// `serval gpu adopt`: lays out the libraries that a machine already has in the folder of GPU
// libraries, as `serval gpu install` would. Control plane, main thread.
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  isWhole,
  readGpuFolder,
  type GpuFolder,
  type InstalledPackage,
} from '../../../engine/gpu-folder.js';
import { GPU_LIBRARIES } from '../../../models/placement/libraries.js';
import type { Wheel } from '../../../models/placement/wheels.js';
import { DOWNLOADS, whileLocked, writeManifest } from '../install/folder.js';
import { InstallError } from '../install/install-error.js';
import { installWheel } from '../install/install.js';
import { megabytes, type Progress } from '../install/progress.js';
import type { WebOptions } from '../install/web.js';
import { readEnvironment, type Environment } from './environment.js';
import { findPackage, RUNTIME_PACKAGE, type Match } from './match.js';
import { isPlaced, place, removeFiles, checkSpaceToCopy } from './place.js';
import { checkWheelFile, isWheelFile, runtimeFolders, unpackWheelFile } from './runtime-source.js';

export interface AdoptOptions extends WebOptions {
  /** The environment. */
  readonly dir: string;
  /** The folder of GPU libraries. */
  readonly folder: string;
  /** Packages without which CUDA does not work. */
  readonly cuda: readonly Wheel[];
  readonly tensorrt: readonly Wheel[];
  /** If set, missing TensorRT libraries are an error. */
  readonly needTensorrt: boolean;
  /** A folder or a wheel with ONNX Runtime; undefined: `dir`, else a download. */
  readonly onnxruntime: string | undefined;
  readonly copy: boolean;
  readonly dryRun: boolean;
  readonly indexes: readonly string[];
  readonly progress: Progress;
  /** Prints a line of the report. */
  readonly say: (line: string) => void;
  /** Delay between two tries of a download; tests set it. */
  readonly pauseMs?: number;
}

/** The source of one package. */
type Step =
  | { readonly kind: 'adopt'; readonly match: Match; readonly from: string }
  | { readonly kind: 'wheel'; readonly wheel: Wheel; readonly path: string }
  | { readonly kind: 'keep'; readonly wheel: Wheel }
  | { readonly kind: 'download'; readonly wheel: Wheel };

/**
 * Returns the number of packages that were changed; with `dryRun`: that would be. Errors:
 * InstallError: a package is missing or cannot be used (the report names each); then nothing was
 * changed.
 */
export async function adopt(options: AdoptOptions): Promise<number> {
  const environment = readEnvironment(options.dir);
  const steps = await planned(options, environment);
  const folder = readGpuFolder(options.folder);
  const changes = steps.filter((step) => !isDone(step, options, folder));
  if (options.dryRun || changes.length === 0) return changes.length;
  await whileLocked(options.folder, () => apply(changes, options));
  return changes.length;
}

/** Reports each package, and throws if one of those that are needed cannot be used. */
async function planned(options: AdoptOptions, environment: Environment): Promise<readonly Step[]> {
  const steps: Step[] = [];
  const lacking: string[] = [];
  const line = (name: string, text: string): void => options.say(`${name.padEnd(20)} ${text}`);
  for (const wheel of [...options.cuda, ...options.tensorrt]) {
    if (wheel.package === RUNTIME_PACKAGE) {
      steps.push(await runtimeStep(options, environment, line));
      continue;
    }
    const found = findPackage(wheel, environment);
    if ('match' in found) {
      steps.push({ kind: 'adopt', match: found.match, from: environment.path });
      line(wheel.package, foundText(found.match));
    } else {
      const isOptional = isOptionalIn(options, wheel);
      if (!isOptional) lacking.push(wheel.package);
      line(wheel.package, `${isOptional ? 'not adopted, optional' : 'MISSING'}: ${found.obstacle}`);
    }
  }
  if (lacking.length === 0) return steps;
  const packages = [...options.cuda, ...options.tensorrt]
    .filter((wheel) => lacking.includes(wheel.package))
    .map((wheel) => `${wheel.package}==${wheel.version}`);
  throw new InstallError(
    `${environment.path} cannot be adopted: it lacks ${lacking.join(', ')}; nothing was changed. ` +
      `Install them there (pip install ${packages.join(' ')}), or run \`serval gpu install\``,
    true,
  );
}

function foundText({ version, folder, warning }: Match): string {
  const text = `${version || 'unknown version'}, ${folder}`;
  return warning === '' ? text : `${text} (warning: ${warning})`;
}

function isOptionalIn(options: AdoptOptions, wheel: Wheel): boolean {
  if (options.tensorrt.includes(wheel)) return !options.needTensorrt;
  const libraries = GPU_LIBRARIES.filter((one) => one.package === wheel.package);
  return libraries.length > 0 && libraries.every(({ optional }) => optional === true);
}

/** ONNX Runtime: from --onnxruntime, the environment, the folder itself, or the index. */
async function runtimeStep(
  options: AdoptOptions,
  environment: Environment,
  line: (name: string, text: string) => void,
): Promise<Step> {
  const wheel = options.cuda.find((one) => one.package === RUNTIME_PACKAGE);
  if (wheel === undefined) throw new TypeError(`no ${RUNTIME_PACKAGE} in the list of wheels`);
  if (options.onnxruntime !== undefined) {
    const path = resolve(options.onnxruntime);
    if (isWheelFile(path)) {
      await checkWheelFile(wheel, path);
      line(wheel.package, `${wheel.version}, ${path}`);
      return { kind: 'wheel', wheel, path };
    }
    const found = findPackage(wheel, runtimeFolders(path));
    if (!('match' in found))
      throw new InstallError(`--onnxruntime ${path}: ${found.obstacle}`, true);
    line(wheel.package, foundText(found.match));
    return { kind: 'adopt', match: found.match, from: path };
  }
  const found = findPackage(wheel, environment);
  if ('match' in found) {
    line(wheel.package, foundText(found.match));
    return { kind: 'adopt', match: found.match, from: environment.path };
  }
  const present = readGpuFolder(options.folder)?.packages.find(
    ({ name }) => name === wheel.package,
  );
  const isPresent =
    present?.version === wheel.version &&
    present.files.every((file) => isWhole(options.folder, file));
  if (isPresent) {
    line(wheel.package, `${wheel.version}, already in ${options.folder}`);
    return { kind: 'keep', wheel };
  }
  line(wheel.package, `${wheel.version}, to be downloaded (${megabytes(wheel.bytes)} MB)`);
  return { kind: 'download', wheel };
}

function isDone(step: Step, options: AdoptOptions, folder: GpuFolder | undefined): boolean {
  if (step.kind === 'keep') return true;
  if (folder === undefined) return false;
  if (step.kind === 'adopt') return isPlaced(folder, step.match, step.from, options.copy);
  const found = folder.packages.find(({ name }) => name === step.wheel.package);
  if (step.kind === 'download' || found === undefined) return false;
  const isFrom = found.sha256 === step.wheel.sha256 || found.from === step.path;
  return isFrom && found.files.every((file) => isWhole(folder.path, file));
}

async function apply(steps: readonly Step[], options: AdoptOptions): Promise<void> {
  const { folder, copy, progress } = options;
  const matches = steps.flatMap((step) => (step.kind === 'adopt' ? [step.match] : []));
  if (copy) await checkSpaceToCopy(folder, matches);
  const installed = new Map(
    (readGpuFolder(folder)?.packages ?? []).map((each) => [each.name, each]),
  );
  try {
    for (const step of steps) {
      const name = step.kind === 'adopt' ? step.match.wheel.package : step.wheel.package;
      const before = installed.get(name);
      installed.delete(name);
      await writeManifest(folder, [...installed.values()]);
      const now = await done(step, options);
      await removeFiles(folder, before, [...installed.values(), now]);
      installed.set(name, now);
      await writeManifest(folder, [...installed.values()]);
    }
    await rm(join(folder, DOWNLOADS), { recursive: true, force: true });
  } finally {
    progress.clear();
  }
}

async function done(step: Step, options: AdoptOptions): Promise<InstalledPackage> {
  switch (step.kind) {
    case 'adopt':
      return place(options.folder, step.match, step.from, options.copy);
    case 'wheel':
      return unpackWheelFile(step.wheel, step.path, options.folder);
    case 'keep':
    case 'download':
      return downloaded(step.wheel, options);
  }
}

async function downloaded(wheel: Wheel, options: AdoptOptions): Promise<InstalledPackage> {
  try {
    return await installWheel(wheel, options);
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    throw new InstallError(
      `${error.message}; without a network, fetch it elsewhere (pip download --no-deps ` +
        `${wheel.package}==${wheel.version}) and pass --onnxruntime ${wheel.file}`,
      error.isFinal,
    );
  }
}
