// All places that models come from, as one: looks at them at start and as the settings say, tells
// the registry what is asked for, loads and unloads single models by call. Control plane, main
// thread.
import type { Config } from '../../config/config.js';
import { ErrorCode, ServalError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { defaultBatchingParameters } from '../../model-config/batching-parameters.js';
import type { BatchingParameters, ModelEntry } from '../../model-config/types.js';
import { desiredModel } from '../desired.js';
import type { DesiredModel } from '../desired.js';
import { ExplicitModels, overridingConfig } from './explicit-models.js';
import type { ModelOverride, TakenOverride } from './explicit-models.js';
import { takeLabels } from '../labels.js';
import type { TakenLabels } from '../labels.js';
import type { Registry } from '../registry.js';
import { distinctModels, requireFolder, scanModel } from './repository.js';
import { checkModelName } from './scan.js';
import type { FoundModel } from './scan.js';
import { findModel } from '../snapshot-build.js';
import {
  BasePathSource,
  changedEntries,
  readBatching,
  refuseServedElsewhere,
} from './base-paths.js';
import { ModelConfigFile } from './config-file.js';
import { PathSource } from './path-source.js';
import { isWatched, StartFaults, type Place } from './start-faults.js';
import type { SourceRules } from './taken-models.js';
import { LATEST_ONE } from '../../model/version-policy.js';
import { SYSTEM_CLOCK, type Clock } from '../clock.js';
import { Watcher, type Watched } from './watcher.js';

export type ModelSourceConfig = Pick<
  Config,
  'sources' | 'model' | 'control' | 'batching' | 'savedModelTags'
>;

export interface ModelSourceOptions {
  readonly clock?: Clock;
  /** Where files of load calls are kept. Default: the system's folder for temporary files. */
  readonly tempRoot?: string;
}

/** Since the start. */
export interface SourceCounters {
  readonly looks: number;
  /** Problems that there are now. */
  readonly problems: number;
  /** Problems that ever came up; one that goes and comes back counts again. */
  readonly problemsSeen: number;
}

/** A model that could be served. */
export interface ListedModel {
  readonly name: string;
  /** Versions that served until the model was unloaded. */
  readonly unloaded: readonly string[];
  /** What is wrong with it now. */
  readonly problems: readonly string[];
}

interface KnownModel {
  readonly labels: TakenLabels | undefined;
  readonly required: boolean;
  readonly desired: DesiredModel;
}

export class ModelSource {
  readonly #config: ModelSourceConfig;
  readonly #logger: Logger;
  readonly #registry: Registry;
  readonly #explicit: ExplicitModels;
  readonly #rules: SourceRules;
  readonly #paths: readonly PathSource[];
  readonly #basePaths: BasePathSource;
  readonly #configFile: ModelConfigFile | undefined;
  readonly #watcher: Watcher;
  /** Models that are served from files that a load call brought. */
  readonly #brought = new Map<string, FoundModel>();
  readonly #known = new WeakMap<FoundModel, KnownModel>();
  readonly #takenLabels = new Map<string, TakenLabels>();
  #batching: BatchingParameters | undefined;
  #batchingProblems: readonly string[] = [];
  #basePathsWait = false;
  #basePathsWatched = false;
  #asked: readonly DesiredModel[] | undefined;
  readonly #startFaults: StartFaults;
  #faults: readonly string[] = [];
  #problems: readonly string[] = [];
  #startProblems: readonly string[] = [];
  #looks = 0;
  #problemsSeen = 0;

  constructor(
    config: ModelSourceConfig,
    logger: Logger,
    registry: Registry,
    options: ModelSourceOptions = {},
  ) {
    const { control, batching, sources } = config;
    const clock = options.clock ?? SYSTEM_CLOCK;
    const { settleMs } = control;
    this.#config = config;
    this.#logger = logger;
    this.#registry = registry;
    this.#startFaults = new StartFaults(config);
    this.#explicit = new ExplicitModels(control, options.tempRoot);
    const wants =
      control.mode !== 'explicit'
        ? undefined
        : (name: string): boolean => this.#explicit.isWanted(name, true);
    this.#rules = {
      clock,
      settleMs,
      wants,
      takesChanges: (name, version) =>
        control.reloadChangedVersions || !this.#serves(name, version),
      autoComplete: batching.autoComplete,
      batchingPerModel: batching.enabled && batching.perModel,
      configOf: (name, folder) => this.#explicit.configOf(name, folder),
    };
    this.#paths = [
      ...sources.paths.map((path) => new PathSource(path, false, this.#rules)),
      ...sources.modelRepositories.map((path) => new PathSource(path, true, this.#rules)),
    ];
    this.#basePaths = new BasePathSource(this.#rules);
    this.#configFile =
      sources.modelConfigFile === undefined
        ? undefined
        : new ModelConfigFile(sources.modelConfigFile, this.#rules);
    const failed = (what: string, error: unknown): void => {
      this.#logger.error('a look at models failed', { what, reason: String(error) });
    };
    this.#watcher = new Watcher(this.#watched(), { clock, settleMs, failed });
  }

  /** What is wrong now, each a sentence with its path; loads that failed are the registry's. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Everything that was wrong when start() settled, failed loads included. */
  get startProblems(): readonly string[] {
    return this.#startProblems;
  }

  /** Whether a later look, or a load call, may bring what is not there now. */
  get isWatched(): boolean {
    return isWatched(this.#config, this.#basePaths.entries);
  }

  get counters(): SourceCounters {
    const { length } = this.#problems;
    return { looks: this.#looks, problems: length, problemsSeen: this.#problemsSeen };
  }

  /** Finds what is there and reads the configuration files; nothing is loaded.
   * Errors: InvalidArgument: a path of the command line does not exist or is no model. */
  async firstLook(): Promise<void> {
    const { baseModel } = this.#config.sources;
    await this.#readBatching();
    for (const path of this.#paths) await path.firstLook();
    await this.#configFile?.firstLook();
    if (baseModel !== undefined) {
      await requireFolder(baseModel.path);
      checkModelName(baseModel.name, baseModel.path);
    }
    this.#basePaths.entries = this.#entries();
    await this.#basePaths.look(true);
    this.#looks += 1;
  }

  /** After firstLook(). Settles when everything asked for was loaded or has failed (with
   * exitOnError: for good); from then on the places are watched. */
  async start(): Promise<void> {
    await this.#apply([]);
    if (this.#config.control.exitOnError) await this.#registry.whenSettled(undefined, true);
    const failures = Object.keys(this.#registry.snapshot.models).flatMap((name) =>
      this.#registry
        .failures(name)
        .map((one) => `model '${name}', version ${one.version}: ${one.message}`),
    );
    this.#startProblems = [...this.#problems, ...failures];
    this.#watcher.start();
  }

  /** Nothing is looked at any more; removes files of load calls. */
  async stop(): Promise<void> {
    await this.#watcher.stop();
    await this.#explicit.removeAllFolders();
  }

  /** Looks at every file and folder now; what has to settle gets one more look. Settles when what
   * came of it was loaded or has failed. */
  async reload(): Promise<void> {
    await this.#watcher.lookNow();
    await this.#registry.whenSettled();
  }

  /** Takes the model as it is now and loads it; settles when it serves.
   * Errors: InvalidArgument (config, files); ModelNotFound; ModelInvalid or whatever the load
   * failed with: what served before still does. */
  async load(name: string, override?: ModelOverride): Promise<void> {
    const unused = await this.#watcher.exclusive(() => this.#beginLoad(name, override));
    await this.#registry.whenSettled([name], true);
    await this.#explicit.removeFolder(unused);
    const failed = this.#registry.failures(name)[0];
    const text = `load failed for model '${name}'`;
    if (failed !== undefined) {
      throw new ServalError(failed.code, `${text}: version ${failed.version}: ${failed.message}`);
    }
    if (this.#available(name).length > 0) return;
    throw new ServalError(ErrorCode.ModelNotReady, `${text}: it was unloaded again meanwhile`);
  }

  /** Settles when nothing of the model serves any more. Errors: ModelNotFound. */
  async unload(name: string): Promise<void> {
    const unused = await this.#watcher.exclusive(async () => {
      const served = findModel(this.#registry.snapshot, name);
      const listed = served !== undefined || (await this.list('')).some((one) => one.name === name);
      if (!listed) throw this.#notFound(name);
      const versions = served?.versions.filter((one) => one.state !== 'END') ?? [];
      const folder = this.#explicit.unload(
        name,
        versions.map((one) => one.version),
      );
      this.#brought.delete(name);
      void this.#apply([]);
      return folder;
    });
    await this.#registry.whenSettled([name]);
    await this.#explicit.removeFolder(unused);
  }

  /** Serves these models of base paths in place of the present ones, until models.config changes;
   * models of repositories and PATHs stay. Settles when the new and changed ones serve.
   * Errors: InvalidArgument: a name that a repository serves, nothing is changed then; ModelInvalid
   * or what the load of a new or changed model failed with. */
  async replaceModels(entries: readonly ModelEntry[]): Promise<void> {
    const changed: readonly string[] = await this.#watcher.exclusive(async () => {
      const others = [...this.#brought.values(), ...this.#paths.flatMap((one) => one.models)];
      refuseServedElsewhere(entries, others);
      const names = changedEntries(entries, this.#basePaths.entries);
      this.#basePaths.entries = entries;
      await this.#basePaths.look(true);
      if (!this.#basePathsWatched) this.#watcher.add(this.#watchBasePaths());
      void this.#apply(names);
      return names;
    });
    await this.#registry.whenSettled(changed, true);
    for (const { name, basePath } of entries) {
      if (changed.includes(name)) this.#requireServed(name, basePath);
    }
  }

  /** Errors: what the load failed with; ModelInvalid: nothing at the place can be served. */
  #requireServed(name: string, basePath: string): void {
    const text = `load failed for model '${name}'`;
    const failed = this.#registry.failures(name)[0];
    if (failed !== undefined) {
      throw new ServalError(failed.code, `${text}: version ${failed.version}: ${failed.message}`);
    }
    const found = this.#basePaths.models.find((one) => one.name === name);
    // Of a place that cannot be read, what was served from another one before stays.
    const isThere = found?.basePath === basePath;
    if (isThere && this.#available(name).length > 0) return;
    const why = found?.problems.join('; ') || 'the version policy picks none of its versions';
    throw new ServalError(ErrorCode.ModelInvalid, `${text}: ${why}`);
  }

  /** Every model of the repository ("" = of all places), loaded or not, by name.
   * Errors: InvalidArgument: no such repository. */
  async list(repository: string): Promise<readonly ListedModel[]> {
    const chosen = this.#paths.filter((one) => repository === '' || one.path === repository);
    if (chosen.length === 0 && repository !== '') {
      const known = this.#paths.map((one) => one.path).join(', ') || 'none';
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `repository '${repository}': expected one of ${known}`,
      );
    }
    const names = new Set((await Promise.all(chosen.map((one) => one.list()))).flat());
    if (repository === '') {
      for (const model of this.#found()) names.add(model.name);
      for (const name of Object.keys(this.#registry.snapshot.models)) names.add(name);
    }
    const problems = new Map(this.#found().map((model) => [model.name, model.problems]));
    return [...names].sort().map((name) => ({
      name,
      unloaded: this.#explicit.unloadedVersions(name),
      problems: problems.get(name) ?? [],
    }));
  }

  async #beginLoad(name: string, override: ModelOverride | undefined): Promise<string | undefined> {
    const taken = override && (await this.#explicit.prepare(name, override));
    try {
      const { model, put } = await this.#findNow(name, taken);
      if (!model.readable || model.versions.length === 0) {
        const why = model.problems.join('; ') || 'the version policy picks none of its versions';
        throw new ServalError(ErrorCode.ModelInvalid, `load failed for model '${name}': ${why}`);
      }
      put();
    } catch (error) {
      await this.#explicit.removeFolder(taken?.folder);
      throw error;
    }
    const unused = this.#explicit.load(name, taken);
    void this.#apply([name]);
    return unused;
  }

  /** The model as it is now, and how to take it. Errors: ModelNotFound. */
  async #findNow(
    name: string,
    taken: TakenOverride | undefined,
  ): Promise<{ model: FoundModel; put: () => void }> {
    const configOf = (_: string, folder: string): ReturnType<typeof overridingConfig> | undefined =>
      taken && overridingConfig(taken, folder);
    if (taken?.folder !== undefined) {
      const model = await scanModel(name, taken.folder, 'repository', { configOf });
      return { model, put: () => void this.#brought.set(name, model) };
    }
    for (const path of this.#paths) {
      const model = await path.find(name, configOf);
      if (model === undefined) continue;
      const put = (): void => {
        this.#brought.delete(name);
        path.put(model);
      };
      return { model, put };
    }
    throw this.#notFound(name);
  }

  #notFound(name: string): ServalError {
    const places = this.#paths.map((one) => one.path).join(', ') || 'no repository';
    return new ServalError(
      ErrorCode.ModelNotFound,
      `model '${name}' is not known: looked in ${places}`,
    );
  }

  #watched(): readonly Watched[] {
    const { mode, repositoryPollSeconds, modelConfigFilePollSeconds } = this.#config.control;
    const repositorySeconds = mode === 'poll' ? repositoryPollSeconds : 0;
    const watched: Watched[] = [];
    if (this.#paths.length > 0) {
      watched.push(this.#watch('repositories', repositorySeconds, () => this.#lookAtPaths()));
    }
    const file = this.#configFile;
    if (file !== undefined) {
      watched.push(
        this.#watch('model config file', modelConfigFilePollSeconds, () =>
          this.#lookAtConfigFile(file),
        ),
      );
    }
    if (file !== undefined || this.#config.sources.baseModel !== undefined) {
      watched.push(this.#watchBasePaths());
    }
    return watched;
  }

  #watchBasePaths(): Watched {
    this.#basePathsWatched = true;
    const { fileSystemPollSeconds } = this.#config.control;
    return this.#watch('base paths', fileSystemPollSeconds, () => this.#lookAtBasePaths());
  }

  /** `seconds` of 0 or less: only when asked. */
  #watch(what: string, seconds: number, step: () => Promise<boolean>): Watched {
    return {
      what,
      everyMs: seconds > 0 ? seconds * 1000 : undefined,
      look: async () => {
        const waits = await step();
        void this.#apply([]);
        this.#looks += 1;
        return waits;
      },
    };
  }

  async #lookAtPaths(): Promise<boolean> {
    let waits = false;
    for (const path of this.#paths) waits = (await path.look()) || waits;
    return waits;
  }

  /** A file that changed has its base paths looked at at once. */
  async #lookAtConfigFile(file: ModelConfigFile): Promise<boolean> {
    const before = file.entries;
    const waits = await file.look();
    const changed = file.entries !== before;
    if (changed) this.#basePaths.entries = this.#entries();
    if (changed || this.#basePathsWait) await this.#lookAtBasePaths();
    return waits || this.#basePathsWait;
  }

  async #lookAtBasePaths(): Promise<boolean> {
    this.#basePathsWait = await this.#basePaths.look(false);
    return this.#basePathsWait;
  }

  #entries(): readonly ModelEntry[] {
    const { baseModel } = this.#config.sources;
    if (baseModel === undefined) return this.#configFile?.entries ?? [];
    return [
      {
        name: baseModel.name,
        basePath: baseModel.path,
        platform: '',
        versionPolicy: LATEST_ONE,
        labels: {},
        place: '--model-base-path',
      },
    ];
  }

  async #readBatching(): Promise<void> {
    const { enabled, parametersFile } = this.#config.batching;
    if (!enabled) return;
    if (parametersFile === undefined) this.#batching = defaultBatchingParameters();
    else [this.#batching, this.#batchingProblems] = await readBatching(parametersFile);
  }

  #found(): readonly FoundModel[] {
    const others = [...this.#paths, this.#basePaths].flatMap((one) => one.models);
    return [...this.#brought.values(), ...others.filter((one) => !this.#brought.has(one.name))];
  }

  /** Tells the registry what is asked for now, when that has changed. Settles when it is done. */
  async #apply(again: readonly string[]): Promise<void> {
    const problems = [
      ...this.#batchingProblems,
      ...(this.#configFile?.problems ?? []),
      ...this.#paths.flatMap((one) => one.problems),
    ];
    const found = distinctModels(this.#found(), problems);
    const wanted = found.filter((one) => this.#explicit.isWanted(one.name, isFromRepository(one)));
    const asked = wanted.map((one) => this.#desiredOf(one, problems));
    const names = this.#namesAtStart(found);
    const faults = this.#startFaults.now(
      [
        { what: '--batching-parameters-file', faults: this.#batchingProblems },
        { what: '--model-config-file', faults: this.#configFile?.faults ?? [] },
        ...this.#paths.map((one) => ({ what: one.path, faults: one.faults })),
        ...names,
      ],
      wanted.length,
    );
    problems.push(...names.flatMap((one) => one.faults), ...faults);
    const unserved = wanted.filter((one) => one.versions.length === 0);
    this.#showProblems(
      [...problems, ...wanted.flatMap((one) => one.problems)],
      new Set([...faults, ...unserved.flatMap((one) => one.problems)]),
    );
    const before = this.#asked;
    const same =
      before?.length === asked.length &&
      asked.every((one, i) => one === before[i]) &&
      faults.join() === this.#faults.join();
    if (same && again.length === 0) return;
    [this.#asked, this.#faults] = [asked, faults];
    try {
      await this.#registry.reconcile(asked, again, faults);
    } catch (error) {
      this.#logger.warn('models are left as they are', { reason: (error as Error).message });
    }
  }

  #namesAtStart(found: readonly FoundModel[]): readonly Place[] {
    return this.#explicit.namesAtStart.map((name) => {
      const known = found.some((one) => one.name === name) || !this.#explicit.isWanted(name, true);
      const faults = known ? [] : [`--load-model: ${this.#notFound(name).message}`];
      return { what: `--load-model=${name}`, faults };
    });
  }

  /** The same object for what has not changed. */
  #desiredOf(model: FoundModel, problems: string[]): DesiredModel {
    const { name, pending, versions } = model;
    const isRepository = isFromRepository(model);
    const required = this.#explicit.isRequired(name, isRepository);
    let taken: TakenLabels | undefined;
    if (!this.#config.control.labelsForUnavailable) {
      const present = [...versions.map((one) => one.version), ...pending, ...this.#available(name)];
      taken = takeLabels(name, model.labels, new Set(present), this.#takenLabels.get(name));
      this.#takenLabels.set(name, taken);
      problems.push(...taken.problems);
    }
    const known = this.#known.get(model);
    if (known?.labels === taken && known?.required === required) return known.desired;
    const settings = {
      // Per-model threads stay 0: the shared pool, which the setting sizes, is what models use.
      model: { ...this.#config.model, intraOpThreads: 0 },
      batching: this.#batching,
      defaultMaxBatchSize: this.#config.batching.defaultMaxBatchSize,
      savedModelTags: this.#config.savedModelTags,
    };
    const desired = desiredModel(model, settings, taken?.labels ?? model.labels, required);
    this.#known.set(model, { labels: taken, required, desired });
    return desired;
  }

  #available(name: string): readonly string[] {
    const model = findModel(this.#registry.snapshot, name);
    const serving = model?.versions.filter((one) => one.handle !== undefined) ?? [];
    return serving.map((one) => one.version);
  }

  #serves(name: string, version: string): boolean {
    const model = findModel(this.#registry.snapshot, name);
    const state = model?.versions.find((one) => one.version === version)?.state;
    return state !== undefined && state !== 'END';
  }

  /** Each is logged when it comes up, not at every look. */
  #showProblems(problems: readonly string[], grave: ReadonlySet<string>): void {
    const now = [...new Set(problems)];
    const before = new Set(this.#problems);
    for (const problem of now) {
      if (before.delete(problem)) continue;
      this.#problemsSeen += 1;
      this.#logger[grave.has(problem) ? 'error' : 'warn']('model source', { problem });
    }
    for (const problem of before) this.#logger.info('model source: no longer', { problem });
    this.#problems = now;
  }
}

/** Whether it is loaded only when asked for in explicit mode. */
function isFromRepository(model: FoundModel): boolean {
  return model.source === 'repository';
}
