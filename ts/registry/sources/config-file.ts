// models.config, with what was taken from it at the last look. Control plane, main thread.
// Source: tfserving.md 3.2.
import { parseModelServerConfig } from '../../model-config/models-config.js';
import type { ModelEntry } from '../../model-config/types.js';
import type { ConfigProblem } from '../../protobuf/problem.js';
import { readConfigText } from '../../protobuf/text-format.js';
import { Settling } from './settle.js';
import type { SourceRules } from './taken-models.js';

/** models.config, read anew. An entry that was good and is gone from a file with problems stays: a
 * mistake unloads nothing. */
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

  /** What keeps an entry, or all of them, from being served. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** What is read and makes no difference. */
  get notes(): readonly string[] {
    return this.#notes;
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
    const { models, problems, warnings } = parseModelServerConfig(text, this.#path);
    const names = new Set(models.map((entry) => entry.name));
    const kept = this.#entries.filter((entry) => problems.length > 0 && !names.has(entry.name));
    this.#text = text;
    this.#entries = [...models, ...kept];
    const textOf = (one: ConfigProblem): string => `${one.place}: ${one.message}`;
    [this.#faults, this.#notes] = [problems.map(textOf), warnings.map(textOf)];
  }
}
