// Finds models on disk: PATH (a file, a model folder or a repository), --model-repository and
// --model-base-path. Control plane. Reads folders, never model files; whatever is wrong with one
// model is reported beside it and the others are found all the same.
import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { ModelSources } from '../config.js';
import { ErrorCode, ServalError } from '../errors.js';
import { MODEL_NAME_BYTES_MAX, MODELS_MAX, VERSIONS_MAX } from '../limits.js';
import { compareVersions, parseVersion } from './version-policy.js';

export type ModelSource = 'file' | 'model-folder' | 'repository' | 'base-path';

export interface ScannedVersion {
  /** Decimal text, no leading zeros. */
  readonly version: string;
  /** The model file, absolute. */
  readonly path: string;
  readonly format: 'onnx';
  /** Changes when the file changes. */
  readonly revision: string;
}

export interface ScannedModel {
  readonly name: string;
  readonly basePath: string;
  /** Highest first; empty when nothing in the folder can be served. */
  readonly versions: readonly ScannedVersion[];
  readonly source: ModelSource;
  /** What is wrong, each a sentence with its path. */
  readonly problems: readonly string[];
}

export interface ScanResult {
  /** By name; no two have the same. */
  readonly models: readonly ScannedModel[];
  /** Everything that is wrong, the models' own problems included. */
  readonly problems: readonly string[];
}

const MODEL_FILE = 'model.onnx';
const MODEL_EXTENSION = '.onnx';
const TRITON_CONFIG_FILE = 'config.pbtxt';
const SINGLE_VERSION = '1';
const encoder = new TextEncoder();

/** Errors: InvalidArgument, naming the path: it does not exist, or is a file that is no model. */
export async function scanSources(sources: ModelSources): Promise<ScanResult> {
  const found: ScannedModel[] = [];
  const problems: string[] = [];
  for (const path of sources.paths) found.push(...(await scanPath(path, problems)));
  for (const path of sources.modelRepositories) {
    await requireFolder(path);
    found.push(...(await scanRepository(path, problems)));
  }
  const { baseModel } = sources;
  if (baseModel !== undefined) {
    await requireFolder(baseModel.path);
    found.push(await scanModel(baseModel.name, baseModel.path, 'base-path'));
  }
  const models = distinct(found, problems);
  return { models, problems: [...problems, ...models.flatMap((model) => model.problems)] };
}

async function scanPath(path: string, problems: string[]): Promise<readonly ScannedModel[]> {
  const stats = await requirePath(path);
  if (stats.isDirectory()) {
    const names = await listFolder(path, problems);
    if (names === undefined) return [];
    const isModel = names.includes(MODEL_FILE) || (await hasVersionFolder(path, names));
    if (isModel) return [await scanModel(basename(path), path, 'model-folder')];
    return scanRepository(path, problems);
  }
  if (!stats.isFile() || extname(path) !== MODEL_EXTENSION) {
    throw invalid(path, `expected a folder or a file that ends in ${MODEL_EXTENSION}`);
  }
  const version = onnxVersion(SINGLE_VERSION, path, stats);
  const name = basename(path, MODEL_EXTENSION);
  return [{ name, basePath: dirname(path), versions: [version], source: 'file', problems: [] }];
}

async function hasVersionFolder(path: string, names: readonly string[]): Promise<boolean> {
  for (const name of names) {
    if (parseVersion(name) === undefined) continue;
    const stats = await tryStat(join(path, name));
    if (!(stats instanceof Error) && stats.isDirectory()) return true;
  }
  return false;
}

async function scanRepository(
  path: string, problems: string[],
): Promise<readonly ScannedModel[]> {
  const models: ScannedModel[] = [];
  for (const name of (await listFolder(path, problems)) ?? []) {
    if (name.startsWith('.')) continue;
    const folder = join(path, name);
    const stats = await tryStat(folder);
    if (stats instanceof Error) {
      const problem = `cannot read ${folder}: ${stats.message}`;
      models.push(
        { name, basePath: folder, versions: [], source: 'repository', problems: [problem] },
      );
    } else if (stats.isDirectory()) {
      models.push(await scanModel(name, folder, 'repository'));
    } else if (extname(name) === MODEL_EXTENSION) {
      const where = join(path, basename(name, MODEL_EXTENSION), SINGLE_VERSION, MODEL_FILE);
      problems.push(`${folder} is not served: in a repository it would be ${where}`);
    }
    if (models.length > MODELS_MAX) throw invalid(path, `expected at most ${MODELS_MAX} models`);
  }
  if (models.length === 0) problems.push(`${path} holds no model folder`);
  return models;
}

