// The models that are served: keeps what is loaded equal to what is desired and publishes one
// immutable snapshot to subscribers, and what differs in it as routes to the engine, each taken
// whole. Control plane, main thread only. It does what decisions.ts says, through loads.ts and
// publisher.ts; it reads no files and polls nothing: whoever finds models calls reconcile().
import { ErrorCode, ServalError } from '../../base/errors.js';
import { ENDED_VERSIONS_MAX, LOADS_AT_ONCE } from '../../base/limits.js';
import type { Logger } from '../../base/logger.js';
import type { EngineControl } from '../../model/engine-api.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import { SYSTEM_CLOCK, type Clock } from './clock.js';
import { isSettled, isWanted, nextRetryMs, planRound, whenToPublish } from './decisions.js';
import type { Awaited, PlanRules, RegistryView } from './decisions.js';
import type { DesiredModel } from './desired.js';
import { indexModels, Servables, type Wanted } from './servables.js';
import type { LifecycleAction, Transition } from './lifecycle.js';
import type { LoadLine } from './load-line.js';
import { type Prepare } from '../warmup/prepare.js';
import { Loads, type RegistryCounters } from './loads.js';
import { Publisher } from './publisher.js';
import type { SnapshotListener } from './subscribers.js';

export interface RegistryOptions {
  readonly engine: EngineControl;
  readonly logger: Logger;
  /** 0 = the default. */
  readonly loadsAtOnce?: number;
  readonly endedVersionsMax?: number;
  /** Whether a model that is asked for and not available keeps the server from being ready. */
  readonly strictReadiness?: boolean;
  readonly transition?: Transition;
  readonly loadRetries?: number;
  readonly loadRetryMs?: number;
  readonly clock?: Clock;
  readonly prepare?: Prepare;
  /** Where loads that take long are shown; without one they are told in the log. */
  readonly loadLine?: LoadLine | undefined;
  /** What of a text goes to clients of the engine; default: all. */
  readonly publicText?: (text: string) => string;
}

/** A desired version that could not be loaded. */
export interface FailedVersion {
  readonly version: string;
  readonly code: ErrorCode;
  readonly message: string;
}

interface Waiter extends Awaited {
  readonly resolve: () => void;
}

export class Registry {
  readonly #clock: Clock;
  readonly #rules: PlanRules;
  readonly #strictReadiness: boolean;
  readonly #servables: Servables;
  readonly #loads: Loads;
  readonly #publisher: Publisher;
  /** Something differs from the snapshot. */
  #isDue = false;
  /** Begin when what is due is published and acknowledged. */
  #unloadsDue: LifecycleAction[] = [];
  #wanted: Wanted = { models: new Map(), versions: new Map() };
  #cancelRetry: (() => void) | undefined;
  #started = false;
  #draining = false;
  #faults: readonly string[] = [];
  #waiters: Waiter[] = [];

