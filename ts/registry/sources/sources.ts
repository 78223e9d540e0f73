// The places that models come from, each with what was taken from it at the last look: a PATH or
// repository, TensorFlow Serving's base paths, models.config. Control plane, main thread. A place
// that cannot be read keeps what it had. Source of base paths: tfserving.md 3.2, 3.3, 3.5.
import { join } from 'node:path';
import type { Config } from '../../config/config.js';
import { ErrorCode, ServalError } from '../../errors.js';
import { parseBatchingParameters } from '../../model-config/batching-parameters.js';
import { parseModelServerConfig } from '../../model-config/models-config.js';
import { readConfigText } from '../../protobuf/text-format.js';
import type { BatchingParameters, ModelEntry } from '../../model-config/types.js';
import type { ConfigProblem } from '../../protobuf/problem.js';
import {
  hasModel,
  listModels,
  requireFolder,
  scanPath,
  scanRepository,
  scanRepositoryModel,
  TRITON_CONFIG_FILE,
} from './repository.js';
import type { ScanRules, SourceScan } from './repository.js';
import {
  checkModelName,
  listFolder,
  mapLimited,
  MODEL_FILE,
  NO_CONFIG,
  scanVersions,
  unreadableModel,
} from './scan.js';
import type { ModelFormat } from '../../import/model-files.js';
import type { FoundModel, FoundVersion } from './scan.js';
import { GONE, Settling, takeModel } from './settle.js';
import { parseSignedVersion } from '../../model/version-policy.js';
import type { Clock } from '../clock.js';

/** What every source is told. */
export interface SourceRules {
  readonly clock: Clock;
  readonly settleMs: number;
  /** Whether changed content of a version that was taken before is taken. */
  readonly takesChanges: (name: string, version: string) => boolean;
  readonly autoComplete: boolean;
  readonly batchingPerModel: boolean;
  /** Repository models that are looked at; undefined = all. */
  readonly wants: ((name: string) => boolean) | undefined;
  readonly configOf: NonNullable<ScanRules['configOf']>;
}

const BASE_PATHS_AT_ONCE = 16;
const BATCHING_FILE = 'batching_params.pbtxt';
/** What model_platform may say of files of a format; nothing is always right. */
const PLATFORMS_OF: Readonly<Record<ModelFormat, readonly string[]>> = {
  onnx: ['onnx', 'onnxruntime_onnx', 'onnx_onnxv1'],
  tensorflow: ['tensorflow'],
  null: [],
};

/** Models by name, taken look by look. */
class TakenModels {
  readonly #rules: SourceRules;
  readonly #settling: Settling;
  #models: ReadonlyMap<string, FoundModel> = new Map();

  constructor(rules: SourceRules) {
    this.#rules = rules;
    this.#settling = new Settling(rules.settleMs);
  }

  get all(): readonly FoundModel[] {
    return [...this.#models.values()];
  }

  get(name: string): FoundModel | undefined {
    return this.#models.get(name);
  }

  /** Replaces what was there; answers whether something waits to be taken. `mayStay`: models that
   * are not found any more stay until they have been gone for a while. */
  take(
    found: readonly FoundModel[],
    asFound: boolean,
    mayStay: (name: string) => boolean,
  ): boolean {
    const nowMs = this.#rules.clock.nowMs();
    const { takesChanges } = this.#rules;
    const isSettled = (what: string, content: string): boolean =>
      asFound || this.#settling.isSettled(what, content, nowMs);
    const models = new Map<string, FoundModel>();
    let waits = false;
    for (const one of found) {
      const { model, unsettled } = takeModel(one, this.#models.get(one.name), {
        isSettled,
        takesChanges,
      });
      if (model !== undefined) models.set(one.name, model);
      waits ||= unsettled;
    }
    const names = new Set(found.map((one) => one.name));
    for (const [name, model] of this.#models) {
      if (names.has(name) || !mayStay(name) || isSettled(JSON.stringify([name]), GONE)) continue;
      models.set(name, model);
      waits = true;
    }
    this.#models = models;
    this.#settling.endLook();
    return waits;
  }

  put(model: FoundModel): void {
    this.#models = new Map([...this.#models, [model.name, model]]);
  }
}

export class PathSource {
  readonly path: string;
  readonly #isRepository: boolean;
  readonly #rules: SourceRules;
  readonly #taken: TakenModels;
  #problems: readonly string[] = [];
  #readable = true;

