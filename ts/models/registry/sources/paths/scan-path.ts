// Determines what a PATH of the command line contains: a model file, a folder of such files, a
// model's folder or a repository. Control plane. Reads folders and configuration; of files that are
// no model it reads the first bytes, to identify them.
import { basename, dirname, join } from 'node:path';
import { ONNX_FILE, TRITON_CONFIG_FILE } from '../../../../base/file-names.js';
import { invalidArgument } from '../../../../base/errors.js';
import type { ModelSources } from '../../../../config/config.js';
import { placeOf, type ModelPath } from '../../../../config/values/model-path.js';
import {
  boosterFile,
  findModelFile,
  isRefused,
  modelFileOf,
  stemOf,
  tabularFormat,
  type ModelFile,
} from '../../../../importers/run/model-files.js';
import { MODEL_SETTINGS_FILE } from '../../../config/boosters/mlserver.js';
import { NO_LABELS } from '../../labels.js';
import { parseVersion } from '../../../../model/version-policy.js';
import {
  distinctModels,
  listModels,
  requireFolder,
  scanModel,
  scanRepository,
  strayFiles,
  unreadable,
  type ScanRules,
  type SourceScan,
} from '../repository.js';
import {
  checkModelName,
  fingerprintOf,
  isGone,
  listFolder,
  mapLimited,
  MODEL_EXTENSION,
  NO_CONFIG,
  NONE_PENDING,
  requirePath,
  BACKGROUND_FILE,
  SCHEMA_FILE,
  SINGLE_VERSION,
  tryStat,
  type FoundModel,
} from '../scan.js';

export interface ScanResult {
  /** Sorted by name; names are unique. */
  readonly models: readonly FoundModel[];
  /** All problems, including the models' own. */
  readonly problems: readonly string[];
}

const FILES_AT_ONCE = 16;
/**
 * File types that are common elsewhere: treated as models only if nothing else in their folder is
 * one.
 */
const MAY_BE_OTHERS = /(?<!\.pmml)\.(xml|zip|tar|tgz|gz|plan|json|txt|model|bin)$/;

/**
 * Scans all versions of everything. Errors: InvalidArgument naming the path: it does not exist, is
 * a file that is no model, or has a name that another has.
 */
export async function scanSources(
  sources: Pick<ModelSources, 'paths' | 'modelRepositories'>,
): Promise<ScanResult> {
  const rules: ScanRules = { policy: { kind: 'all' } };
  const scans: SourceScan[] = [];
  for (const given of sources.paths) scans.push(await scanPath(given, rules));
  refuseEqualNames(scans.map(({ models }) => models));
  for (const path of sources.modelRepositories) {
    await requireFolder(path);
    scans.push(await scanRepository(path, rules));
  }
  const problems = scans.flatMap((scan) => scan.problems);
  const models = distinctModels(
    scans.flatMap((scan) => scan.models),
    problems,
  );
  return { models, problems: [...problems, ...models.flatMap((model) => model.problems)] };
}

/**
 * Errors: InvalidArgument: two PATHs that are not repositories have models of the same name.
 * Repositories are scanned repeatedly, so their duplicates are reported as problems.
 */
export function refuseEqualNames(perPath: readonly (readonly FoundModel[])[]): void {
  const seen = new Map<string, FoundModel>();
  for (const model of perPath.flat()) {
    const first = seen.get(model.name);
    seen.set(model.name, first ?? model);
    if (first === undefined) continue;
    if (first.source === 'repository' && model.source === 'repository') continue;
    const [one, other] = [whereOf(first), whereOf(model)];
    throw invalidArgument(
      other,
      `model '${model.name}' is also in ${one}: expected unique names, as in ` + `NAME=${other}`,
    );
  }
}

function whereOf({ source, versions, basePath }: FoundModel): string {
  return (source === 'file' ? versions[0]?.path : undefined) ?? basePath;
}

/**
 * Errors: InvalidArgument: the path does not exist, is a file that is no model, or has one given
 * name but contains several models.
 */
