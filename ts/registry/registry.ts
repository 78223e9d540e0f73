// The models that are served: keeps what is loaded equal to what is desired and publishes one
// immutable snapshot to subscribers, and what differs in it as routes to the engine, each taken
// whole. Control plane, main thread only. It reads no files and polls nothing: whoever finds models
// calls reconcile().
import { ErrorCode, ServalError } from '../errors.js';
import { BURST_MODELS, ENDED_VERSIONS_MAX, LOADS_AT_ONCE } from '../limits.js';
import type { Logger } from '../logger.js';
import { checkAgainstModel, completeConfig } from '../model-config/triton-model.js';
import type { TritonConfig } from '../model-config/types.js';
import type { EngineControl, LoadedModel } from '../model/engine-api.js';
import type { DesiredModel, DesiredVersion } from './desired.js';
import { givenTwice, Instances, indexVersions, type DesiredInstance } from './instances.js';
import { planActions } from './lifecycle.js';
import type { LifecycleAction, RetryRules, Transition } from './lifecycle.js';
import { PublishTurns } from './publish-turns.js';
import type { RegistrySnapshot } from '../model/snapshot.js';
import {
  buildRoute,
  buildSnapshot,
  deepFreeze,
  EMPTY_SNAPSHOT,
  findModel,
  type Instance,
} from './snapshot-build.js';
import { Subscribers, type SnapshotListener } from './subscribers.js';
import { SYSTEM_CLOCK, type Clock } from './sources/watcher.js';

/** A version that is loaded and not yet available. */
export interface PreparedVersion {
  readonly name: string;
  readonly version: string;
  /** The version's folder. */
  readonly path: string;
  readonly config: TritonConfig | undefined;
  readonly loaded: LoadedModel;
}

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
  /** Warms a version up before it becomes available; what it rejects with fails the load. `signal`:
   * nobody wants the version any more. */
  readonly prepare?: (version: PreparedVersion, signal: AbortSignal) => Promise<void>;
}

/** Since the start. */
export interface RegistryCounters {
  readonly loads: number;
  readonly loadFailures: number;
  readonly unloads: number;
}

/** A desired version that could not be loaded. */
export interface FailedVersion {
  readonly version: string;
  readonly code: ErrorCode;
  readonly message: string;
}

interface Waiter {
  /** undefined = every model. */
  readonly names: readonly string[] | undefined;
  /** Whether loads that are tried again later count as under way. */
  readonly retries: boolean;
  readonly resolve: () => void;
}

export class Registry {
  readonly #engine: EngineControl;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #prepare: RegistryOptions['prepare'];
  readonly #loadsAtOnce: number;
  readonly #endedVersionsMax: number;
  readonly #strictReadiness: boolean;
  readonly #transition: Transition;
  readonly #retryRules: RetryRules;
  readonly #subscribers: Subscribers;
  readonly #turns: PublishTurns;
  /** Something differs from the snapshot. */
  #isDue = false;
  /** Begin when what is due is published and acknowledged. */
  #unloadsDue: (() => void)[] = [];
  /** Models whose routes the engine has not got yet. */
  readonly #routesDue = new Set<string>();
  #models: ReadonlyMap<string, DesiredModel> = new Map();
  #desired: ReadonlyMap<string, readonly DesiredInstance[]> = new Map();
  readonly #instances: Instances;
  #cancelRetry: (() => void) | undefined;
  #snapshot: RegistrySnapshot = EMPTY_SNAPSHOT;
  #started = false;
  #draining = false;
  #faults: readonly string[] = [];
  #loading = 0;
  #unloading = 0;
  #waiters: Waiter[] = [];
  /** What ends the preparation of a version, by key. */
  readonly #preparing = new Map<string, { readonly name: string; readonly end: AbortController }>();
  #counters: RegistryCounters = { loads: 0, loadFailures: 0, unloads: 0 };

  constructor(options: RegistryOptions) {
    this.#engine = options.engine;
    this.#logger = options.logger;
    this.#subscribers = new Subscribers(options.logger);
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#turns = new PublishTurns(this.#clock);
    this.#prepare = options.prepare;
    this.#loadsAtOnce = options.loadsAtOnce || LOADS_AT_ONCE;
    this.#endedVersionsMax = options.endedVersionsMax ?? ENDED_VERSIONS_MAX;
    this.#strictReadiness = options.strictReadiness ?? true;
    this.#transition = options.transition ?? 'availability';
    const { loadRetries = 0, loadRetryMs = 0 } = options;
    this.#retryRules = { loadRetries, loadRetryMs };
    this.#instances = new Instances(this.#retryRules);
  }

