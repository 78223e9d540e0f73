// Requests for single models while serving (--load-model, load and unload calls): which are
// desired, and the files that replace the repository's own. Control plane, main thread.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ModelControlSettings } from '../../../config/config.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { operatorLibraries } from '../../config/files/operator-libraries.js';
import { echo } from '../../../base/text.js';
import { ensembleSteps } from '../../config/ensembles/steps.js';
import { tritonConfigFromJson } from '../../config/triton-config.js';
import type { TritonConfigResult } from '../../config/triton-config.js';
import { foundConfig } from './repository.js';
import type { FoundConfig, FoundModel } from './scan.js';
import { UploadFolders } from './upload-folders.js';

/** Contents of a load call that replace the repository's files. */
export interface ModelOverride {
  /** JSON text. */
  readonly config: string;
  /** "version/file" -> bytes; empty: the repository's files. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** An override that has been checked. */
export interface TakenOverride {
  readonly config: string;
  readonly result: TritonConfigResult;
  /** Folder of the files; undefined: the repository's. */
  readonly folder: string | undefined;
}

const ALL_MODELS = '*';
/** Valid form of each part of a file's name below the model's folder. */
const FILE_PART = /^(?!\.{1,2}$)[^/\\\0]{1,255}$/;
const FILE_DEPTH_MAX = 16;
/** Errors for a file whose name another file needs as a folder. */
const NAME_CLASHES = ['EEXIST', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'];

export class ExplicitModels {
  readonly #control: Pick<ModelControlSettings, 'mode' | 'loadModels'>;
  readonly #uploads: UploadFolders;
  readonly #overrides = new Map<string, TakenOverride>();
  /** Set by load and unload calls; overrides the settings. */
  readonly #requested = new Map<string, boolean>();
  /** Models that were loaded only because an ensemble names them. */
  readonly #asSteps = new Set<string>();
  /** Name -> versions that served when the model was unloaded. */
  readonly #unloaded = new Map<string, readonly string[]>();

  constructor(control: Pick<ModelControlSettings, 'mode' | 'loadModels'>, tempRoot?: string) {
    this.#control = control;
    this.#uploads = new UploadFolders(tempRoot);
  }

  /** Names given to --load-model. */
  get namesAtStart(): readonly string[] {
    return this.#control.loadModels.filter((name) => name !== ALL_MODELS);
  }

  isWanted(name: string, isRepositoryModel: boolean): boolean {
    return this.#requested.get(name) ?? (!isRepositoryModel || this.#byStart(name));
  }

  /** Whether the configuration requests it, not only a call. */
  isRequired(name: string, isRepositoryModel: boolean): boolean {
    return !isRepositoryModel || this.#byStart(name);
  }

  #byStart(name: string): boolean {
    const { mode, loadModels } = this.#control;
    return mode !== 'explicit' || loadModels.includes(ALL_MODELS) || loadModels.includes(name);
  }

  /** Versions that an unload call ended. */
  unloadedVersions(name: string): readonly string[] {
    return this.#unloaded.get(name) ?? [];
  }

  /** The configuration that replaces the folder's. */
  configOf(name: string, folder: string): Promise<FoundConfig> | undefined {
    const override = this.#overrides.get(name);
    return override && overridingConfig(override, folder);
  }

  /**
   * Checks a load call's override and writes its files into a private folder. Errors:
   * InvalidArgument naming the model and the problem.
   */
  async prepare(name: string, override: ModelOverride): Promise<TakenOverride> {
    const where = `model '${name}': config`;
    const result = tritonConfigFromJson(override.config, where, name);
    if (result.config === undefined) {
      const problems = result.problems.map((one) => `${one.place}: ${one.message}`);
      throw new ServalError(ErrorCode.InvalidArgument, problems.join('; '));
    }
    const [library] = operatorLibraries(result.config);
    if (library !== undefined) {
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `${where}: model_operations: expected no operator library in a load call, which must not ` +
          `bring code, got ${echo(library)}: name it in config.pbtxt of the repository`,
      );
    }
    for (const file of override.files.keys()) checkFileName(name, file);
    if (override.files.size === 0) return { ...override, result, folder: undefined };
    let folder: string | undefined;
    try {
      folder = await this.#uploads.make();
      for (const [file, bytes] of override.files) {
        const path = join(folder, file);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, bytes, { flag: 'wx' });
      }
    } catch (error) {
      await this.removeFolder(folder);
      const { code = '', message } = error as NodeJS.ErrnoException;
      const clash = NAME_CLASHES.includes(code);
      throw new ServalError(
        clash ? ErrorCode.InvalidArgument : ErrorCode.Internal,
        `model '${name}': cannot write its files: ${message}`,
      );
    }
    return { config: override.config, result, folder };
  }

  /**
   * Makes the model desired, with these files or its own. Returns the folder that can be removed
   * once the old versions are unloaded.
   */
  load(name: string, override: TakenOverride | undefined): string | undefined {
    const before = this.#overrides.get(name);
    this.#requested.set(name, true);
    this.#asSteps.delete(name);
    this.#unloaded.delete(name);
    if (override === undefined) this.#overrides.delete(name);
    else this.#overrides.set(name, override);
    return before?.folder;
  }

  /**
   * Makes the models that an ensemble names desired, and those that they name, if they are not yet;
   * returns their names. Models that are not found are left out: the ensemble's own load reports
   * them. `desired`: the accepted model if it is desired. `accept`: scans a model and accepts it;
   * undefined if it does not exist. Source: core/src/model_repository_manager.cc PollModels.
   */
  async loadSteps(
    ensemble: FoundModel,
    desired: (name: string) => FoundModel | undefined,
    accept: (name: string) => Promise<FoundModel | undefined>,
  ): Promise<readonly string[]> {
    const names = new Set(stepModels(ensemble));
    for (const name of names) {
      const known = name === ensemble.name ? ensemble : desired(name);
      const model = known ?? (await accept(name));
      if (model !== undefined && known === undefined) {
        this.load(name, undefined);
        this.#asSteps.add(name);
      }
      for (const step of model === undefined ? [] : stepModels(model)) names.add(step);
    }
    names.delete(ensemble.name);
    return [...names];
  }

  /**
   * The models that are unloaded together with this one: its steps that no call and no setting
   * loaded and no other desired ensemble names, and theirs. Source: core's RemoveNodes.
   */
  dependents(name: string, desired: readonly FoundModel[]): readonly string[] {
    const byName = new Map(desired.map((model) => [model.name, model]));
    const gone = new Set([name]);
    for (const one of gone) {
      const model = byName.get(one);
      for (const step of model === undefined ? [] : stepModels(model)) {
        const isUsed = desired.some(
          (other) => !gone.has(other.name) && stepModels(other).includes(step),
        );
        if (this.#asSteps.has(step) && !isUsed) gone.add(step);
      }
    }
    gone.delete(name);
    return [...gone];
  }

  /** Makes the model no longer desired; returns the same as load(). */
  unload(name: string, versions: readonly string[]): string | undefined {
    const before = this.#overrides.get(name);
    this.#requested.set(name, false);
    this.#asSteps.delete(name);
    this.#overrides.delete(name);
    if (versions.length > 0) this.#unloaded.set(name, versions);
    return before?.folder;
  }

  async removeFolder(folder: string | undefined): Promise<void> {
    if (folder !== undefined) await this.#uploads.remove(folder);
  }

  async removeAllFolders(): Promise<void> {
    await this.#uploads.removeAll();
  }

  /** Removes the folders of servers that were killed; returns their number. */
  removeAbandoned(): Promise<number> {
    return this.#uploads.removeAbandoned();
  }
}

function stepModels({ config }: FoundModel): readonly string[] {
  return ensembleSteps(config.config).map(({ model }) => model);
}

export function overridingConfig(override: TakenOverride, folder: string): Promise<FoundConfig> {
  return foundConfig(folder, override.config, override.result);
}

/** Errors: InvalidArgument: not "version/file" inside the model's folder. */
function checkFileName(model: string, file: string): void {
  const parts = file.split('/');
  const inside =
    parts.length >= 2 &&
    parts.length <= FILE_DEPTH_MAX &&
    parts.every((part) => FILE_PART.test(part));
  if (inside) return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `model '${model}': file: expected "version/file" without "..", got ${JSON.stringify(file)}`,
  );
}
