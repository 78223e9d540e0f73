// The source of models: scans all locations at startup and as the settings say, passes the desired
// models to the registry, loads and unloads single models by call. Control plane, main thread.
// places.ts reads the files; desired-models.ts decides what is desired.
import { dirname } from 'node:path';
import { placeOf } from '../../../config/values/model-path.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { Logger } from '../../../base/logger.js';
import type { ModelEntry } from '../../config/types.js';
import { SYSTEM_CLOCK, type Clock } from '../clock.js';
import type { Registry } from '../registry.js';
import { findModel } from '../snapshot-build.js';
import {
  DesiredModels,
  isFromRepository,
  notFound,
  sameDesired,
  unservedText,
} from './desired-models.js';
import type { Desired, SourceConfig } from './desired-models.js';
import { ExplicitModels, type ModelOverride } from './explicit-models.js';
import { Places } from './places.js';
import { Problems } from './problems.js';
import { wrongWith, type FoundModel } from './scan.js';
import { isWatched } from './start-faults.js';
import { Watcher, type Watched } from './watcher.js';

export interface ModelSourceOptions {
  readonly clock?: Clock;
  /** Folder for files of load calls. Default: the system's folder for temporary files. */
  readonly tempRoot?: string;
  /** Called with the models of base paths when they change. */
  readonly entriesChanged?: (entries: readonly ModelEntry[]) => void;
  /** Called after each scan with the problem counts and the number of scans. */
  readonly looked?: (problems: ProblemCounts, looks: number) => void;
}

/**
 * Numbers of problems with the places of models, by effect: something is not served; another fault;
 * a setting without effect.
 */
export interface ProblemCounts {
  readonly unserved: number;
  readonly warning: number;
  readonly note: number;
}

/** Counts since the start. */
export interface SourceCounters {
  readonly looks: number;
  /** Number of current problems. */
  readonly problems: number;
  /** Problems that ever occurred; one that goes away and returns counts again. */
  readonly problemsSeen: number;
}

/** A model that could be served. */
export interface ListedModel {
  readonly name: string;
  /** Versions that served until the model was unloaded. */
  readonly unloaded: readonly string[];
  /** Current problems. */
  readonly problems: readonly string[];
}

function countsOf(problems: readonly string[], { grave, notes }: Desired): ProblemCounts {
  const unserved = problems.filter((one) => grave.has(one)).length;
  const note = problems.filter((one) => !grave.has(one) && notes.has(one)).length;
  return { unserved, note, warning: problems.length - unserved - note };
}

export class ModelSource {
  readonly #config: SourceConfig;
  readonly #logger: Logger;
  readonly #registry: Registry;
  readonly #explicit: ExplicitModels;
  readonly #places: Places;
  readonly #watcher: Watcher;
  readonly #askedModels: DesiredModels;
  readonly #problems: Problems;
  readonly #looked: (problems: ProblemCounts, looks: number) => void;
  #desired: Desired | undefined;
  #roots: ReadonlySet<string> = new Set();
  /** The entries that the roots were made from. */
  #rootsOf: readonly ModelEntry[] | undefined;
  #basePathsWatched = false;
  #startProblems: readonly string[] = [];
  #looks = 0;
  readonly #entriesChanged: (entries: readonly ModelEntry[]) => void;
  #entriesTold: readonly ModelEntry[] = [];

