// Finds the models of a repository (PATH, --model-repository), with each model's config.pbtxt.
// Control plane. Reads folders and configuration, never model files; a problem of one model is
// reported with it and does not affect the others.
import { createHash } from 'node:crypto';
import { extname, isAbsolute, join, resolve } from 'node:path';
import { ONNX_FILE, TENSORRT_FILE, TRITON_CONFIG_FILE } from '../../../base/file-names.js';
import { invalidArgument } from '../../../base/errors.js';
import { MODELS_MAX } from '../../../base/limits.js';
import { echo } from '../../../base/text.js';
import { ENSEMBLE_PLATFORM } from '../../../model/platforms.js';
import { read } from '../../../protobuf/schema.js';
import { readConfigText } from '../../../protobuf/text-format.js';
import { readLabels } from '../../config/files/label-file.js';
import { operatorLibraries } from '../../config/files/operator-libraries.js';
import { readStates } from '../../config/files/state-files.js';
import {
  ANY_BOOSTER,
  modelFileOf,
  stemOf,
  TENSORRT_PLATFORM,
} from '../../../importers/run/model-files.js';
import { filFile, isFil } from '../../config/boosters/fil.js';
import { MODEL_SETTINGS_FILE } from '../../config/boosters/mlserver.js';
import { findModelSettings, type FoundSettings } from '../../config/boosters/mlserver-files.js';
import { NULL_BACKEND, TENSORRT_BACKEND } from '../../config/triton-checks.js';
import { isEnsemble } from '../../config/ensembles/steps.js';
import { parseTritonConfig, versionPolicyOf } from '../../config/triton-config.js';
import type { TritonConfigResult } from '../../config/triton-config.js';
import type { TritonConfig } from '../../config/types.js';
import type { ConfigProblem } from '../../../protobuf/problem.js';
import {
  checkModelName,
  fingerprint,
  isGone,
  listFolder,
  mapLimited,
  MODEL_EXTENSION,
  NO_CONFIG,
  NONE_PENDING,
  parameterOf,
  requirePath,
  scanVersions,
  SINGLE_VERSION,
  tryStat,
  unreadableModel,
} from './scan.js';
import type { FoundConfig, FoundModel, FoundFile, SourceKind } from './scan.js';
import { NO_LABELS } from '../labels.js';
import { parseVersion } from '../../../model/version-policy.js';
import type { VersionPolicy } from '../../../model/version-policy.js';

export type {
  FoundModel,
  FoundVersion,
  ScannedModel,
  ScannedVersion,
  SourceKind,
} from './scan.js';

/** Folder for recovered files in the root of a file system. */
const LOST_AND_FOUND = 'lost+found';
/** Files that are models wherever they are. */
const LOOSE_MODELS: ReadonlySet<string> = new Set([
  ...[MODEL_EXTENSION, '.pmml', '.pb'],
  ...['.ubj', '.bst', '.xgb', '.lgb', '.lgbm'],
]);
const SEARCHED_FOLDERS_MAX = 64;
/** Folder of configurations with custom names. */
const CONFIGS_FOLDER = 'configs';
/** The parameter that names the schema of a tabular model. */
const SCHEMA_PARAMETER = 'schema';
const BACKGROUND_PARAMETER = 'explain_background';

/** Contents of one PATH or repository. */
export interface SourceScan {
  readonly models: readonly FoundModel[];
  /** Problems of the source itself, without the models' own; includes notes. */
  readonly problems: readonly string[];
  /** Notes about ignored settings and files. Absent: none. */
  readonly notes?: readonly string[];
  /** false: its contents are unknown now. */
  readonly readable: boolean;
}

