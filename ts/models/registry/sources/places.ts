// All places that models come from: PATHs and repositories, base paths, models.config, the batching
// file, and files of load calls. Control plane, main thread. It reads folders and files and keeps
// what was accepted from them; desired-models.ts decides what is desired.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { defaultBatchingParameters } from '../../config/batching-parameters.js';
import type { BatchingParameters } from '../../../model/batching-parameters.js';
import type { ModelEntry } from '../../config/types.js';
import { LATEST_ONE } from '../../../model/version-policy.js';
import { notFound, type Seen, type SourceConfig } from './desired-models.js';
import {
  BasePathSource,
  changedEntries,
  readBatching,
  refuseServedElsewhere,
} from './base-paths.js';
import { ModelConfigFile } from './config-file.js';
import { overridingConfig, type TakenOverride } from './explicit-models.js';
import { PathSource } from './path-source.js';
import { refuseEqualNames } from './paths/scan-path.js';
import { requireFolder, scanModel } from './repository.js';
import { checkModelName, type FoundModel } from './scan.js';
import type { SourceRules } from './taken-models.js';

export class Places {
  readonly configFile: ModelConfigFile | undefined;
  readonly #config: SourceConfig;
  readonly #paths: readonly PathSource[];
  readonly #basePaths: BasePathSource;
  #basePathsWait = false;
  /** Models served from the files of a load call. */
  readonly #overrides = new Map<string, FoundModel>();
  #batching: BatchingParameters | undefined;
  #batchingProblems: readonly string[] = [];
  #batchingNotes: readonly string[] = [];

  constructor(config: SourceConfig, rules: SourceRules) {
    const { paths, modelRepositories, modelConfigFile } = config.sources;
    this.#config = config;
    this.#paths = [
      ...paths.map((given) => new PathSource(given, false, rules)),
      ...modelRepositories.map((path) => new PathSource(path, true, rules)),
    ];
    this.#basePaths = new BasePathSource(rules);
    this.configFile =
      modelConfigFile === undefined ? undefined : new ModelConfigFile(modelConfigFile, rules);
  }

  get entries(): readonly ModelEntry[] {
    return this.#basePaths.entries;
  }

  /** Current contents, as accepted by the last scans. */
  get seen(): Seen {
    const { notes = [], faults = [] } = this.configFile ?? {};
    const [batchingFaults, batchingNotes] = [this.#batchingProblems, this.#batchingNotes];
    const others = [...this.#paths, this.#basePaths].flatMap((one) => one.models);
    return {
      found: [
        ...this.#overrides.values(),
        ...others.filter((one) => !this.#overrides.has(one.name)),
      ],
      batching: this.#batching,
      notes: [...batchingNotes, ...notes, ...this.#paths.flatMap((one) => one.notes)],
      repositories: this.#paths.map(({ path }) => path),
      places: [
        {
          what: '--batching-parameters-file',
          faults: batchingFaults,
          problems: [...batchingFaults, ...batchingNotes],
        },
        { what: '--model-config-file', faults, problems: [...faults, ...notes] },
        ...this.#paths.map((one) => ({
          what: one.path,
          faults: one.faults,
          problems: one.problems,
        })),
      ],
    };
  }

  /**
   * Accepts everything as found. Errors: InvalidArgument: a path of the command line does not exist
   * or is no model.
   */
  async firstLook(): Promise<void> {
    const { baseModel } = this.#config.sources;
    await this.#readBatching();
    for (const path of this.#paths) await path.firstLook();
    const { length } = this.#config.sources.paths; // repositories come after them
    refuseEqualNames(this.#paths.slice(0, length).map(({ models }) => models));
    await this.configFile?.firstLook();
    if (baseModel !== undefined) {
      await requireFolder(baseModel.path);
      checkModelName(baseModel.name, baseModel.path);
    }
    this.#basePaths.entries = this.#entriesNow();
    await this.#basePaths.look(true);
  }

  /** Each scan returns whether a change waits to settle, and never rejects. */
  async lookAtPaths(): Promise<boolean> {
    let waits = false;
    for (const path of this.#paths) waits = (await path.look()) || waits;
    return waits;
  }

  /** A change of the file scans its base paths immediately. */
  async lookAtConfigFile(file: ModelConfigFile): Promise<boolean> {
    const before = file.entries;
    const waits = await file.look();
    const changed = file.entries !== before;
    if (changed) this.#basePaths.entries = this.#entriesNow();
    if (changed || this.#basePathsWait) await this.lookAtBasePaths();
    return waits || this.#basePathsWait;
  }

  async lookAtBasePaths(): Promise<boolean> {
    this.#basePathsWait = await this.#basePaths.look(false);
    return this.#basePathsWait;
  }

  /**
   * Replaces the base paths by these, accepted as found; returns the names of those that are new or
   * differ. Errors: InvalidArgument: a name that is served from elsewhere; nothing is changed then.
   */
  async replaceEntries(entries: readonly ModelEntry[]): Promise<readonly string[]> {
    const others = [...this.#overrides.values(), ...this.#paths.flatMap((one) => one.models)];
    refuseServedElsewhere(entries, others);
    const changed = changedEntries(entries, this.entries);
    this.#basePaths.entries = entries;
    await this.#basePaths.look(true);
    return changed;
  }

  /** The accepted model of a base path. */
  basePathModel(name: string): FoundModel | undefined {
    return this.#basePaths.models.find((one) => one.name === name);
  }

  /** The model as it is on disk now, and a function that accepts it. Errors: ModelNotFound. */
  async find(
    name: string,
    override: TakenOverride | undefined,
  ): Promise<{ model: FoundModel; put: () => void }> {
    const configOf = (_: string, folder: string): ReturnType<typeof overridingConfig> | undefined =>
      override && overridingConfig(override, folder);
    if (override?.folder !== undefined) {
      const model = await scanModel(name, override.folder, 'repository', { configOf });
      return { model, put: () => void this.#overrides.set(name, model) };
    }
    for (const path of this.#paths) {
      const model = await path.find(name, configOf);
      if (model === undefined) continue;
      const put = (): void => {
        this.#overrides.delete(name);
        path.put(model);
      };
      return { model, put };
    }
    throw notFound(name, this.seen);
  }

  /** Stops using the files that a load call provided for it. */
  forgetBrought(name: string): void {
    this.#overrides.delete(name);
  }

  /**
   * Names of all models in the repository ("" = in all places), accepted or not. Errors:
   * InvalidArgument: no such repository.
   */
  async names(repository: string): Promise<Set<string>> {
    const chosen = this.#paths.filter((one) => repository === '' || one.path === repository);
    if (chosen.length === 0 && repository !== '') {
      const known = this.#paths.map((one) => one.path).join(', ') || 'none';
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `repository '${repository}': expected one of ${known}`,
      );
    }
    const found = repository === '' ? this.seen.found.map((model) => model.name) : [];
    return new Set([...(await Promise.all(chosen.map((one) => one.list()))).flat(), ...found]);
  }

  #entriesNow(): readonly ModelEntry[] {
    const { baseModel } = this.#config.sources;
    if (baseModel === undefined) return this.configFile?.entries ?? [];
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
    const { enabled, parametersFile, parameters } = this.#config.batching;
    if (!enabled) return;
    if (parametersFile === undefined) this.#batching = parameters ?? defaultBatchingParameters();
    else {
      const { batching, problems, notes } = await readBatching(parametersFile);
      this.#batching = batching;
      [this.#batchingProblems, this.#batchingNotes] = [problems, notes];
    }
  }
}