  /** `isRepository`: whatever it holds, it is no model itself. */
  constructor(path: string, isRepository: boolean, rules: SourceRules) {
    this.path = path;
    this.#isRepository = isRepository;
    this.#rules = rules;
    this.#taken = new TakenModels(rules);
  }

  get models(): readonly FoundModel[] {
    return this.#taken.all;
  }

  /** Of the path itself, not its models' own. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Why nothing is known of what it holds. */
  get faults(): readonly string[] {
    return this.#readable ? [] : this.#problems;
  }

  /** Everything is taken as found. Errors: InvalidArgument: no such path, or no model. */
  async firstLook(): Promise<void> {
    if (this.#isRepository) await requireFolder(this.path);
    this.#take(await this.#scan(), true);
  }

  /** Answers whether something waits to be taken. Never rejects. */
  async look(): Promise<boolean> {
    try {
      return this.#take(await this.#scan(), false);
    } catch (error) {
      this.#problems = [(error as Error).message];
      return false;
    }
  }

  /** The model as it is now, taken or not; undefined when it is not here. `configOf`: the
   * configuration that counts instead of its own. */
  async find(
    name: string,
    configOf: NonNullable<ScanRules['configOf']>,
  ): Promise<FoundModel | undefined> {
    const rules = { ...this.#scanRules(), configOf };
    const own = this.#taken.get(name);
    if (own !== undefined && own.source !== 'repository') {
      return (await scanPath(this.path, rules)).models.find((one) => one.name === name);
    }
    if (!(await hasModel(this.path, name))) return undefined;
    return scanRepositoryModel(this.path, name, rules);
  }

  /** Takes this model as found. */
  put(model: FoundModel): void {
    this.#taken.put(model);
  }

  /** Names of all models that are here, taken or not. */
  async list(): Promise<readonly string[]> {
    const names = this.models.map((model) => model.name);
    const isModel = this.models.some((model) => model.source !== 'repository');
    return isModel ? names : [...new Set([...names, ...(await listModels(this.path))])];
  }

  #take(scan: SourceScan, asFound: boolean): boolean {
    this.#problems = scan.problems;
    this.#readable = scan.readable;
    const mayStay = (name: string): boolean => this.#rules.wants?.(name) ?? true;
    return scan.readable && this.#taken.take(scan.models, asFound, mayStay);
  }

  #scan(): Promise<SourceScan> {
    const rules = this.#scanRules();
    return this.#isRepository ? scanRepository(this.path, rules) : scanPath(this.path, rules);
  }

  #scanRules(): ScanRules {
    const { wants, autoComplete, configOf } = this.#rules;
    const before = (name: string): FoundModel | undefined => this.#taken.get(name);
    return { before, autoComplete, configOf, ...(wants === undefined ? {} : { wants }) };
  }
}

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

  /** Answers whether something waits to be taken. Never rejects: a bad base path is that model's
   * problem. */
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

/** models.config, read anew. An entry that was good and is gone from a file with problems stays: a
 * mistake unloads nothing. */
export class ModelConfigFile {
  readonly #path: string;
  readonly #rules: SourceRules;
  readonly #settling: Settling;
  #text: string | undefined;
  #entries: readonly ModelEntry[] = [];
  #faults: readonly string[] = [];
  #warnings: readonly string[] = [];

  constructor(path: string, rules: SourceRules) {
    this.#path = path;
    this.#rules = rules;
    this.#settling = new Settling(rules.settleMs);
  }

  get entries(): readonly ModelEntry[] {
    return this.#entries;
  }

