// A PATH of the command line or a repository, with the models accepted at the last scan. Control
// plane, main thread. A place that cannot be read keeps its models.
import { basename } from 'node:path';
import { placeOf, type ModelPath } from '../../../config/values/model-path.js';
import { scanPath } from './paths/scan-path.js';
import {
  hasModel,
  listModels,
  requireFolder,
  scanRepository,
  scanRepositoryModel,
} from './repository.js';
import type { ScanRules, SourceScan } from './repository.js';
import type { FoundModel } from './scan.js';
import { TakenModels, type SourceRules } from './taken-models.js';

export class PathSource {
  readonly path: string;
  readonly #given: ModelPath;
  readonly #isRepository: boolean;
  readonly #rules: SourceRules;
  readonly #taken: TakenModels;
  #problems: readonly string[] = [];
  #notes: readonly string[] = [];
  #readable = true;

  /** `isRepository`: it is a repository and never a model itself, whatever it contains. */
  constructor(given: ModelPath, isRepository: boolean, rules: SourceRules) {
    this.#given = given;
    this.path = placeOf(given);
    this.#isRepository = isRepository;
    this.#rules = rules;
    this.#taken = new TakenModels(rules);
  }

  get models(): readonly FoundModel[] {
    return this.#taken.all;
  }

  /** Problems of the path itself, without its models' own. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Notes about ignored settings and files; a subset of the problems. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  /** Why its contents are unknown. */
  get faults(): readonly string[] {
    return this.#readable ? [] : this.#problems;
  }

  /** Accepts everything as found. Errors: InvalidArgument: no such path, or no model. */
  async firstLook(): Promise<void> {
    if (this.#isRepository) await requireFolder(this.path);
    this.#take(await this.#scan(), true);
  }

  /** Returns whether a change waits to settle. Never rejects. */
  async look(): Promise<boolean> {
    try {
      return this.#take(await this.#scan(), false);
    } catch (error) {
      [this.#problems, this.#notes] = [[(error as Error).message], []];
      return false;
    }
  }

  /**
   * The model as it is on disk now, accepted or not; undefined if it is not here. `configOf`: the
   * configuration that replaces its own.
   */
  async find(
    name: string,
    configOf: NonNullable<ScanRules['configOf']>,
  ): Promise<FoundModel | undefined> {
    const rules = { ...this.#scanRules(), configOf };
    const own = this.#taken.get(name);
    if (own !== undefined && own.source !== 'repository') {
      return (await scanPath(this.#given, rules)).models.find((one) => one.name === name);
    }
    // MLServer's settings may give a model another name than its folder's.
    const folder = own === undefined ? name : basename(own.basePath);
    if (!(await hasModel(this.path, folder))) return undefined;
    return scanRepositoryModel(this.path, folder, rules);
  }

  /** Accepts this model as found. */
  put(model: FoundModel): void {
    this.#taken.put(model);
  }

  /** Names of all models that are here, accepted or not. */
  async list(): Promise<readonly string[]> {
    const names = this.models.map((model) => model.name);
    const isModel = this.models.some((model) => model.source !== 'repository');
    if (isModel) return names;
    const folders = new Set(this.models.map(({ basePath }) => basename(basePath)));
    const others = (await listModels(this.path)).filter((name) => !folders.has(name));
    return [...new Set([...names, ...others])];
  }

  #take(scan: SourceScan, asFound: boolean): boolean {
    this.#problems = scan.problems;
    this.#notes = scan.notes ?? [];
    this.#readable = scan.readable;
    const mayStay = (name: string): boolean => this.#rules.wants?.(name) ?? true;
    return scan.readable && this.#taken.take(scan.models, asFound, mayStay);
  }

  #scan(): Promise<SourceScan> {
    const rules = this.#scanRules();
    return this.#isRepository ? scanRepository(this.path, rules) : scanPath(this.#given, rules);
  }

  #scanRules(): ScanRules {
    const { wants, autoComplete, configName = '', libraryFolders = [], configOf } = this.#rules;
    const before = (name: string): FoundModel | undefined => this.#taken.get(name);
    const given = { before, autoComplete, configName, libraryFolders, configOf };
    return { ...given, ...(wants === undefined ? {} : { wants }) };
  }
}
