// The served models: keeps loaded versions equal to desired ones, publishes one immutable snapshot
// to subscribers and its changes as routes to the engine; each switches as a whole. Control plane,
// main thread only. Carries out the decisions of decisions.ts through loads.ts and publisher.ts; it
// reads no files and polls nothing: model sources call reconcile().
import { ErrorCode, ServalError } from '../../base/errors.js';
import { ENDED_VERSIONS_MAX, LOADS_AT_ONCE } from '../../base/limits.js';
import type { Logger } from '../../base/logger.js';
import type { EngineControl, PlaceControl } from '../../model/engine-api.js';
import type { ModelSnapshot, RegistrySnapshot } from '../../model/snapshot.js';
import { SYSTEM_CLOCK, type Clock } from './clock.js';
import { isSettled, isWanted, nextRetryMs, nextActions, whenToPublish } from './decisions.js';
import type { Awaited, DecisionRules, RegistryView } from './decisions.js';
import type { DesiredModel } from './desired.js';
import { Ensembles } from './ensembles/ensembles.js';
import { indexModels, Servables, type Wanted } from './servables.js';
import type { LifecycleAction, Transition } from './lifecycle.js';
import type { LoadLine } from './load-line.js';
import { type Prepare } from '../warmup/prepare.js';
import { OnDemand, type DemandValue } from './demand/on-demand.js';
import { findModel } from './snapshot-build.js';
import { Loads, type RegistryCounters } from './loads.js';
import { Publisher } from './publisher.js';
import type { SnapshotListener } from './subscribers.js';

