// Finds the files of a pinned package in an environment and checks that ONNX Runtime can use them.
// Control plane; reads heads of libraries, changes nothing.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import { GPU_LIBRARIES, type GpuLibrary } from '../../../models/placement/libraries.js';
import type { Wheel } from '../../../models/placement/wheels.js';
import { readSharedLibrary, type SharedLibrary } from './elf.js';
import { namesIn, type Environment, type Owner } from './environment.js';
import { cudaOfName, judgeVersion, rangeOf } from '../../../models/placement/versions.js';

export interface SourceFile {
  /** Name in the folder of GPU libraries. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** A package's files in an environment. */
export interface Match {
  readonly wheel: Wheel;
  /** "" = unknown. */
  readonly version: string;
  readonly folder: string;
  readonly files: readonly SourceFile[];
  /** Why it may not work; "" = nothing is known. */
  readonly warning: string;
}

export type Found = { readonly match: Match } | { readonly obstacle: string };

const MACHINE = 'x86-64';
/** CUDA's major version of the pinned packages. */
const CUDA = 13;
/** Folders of libraries in wheels: `Wheel.wanted` names files by their paths. */
const PREFIXES = ['nvidia/lib/', 'tensorrt_libs/', 'onnxruntime/capi/'];
const FAMILY = /^lib(?:cudart|cublas|cublasLt|cudnn|curand|cufft|nvrtc|nvinfer|nvonnxparser)\.so\./;
export const RUNTIME_PACKAGE = 'onnxruntime-gpu';
/** Files without which it cannot run a model on a GPU. */
const RUNTIME_PROVIDERS = [
  'libonnxruntime_providers_shared.so',
  'libonnxruntime_providers_cuda.so',
];

/** Whether a file of this name belongs to the package. */
const isWanted = (wheel: Wheel, name: string): boolean =>
  PREFIXES.some((prefix) => wheel.wanted.test(prefix + name));

/** Searches all folders; the first that has the whole package in a usable version is chosen. */
export function findPackage(wheel: Wheel, environment: Environment): Found {
  const obstacles: string[] = [];
  for (const folder of environment.folders) {
    const names = namesIn(folder).filter((name) => isWanted(wheel, name));
    if (names.length === 0) continue;
    const found = checkFolder(wheel, environment, folder, names);
    if ('match' in found) return found;
    obstacles.push(found.obstacle);
  }
  const expected = `expected ${listed(requiredOf(wheel).map(({ soname }) => soname))}, ${rangeOf(wheel)}`;
  const got = obstacles.length > 0 ? obstacles : otherVersions(wheel, environment);
  return { obstacle: `${expected}; found ${got.length === 0 ? 'none' : got.join('; ')}` };
}

function checkFolder(
  wheel: Wheel,
  environment: Environment,
  folder: string,
  names: readonly string[],
): Found {
  const missing = requiredOf(wheel).filter(
    (one) => !names.some((name) => name === one.soname || one.otherNames?.test(name) === true),
  );
  const [first = ''] = names;
  const owner = environment.ownerOf(join(folder, mainOf(wheel, names) ?? first));
  const title = `${titleOf(owner, first)} in ${folder}`;
  if (missing.length > 0) {
    return { obstacle: `${title}, without ${listed(missing.map(({ soname }) => soname))}` };
  }
  const cuda = owner.cuda ?? cudaOfName(owner.name);
  if (cuda !== undefined && cuda !== CUDA) {
    return { obstacle: `${title}, which is for CUDA ${cuda}` };
  }
  const judged = judgeVersion(wheel, owner.version);
  if (!judged.usable) return { obstacle: title };
  const files: SourceFile[] = [];
  for (const name of names) {
    const file = checkFile(environment, folder, name);
    if (typeof file === 'string') return { obstacle: `${title}: ${file}` };
    files.push(file);
  }
  const { version, licence } = owner;
  if (licence !== undefined) files.push(...licenceOf(wheel, licence));
  return { match: { wheel, version, folder, files, warning: judged.warning } };
}

/** Returns the file, or why it cannot be used. */
function checkFile(environment: Environment, folder: string, name: string): SourceFile | string {
  const path = join(folder, name);
  const bytes = statSync(path, { throwIfNoEntry: false })?.size;
  if (bytes === undefined) return `${name} is a link to nothing`;
  const listedBytes = environment.ownerOf(path).bytes;
  if (listedBytes !== undefined && listedBytes !== bytes) {
    return `${name}: expected ${listedBytes} bytes, got ${bytes}`;
  }
  let library: SharedLibrary;
  try {
    library = readSharedLibrary(path);
  } catch (error) {
    return `${name}: ${reasonOf(error)}`;
  }
  if (library.machine !== MACHINE) return `${name} is for ${library.machine}`;
  if (FAMILY.test(name) && library.soname !== name) {
    return `${name}: expected this soname, got ${library.soname || 'none'}`;
  }
  const others = library.needed.filter(
    (one) => FAMILY.test(one) && !GPU_LIBRARIES.some(({ soname }) => soname === one),
  );
  if (others.length > 0) return `${name} is built for ${listed(others)}`;
  return { name, path, bytes };
}

function licenceOf(wheel: Wheel, path: string): readonly SourceFile[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true) return [];
  return [{ name: `LICENSE.${wheel.package}`, path, bytes: found.size }];
}

/** The libraries that the package must have. */
function requiredOf(wheel: Wheel): readonly Pick<GpuLibrary, 'soname' | 'otherNames'>[] {
  if (wheel.package !== RUNTIME_PACKAGE) {
    return GPU_LIBRARIES.filter((one) => one.package === wheel.package);
  }
  return [`libonnxruntime.so.${wheel.version}`, ...RUNTIME_PROVIDERS].map((soname) => ({ soname }));
}

const mainOf = (wheel: Wheel, names: readonly string[]): string | undefined =>
  requiredOf(wheel)
    .map(({ soname }) => soname)
    .find((soname) => names.includes(soname));

/** Libraries of the same families whose names have another major version. */
function otherVersions(wheel: Wheel, environment: Environment): readonly string[] {
  const families = requiredOf(wheel)
    .map(({ soname }) => soname.replace(/(\.so\.).*$/, '$1'))
    .filter((family) => family.includes('.so.'));
  return environment.folders.flatMap((folder) =>
    namesIn(folder)
      .filter((name) => families.some((family) => name.startsWith(family)))
      .slice(0, 2)
      .map((name) => `${titleOf(environment.ownerOf(join(folder, name)), name)} in ${folder}`),
  );
}

function titleOf({ name, version }: Owner, file: string): string {
  if (name !== '') return `${file} of ${name} ${version}`;
  return version === '' ? file : `${file} ${version}`;
}

function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}