export interface ScanRules {
  /** Overrides the configurations' policies. */
  readonly policy?: VersionPolicy;
  /** Filter: models of other names are not scanned. Default: all. */
  readonly wants?: (name: string) => boolean;
  /** Results of an earlier scan. */
  readonly before?: (name: string) => FoundModel | undefined;
  /** Whether a model may be served without config.pbtxt. Default: true. */
  readonly autoComplete?: boolean;
  /** configs/NAME.pbtxt replaces config.pbtxt if it exists. Default: "", none. */
  readonly configName?: string;
  /** Folders of --operator-libraries. Default: none. */
  readonly libraryFolders?: readonly string[];
  /** Whether the model's name is known, whatever its settings say. Default: no. */
  readonly isNamed?: boolean;
  /** A configuration that replaces the folder's own. */
  readonly configOf?: (name: string, folder: string) => Promise<FoundConfig> | undefined;
}

const MODELS_AT_ONCE = 16;

/** Never rejects for problems on disk, except for too many models. */
export async function scanRepository(path: string, rules: ScanRules): Promise<SourceScan> {
  const names = await listFolder(path);
  if (names instanceof Error) return unreadable(path, names);
  const problems: string[] = [];
  const notes: string[] = [];
  const loose: string[] = [];
  const wanted = names.filter((name) => !name.startsWith('.') && (rules.wants?.(name) ?? true));
  const found = await mapLimited(wanted, MODELS_AT_ONCE, async (name) => {
    const isKnown = rules.before?.(name) !== undefined;
    if (rules.wants === undefined && !isKnown && (await isNoModel(path, name))) {
      notes.push(`${join(path, name)} is ignored: it is a folder without a model`);
      return undefined;
    }
    const model = await scanRepositoryModel(path, name, rules);
    if (model === undefined) loose.push(name);
    return model;
  });
  const models = distinctModels(
    found.filter((model) => model !== undefined),
    problems,
  );
  const strays = await strayFiles(path, loose, models);
  problems.push(...strays.problems);
  notes.push(...strays.notes);
  if (models.length > MODELS_MAX)
    throw invalidArgument(path, `expected at most ${MODELS_MAX} models`);
  const empty = models.length === 0 && rules.wants === undefined;
  if (empty) problems.push(`${path} contains no model folders`);
  problems.push(...notes);
  return { models, problems: problems.sort(), notes, readable: true };
}

/**
 * Reports the files among a repository's model folders, or among served files, that are models but
 * are not served. A file beside the served model that was exported from it is only a note.
 */
export async function strayFiles(
  path: string,
  names: readonly string[],
  models: readonly FoundModel[],
): Promise<{ readonly problems: readonly string[]; readonly notes: readonly string[] }> {
  const problems: string[] = [];
  const notes: string[] = [];
  for (const name of names) {
    const at = join(path, name);
    if (LOOSE_MODELS.has(extname(name))) {
      const file = extname(name) === MODEL_EXTENSION ? ONNX_FILE : name;
      const where = join(path, stemOf(name), SINGLE_VERSION, file);
      problems.push(`${at} is not served: in a repository it would be ${where}`);
      continue;
    }
    const { foreignBeside } = await import('../../../importers/run/foreign-files.js');
    const what = await foreignBeside(path, name);
    if (what === undefined) continue;
    const twin = models.find((one) => one.name === stemOf(name) && one.versions.length > 0);
    if (twin === undefined) problems.push(what);
    else notes.push(`${at} is ignored: ${twin.versions[0]?.path ?? ''} is served`);
  }
  return { problems, notes };
}

/**
 * Whether a folder is not meant to be a model: the file system's lost+found, or a folder without
 * versions, configuration or any file that could be a model.
 */
async function isNoModel(path: string, name: string): Promise<boolean> {
  const folder = join(path, name);
  const stats = await tryStat(folder);
  if (stats instanceof Error || !stats.isDirectory()) return false;
  return name === LOST_AND_FOUND || !(await mayHoldModel(folder, 1));
}