export async function scanPath(given: ModelPath, rules: ScanRules): Promise<SourceScan> {
  const path = placeOf(given);
  const wanted = typeof given === 'string' ? undefined : given.name;
  const stats = await requirePath(path);
  if (stats.isDirectory()) return scanFolder(path, wanted, rules);
  const file = stats.isFile() ? await fileAt(path) : undefined;
  if (file === undefined) {
    throw invalidArgument(
      path,
      (stats.isFile() ? await foreign(path) : undefined) ??
        `expected a folder or a file that ends in ${MODEL_EXTENSION}, .pb, .pbtxt, .graphdef, ` +
          '.plan, .pmml, .pmml.gz, .xml, .zip, .tar, .tar.gz, .tgz or .gz, or a model of XGBoost, ' +
          'LightGBM or CatBoost',
    );
  }
  const name = wanted ?? stemOf(basename(path));
  return found([await fileModel(name, path, file, rules.before?.(name))]);
}

/** By its name, or as a booster by its content. */
async function fileAt(path: string): Promise<ModelFile | undefined> {
  const named = modelFileOf(basename(path));
  if (named !== undefined) return named;
  const { boosterAt } = await import('../../../../importers/run/foreign-files.js');
  return (await boosterAt(path)) === undefined ? undefined : boosterFile(basename(path));
}

async function foreign(path: string): Promise<string | undefined> {
  const { foreignFile } = await import('../../../../importers/run/foreign-files.js');
  return foreignFile(path);
}

const found = (
  models: readonly FoundModel[],
  problems: readonly string[] = [],
  notes: readonly string[] = [],
): SourceScan => ({ models, problems, notes, readable: true });

async function scanFolder(
  path: string,
  wanted: string | undefined,
  rules: ScanRules,
): Promise<SourceScan> {
  const names = await listFolder(path);
  if (names instanceof Error) return unreadable(path, names);
  const own = findModelFile(names, ONNX_FILE);
  const before = rules.before?.(wanted ?? basename(path));
  const wasOne = before?.source === 'model-folder';
  const hasConfig = [TRITON_CONFIG_FILE, MODEL_SETTINGS_FILE].some((one) => names.includes(one));
  const isOne = hasConfig || (await hasVersionFolder(path, names, wasOne));
  const named = { ...rules, isNamed: wanted !== undefined };
  const scanOwn = async (): Promise<SourceScan> =>
    found([await scanModel(wanted ?? basename(path), path, 'model-folder', named)]);
  // A model that cannot be loaded is the folder's own only if there is nothing else to serve.
  const isLast = own !== undefined && isRefused(own.name);
  const isModel = own !== undefined && !isLast && !(await hasSeveral(path, names, own, rules));
  if (isOne || isModel) return scanOwn();
  if (wanted !== undefined && isLast && !(await servesOthers(path, names, rules))) return scanOwn();
  if (wanted !== undefined) {
    throw invalidArgument(
      path,
      `expected one model to be named '${wanted}', got a folder of models`,
    );
  }
  const repository = await scanRepository(path, rules);
  const holds =
    repository.models.some(({ versions }) => versions.length > 0) ||
    (rules.wants !== undefined && (await listModels(path)).length > 0);
  if (holds) return repository;
  const files = await folderOfFiles(path, names, rules);
  if (isLast && (files?.models.length ?? 0) === 0) return scanOwn();
  return files ?? repository;
}

/** Whether the folder holds models beside those that cannot be loaded. */
async function servesOthers(
  path: string,
  names: readonly string[],
  rules: ScanRules,
): Promise<boolean> {
  const { models } = await scanRepository(path, rules);
  if (models.some(({ versions }) => versions.length > 0)) return true;
  return (await modelFilesIn(path, names, rules)).length > 0;
}

/** Whether the file that would be the folder's model is one of several. */
async function hasSeveral(
  path: string,
  names: readonly string[],
  own: ModelFile,
  rules: ScanRules,
): Promise<boolean> {
  if (own.name === '' || MAY_BE_OTHERS.test(own.name)) return false;
  const sure = names.filter((name) => modelFileOf(name) && !MAY_BE_OTHERS.test(name));
  if (sure.length < 2) return false;
  const files = await modelFilesIn(path, sure, rules);
  return files.length > 1 && files.some(({ name }) => name === own.name);
}