  /** What keeps an entry, or all of them, from being served. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** The same, and what is read and makes no difference. */
  get problems(): readonly string[] {
    return [...this.#faults, ...this.#warnings];
  }

  /** Errors: InvalidArgument: the file cannot be read. */
  async firstLook(): Promise<void> {
    this.#take(await readConfigText(this.#path));
  }

  /** Answers whether a change waits to be taken. Never rejects. */
  async look(): Promise<boolean> {
    let text: string;
    try {
      text = await readConfigText(this.#path);
    } catch (error) {
      [this.#faults, this.#warnings] = [[(error as Error).message], []];
      this.#text = undefined;
      return false;
    }
    if (text === this.#text) {
      this.#settling.endLook();
      return false;
    }
    if (!this.#settling.isSettled(this.#path, text, this.#rules.clock.nowMs())) return true;
    this.#take(text);
    return false;
  }

  #take(text: string): void {
    const { models, problems, warnings } = parseModelServerConfig(text, this.#path);
    const names = new Set(models.map((entry) => entry.name));
    const kept = this.#entries.filter((entry) => problems.length > 0 && !names.has(entry.name));
    this.#text = text;
    this.#entries = [...models, ...kept];
    const textOf = (one: ConfigProblem): string => `${one.place}: ${one.message}`;
    [this.#faults, this.#warnings] = [problems.map(textOf), warnings.map(textOf)];
  }
}

/** A place or file that the server was started with, and what is wrong with it now. */
export interface Place {
  readonly what: string;
  readonly faults: readonly string[];
}

type SourceSettings = Pick<Config, 'sources' | 'control'>;

/** What has been wrong from the start on. A place that was right once is none of it any more: what
 * goes wrong later takes nothing away from what serves. */
export class StartFaults {
  readonly #nothing: string;
  readonly #right = new Set<string>();
  #served: boolean;

  constructor({ sources, control }: SourceSettings) {
    const { paths, modelRepositories, baseModel, modelConfigFile } = sources;
    const looked = [...paths, ...modelRepositories, baseModel?.path, modelConfigFile];
    const where = looked.filter((path) => path !== undefined).join(', ');
    this.#nothing = `no model is there to be served: looked in ${where}`;
    // Nothing need be there where nothing is asked for.
    this.#served = control.mode === 'explicit' && control.loadModels.length === 0;
  }

  /** `models`: how many are asked for now. None, and none at any time, is a fault of its own where
   * no place says why. */
  now(places: readonly Place[], models: number): readonly string[] {
    this.#served ||= models > 0;
    for (const { what, faults } of places) if (faults.length === 0) this.#right.add(what);
    const open = places.filter(({ what }) => !this.#right.has(what));
    if (open.length > 0 || this.#served) return open.flatMap(({ faults }) => faults);
    return [this.#nothing];
  }
}

/** Whether a later look, or a load call, may bring what is not there now. */
export function isWatched(
  { sources, control }: SourceSettings,
  entries: readonly ModelEntry[],
): boolean {
  const { mode, repositoryPollSeconds } = control;
  const repositories = mode === 'explicit' || (mode === 'poll' && repositoryPollSeconds > 0);
  return (
    (sources.paths.length + sources.modelRepositories.length > 0 && repositories) ||
    (sources.modelConfigFile !== undefined && control.modelConfigFilePollSeconds > 0) ||
    (entries.length > 0 && control.fileSystemPollSeconds > 0)
  );
}

/** Names of the entries that say something else than before, or are new; where they were written
 * does not count. */
export function changedEntries(
  entries: readonly ModelEntry[],
  before: readonly ModelEntry[],
): readonly string[] {
  const contentOf = ({ place: _, ...rest }: ModelEntry): string => JSON.stringify(rest);
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
  /** What an earlier look found. */
  readonly before: FoundModel | undefined;
  /** Whether batching_params.pbtxt in a version's folder counts. */
  readonly batchingPerModel: boolean;
}

/** Never rejects for what is wrong on disk.
 * Errors: InvalidArgument: the name, too many versions. */
async function scanBasePath(entry: ModelEntry, rules: BasePathRules): Promise<FoundModel> {
  const { name, basePath, labels } = entry;
  checkModelName(name, entry.place);
  const names = await listFolder(basePath);
  if (names instanceof Error) return unreadableModel(name, basePath, 'base-path', names);
  const problems: string[] = [];
  if (names.includes(TRITON_CONFIG_FILE)) {
    const ignored = join(basePath, TRITON_CONFIG_FILE);
    problems.push(`${ignored} is not read: a base path's models are TensorFlow Serving's`);
  }
  const before = rules.before?.basePath === basePath ? rules.before.versions : [];
  const found = await scanVersions(
    {
      basePath,
      names,
      modelFile: MODEL_FILE,
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
  const config = { ...NO_CONFIG, ...platformProblem(entry, versions) };
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

/** The format is found from the files; what the entry says may not contradict them. */
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
  const [batching, problems] = await readBatching(join(found.folder, BATCHING_FILE));
  return batching === undefined || problems.length > 0
    ? { ...found, problem: problems.join('; ') }
    : { ...found, batching };
}

/** Parameters of batching and what is wrong with their file; never rejects. */
export async function readBatching(
  path: string,
): Promise<[BatchingParameters | undefined, readonly string[]]> {
  try {
    const { parameters, problems } = parseBatchingParameters(await readConfigText(path), path);
    return [parameters, problems.map((one) => `${one.place}: ${one.message}`)];
  } catch (error) {
    return [undefined, [(error as Error).message]];
  }
}