  /** The latest published snapshot; frozen. During a burst of loads it is some milliseconds old;
   * what a caller waited for is in it. */
  get snapshot(): RegistrySnapshot {
    return this.#snapshot;
  }

  get counters(): RegistryCounters {
    return this.#counters;
  }

  /** Versions of the model that are asked for and whose last load failed. */
  failures(name: string): readonly FailedVersion[] {
    return this.#instances.failed(name).map((one) => {
      const { version } = one.desired;
      return { version, code: one.errorCode, message: one.errorMessage };
    });
  }

  /** Calls the listener at once with the present snapshot, then with every new one, in order.
   * Returns a function that ends it; what the listener still owed then counts as acknowledged. */
  subscribe(listener: SnapshotListener): () => void {
    return this.#subscribers.add(listener, this.#snapshot);
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
      this.#index(models);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    this.#faults = faults;
    for (const name of again) {
      for (const one of this.#instances.failed(name)) this.#instances.remove(one);
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
    this.#endPreparations();
    this.#cancelRetry?.();
    this.#instances.retryAtMs.clear();
    const acknowledged = this.#publish();
    this.#settleWaiters();
    await acknowledged;
  }

  #index(models: readonly DesiredModel[]): void {
    const byName = new Map<string, DesiredModel>();
    const desired = new Map<string, readonly DesiredInstance[]>();
    for (const model of models) {
      const { name } = model;
      if (byName.has(name)) throw givenTwice(`model '${name}'`);
      byName.set(name, model);
      const known = this.#models.get(name) === model ? this.#desired.get(name) : undefined;
      desired.set(name, known ?? indexVersions(model));
    }
    const names = new Set([...this.#models.keys(), ...byName.keys()]);
    for (const name of [...names].sort()) {
      if (this.#models.get(name) !== byName.get(name)) this.#instances.touch(name);
    }
    this.#models = byName;
    this.#desired = desired;
    this.#endPreparations();
  }

  /** Of versions that are not wanted any more; of all when the server ends. */
  #endPreparations(): void {
    for (const [key, { name, end }] of this.#preparing) {
      const wanted = this.#desired.get(name)?.some((one) => one.key === key) ?? false;
      if (this.#draining || !wanted) end.abort();
    }
  }

  /** Does what can be done now. Called after every change; publishes at most once: now, or where
   * many load or wait for it and the last snapshot is fresh, together with what comes in the next
   * milliseconds. */
  #pump(now: boolean): void {
    for (let round = this.#plan(); round.length > 0; round = this.#plan()) {
      this.#isDue = true;
      for (const action of round) this.#apply(action);
    }
    this.#instances.dirty.clear();
    const moving = this.#loading + this.#unloading;
    const idle = moving === 0;
    if (idle && !this.#started) [this.#started, this.#isDue] = [true, true];
    if (this.#isDue) {
      const few = moving + this.#instances.starting.size < BURST_MODELS;
      if (now || idle || few || this.#turns.isOpen) void this.#publish();
      else this.#turns.whenOpen(() => void this.#publish());
    }
    this.#armRetry();
    this.#settleWaiters();
  }

  /** For the models that have changed and, where loads may begin, those that wait longest. */
  #plan(): readonly LifecycleAction[] {
    const loadsAtOnce = this.#draining ? 0 : this.#loadsAtOnce;
    const free = this.#transition === 'resource' ? Infinity : loadsAtOnce - this.#loading;
    const { dirty, starting } = this.#instances;
    const names = new Set(dirty);
    for (const name of starting) {
      if (names.size - dirty.size >= free) break;
      names.add(name);
    }
    const chosen = [...names];
    const actual = chosen.flatMap((name) => this.#instances.of(name));
    const loadingHere = actual.filter((one) => one.state === 'LOADING').length;
    return planActions({
      models: new Set(chosen.filter((name) => this.#models.has(name))),
      desired: chosen.flatMap((name) => this.#desired.get(name) ?? []),
      actual: actual.map((one) => ({ ...one, version: one.desired.version })),
      loadsAtOnce,
      loadingElsewhere: this.#loading - loadingHere,
      endedVersionsMax: this.#endedVersionsMax,
      transition: this.#transition,
      nowMs: this.#clock.nowMs(),
      ...this.#retryRules,
    });
  }

  #apply(action: LifecycleAction): void {
    switch (action.kind) {
      case 'add': {
        const desired = this.#desired.get(action.name) ?? [];
        const wanted = desired.find((one) => one.key === action.key);
        if (wanted !== undefined) this.#add(wanted);
        return;
      }
      case 'load':
        this.#instances.change(action, { state: 'LOADING' });
        this.#loading += 1;
        void this.#load(action);
        return;
      case 'unload':
        this.#instances.change(action, { state: 'UNLOADING' });
        this.#unloading += 1;
        this.#unloadsDue.push(() => void this.#unload(action));
        return;
      case 'retry':
        this.#instances.change(action, {
          state: 'START',
          errorCode: ErrorCode.Ok,
          errorMessage: '',
        });
        return;
      case 'forget':
        this.#instances.remove(action);
    }
  }

  #add(wanted: DesiredInstance): void {
    const { name, version, desired } = wanted;
    this.#instances.add(wanted);
    if (desired.problem === undefined) return;
    this.#count('loadFailures');
    const fields = { model: name, version, reason: desired.problem };
    this.#logger.error('model failed to load', fields);
  }

  #count(what: keyof RegistryCounters): void {
    this.#counters = { ...this.#counters, [what]: this.#counters[what] + 1 };
  }

  async #load(id: LifecycleAction): Promise<void> {
    const instance = this.#instances.find(id);
    if (instance === undefined) return;
    const { name, desired } = instance;
    const fields = { model: name, version: desired.version };
    this.#logger.debug('loading model', { ...fields, path: desired.spec.path });
    const beganMs = this.#clock.nowMs();
    let loaded: LoadedModel | undefined;
    try {
      await Promise.resolve(); // LOADING is published first, or in a burst soon after
      loaded = deepFreeze(structuredClone(await this.#engine.load(desired.spec)));
      const configJson = await this.#complete(id, desired, loaded);
      const loadMs = this.#clock.nowMs() - beganMs;
      this.#instances.change(id, { state: 'AVAILABLE', loaded, configJson, loadMs });
      this.#count('loads');
      this.#logger.info('model loaded', { ...fields, loadMs: Math.round(loaded.loadUs / 1000) });
      tellBatching(this.#logger, fields, loaded);
    } catch (error) {
      if (loaded !== undefined) await this.#discard(loaded, fields);
      const { code, message } = asServalError(error);
      this.#instances.change(id, {
        state: 'END',
        errorCode: code,
        errorMessage: message,
        failures: instance.failures + 1,
        failedAtMs: this.#clock.nowMs(),
      });
      this.#count('loadFailures');
      this.#logger.error('model failed to load', { ...fields, reason: message });
    }
    this.#loading -= 1;
    this.#isDue = true;
    this.#pump(false);
  }

  /** Answers the version's whole configuration as JSON. Rejects when model and configuration do not
   * fit, or with what prepare() rejects with. */
  async #complete(
    { name, key }: LifecycleAction,
    desired: DesiredVersion,
    loaded: LoadedModel,
  ): Promise<string> {
    const { config, spec, version, folder: path } = desired;
    const problems = config === undefined ? [] : checkAgainstModel(config, loaded);
    if (problems.length > 0) {
      const text = problems.map((one) => `${one.place}: ${one.message}`).join('; ');
      throw new ServalError(ErrorCode.ModelInvalid, text);
    }
    const maxBatchSize = loaded.batchMode === 'off' ? 0 : (spec.batch?.rowsMax ?? 0);
    const { instances = 1 } = spec;
    const complete = completeConfig(name, config, loaded, {
      maxBatchSize,
      instances,
      platform: desired.platform,
    });
    const end = new AbortController();
    this.#preparing.set(key, { name, end });
    this.#endPreparations();
    try {
      await this.#prepare?.({ name, version, path, config, loaded }, end.signal);
    } finally {
      this.#preparing.delete(key);
    }
    return JSON.stringify(complete);
  }

  /** Unloads what was never available. */
  async #discard(loaded: LoadedModel, fields: { model: string; version: string }): Promise<void> {
    try {
      await this.#engine.unload(loaded.handle);
    } catch (error) {
      const reason = asServalError(error).message;
      this.#logger.error('model failed to unload', { ...fields, reason });
    }
  }

  async #unload(id: LifecycleAction): Promise<void> {
    const instance = this.#instances.find(id);
    const ended = { state: 'END', unloaded: true, loaded: undefined } as const;
    if (instance?.loaded !== undefined) {
      const fields = { model: instance.name, version: instance.desired.version };
      try {
        await this.#engine.unload(instance.loaded.handle);
        this.#instances.change(id, ended);
        this.#count('unloads');
        this.#logger.info('model unloaded', fields);
      } catch (error) {
        const { code, message } = asServalError(error);
        this.#instances.change(id, { ...ended, errorCode: code, errorMessage: message });
        this.#logger.error('model failed to unload', { ...fields, reason: message });
      }
    }
    this.#unloading -= 1;
    this.#isDue = true;
    this.#pump(false);
  }

  /** One timer for the failed load that is due first. */
  #armRetry(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    if (this.#draining || this.#instances.retryAtMs.size === 0) return;
    const soonest = Math.min(...this.#instances.retryAtMs.values());
    this.#cancelRetry = this.#clock.after(Math.max(0, soonest - this.#clock.nowMs()), () => {
      const nowMs = this.#clock.nowMs();
      for (const [name, atMs] of this.#instances.retryAtMs) {
        if (atMs <= nowMs) this.#instances.dirty.add(name);
      }
      this.#pump(false);
    });
  }

  /** Answers those that have nothing to wait for, when the snapshot shows it. */
  #settleWaiters(): void {
    const due = this.#waiters.filter((waiter) => this.#isSettled(waiter));
    if (due.length === 0) return;
    if (this.#isDue) void this.#publish();
    this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter));
    for (const { resolve } of due) resolve();
  }

  #isSettled({ names, retries }: Waiter): boolean {
    const { starting, retryAtMs } = this.#instances;
    const begins = !this.#draining;
    if (names === undefined) {
      const moving = this.#loading + this.#unloading > 0 || (begins && starting.size > 0);
      return !moving && !(begins && retries && retryAtMs.size > 0);
    }
    const moves = ({ state }: Instance): boolean =>
      state === 'LOADING' || state === 'UNLOADING' || (begins && state === 'START');
    return !names.some(
      (name) => this.#instances.of(name).some(moves) || (begins && retries && retryAtMs.has(name)),
    );
  }

  /** Publishes what is due. Settles when every subscriber of this moment has acknowledged. */
  #publish(): Promise<void> {
    this.#isDue = false;
    const unloads = this.#unloadsDue;
    this.#unloadsDue = [];
    const acknowledged = this.#turns.take(() => this.#publishSnapshot());
    return acknowledged.then(() => {
      for (const unload of unloads) unload();
    });
  }

  async #publishSnapshot(): Promise<void> {
    const { changed } = this.#instances;
    const snapshot = buildSnapshot({
      epoch: this.#snapshot.epoch + 1,
      models: this.#models,
      instances: this.#instances.byName,
      previous: this.#snapshot,
      changed,
      started: this.#started,
      draining: this.#draining,
      faults: this.#faults,
      strictReadiness: this.#strictReadiness,
    });
    this.#snapshot = snapshot;
    for (const name of changed) this.#routesDue.add(name);
    changed.clear();
    this.#publishRoutes(snapshot);
    await this.#subscribers.deliver(snapshot);
  }

  #publishRoutes(snapshot: RegistrySnapshot): void {
    const models = [...this.#routesDue].flatMap((name) => findModel(snapshot, name) ?? []);
    const gone = [...this.#routesDue].filter((name) => findModel(snapshot, name) === undefined);
    try {
      this.#engine.publishRoutes(snapshot.epoch, models.map(buildRoute), gone);
      this.#routesDue.clear();
    } catch (error) {
      const reason = asServalError(error).message;
      this.#logger.error('the engine did not take the routes', { epoch: snapshot.epoch, reason });
    }
  }
}

/** Says what the engine found of rows that come together, where that is not what is done. */
function tellBatching(
  logger: Logger,
  fields: Readonly<Record<string, unknown>>,
  loaded: LoadedModel,
): void {
  const { batchMode, batchProof, batchFinding: finding } = loaded;
  if (batchMode === 'on' && batchProof === 'contradicted') {
    const text =
      'requests are batched as configured, but rows together are not answered as alone: ' +
      'answers may be wrong';
    logger.warn(text, { ...fields, finding });
  } else if (finding !== '') {
    const text =
      batchMode === 'off'
        ? 'requests are not batched: the first dim is not proven to be the batch'
        : 'requests are batched as configured; the model could not be tried';
    logger.debug(text, { ...fields, finding });
  }
}

function asServalError(error: unknown): ServalError {
  if (error instanceof ServalError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ServalError(ErrorCode.Internal, message);
}
