// TensorFlow Serving's base paths, each a model's folder of versions, with the models accepted at
// the last scan. Control plane, main thread. Source: tfserving.md 3.3, 3.5.
import { join } from 'node:path';
import { ONNX_FILE, TRITON_CONFIG_FILE } from '../../../base/file-names.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { TENSORRT_PLATFORM, type ModelFormat } from '../../../importers/run/model-files.js';
import { TABULAR_PLATFORMS } from '../../../model/platforms.js';
import { parseBatchingParameters } from '../../config/batching-parameters.js';
import type { BatchingParameters } from '../../../model/batching-parameters.js';
import type { ModelEntry } from '../../config/types.js';
import type { ConfigProblem } from '../../../protobuf/problem.js';
import { parseSignedVersion } from '../../../model/version-policy.js';
import { readConfigText } from '../../../protobuf/text-format.js';
import {
  checkModelName,
  listFolder,
  mapLimited,
  NO_CONFIG,
  scanVersions,
  unreadableModel,
} from './scan.js';
import type { FoundModel, FoundVersion } from './scan.js';
import { TakenModels, type SourceRules } from './taken-models.js';

const BASE_PATHS_AT_ONCE = 16;
const BATCHING_FILE = 'batching_params.pbtxt';
/** Allowed model_platform values for each file format; an empty value is always allowed. */
const PLATFORMS_OF: Readonly<Record<ModelFormat, readonly string[]>> = {
  onnx: ['onnx', 'onnxruntime_onnx', 'onnx_onnxv1'],
  tensorflow: ['tensorflow'],
  spark: ['spark', TABULAR_PLATFORMS.spark],
  mleap: ['mleap', TABULAR_PLATFORMS.mleap],
  pmml: ['pmml', TABULAR_PLATFORMS.pmml],
  xgboost: ['xgboost', TABULAR_PLATFORMS.xgboost],
  lightgbm: ['lightgbm', TABULAR_PLATFORMS.lightgbm],
  catboost: ['catboost', TABULAR_PLATFORMS.catboost],
  ydf: ['ydf', TABULAR_PLATFORMS.ydf],
  sklearn: ['sklearn', TABULAR_PLATFORMS.sklearn],
  plan: ['tensorrt', TENSORRT_PLATFORM],
  // The load finds out which of them it is.
  archive: [
    ...['spark', TABULAR_PLATFORMS.spark, 'mleap', TABULAR_PLATFORMS.mleap],
    ...['ydf', TABULAR_PLATFORMS.ydf, 'sklearn', TABULAR_PLATFORMS.sklearn],
  ],
  booster: [
    ...['xgboost', TABULAR_PLATFORMS.xgboost, 'lightgbm', TABULAR_PLATFORMS.lightgbm],
    ...['catboost', TABULAR_PLATFORMS.catboost],
  ],
  ensemble: [],
  null: [],
};

export class BasePathSource {
  readonly #rules: SourceRules;
  readonly #taken: TakenModels;
  entries: readonly ModelEntry[] = [];

  constructor(rules: SourceRules) {
    this.#rules = rules;
    this.#taken = new TakenModels(rules);
  }

  get models(): readonly FoundModel[] {
    return this.#taken.all;
  }

  /**
   * Returns whether a change waits to settle. Never rejects: a bad base path is that model's
   * problem.
   */
  async look(asFound: boolean): Promise<boolean> {
    const { batchingPerModel } = this.#rules;
    const found = await mapLimited(this.entries, BASE_PATHS_AT_ONCE, async (entry) => {
      const before = this.#taken.get(entry.name);
      try {
        return await scanBasePath(entry, { before, batchingPerModel });
      } catch (error) {
        return unreadableModel(entry.name, entry.basePath, 'base-path', error as Error);
      }
    });
    return this.#taken.take(found, asFound, () => false);
  }
}

/**
 * Names of entries that are new or differ from before, ignoring where they were written and how
 * their requests are logged.
 */
export function changedEntries(
  entries: readonly ModelEntry[],
  before: readonly ModelEntry[],
): readonly string[] {
  const contentOf = ({ place: _, logging: __, ...rest }: ModelEntry): string =>
    JSON.stringify(rest);
  const known = new Map(before.map((one) => [one.name, contentOf(one)]));
  return entries.filter((one) => known.get(one.name) !== contentOf(one)).map((one) => one.name);
}

