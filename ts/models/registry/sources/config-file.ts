// models.config, with the entries accepted at the last scan. Control plane, main thread. Source:
// tfserving.md 3.2.
import { parseModelServerConfig } from '../../config/models-config.js';
import type { ModelEntry } from '../../config/types.js';
import type { ConfigProblem } from '../../../protobuf/problem.js';
import { readConfigText } from '../../../protobuf/text-format.js';
import { Settling } from './settle.js';
import type { SourceRules } from './taken-models.js';

/**
 * models.config, read again at each poll. A previously good entry that is missing from a file with
 * problems is kept, and all entries are kept if the file no longer has a model_config_list (it is
 * empty, or holds only comments): a mistake unloads nothing. An explicit `model_config_list {}`
 * unloads all. Source: tfserving.md 3.2.
 */
export class ModelConfigFile {
  readonly #path: string;
  readonly #rules: SourceRules;
  readonly #settling: Settling;
  #text: string | undefined;
  #entries: readonly ModelEntry[] = [];
  #faults: readonly string[] = [];
  #notes: readonly string[] = [];

  constructor(path: string, rules: SourceRules) {
    this.#path = path;
    this.#rules = rules;
    this.#settling = new Settling(rules.settleMs);
  }

  get entries(): readonly ModelEntry[] {
    return this.#entries;
  }

  /** Problems that keep an entry, or all of them, from being served. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Settings that are read but have no effect. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  /** Errors: InvalidArgument: the file cannot be read. */
  async firstLook(): Promise<void> {
    this.#take(await readConfigText(this.#path));
  }

  /** Returns whether a change waits to settle. Never rejects. */
  async look(): Promise<boolean> {
    let text: string;
    try {
      text = await readConfigText(this.#path);
    } catch (error) {
      [this.#faults, this.#notes] = [[(error as Error).message], []];
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
    const { models, isSet, problems, warnings } = parseModelServerConfig(text, this.#path);
    const names = new Set(models.map((entry) => entry.name));
    this.#text = text;
    const textOf = (one: ConfigProblem): string => `${one.place}: ${one.message}`;
    [this.#faults, this.#notes] = [problems.map(textOf), warnings.map(textOf)];
    if (isSet || this.#entries.length === 0) {
      const kept = this.#entries.filter((entry) => problems.length > 0 && !names.has(entry.name));
      this.#entries = [...models, ...kept];
    } else if (problems.length === 0) {
      const kept = this.#entries.length === 1 ? 'its model is kept' : 'its models are kept';
      this.#faults = [
        `${this.#path}: expected model_config_list, got a file without one: ${kept} as before; ` +
          'write model_config_list {} to unload all models',
      ];
    }
  }
}
