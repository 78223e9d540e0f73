// The result of scanning model folders, and the steps that every kind of source shares: listing,
// picking versions, fingerprints. Control plane. Reads folders, never model files.
import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { ONNX_FILE } from '../../../base/file-names.js';
import { invalidArgument } from '../../../base/errors.js';
import { MODEL_NAME_BYTES_MAX, VERSIONS_MAX } from '../../../base/limits.js';
import type { BoosterAnswer } from '../../../model/booster-answer.js';
import type { BatchingParameters } from '../../../model/batching-parameters.js';
import { filAnswer } from '../../config/boosters/fil.js';
import { parameter } from '../../config/parameters.js';
import type { ModelSettings } from '../../config/boosters/mlserver.js';
import type { TritonConfig } from '../../config/types.js';
import type { InitialStates } from '../../config/sequences/settings.js';
import { NO_LABELS, type Labels } from '../labels.js';
import {
  findModelFile,
  tabularFormat,
  type ModelFile,
  type ModelFormat,
} from '../../../importers/run/model-files.js';
import type { TabularImporterSpec } from '../../../model/engine-api.js';
import { ENSEMBLE_PLATFORM, VERIFICATION_MODES } from '../../../model/platforms.js';
import type { VersionPolicy } from '../../../model/version-policy.js';
import { chooseVersions } from '../../../model/version-policy.js';

export type SourceKind = 'file' | 'model-folder' | 'repository' | 'base-path';

export interface ScannedVersion {
  /** Decimal text, no leading zeros. */
  readonly version: string;
  /** The model file or folder, absolute. */
  readonly path: string;
  readonly format: ModelFormat;
  /** V2 metadata's `platform`. */
  readonly platform: string;
  /** Changes if anything in the version's folder changes. */
  readonly revision: string;
  /**
   * Paths in the version's folder that could not be read during the scan, such as dangling links.
   * Absent: none.
   */
  readonly unreadable?: readonly string[];
}

export interface ScannedModel {
  readonly name: string;
  readonly basePath: string;
  /** Highest first; empty if nothing in the folder can be served. */
  readonly versions: readonly ScannedVersion[];
  readonly source: SourceKind;
  /** Problems, each a sentence with its path. */
  readonly problems: readonly string[];
}

export interface FoundVersion extends ScannedVersion {
  /** The version's folder, absolute. */
  readonly folder: string;
  /** schema.json beside the model; absent: there is none, or the format does not use one. */
  readonly schema?: string;
  /** explain_background.csv, likewise. */
  readonly background?: string;
  /** batching_params.pbtxt beside the model file. */
  readonly batching?: BatchingParameters;
  /** Settings of that file that have no effect. */
  readonly batchingNotes?: readonly string[];
  /** Why it cannot be served although it exists; "" if it can. */
  readonly problem: string;
}

/** Contents of a model's own configuration file. */
export interface FoundConfig {
  /** undefined: there is none. */
  readonly config: TritonConfig | undefined;
  /** Lines of each output's label file, by output name. */
  readonly classLabels: ClassLabels;
  /** Contents of the files with initial states. */
  readonly initialStates?: InitialStates;
  /** Why nothing can be served with it; "" if it is valid. */
  readonly problem: string;
  /** The file of the parameter "schema". */
  readonly schema?: FoundFile;
  /** The file of the parameter "explain_background". */
  readonly background?: FoundFile;
  /** Changes if a library of operators outside of the versions' folders does. Absent: none. */
  readonly libraries?: string;
  /** MLServer's settings, which replace a configuration. */
  readonly mlserver?: ModelSettings;
  /** Settings that are read but have no effect. */
  readonly notes: readonly string[];
  /** The notes, plus problems that do not prevent serving. */
  readonly warnings: readonly string[];
  /** Changes if the configuration does. */
  readonly revision: string;
}

export interface FoundFile {
  /** Absolute. */
  readonly path: string;
  /** Changes if the file does. */
  readonly revision: string;
}

export type ClassLabels = ReadonlyMap<string, readonly string[]>;

export interface FoundModel extends ScannedModel {
  /** Versions that the version policy picks. */
  readonly versions: readonly FoundVersion[];
  /** false: the folder could not be read, so its contents are unknown. */
  readonly readable: boolean;
  readonly config: FoundConfig;
  readonly labels: Labels;
  /** Versions that exist and wait until nothing in them changes. */
  readonly pending: readonly string[];
}

/** FoundModel.pending of models that wait for nothing; shared. */
export const NONE_PENDING: readonly string[] = [];