/** Errors: InvalidArgument: a name is that of one of these models. */
export function refuseServedElsewhere(
  entries: readonly ModelEntry[],
  others: readonly FoundModel[],
): void {
  for (const { name, place } of entries) {
    const other = others.find((one) => one.name === name);
    if (other === undefined) continue;
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `${place}: name: model '${name}' is already served from ${other.basePath}`,
    );
  }
}

interface BasePathRules {
  /** Result of an earlier scan. */
  readonly before: FoundModel | undefined;
  /** Whether batching_params.pbtxt in a version's folder is applied. */
  readonly batchingPerModel: boolean;
}

/** Never rejects for problems on disk. Errors: InvalidArgument: the name, too many versions. */
async function scanBasePath(entry: ModelEntry, rules: BasePathRules): Promise<FoundModel> {
  const { name, basePath, labels } = entry;
  checkModelName(name, entry.place);
  const names = await listFolder(basePath);
  if (names instanceof Error) return unreadableModel(name, basePath, 'base-path', names);
  const problems: string[] = [];
  if (names.includes(TRITON_CONFIG_FILE)) {
    const ignored = join(basePath, TRITON_CONFIG_FILE);
    problems.push(
      `${ignored} is ignored: models of a base path are configured as in TensorFlow Serving`,
    );
  }
  const before = rules.before?.basePath === basePath ? rules.before.versions : [];
  const found = await scanVersions(
    {
      basePath,
      names,
      modelFile: ONNX_FILE,
      platform: '',
      policy: entry.versionPolicy,
      before,
      parse: parseSignedVersion,
    },
    problems,
  );
  const versions: FoundVersion[] = [];
  for (const one of found) {
    const known = before.includes(one) || !rules.batchingPerModel;
    versions.push(known ? one : await withBatching(one));
  }
  const notes = versions.flatMap((one) => one.batchingNotes ?? []);
  const config = { ...NO_CONFIG, notes, ...platformProblem(entry, versions) };
  problems.push(...notes);
  if (config.problem !== '') problems.push(config.problem);
  for (const { problem } of versions) if (problem !== '') problems.push(problem);
  return {
    name,
    basePath,
    versions,
    source: 'base-path',
    problems,
    readable: true,
    config,
    labels,
    pending: [],
  };
}

/** The files determine the format; the entry must not contradict them. */
function platformProblem(
  { place, name, platform, basePath }: ModelEntry,
  versions: readonly FoundVersion[],
): { problem: string; revision: string } {
  const other = versions.find(({ format }) => !PLATFORMS_OF[format].includes(platform));
  if (platform === '' || other === undefined) return { problem: '', revision: '' };
  const problem =
    `${place}: model_platform of model '${name}': expected "${other.format}" or ` +
    `none, as the files under ${basePath} are, got "${platform}"`;
  return { problem, revision: problem };
}

async function withBatching(found: FoundVersion): Promise<FoundVersion> {
  const names = await listFolder(found.folder);
  if (names instanceof Error || !names.includes(BATCHING_FILE)) return found;
  const path = join(found.folder, BATCHING_FILE);
  const { batching, problems, notes: batchingNotes } = await readBatching(path);
  return batching === undefined || problems.length > 0
    ? { ...found, batchingNotes, problem: problems.join('; ') }
    : { ...found, batchingNotes, batching };
}

export interface ReadBatching {
  /** undefined if there is a problem. */
  readonly batching: BatchingParameters | undefined;
  readonly problems: readonly string[];
  /** Settings that are read but have no effect. */
  readonly notes: readonly string[];
}

/** Reads batching parameters and the problems of their file; never rejects. */
export async function readBatching(path: string): Promise<ReadBatching> {
  const textOf = (one: ConfigProblem): string => `${one.place}: ${one.message}`;
  try {
    const read = parseBatchingParameters(await readConfigText(path), path);
    const [problems, notes] = [read.problems.map(textOf), read.warnings.map(textOf)];
    return { batching: read.parameters, problems, notes };
  } catch (error) {
    return { batching: undefined, problems: [(error as Error).message], notes: [] };
  }
}