/** `deeper`: how many levels of nested folders are searched too, for a misplaced model. */
async function mayHoldModel(folder: string, deeper: number): Promise<boolean> {
  const names = await listFolder(folder);
  if (names instanceof Error) return !isNoFolder(names);
  const mark = (name: string): boolean =>
    name === TRITON_CONFIG_FILE ||
    name === MODEL_SETTINGS_FILE ||
    name === CONFIGS_FOLDER ||
    /^[+-]?\d+$/.test(name);
  if (names.some((name) => mark(name) || modelFileOf(name) !== undefined)) return true;
  const { foreignIn } = await import('../../../importers/run/foreign-files.js');
  if ((await foreignIn(folder, names)) !== undefined) return true;
  if (deeper === 0) return false;
  for (const name of names.slice(0, SEARCHED_FOLDERS_MAX)) {
    if (await mayHoldModel(join(folder, name), deeper - 1)) return true;
  }
  return false;
}

const isNoFolder = (error: Error): boolean => (error as NodeJS.ErrnoException).code === 'ENOTDIR';

/** The model of that name; undefined if it is not a folder. */
export async function scanRepositoryModel(
  path: string,
  name: string,
  rules: ScanRules,
): Promise<FoundModel | undefined> {
  const folder = join(path, name);
  const stats = await tryStat(folder);
  if (stats instanceof Error) return unreadableModel(name, folder, 'repository', stats);
  return stats.isDirectory() ? scanModel(name, folder, 'repository', rules) : undefined;
}

/** Whether listModels() has the name, without scanning the others. */
export async function hasModel(path: string, name: string): Promise<boolean> {
  const names = await listFolder(path);
  // Compared with the entries, not used as a path: a name may contain slashes and dots.
  if (names instanceof Error || name.startsWith('.') || !names.includes(name)) return false;
  const stats = await tryStat(join(path, name));
  return !(stats instanceof Error) && stats.isDirectory();
}

/** Names of the folders in a repository; empty if it cannot be read. */
export async function listModels(path: string): Promise<readonly string[]> {
  const names = await listFolder(path);
  if (names instanceof Error) return [];
  const visible = names.filter((name) => !name.startsWith('.'));
  const folders = await mapLimited(visible, MODELS_AT_ONCE, async (name) => {
    const stats = await tryStat(join(path, name));
    const isFolder = !(stats instanceof Error) && stats.isDirectory();
    return isFolder && !(await isNoModel(path, name));
  });
  return visible.filter((_, i) => folders[i]);
}

/** One model folder: version folders, or only a model file. */
export async function scanModel(
  name: string,
  basePath: string,
  source: SourceKind,
  rules: ScanRules,
): Promise<FoundModel> {
  checkModelName(name, basePath);
  const names = await listFolder(basePath);
  if (names instanceof Error) return unreadableModel(name, basePath, source, names);
  const found = await (rules.configOf?.(name, basePath) ??
    readConfig(name, basePath, names, rules));
  if (found instanceof Error) return unreadableModel(name, basePath, source, found);
  const { mlserver } = found;
  const isNamed = rules.isNamed === true || rules.wants !== undefined;
  const shown = isNamed ? name : mlserver?.name || name;
  checkModelName(shown, basePath);
  const before = rules.before?.(shown);
  const settings = found.config ?? before?.config.config;
  const problems = [...found.warnings];
  if (found.problem !== '') problems.push(found.problem);
  const versions = await scanVersions(
    {
      basePath,
      names,
      modelFile: mlserver === undefined ? configuredFile(settings) : mlserver.file || ONNX_FILE,
      platform: mlserver === undefined ? configuredPlatform(settings) : ANY_BOOSTER,
      single: mlserver?.version,
      policy: rules.policy ?? versionPolicyOf(settings),
      parse: parseVersion,
      before: before?.basePath === basePath ? before.versions : [],
    },
    problems,
  );
  return {
    name: shown,
    basePath,
    versions,
    source,
    problems,
    readable: true,
    config: found,
    labels: NO_LABELS,
    pending: NONE_PENDING,
  };
}