export const NO_CONFIG: FoundConfig = {
  config: undefined,
  classLabels: new Map(),
  problem: '',
  notes: [],
  warnings: [],
  revision: '',
};

export const MODEL_EXTENSION = '.onnx';
export const SCHEMA_FILE = 'schema.json';
export const BACKGROUND_FILE = 'explain_background.csv';
const TIMEZONE_PARAMETER = 'timezone';
const ANSI_PARAMETER = 'spark.ansi';
const VERIFICATION_PARAMETER = 'verification';
export const SINGLE_VERSION = '1';
/** Maximum entries in a fingerprint; the rest of a folder is assumed not to change. */
const FINGERPRINT_ENTRIES_MAX = 4096;
const FINGERPRINT_DEPTH_MAX = 16;
const MAY_BE_FOLDERS: ReadonlySet<ModelFormat> = new Set([
  ...(['tensorflow', 'spark', 'mleap', 'ydf'] as const),
]);
const encoder = new TextEncoder();

export interface VersionScan {
  readonly basePath: string;
  readonly names: readonly string[];
  /** Name of the file in a version's folder; undefined: the version is the folder itself. */
  readonly modelFile: string | undefined;
  /** The platform that the configuration states; "" = none. */
  readonly platform: string;
  readonly policy: VersionPolicy;
  /** The version of a folder without version folders. Default: 1. */
  readonly single?: string | undefined;
  /** Returns the version that a folder's name stands for. */
  readonly parse: (name: string) => string | undefined;
  /** Results of an earlier scan, kept for versions that cannot be read now. */
  readonly before: readonly FoundVersion[];
}

/** The versions that the policy picks among those that have a model file; highest first. */
export async function scanVersions(
  scan: VersionScan,
  problems: string[],
): Promise<readonly FoundVersion[]> {
  const { basePath, names, modelFile, platform, policy } = scan;
  const folders = versionFolders(scan, problems);
  const bareFile = modelFile === undefined ? undefined : findModelFile(names, modelFile, platform);
  if (bareFile !== undefined) {
    if (folders.size === 0) {
      const bare = await scanFile(
        scan.single ?? SINGLE_VERSION,
        basePath,
        bareFile,
        scan,
        problems,
        names,
      );
      return bare === undefined ? [] : [bare];
    }
    const path = join(basePath, bareFile.name);
    problems.push(`${path} is ignored because version folders are beside it`);
  } else if (folders.size === 0) {
    const expected = join(basePath, SINGLE_VERSION, modelFile ?? '');
    problems.push(`${basePath} has no version folder: expected ${expected}`);
  }
  const found: FoundVersion[] = [];
  const enough = policy.kind === 'latest' ? Math.max(1, policy.count) : Infinity;
  const choice = chooseVersions(policy.kind === 'latest' ? { kind: 'all' } : policy, [
    ...folders.keys(),
  ]);
  for (const version of choice.versions) {
    if (found.length >= enough) break;
    const folder = join(basePath, folders.get(version) ?? version);
    const one = await scanVersion(version, folder, scan, problems);
    if (one !== undefined) found.push(one);
  }
  for (const version of choice.missing) {
    problems.push(`${basePath} has no version ${version}, which the version policy requests`);
  }
  return found;
}

/** Version -> folder name; if two names stand for one version, the last in order wins. */
function versionFolders(scan: VersionScan, problems: string[]): Map<string, string> {
  const { basePath } = scan;
  const folders = new Map<string, string>();
  for (const name of scan.names) {
    if (!/^[+-]?\d+$/.test(name)) continue;
    const folder = join(basePath, name);
    const version = scan.parse(name);
    if (version === undefined) {
      problems.push(`${folder}: expected a version number that fits int64, got ${name}`);
      continue;
    }
    const twin = folders.get(version);
    if (twin !== undefined) {
      problems.push(
        `${join(basePath, twin)} and ${folder} are both version ${version}: ` +
          'the second is served',
      );
    }
    folders.set(version, name);
    if (folders.size > VERSIONS_MAX) {
      throw invalidArgument(basePath, `expected at most ${VERSIONS_MAX} versions`);
    }
  }
  return folders;
}