/** Each model file of the folder under its own name; undefined if there is none. */
async function folderOfFiles(
  path: string,
  names: readonly string[],
  rules: ScanRules,
): Promise<SourceScan | undefined> {
  const files = await modelFilesIn(path, names, rules);
  const sure = files.filter(({ name }) => !MAY_BE_OTHERS.test(name));
  const served = sure.length > 0 ? sure : files;
  const problems = files
    .filter((file) => !served.includes(file))
    .map(({ name }) => `${join(path, name)} is not served: give it as a PATH if it is a model`);
  if (served.length === 0) {
    const { foreignIn } = await import('../../../../importers/run/foreign-files.js');
    const other = await foreignIn(path, names);
    return other === undefined ? undefined : found([], [other]);
  }
  const models: FoundModel[] = [];
  for (const file of served) {
    const name = stemOf(file.name);
    const twin = models.find((one) => one.name === name);
    if (twin !== undefined) refuseEqualNames([[twin], [await model(name, file)]]);
    models.push(await model(name, file));
  }
  const others = names.filter((name) => modelFileOf(name) === undefined);
  const strays = await strayFiles(path, others, models);
  return found(models, [...problems, ...strays.problems, ...strays.notes], strays.notes);

  function model(name: string, file: ModelFile): Promise<FoundModel> {
    return fileModel(name, join(path, file.name), file, rules.before?.(name));
  }
}

/**
 * Files that cannot be read now, such as dangling links, count if an earlier scan found a model in
 * them.
 */
async function modelFilesIn(
  path: string,
  names: readonly string[],
  rules: ScanRules,
): Promise<readonly ModelFile[]> {
  const files = await mapLimited(names, FILES_AT_ONCE, async (name) => {
    const file = name.startsWith('.') ? undefined : modelFileOf(name);
    if (file === undefined) return undefined;
    const at = join(path, name);
    const stats = await tryStat(at);
    if (!(stats instanceof Error)) return stats.isFile() ? file : undefined;
    const isKnown = rules.before?.(stemOf(name))?.versions.some((one) => one.path === at);
    return isKnown === true && !(await isGone(at, stats)) ? file : undefined;
  });
  return files.filter((file) => file !== undefined);
}

async function fileModel(
  name: string,
  path: string,
  file: ModelFile,
  before: FoundModel | undefined,
): Promise<FoundModel> {
  checkModelName(name, path);
  const folder = dirname(path);
  const schema = await fileBeside(path, file, SCHEMA_FILE);
  const background = await fileBeside(path, file, BACKGROUND_FILE);
  const parts = await Promise.all([path, ...schema, ...background].map(fingerprintOf));
  const lost = parts.flatMap((one) => one.unreadable)[0];
  if (lost !== undefined && before?.versions[0]?.path === path) {
    return { ...before, problems: [`cannot read ${lost}: model '${name}' is unchanged`] };
  }
  const revision = parts.map((one) => one.revision).join(':');
  const known = before?.versions.find((one) => one.revision === revision && one.path === path);
  const version = known ?? {
    version: SINGLE_VERSION,
    folder,
    path,
    format: file.format,
    platform: file.platform,
    ...(schema[0] === undefined ? {} : { schema: schema[0] }),
    ...(background[0] === undefined ? {} : { background: background[0] }),
    revision,
    problem: '',
  };
  return {
    name,
    basePath: folder,
    versions: [version],
    source: 'file',
    problems: [],
    readable: true,
    config: NO_CONFIG,
    labels: NO_LABELS,
    pending: NONE_PENDING,
  };
}

/** A file of a single-file model: "<its name>.schema.json", or schema.json, beside it. */
async function fileBeside(
  path: string,
  file: ModelFile,
  wanted: string,
): Promise<readonly string[]> {
  if (tabularFormat(file.format) === undefined) return [];
  const folder = dirname(path);
  for (const name of [`${stemOf(basename(path))}.${wanted}`, wanted]) {
    const path = join(folder, name);
    const stats = await tryStat(path);
    const counts = stats instanceof Error ? !(await isGone(path, stats)) : stats.isFile();
    if (counts) return [path];
  }
  return [];
}

/**
 * `wasOne`: whether an earlier scan found one; an unreadable version folder, such as a dangling
 * link, then still counts.
 */
async function hasVersionFolder(
  path: string,
  names: readonly string[],
  wasOne: boolean,
): Promise<boolean> {
  for (const name of names) {
    if (parseVersion(name) === undefined) continue;
    const stats = await tryStat(join(path, name));
    if (stats instanceof Error) {
      if (wasOne && !(await isGone(join(path, name), stats))) return true;
    } else if (stats.isDirectory()) return true;
  }
  return false;
}