export interface RegistryOptions {
  readonly engine: EngineControl;
  readonly logger: Logger;
  /** 0 = the default. */
  readonly loadsAtOnce?: number;
  readonly endedVersionsMax?: number;
  /** Whether a desired model that is not available makes the server not ready. */
  readonly strictReadiness?: boolean;
  readonly transition?: Transition;
  readonly loadRetries?: number;
  readonly loadRetryMs?: number;
  readonly clock?: Clock;
  readonly prepare?: Prepare;
  /** Loads versions on demand; without it every version loads when it is found. */
  readonly places?: PlaceControl;
  /** Counts for the server's metrics. */
  readonly countDemand?: (value: DemandValue, change: number) => void;
  /** Bytes of models above which versions that load on demand leave. Default: no limit. */
  readonly memoryBytes?: number;
  /** Shows long loads; without it they are logged. */
  readonly loadLine?: LoadLine | undefined;
  /** Makes texts fit for clients of the engine; default: unchanged. */
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
  readonly #rules: DecisionRules;
  readonly #strictReadiness: boolean;
  readonly #servables: Servables;
  readonly #loads: Loads;
  readonly #publisher: Publisher;
  readonly #onDemand: OnDemand | undefined;
  /** Something differs from the snapshot. */
  #isDue = false;
  /** Unloads that begin after the due snapshot is published and acknowledged. */
  #unloadsDue: LifecycleAction[] = [];
  /** Unloads that begin when no ensemble holds the version. */
  #unloadsHeld: readonly LifecycleAction[] = [];
  readonly #ensembles: Ensembles;
  /** The argument of the last reconcile(). */
  #desired: Wanted = { models: new Map(), versions: new Map() };
  /** The same, with ensembles bound to the loaded versions of their steps. */
  #wanted = this.#desired;
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
    this.#ensembles = new Ensembles(this.#servables);
    this.#loads = new Loads({
      engine,
      logger,
      clock,
      prepare,
      line: options.loadLine,
      places: options.places,
      isWanted: (id) => isWanted(this.#view, id),
    });
    this.#publisher = new Publisher(engine, logger, clock, options.publicText);
    const { places, memoryBytes = Infinity } = options;
    this.#onDemand =
      places &&
      new OnDemand({
        places,
        logger,
        clock,
        memoryBytes,
        loadsAtOnce: this.#rules.loadsAtOnce,
        readStats: (handles) => engine.stats(handles).models,
        servables: () => [...this.#servables.byName.values()].flat(),
        find: (id) => this.#servables.find(id),
        load: (servable, place) => this.#loads.loadInto(servable, place),
        changed: (id, change) => {
          this.#servables.change(id, change);
          this.#isDue = true;
          this.#pump(false);
        },
        isDraining: () => this.#draining,
        publicText: options.publicText ?? ((text) => text),
        count: options.countDemand ?? ((): void => undefined),
      });
  }

  /**
   * The latest published snapshot; frozen. During a burst of loads it is some milliseconds old, but
   * it includes everything that a caller has waited for.
   */
  get snapshot(): RegistrySnapshot {
    return this.#publisher.snapshot;
  }

  get counters(): RegistryCounters {
    return this.#loads.counters;
  }

  /** Desired versions of the model whose last load failed. */
  failures(name: string): readonly FailedVersion[] {
    return this.#servables.failed(name).map((one) => {
      const { version } = one.desired;
      return { version, code: one.errorCode, message: one.errorMessage };
    });
  }

  /**
   * Loads a version that loads on demand; settles with its model once every listener knows it.
   * Errors: ModelNotFound; those of OnDemand.demand().
   */
  async demand(name: string, version: string): Promise<ModelSnapshot> {
    const servable = this.#servables
      .of(name)
      .find((one) => one.desired.version === version && one.demand !== undefined);
    if (servable !== undefined) await this.#onDemand?.demand(servable);
    await this.#publish();
    const model = findModel(this.snapshot, name);
    if (model !== undefined) return model;
    throw new ServalError(ErrorCode.ModelNotFound, `model '${name}' is not served any more`);
  }

  /**
   * Calls the listener at once with the current snapshot, then with every new one, in order. The
   * returned function unsubscribes it; acknowledgements it still owes then count as given.
   */
  subscribe(listener: SnapshotListener): () => void {
    return this.#publisher.subscribe(listener);
  }

  /**
   * Makes `models` the desired state; a model that is the same object as before is unchanged.
   * Settles when nothing is left to load or unload (ignoring a load that will be retried later);
   * failed loads show in the snapshot and do not reject. A newer call replaces an older one that
   * still runs. `again`: models whose failed loads are retried once now. `faults`: what has been
   * wrong with the sources since the start, for the snapshot. Errors: InvalidArgument for a name or
   * version given twice; ShuttingDown while draining.
   */
  reconcile(
    models: readonly DesiredModel[],
    again: readonly string[] = [],
    faults: readonly string[] = [],
  ): Promise<void> {
    if (this.#draining) {
      const message = 'the server is shutting down: models can no longer be loaded';
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

  /**
   * Settles when none of these models (default: all) and of the ensembles above them is loading,
   * unloading or waiting for either; with `retries`, also when no failed load will be retried.
   */
  whenSettled(names?: readonly string[], retries = false): Promise<void> {
    return new Promise((resolve) => {
      const all = names && this.#ensembles.withUsers(names);
      this.#waiters.push({ names: all, retries, resolve });
      this.#settleWaiters();
    });
  }

  /**
   * Publishes that the server is draining; no load begins from now on. Settles when every
   * subscriber has acknowledged that.
   */
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
    return {
      wanted: this.#wanted,
      servables: this.#servables,
      waiting: this.#ensembles.waiting,
      draining: this.#draining,
    };
  }

  #want(models: readonly DesiredModel[]): void {
    const before = this.#desired;
    this.#desired = indexModels(models, before);
    const names = new Set([...before.models.keys(), ...this.#desired.models.keys()]);
    for (const name of [...names].sort()) {
      if (before.models.get(name) !== this.#desired.models.get(name)) this.#servables.touch(name);
    }
    this.#wanted = this.#ensembles.want(this.#desired);
    this.#loads.endPreparations();
  }

  /**
   * Does everything possible now. Called after every change; publishes at most once: now, or in a
   * burst together with the changes of the next milliseconds.
   */
  #pump(now: boolean): void {
    do {
      this.#applyActions();
    } while (this.#rebind());
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

  #applyActions(): void {
    const next = (): readonly LifecycleAction[] =>
      nextActions(this.#view, this.#rules, this.#clock.nowMs());
    for (let round = next(); round.length > 0; round = next()) {
      this.#isDue = true;
      for (const action of round) this.#apply(action);
    }
  }

  /** Binds ensembles again whose steps have changed; returns whether one then differs. */
  #rebind(): boolean {
    if (!this.#ensembles.rebind(this.#servables.dirty)) return false;
    this.#isDue = true;
    this.#loads.endPreparations();
    return true;
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

  /** Loads or unloads a version, then continues with the actions that this allows. */
  async #move(id: LifecycleAction, how: 'load' | 'unload'): Promise<void> {
    const servable = this.#servables.find(id);
    if (servable === undefined) return;
    if (how === 'unload') this.#onDemand?.forget(servable);
    const change = await this.#loads[how](servable);
    this.#servables.change(id, change);
    if (change.demand !== undefined) this.#onDemand?.serve(id, change);
    this.#isDue = true;
    this.#pump(false);
    this.#beginUnloads(this.#unloadsHeld);
  }

  /**
   * Begins unloads of versions that no ensemble holds; the others begin after those of the
   * ensembles. The engine has a few threads for unloads, and each waits until nothing holds its
   * version: steps must not take the threads that their ensembles need.
   */
  #beginUnloads(ids: readonly LifecycleAction[]): void {
    if (ids.length === 0) return;
    const steps = this.#ensembles.heldSteps();
    const isHeld = (id: LifecycleAction): boolean =>
      steps.has(this.#servables.find(id)?.loaded?.handle ?? -1);
    this.#unloadsHeld = ids.filter(isHeld);
    for (const id of ids) if (!isHeld(id)) void this.#move(id, 'unload');
  }

  /** One timer for the next load retry. */
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

  /** Resolves the waiters whose models have settled, once the snapshot shows it. */
  #settleWaiters(): void {
    const view = this.#view;
    const due = this.#waiters.filter((waiter) => isSettled(view, waiter));
    if (due.length === 0) return;
    if (this.#isDue) void this.#publish();
    this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter));
    for (const { resolve } of due) resolve();
  }

  /** Publishes what is due. Settles when every current subscriber has acknowledged. */
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
    this.#beginUnloads([...this.#unloadsHeld, ...unloads]);
  }
}