async function scanVersion(
  version: string,
  folder: string,
  scan: VersionScan,
  problems: string[],
): Promise<FoundVersion | undefined> {
  const { modelFile, platform } = scan;
  const names = await listFolder(folder);
  if (names instanceof Error) {
    problems.push(`cannot read ${folder}: ${names.message}`);
    const isRemoved = await isGone(folder, names);
    return isRemoved ? undefined : scan.before.find((one) => one.version === version);
  }
  if (modelFile === undefined) return scanFolder(version, folder, platform);
  const file = findModelFile(names, modelFile, platform);
  if (file !== undefined) return scanFile(version, folder, file, scan, problems, names);
  const onnx = names.find((file) => extname(file) === MODEL_EXTENSION);
  const { foreignIn } = await import('../../../importers/run/foreign-files.js');
  const foreign = onnx === undefined ? await foreignIn(folder, names) : undefined;
  if (foreign !== undefined) {
    problems.push(foreign);
    return undefined;
  }
  const other = names.length === 1 ? names[0] : onnx;
  const got = other ?? `${names.length} other files`;
  problems.push(`${folder} has no model: expected ${modelFile}, got ${got}`);
  return undefined;
}

/**
 * The version with this folder, which is the model's own folder if there are no version folders.
 */
async function scanFile(
  version: string,
  folder: string,
  file: ModelFile,
  scan: VersionScan,
  problems: string[],
  names: readonly string[],
): Promise<FoundVersion | undefined> {
  const before = scan.before.find((one) => one.version === version);
  const named = join(folder, file.name);
  const path = file.format === 'onnx' ? await onnxFileIn(named) : named;
  const stats = await tryStat(path);
  const isModel =
    !(stats instanceof Error) &&
    (stats.isFile() || (MAY_BE_FOLDERS.has(file.format) && stats.isDirectory()));
  if (!isModel) {
    const wanted = file.format === 'onnx' ? 'a file, or a folder with one .onnx file' : 'a file';
    const reason = stats instanceof Error ? stats.message : `expected ${wanted}`;
    problems.push(`cannot read ${path}: ${reason}`);
    return stats instanceof Error && !(await isGone(path, stats)) ? before : undefined;
  }
  const { revision, unreadable } = await fingerprintOf(folder);
  if (before?.revision === revision && before.path === path) return before;
  const lost = unreadable.find((one) => before && !before.unreadable?.includes(one));
  if (before !== undefined && lost !== undefined) {
    problems.push(`cannot read ${lost}: version ${version} is unchanged`);
    return before;
  }
  const { format, platform } = file;
  const beside = filesBeside(folder, file, names);
  const found = { version, folder, path, format, platform, ...beside, revision, problem: '' };
  return unreadable.length > 0 ? { ...found, unreadable } : found;
}

/**
 * The model's file if the path is a folder, as Triton supports for ONNX models with external data:
 * the file of the same name, model.onnx, or the only one. Else the path itself. Source: Triton's
 * model_repository.md, "ONNX Models".
 */
async function onnxFileIn(path: string): Promise<string> {
  const stats = await tryStat(path);
  if (stats instanceof Error || !stats.isDirectory()) return path;
  const names = await listFolder(path);
  if (names instanceof Error) return path;
  const models = names.filter((name) => extname(name) === MODEL_EXTENSION);
  const found = [basename(path), ONNX_FILE].find((name) => models.includes(name));
  const only = models.length === 1 ? models[0] : undefined;
  return join(path, found ?? only ?? '');
}

/** The schema of a version: a configured one overrides the one beside the model; "" = none. */
function schemaOf({ config }: FoundModel, { schema }: FoundVersion): string {
  return config.schema?.path ?? schema ?? '';
}

/** Import settings of a tabular model, from its configuration. */
export function tabularSettingsOf(
  model: FoundModel,
  version: FoundVersion,
): Omit<TabularImporterSpec, 'format'> {
  const { config } = model.config;
  const background = model.config.background?.path ?? version.background;
  const wanted = parameterOf(config, VERIFICATION_PARAMETER);
  const answer: BoosterAnswer | undefined =
    model.config.mlserver === undefined ? filAnswer(config) : { server: 'mlserver' };
  return {
    schema: schemaOf(model, version),
    timezone: parameterOf(config, TIMEZONE_PARAMETER),
    ansi: parameterOf(config, ANSI_PARAMETER),
    verification: VERIFICATION_MODES.find((mode) => mode === wanted) ?? 'fail',
    ...(background === undefined ? {} : { background }),
    ...(answer === undefined ? {} : { answer }),
  };
}

/** A parameter of config.pbtxt; "" = absent. */
export function parameterOf(config: TritonConfig | undefined, key: string): string {
  return parameter(config ?? {}, key) ?? '';
}

/** The files of a tabular model among the names of its folder. */
function filesBeside(
  folder: string,
  { format }: ModelFile,
  names: readonly string[],
): Pick<FoundVersion, 'schema' | 'background'> {
  if (tabularFormat(format) === undefined) return {};
  return {
    ...(names.includes(SCHEMA_FILE) ? { schema: join(folder, SCHEMA_FILE) } : {}),
    ...(names.includes(BACKGROUND_FILE) ? { background: join(folder, BACKGROUND_FILE) } : {}),
  };
}