  constructor(
    config: SourceConfig,
    logger: Logger,
    registry: Registry,
    options: ModelSourceOptions = {},
  ) {
    const { control, batching } = config;
    const { clock = SYSTEM_CLOCK } = options;
    const { settleMs } = control;
    const explicit = new ExplicitModels(control, options.tempRoot);
    this.#config = config;
    this.#logger = logger;
    this.#registry = registry;
    this.#explicit = explicit;
    this.#entriesChanged = options.entriesChanged ?? ((): void => undefined);
    this.#askedModels = new DesiredModels(config, explicit);
    this.#problems = new Problems(logger);
    this.#looked = options.looked ?? (() => undefined);
    this.#places = new Places(config, {
      clock,
      settleMs,
      wants:
        control.mode === 'explicit' ? (name): boolean => explicit.isWanted(name, true) : undefined,
      takesChanges: (name, version) =>
        control.reloadChangedVersions || !this.#serves(name, version),
      autoComplete: batching.autoComplete,
      configName: config.sources.modelConfigName ?? '',
      libraryFolders: config.operatorLibraries ?? [],
      batchingPerModel: batching.enabled && batching.perModel,
      configOf: (name, folder) => explicit.configOf(name, folder),
    });
    const failed = (what: string, error: unknown): void => {
      logger.error('failed to scan models', { what, reason: String(error) });
    };
    this.#watcher = new Watcher(this.#watched(), { clock, settleMs, failed });
  }

  /**
   * Current problems, each a sentence with its path; excludes failed loads, which the registry
   * reports.
   */
  get problems(): readonly string[] {
    return this.#problems.now;
  }

  /**
   * Everything that was wrong when start() settled, including failed loads; excludes settings
   * without effect.
   */
  get startProblems(): readonly string[] {
    return this.#startProblems;
  }

  /** Whether a later scan, or a load call, may add what is missing now. */
  get isWatched(): boolean {
    return isWatched(this.#config, this.#places.entries);
  }

  /** Models of base paths. */
  get entries(): readonly ModelEntry[] {
    return this.#places.entries;
  }

  get counters(): SourceCounters {
    const { now, seen } = this.#problems;
    return { looks: this.#looks, problems: now.length, problemsSeen: seen };
  }

  /**
   * Scans all places and reads the configuration files; loads nothing. Errors: InvalidArgument: a
   * path of the command line does not exist or is no model.
   */
  async firstLook(): Promise<void> {
    await this.#places.firstLook();
    if (this.#config.control.mode === 'explicit') {
      for (const model of this.#places.seen.found) {
        if (this.#isWanted(model)) await this.#loadSteps(model);
      }
    }
    this.#looks += 1;
  }

  /**
   * Call after firstLook(). Settles when every desired model was loaded or has failed (with
   * exitOnError: for good); from then on the places are watched.
   */
  async start(): Promise<void> {
    void this.#explicit.removeAbandoned().then((folders) => {
      if (folders > 0) this.#logger.info('removed leftovers of a killed server', { folders });
    });
    await this.#apply([]);
    if (this.#config.control.exitOnError) await this.#registry.whenSettled(undefined, true);
    const failures = Object.keys(this.#registry.snapshot.models).flatMap((name) =>
      this.#registry
        .failures(name)
        .map((one) => `model '${name}', version ${one.version}: ${one.message}`),
    );
    const problems = this.problems.filter((one) => this.#desired?.notes.has(one) !== true);
    this.#startProblems = [...problems, ...failures];
    this.#watcher.start();
  }

  /** Stops all scans and removes the files of load calls. */
  async stop(): Promise<void> {
    await this.#watcher.stop();
    await this.#explicit.removeAllFolders();
  }

  /**
   * Scans every file and folder now; scans once more what has to settle. Settles when the resulting
   * loads have succeeded or failed.
   */
  async reload(): Promise<void> {
    await this.#watcher.lookNow();
    await this.#registry.whenSettled();
  }

  /**
   * Loads the model as it is on disk now, and the steps of an ensemble that are not loaded; settles
   * when it serves. Errors: InvalidArgument (config,
   * files); ModelNotFound; ModelInvalid or the load's own error: versions that served before still
   * do.
   */
  async load(name: string, override?: ModelOverride): Promise<void> {
    const { names, unused } = await this.#watcher.exclusive(() => this.#beginLoad(name, override));
    await this.#registry.whenSettled(names, true);
    await this.#explicit.removeFolder(unused);
    this.#requireServed(name, ErrorCode.ModelNotReady, 'it was unloaded in the meantime');
  }

  /**
   * Settles when no version of the model serves any more. `dependents`: with an ensemble, the steps
   * that were loaded with it, too. Errors: ModelNotFound.
   */
  async unload(name: string, dependents = false): Promise<void> {
    const { names, unused } = await this.#watcher.exclusive(async () => {
      const served = findModel(this.#registry.snapshot, name);
      const listed = served !== undefined || (await this.list('')).some((one) => one.name === name);
      if (!listed) throw notFound(name, this.#places.seen);
      const desired = this.#places.seen.found.filter((model) => this.#isWanted(model));
      const all = [name, ...(dependents ? this.#explicit.dependents(name, desired) : [])];
      const folders = all.map((one) => this.#beginUnload(one));
      void this.#apply([]);
      return { names: all, unused: folders };
    });
    await this.#registry.whenSettled(names);
    for (const folder of unused) await this.#explicit.removeFolder(folder);
  }

  #beginUnload(name: string): string | undefined {
    const versions = findModel(this.#registry.snapshot, name)?.versions ?? [];
    const live = versions.filter((one) => one.state !== 'END');
    const folder = this.#explicit.unload(
      name,
      live.map((one) => one.version),
    );
    this.#places.forgetBrought(name);
    return folder;
  }

  /**
   * Serves these base-path models in place of the present ones, until models.config changes; models
   * of repositories and PATHs stay. Settles when the new and changed ones serve. Errors:
   * InvalidArgument: a name that a repository serves (nothing is changed then); ModelInvalid or the
   * error of a new or changed model's load.
   */
  async replaceModels(entries: readonly ModelEntry[]): Promise<void> {
    const changed: readonly string[] = await this.#watcher.exclusive(async () => {
      const names = await this.#places.replaceEntries(entries);
      if (!this.#basePathsWatched) this.#watcher.add(this.#watchBasePaths());
      void this.#apply(names);
      return names;
    });
    await this.#registry.whenSettled(changed, true);
    for (const { name, basePath } of entries) {
      if (!changed.includes(name)) continue;
      const found = this.#places.basePathModel(name);
      // If a place cannot be read, models served from the previous base path are kept.
      const isThere = found?.basePath === basePath;
      this.#requireServed(name, ErrorCode.ModelInvalid, unservedText(found), isThere);
    }
  }

  /** Errors: the load's error; `code` and `why` if no version of it serves. */
  #requireServed(name: string, code: ErrorCode, why: string, isThere = true): void {
    const text = `load failed for model '${name}'`;
    const failed = this.#registry.failures(name)[0];
    if (failed !== undefined) {
      throw new ServalError(failed.code, `${text}: version ${failed.version}: ${failed.message}`);
    }
    if (isThere && this.#available(name).length > 0) return;
    throw new ServalError(code, `${text}: ${why}`);
  }

  /** Folders that contain models: paths in public texts are relative to them. */
  readonly roots = (): ReadonlySet<string> => {
    const { entries } = this.#places;
    if (this.#rootsOf !== entries) {
      const { paths, modelRepositories } = this.#config.sources;
      const parents = entries.map(({ basePath }) => dirname(basePath));
      const folders = [...paths.map(placeOf), ...modelRepositories, ...parents];
      this.#roots = new Set(folders.filter((folder) => folder !== '/'));
      this.#rootsOf = entries;
    }
    return this.#roots;
  };

  /**
   * Every model of the repository ("" = of all places), loaded or not, by name. Errors:
   * InvalidArgument: no such repository.
   */
  async list(repository: string): Promise<readonly ListedModel[]> {
    const names = await this.#places.names(repository);
    if (repository === '') {
      for (const name of Object.keys(this.#registry.snapshot.models)) names.add(name);
    }
    const { found } = this.#places.seen;
    const problems = new Map(found.map((model) => [model.name, wrongWith(model)]));
    return [...names].sort().map((name) => ({
      name,
      unloaded: this.#explicit.unloadedVersions(name),
      problems: problems.get(name) ?? [],
    }));
  }

  async #beginLoad(
    name: string,
    override: ModelOverride | undefined,
  ): Promise<{ readonly names: readonly string[]; readonly unused: string | undefined }> {
    const taken = override && (await this.#explicit.prepare(name, override));
    let found: FoundModel;
    try {
      const { model, put } = await this.#places.find(name, taken);
      if (!model.readable || model.versions.length === 0) {
        const text = `load failed for model '${name}': ${unservedText(model)}`;
        throw new ServalError(ErrorCode.ModelInvalid, text);
      }
      put();
      found = model;
    } catch (error) {
      await this.#explicit.removeFolder(taken?.folder);
      throw error;
    }
    const unused = this.#explicit.load(name, taken);
    const names = [name, ...(await this.#loadSteps(found))];
    void this.#apply(names);
    return { names, unused };
  }

  #loadSteps(ensemble: FoundModel): Promise<readonly string[]> {
    const desired = (name: string): FoundModel | undefined =>
      this.#places.seen.found.find((one) => one.name === name && this.#isWanted(one));
    const accept = async (name: string): Promise<FoundModel | undefined> => {
      try {
        const { model, put } = await this.#places.find(name, undefined);
        put();
        return model;
      } catch (error) {
        if (error instanceof ServalError && error.code === ErrorCode.ModelNotFound)
          return undefined;
        throw error;
      }
    };
    return this.#explicit.loadSteps(ensemble, desired, accept);
  }

  #isWanted(model: FoundModel): boolean {
    return this.#explicit.isWanted(model.name, isFromRepository(model));
  }

  #watched(): readonly Watched[] {
    const { mode, repositoryPollSeconds, modelConfigFilePollSeconds } = this.#config.control;
    const { paths, modelRepositories, baseModel } = this.#config.sources;
    const places = this.#places;
    const watched: Watched[] = [];
    if (paths.length + modelRepositories.length > 0) {
      const seconds = mode === 'poll' ? repositoryPollSeconds : 0;
      watched.push(this.#watch('repositories', seconds, () => places.lookAtPaths()));
    }
    const file = places.configFile;
    if (file !== undefined) {
      const look = (): Promise<boolean> => places.lookAtConfigFile(file);
      watched.push(this.#watch('model config file', modelConfigFilePollSeconds, look));
    }
    if (file !== undefined || baseModel !== undefined) watched.push(this.#watchBasePaths());
    return watched;
  }

  #watchBasePaths(): Watched {
    this.#basePathsWatched = true;
    const { fileSystemPollSeconds } = this.#config.control;
    return this.#watch('base paths', fileSystemPollSeconds, () => this.#places.lookAtBasePaths());
  }

  /** `seconds` of 0 or less: scanned only on request. */
  #watch(what: string, seconds: number, step: () => Promise<boolean>): Watched {
    return {
      what,
      everyMs: seconds > 0 ? seconds * 1000 : undefined,
      look: async () => {
        const waits = await step();
        this.#looks += 1;
        void this.#apply([]);
        return waits;
      },
    };
  }

  /** Passes the desired models to the registry if they have changed. Settles when it is done. */
  async #apply(again: readonly string[]): Promise<void> {
    const desired = this.#askedModels.decide(this.#places.seen, (name) => this.#available(name));
    this.#problems.show(desired.problems, desired.grave, desired.elsewhere);
    const { entries } = this.#places;
    if (entries !== this.#entriesTold) {
      this.#entriesTold = entries;
      this.#entriesChanged(entries);
    }
    this.#looked(countsOf(this.problems, desired), this.#looks);
    if (sameDesired(this.#desired, desired) && again.length === 0) return;
    this.#desired = desired;
    try {
      await this.#registry.reconcile(desired.models, again, desired.faults);
    } catch (error) {
      this.#logger.warn('models are unchanged', { reason: (error as Error).message });
    }
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
}