async function readConfig(
  name: string,
  folder: string,
  names: readonly string[],
  rules: ScanRules,
): Promise<FoundConfig | Error> {
  const named = await namedConfig(folder, names, rules.configName ?? '');
  if (named instanceof Error) return named;
  const path = named ?? join(folder, TRITON_CONFIG_FILE);
  if (named === undefined && !names.includes(TRITON_CONFIG_FILE)) {
    const settings = await findModelSettings(folder, names);
    if (settings instanceof Error) return settings;
    if (settings !== undefined) return mlserverConfig(settings);
    if (rules.autoComplete ?? true) return NO_CONFIG;
    const problem = `${path}: no such file: expected one, as --disable-auto-complete-config is on`;
    return { ...NO_CONFIG, problem, revision: 'none' };
  }
  let text: string;
  try {
    text = await readConfigText(path);
  } catch (error) {
    return error as Error;
  }
  const found = await foundConfig(folder, text, parseTritonConfig(text, path, name), path);
  return withLibraryFiles(found, [folder, ...(rules.libraryFolders ?? [])]);
}

/**
 * Adds the state of the libraries with custom operators, so that a changed one changes the
 * revision. Every file that a relative name may stand for counts; those in the versions' folders
 * are part of the versions' own revisions.
 */
async function withLibraryFiles(
  found: FoundConfig,
  folders: readonly string[],
): Promise<FoundConfig> {
  const names = operatorLibraries(found.config).filter((name) => !name.includes('\0'));
  if (names.length === 0) return found;
  const paths = names.flatMap((name) => folders.map((folder) => resolve(folder, name)));
  const libraries = digest(await Promise.all([...new Set(paths)].map(fileState)));
  return { ...found, libraries, revision: digest([found.revision, libraries]) };
}

/** Text that changes if another file is at the path, or the file is written; links are followed. */
async function fileState(path: string): Promise<string> {
  const stats = await tryStat(path);
  if (stats instanceof Error) return `${path}: none`;
  const { dev, ino, size, mtimeMs, ctimeMs } = stats;
  return [path, dev, ino, size, mtimeMs, ctimeMs].join(':');
}

function mlserverConfig({ settings, problem, notes, revision }: FoundSettings): FoundConfig {
  const mlserver = settings === undefined ? {} : { mlserver: settings };
  return { ...NO_CONFIG, ...mlserver, problem, notes, warnings: notes, revision };
}

/**
 * The path of configs/NAME.pbtxt; undefined if it does not exist: the model's other configuration
 * is then used, as in Triton. Source: core/src/model_lifecycle.cc GetModelConfigFullPath.
 */
async function namedConfig(
  folder: string,
  names: readonly string[],
  configName: string,
): Promise<string | Error | undefined> {
  if (configName === '' || !names.includes(CONFIGS_FOLDER)) return undefined;
  const path = join(folder, CONFIGS_FOLDER, `${configName}.pbtxt`);
  const stats = await tryStat(path);
  if (!(stats instanceof Error)) return path;
  return (await isGone(path, stats)) ? undefined : stats;
}

/**
 * A configuration that was read from `path` or sent by a client, with the label files that it
 * names.
 */
