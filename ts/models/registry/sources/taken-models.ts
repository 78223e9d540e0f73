// The models accepted from one place, scan by scan. Control plane, main thread.
import type { Clock } from '../clock.js';
import type { ScanRules } from './repository.js';
import type { FoundModel } from './scan.js';
import { GONE, Settling, takeModel } from './settle.js';

/** Rules given to every source. */
export interface SourceRules {
  readonly clock: Clock;
  readonly settleMs: number;
  /** Whether changed content of a previously accepted version is accepted. */
  readonly takesChanges: (name: string, version: string) => boolean;
  readonly autoComplete: boolean;
  readonly configName?: string;
  readonly libraryFolders?: readonly string[];
  readonly batchingPerModel: boolean;
  /** Filter of repository models; undefined = all. */
  readonly wants: ((name: string) => boolean) | undefined;
  readonly configOf: NonNullable<ScanRules['configOf']>;
}

/** Accepted models by name, updated scan by scan. */
export class TakenModels {
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

  /**
   * Replaces the previous contents; returns whether a change waits to settle. `mayStay`: models
   * that have disappeared are kept until they have been gone for a while.
   */
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