/** A version without a file. */
async function scanFolder(
  version: string,
  folder: string,
  platform: string,
): Promise<FoundVersion> {
  const revision = await fingerprint(folder);
  const format = platform === ENSEMBLE_PLATFORM ? 'ensemble' : 'null';
  return { version, folder, path: folder, format, platform, revision, problem: '' };
}

/** Stands for a model whose folder cannot be read. */
export function unreadableModel(
  name: string,
  basePath: string,
  source: SourceKind,
  error: Error,
): FoundModel {
  const problems = [`cannot read ${basePath}: ${error.message}`];
  return {
    name,
    basePath,
    versions: [],
    source,
    problems,
    readable: false,
    config: NO_CONFIG,
    labels: NO_LABELS,
    pending: NONE_PENDING,
  };
}

/**
 * Text that changes if a file below the path is added, removed or written: names, sizes, times and
 * inodes of everything there, links followed, up to a number of entries and a depth.
 */
export async function fingerprint(path: string): Promise<string> {
  return (await fingerprintOf(path)).revision;
}

interface Fingerprint {
  readonly revision: string;
  /** Paths that exist and cannot be read, such as a dangling link. */
  readonly unreadable: readonly string[];
}

/** The fingerprint of the path, with the paths that could not be read. */
export async function fingerprintOf(path: string): Promise<Fingerprint> {
  const hash = createHash('sha1');
  const unreadable: string[] = [];
  let entries = 0;
  const visit = async (at: string, name: string, depth: number): Promise<void> => {
    entries += 1;
    if (entries > FINGERPRINT_ENTRIES_MAX || depth > FINGERPRINT_DEPTH_MAX) return;
    const stats = await tryStat(at);
    if (stats instanceof Error) {
      hash.update(`${name}\0${(stats as NodeJS.ErrnoException).code ?? ''}\n`);
      if (!(await isGone(at, stats))) unreadable.push(at);
      return;
    }
    const { ino, mtimeMs, ctimeMs } = stats;
    const folder = stats.isDirectory();
    const size = folder ? 'folder' : stats.size;
    hash.update(`${name}\0${ino}:${size}:${mtimeMs}:${ctimeMs}\n`);
    if (!folder) return;
    const names = await listFolder(at);
    if (names instanceof Error) {
      if (!(await isGone(at, names))) unreadable.push(at);
      return;
    }
    for (const child of names) await visit(join(at, child), `${name}/${child}`, depth + 1);
  };
  await visit(path, '', 0);
  return { revision: hash.digest('base64url'), unreadable };
}

/** Errors: InvalidArgument. */
export function checkModelName(name: string, where: string): void {
  const bytes = encoder.encode(name).byteLength;
  if (bytes > 0 && bytes <= MODEL_NAME_BYTES_MAX) return;
  throw invalidArgument(where, `expected a model name of 1 to ${MODEL_NAME_BYTES_MAX} bytes`);
}

/** Entry names in order. */
export async function listFolder(path: string): Promise<readonly string[] | Error> {
  try {
    return (await readdir(path)).sort();
  } catch (error) {
    return error as Error;
  }
}

export async function tryStat(path: string): Promise<Stats | Error> {
  try {
    return await stat(path);
  } catch (error) {
    return error as Error;
  }
}

/**
 * Whether the path no longer exists, as opposed to being unreadable now: a dangling link still
 * exists. `error`: the error of reading the path.
 */
export async function isGone(path: string, error: Error): Promise<boolean> {
  const { code } = error as NodeJS.ErrnoException;
  return (code === 'ENOENT' || code === 'ENOTDIR') && !(await isLink(path));
}

/** Whether the path itself is a link, regardless of its target. */
async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Errors: InvalidArgument naming the path. */
export async function requirePath(path: string): Promise<Stats> {
  const stats = await tryStat(path);
  if (!(stats instanceof Error)) return stats;
  const missing = (stats as NodeJS.ErrnoException).code === 'ENOENT';
  throw invalidArgument(path, missing ? 'no such file or folder' : stats.message);
}

/** Problems, without notes about settings that have no effect. */
export function wrongWith({ problems, config }: FoundModel): readonly string[] {
  return problems.filter((one) => !config.notes.includes(one));
}

/** Like Promise.all over items.map(work), with limited concurrency; results in order. */
export async function mapLimited<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) {
      results[i] = await work(items[i] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return results;
}