export async function foundConfig(
  folder: string,
  text: string,
  result: TritonConfigResult,
  path = join(folder, TRITON_CONFIG_FILE),
): Promise<FoundConfig> {
  const { config, problems } = result;
  const notes = result.warnings.map(problemText);
  if (config === undefined) {
    const problem = problems.map(problemText).join('; ');
    return { ...NO_CONFIG, problem, notes, warnings: notes, revision: digest([text, problem]) };
  }
  const { labels, problems: wrongLabels } = await readLabels(folder, config);
  const warnings = [...notes, ...wrongLabels.map(problemText)];
  const { states, problems: wrongStates } = await readStates(folder, config);
  if (wrongStates.length > 0) {
    const problem = wrongStates.map(problemText).join('; ');
    return { ...NO_CONFIG, problem, notes, warnings, revision: digest([text, problem]) };
  }
  const schema = await namedFile(folder, config, path, SCHEMA_PARAMETER);
  const background = await namedFile(folder, config, path, BACKGROUND_PARAMETER);
  const lost = [schema, background].find((found) => typeof found === 'string');
  if (typeof schema === 'string' || typeof background === 'string') {
    const problem = String(lost);
    return { ...NO_CONFIG, problem, notes, warnings, revision: digest([text, problem]) };
  }
  const stateSums = [...states].map(([name, bytes]) => `${name}:${sha1(bytes)}`);
  const fileRevisions = [schema?.revision ?? '', background?.revision ?? ''];
  const parts = [text, ...warnings, ...[...labels].flat(2), ...fileRevisions, ...stateSums];
  const revision = digest(parts);
  const read = states.size === 0 ? {} : { initialStates: states };
  return {
    config,
    classLabels: labels,
    ...read,
    ...(schema === undefined ? {} : { schema }),
    ...(background === undefined ? {} : { background }),
    problem: '',
    notes,
    warnings,
    revision,
  };
}

/**
 * The file in the model's folder that a parameter names, its problem, or neither.
 */
async function namedFile(
  folder: string,
  config: TritonConfig,
  configPath: string,
  parameterName: string,
): Promise<FoundFile | string | undefined> {
  const name = parameterOf(config, parameterName);
  if (name === '') return undefined;
  const place = `${configPath}: parameters "${parameterName}"`;
  if (isAbsolute(name) || name.includes('\0') || name.split(/[\\/]/).includes('..')) {
    return `${place}: expected a file in the model's folder, got ${echo(name)}`;
  }
  const path = join(folder, name);
  const stats = await tryStat(path);
  if (stats instanceof Error) return `${place}: cannot read ${path}: ${stats.message}`;
  return { path, revision: await fingerprint(path) };
}

function problemText({ place, message }: ConfigProblem): string {
  return `${place}: ${message}`;
}

function digest(parts: readonly string[]): string {
  return sha1(JSON.stringify(parts));
}

function sha1(content: string | Uint8Array): string {
  return createHash('sha1').update(content).digest('base64url');
}

/** Returns undefined if versions have no file. */
function configuredFile(config: TritonConfig | undefined): string | undefined {
  if (config?.['backend'] === NULL_BACKEND || isEnsemble(config)) return undefined;
  const isTensorRt = configuredPlatform(config) === TENSORRT_PLATFORM;
  const own = config !== undefined && isFil(config) ? filFile(config) : undefined;
  const standard = own ?? (isTensorRt ? TENSORRT_FILE : ONNX_FILE);
  return String(config?.['default_model_filename'] || standard);
}

/** The platform that the configuration states; "" = none. */
function configuredPlatform(config: TritonConfig | undefined): string {
  const platform = read.text(config ?? {}, 'platform');
  if (platform !== '') return platform;
  if (isFil(config)) return ANY_BOOSTER;
  if (isEnsemble(config)) return ENSEMBLE_PLATFORM;
  return read.text(config ?? {}, 'backend') === TENSORRT_BACKEND ? TENSORRT_PLATFORM : '';
}

export function unreadable(path: string, error: Error): SourceScan {
  return { models: [], problems: [`cannot read ${path}: ${error.message}`], readable: false };
}

export async function requireFolder(path: string): Promise<void> {
  if (!(await requirePath(path)).isDirectory()) throw invalidArgument(path, 'expected a folder');
}

/** Removes models with duplicate names, keeping the first; sorted by name. */
export function distinctModels(
  found: readonly FoundModel[],
  problems: string[],
): readonly FoundModel[] {
  const byName = new Map<string, FoundModel>();
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