async function scanModel(
  name: string, basePath: string, source: ModelSource,
): Promise<ScannedModel> {
  if (encoder.encode(name).byteLength > MODEL_NAME_BYTES_MAX || name === '') {
    throw invalid(basePath, `expected a model name of 1 to ${MODEL_NAME_BYTES_MAX} bytes`);
  }
  const problems: string[] = [];
  const versions = await scanVersions(basePath, problems);
  return { name, basePath, versions, source, problems };
}

async function scanVersions(basePath: string, problems: string[]): Promise<ScannedVersion[]> {
  const names = await listFolder(basePath, problems);
  if (names === undefined) return [];
  if (names.includes(TRITON_CONFIG_FILE)) {
    const ignored = join(basePath, TRITON_CONFIG_FILE);
    problems.push(`${ignored} is not read: the model's own inputs count`);
  }
  const found = new Map<string, ScannedVersion>();
  let folders = 0;
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    folders += 1;
    const folder = join(basePath, name);
    const one = await scanVersion(folder, name, problems);
    if (one === undefined) continue;
    const twin = found.get(one.version);
    if (twin !== undefined) {
      problems.push(`${dirname(twin.path)} and ${folder} are both version ${one.version}: ` +
        'the second is served');
    }
    found.set(one.version, one);
    if (found.size > VERSIONS_MAX) {
      throw invalid(basePath, `expected at most ${VERSIONS_MAX} versions`);
    }
  }
  const bare = names.includes(MODEL_FILE) ? join(basePath, MODEL_FILE) : undefined;
  if (bare !== undefined && folders > 0) {
    problems.push(`${bare} is not served: there are version folders beside it`);
  } else if (bare !== undefined) {
    const one = await versionOfFile(SINGLE_VERSION, bare, problems);
    if (one !== undefined) found.set(one.version, one);
  } else if (folders === 0) {
    problems.push(
      `${basePath} has no version folder: expected ${join(basePath, SINGLE_VERSION, MODEL_FILE)}`,
    );
  }
  return [...found.values()].sort((a, b) => compareVersions(b.version, a.version));
}

async function scanVersion(
  folder: string, name: string, problems: string[],
): Promise<ScannedVersion | undefined> {
  const version = parseVersion(name);
  if (version === undefined) {
    problems.push(`${folder}: expected a version number that fits int64, got ${name}`);
    return undefined;
  }
  const names = await listFolder(folder, problems);
  if (names === undefined) return undefined;
  if (names.includes(MODEL_FILE)) return versionOfFile(version, join(folder, MODEL_FILE), problems);
  const other = names.find((file) => extname(file) === MODEL_EXTENSION);
  const got = other === undefined ? `got ${names.length} other files` : `got ${other}`;
  problems.push(`${folder} has no model: expected ${MODEL_FILE}, ${got}`);
  return undefined;
}

async function versionOfFile(
  version: string, path: string, problems: string[],
): Promise<ScannedVersion | undefined> {
  const stats = await tryStat(path);
  if (!(stats instanceof Error) && stats.isFile()) return onnxVersion(version, path, stats);
  const reason = stats instanceof Error ? stats.message : 'expected a file';
  problems.push(`cannot read ${path}: ${reason}`);
  return undefined;
}

function onnxVersion(version: string, path: string, stats: Stats): ScannedVersion {
  const revision = `${stats.ino}:${stats.size}:${stats.mtimeMs}`;
  return { version, path, format: 'onnx', revision };
}

/** The first of equal names stays; by name. */
function distinct(found: readonly ScannedModel[], problems: string[]): readonly ScannedModel[] {
  const byName = new Map<string, ScannedModel>();
  for (const model of found) {
    const first = byName.get(model.name);
    if (first === undefined) {
      byName.set(model.name, model);
      continue;
    }
    const [kept, left] = [first.basePath, model.basePath];
    problems.push(`model '${model.name}' is in ${kept} and in ${left}: the first is served`);
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Entry names in order, or undefined with a problem. */
async function listFolder(path: string, problems: string[]): Promise<string[] | undefined> {
  try {
    return (await readdir(path)).sort();
  } catch (error) {
    problems.push(`cannot read ${path}: ${(error as Error).message}`);
    return undefined;
  }
}

async function tryStat(path: string): Promise<Stats | Error> {
  try {
    return await stat(path);
  } catch (error) {
    return error as Error;
  }
}

async function requirePath(path: string): Promise<Stats> {
  const stats = await tryStat(path);
  if (!(stats instanceof Error)) return stats;
  const missing = (stats as NodeJS.ErrnoException).code === 'ENOENT';
  throw invalid(path, missing ? 'no such file or folder' : stats.message);
}

async function requireFolder(path: string): Promise<void> {
  if (!(await requirePath(path)).isDirectory()) throw invalid(path, 'expected a folder');
}

function invalid(path: string, message: string): ServalError {
  return new ServalError(ErrorCode.InvalidArgument, `${path}: ${message}`);
}