  constructor(options: RegistryOptions) {
    const { engine, logger, clock = SYSTEM_CLOCK, prepare } = options;
    this.#clock = clock;
    this.#strictReadiness = options.strictReadiness ?? true;
    this.#rules = {
      loadsAtOnce: options.loadsAtOnce || LOADS_AT_ONCE,
      endedVersionsMax: options.endedVersionsMax ?? ENDED_VERSIONS_MAX,
      transition: options.transition ?? 'availability',
      loadRetries: options.loadRetries ?? 0,
      loadRetryMs: options.loadRetryMs ?? 0,
    };
    this.#servables = new Servables(this.#rules);
    this.#loads = new Loads({
      engine,
      logger,
      clock,
      prepare,
      line: options.loadLine,
      isWanted: (id) => isWanted(this.#view, id),
    });
    this.#publisher = new Publisher(engine, logger, clock, options.publicText);
  }

  /** The latest published snapshot; frozen. During a burst of loads it is some milliseconds old;
   * what a caller waited for is in it. */
  get snapshot(): RegistrySnapshot {
    return this.#publisher.snapshot;
  }

  get counters(): RegistryCounters {
    return this.#loads.counters;
  }

  /** Versions of the model that are asked for and whose last load failed. */
  failures(name: string): readonly FailedVersion[] {
    return this.#servables.failed(name).map((one) => {
      const { version } = one.desired;
      return { version, code: one.errorCode, message: one.errorMessage };
    });
  }

  /** Calls the listener at once with the present snapshot, then with every new one, in order.
   * Returns a function that ends it; what the listener still owed then counts as acknowledged. */
  subscribe(listener: SnapshotListener): () => void {
    return this.#publisher.subscribe(listener);
  }

  /** Makes `models` the desired state; a model that is the same object as before has not changed.
   * Settles when nothing is left to load or unload (a load that is tried again later is left
   * alone); failed loads show in the snapshot and do not reject. A newer call replaces an older one
   * that still runs. `again`: models whose failed loads are tried once more now. `faults`: what has
   * been wrong with the sources since the start, for the snapshot.
   * Errors: InvalidArgument for a name or version given twice; ShuttingDown while draining. */
  reconcile(
    models: readonly DesiredModel[],
    again: readonly string[] = [],
    faults: readonly string[] = [],
  ): Promise<void> {
    if (this.#draining) {
      const message = 'the server is shutting down: no models are loaded any more';
      return Promise.reject(new ServalError(ErrorCode.ShuttingDown, message));
    }
    try {
      this.#want(models);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    this.#faults = faults;
    for (const name of again) {
      for (const one of this.#servables.failed(name)) this.#servables.remove(one);
    }
    return new Promise((resolve) => {
      this.#waiters.push({ names: undefined, retries: false, resolve });
      this.#isDue = true;
      this.#pump(true);
    });
  }

  /** Settles when nothing of these models (of all) is loading, unloading or waiting for it; with
   * `retries`, also when no failed load is tried again any more. */
  whenSettled(names?: readonly string[], retries = false): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ names, retries, resolve });
      this.#settleWaiters();
    });
  }

  /** Publishes that the server is draining; no load begins from now on. Settles when every
   * subscriber has acknowledged that. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#loads.endPreparations();
    this.#cancelRetry?.();
    this.#servables.retryAtMs.clear();
    const acknowledged = this.#publish();
    this.#settleWaiters();
    await acknowledged;
  }

  get #view(): RegistryView {
    return { wanted: this.#wanted, servables: this.#servables, draining: this.#draining };
  }

  #want(models: readonly DesiredModel[]): void {
    const before = this.#wanted;
    this.#wanted = indexModels(models, before);
    const names = new Set([...before.models.keys(), ...this.#wanted.models.keys()]);
    for (const name of [...names].sort()) {
      if (before.models.get(name) !== this.#wanted.models.get(name)) this.#servables.touch(name);
    }
    this.#loads.endPreparations();
  }

  /** Does what can be done now. Called after every change; publishes at most once: now, or in a
   * burst together with what comes in the next milliseconds. */
  #pump(now: boolean): void {
    const plan = (): readonly LifecycleAction[] =>
      planRound(this.#view, this.#rules, this.#clock.nowMs());
    for (let round = plan(); round.length > 0; round = plan()) {
      this.#isDue = true;
      for (const action of round) this.#apply(action);
    }
    this.#servables.dirty.clear();
    const idle = this.#servables.loading + this.#servables.unloading === 0;
    if (idle && !this.#started) [this.#started, this.#isDue] = [true, true];
    if (this.#isDue) {
      const { turns } = this.#publisher;
      const when = whenToPublish(this.#servables, now, turns.isOpen);
      if (when === 'now') void this.#publish();
      else turns.whenOpen(() => void this.#publish());
    }
    this.#armRetry();
    this.#settleWaiters();
  }

  #apply(action: LifecycleAction): void {
    switch (action.kind) {
      case 'add': {
        const versions = this.#wanted.versions.get(action.name) ?? [];
        const wanted = versions.find((one) => one.key === action.key);
        if (wanted === undefined) return;
        this.#servables.add(wanted);
        if (wanted.desired.problem !== undefined) this.#loads.refuse(wanted);
        return;
      }
      case 'load':
        this.#servables.change(action, { state: 'LOADING' });
        void this.#move(action, 'load');
        return;
      case 'unload':
        this.#servables.change(action, { state: 'UNLOADING' });
        this.#unloadsDue.push(action);
        return;
      case 'retry':
        this.#servables.change(action, {
          state: 'START',
          errorCode: ErrorCode.Ok,
          errorMessage: '',
        });
        return;
      case 'forget':
        this.#servables.remove(action);
    }
  }

  /** Loads or unloads a version and goes on with what that makes possible. */
  async #move(id: LifecycleAction, how: 'load' | 'unload'): Promise<void> {
    const servable = this.#servables.find(id);
    if (servable === undefined) return;
    this.#servables.change(id, await this.#loads[how](servable));
    this.#isDue = true;
    this.#pump(false);
  }

  /** One timer for the failed load that is due first. */
  #armRetry(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    const soonest = nextRetryMs(this.#view);
    if (soonest === undefined) return;
    this.#cancelRetry = this.#clock.after(Math.max(0, soonest - this.#clock.nowMs()), () => {
      const nowMs = this.#clock.nowMs();
      for (const [name, atMs] of this.#servables.retryAtMs) {
        if (atMs <= nowMs) this.#servables.dirty.add(name);
      }
      this.#pump(false);
    });
  }

  /** Answers those that have nothing to wait for, when the snapshot shows it. */
  #settleWaiters(): void {
    const view = this.#view;
    const due = this.#waiters.filter((waiter) => isSettled(view, waiter));
    if (due.length === 0) return;
    if (this.#isDue) void this.#publish();
    this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter));
    for (const { resolve } of due) resolve();
  }

  /** Publishes what is due. Settles when every subscriber of this moment has acknowledged. */
  async #publish(): Promise<void> {
    this.#isDue = false;
    const unloads = this.#unloadsDue;
    this.#unloadsDue = [];
    await this.#publisher.publish({
      models: this.#wanted.models,
      servables: this.#servables.byName,
      changed: this.#servables.takeChanged(),
      started: this.#started,
      draining: this.#draining,
      faults: this.#faults,
      strictReadiness: this.#strictReadiness,
    });
    for (const id of unloads) void this.#move(id, 'unload');
  }
}
