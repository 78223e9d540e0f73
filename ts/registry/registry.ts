// The models that are served: keeps what is loaded equal to what is desired and publishes one
// immutable snapshot to subscribers and one route table to the engine, each swapped whole. Control
// plane, main thread only. It reads no files and polls nothing: whoever finds models calls
// reconcile().
import { ErrorCode, ServalError } from '../errors.js';
import { ENDED_VERSIONS_MAX, LOADS_AT_ONCE } from '../limits.js';
import type { Logger } from '../logger.js';
import type { EngineControl } from '../native/engine-api.js';
import type { DesiredModel, DesiredVersion } from './desired.js';
import { planActions } from './lifecycle.js';
import type { LifecycleAction } from './lifecycle.js';
import type { RegistrySnapshot } from './snapshot.js';
import { buildRoutes, buildSnapshot, deepFreeze, EMPTY_SNAPSHOT } from './snapshot-build.js';
import type { Instance } from './snapshot-build.js';

/** Takes a snapshot. A promise acknowledges it: from then on the subscriber begins no request on a
 * handle that is not in it. A rejection is logged and counts as an acknowledgement. */
export type SnapshotListener = (snapshot: RegistrySnapshot) => void | Promise<void>;

export interface RegistryOptions {
  readonly engine: EngineControl;
  readonly logger: Logger;
  readonly loadsAtOnce?: number;
  readonly endedVersionsMax?: number;
  /** Whether a model that is asked for and not available keeps the server from being ready. */
  readonly strictReadiness?: boolean;
}

interface Subscriber {
  readonly listener: SnapshotListener;
  /** Resolvers of acknowledgements that are due. */
  readonly due: Set<() => void>;
}

interface DesiredInstance {
  readonly key: string;
  readonly name: string;
  readonly version: string;
  readonly desired: DesiredVersion;
}

export class Registry {
  readonly #engine: EngineControl;
  readonly #logger: Logger;
  readonly #loadsAtOnce: number;
  readonly #endedVersionsMax: number;
  readonly #strictReadiness: boolean;
  readonly #subscribers = new Set<Subscriber>();
  readonly #instances = new Map<string, Instance>();
  #models: readonly DesiredModel[] = [];
  #desired: ReadonlyMap<string, DesiredInstance> = new Map();
  #snapshot: RegistrySnapshot = EMPTY_SNAPSHOT;
  #started = false;
  #draining = false;
  /** Loads and unloads under way. */
  #busy = 0;
  #settled: (() => void)[] = [];

  constructor(options: RegistryOptions) {
    this.#engine = options.engine;
    this.#logger = options.logger;
    this.#loadsAtOnce = options.loadsAtOnce ?? LOADS_AT_ONCE;
    this.#endedVersionsMax = options.endedVersionsMax ?? ENDED_VERSIONS_MAX;
    this.#strictReadiness = options.strictReadiness ?? true;
  }

  /** The latest published snapshot; frozen. */
  get snapshot(): RegistrySnapshot {
    return this.#snapshot;
  }

  /** Calls the listener at once with the present snapshot, then with every new one, in order.
   * Returns a function that ends it; what the listener still owed then counts as acknowledged. */
  subscribe(listener: SnapshotListener): () => void {
    const subscriber: Subscriber = { listener, due: new Set() };
    this.#subscribers.add(subscriber);
    void this.#deliver(subscriber, this.#snapshot);
    return () => {
      this.#subscribers.delete(subscriber);
      for (const resolve of subscriber.due) resolve();
      subscriber.due.clear();
    };
  }

  /** Makes `models` the desired state. Settles when nothing is left to load or unload; failed loads
   * show in the snapshot and do not reject. A newer call replaces an older one that still runs.
   * Errors: InvalidArgument for a name or version given twice; ShuttingDown while draining. */
  reconcile(models: readonly DesiredModel[]): Promise<void> {
    if (this.#draining) {
      const message = 'the server is shutting down: no models are loaded any more';
      return Promise.reject(new ServalError(ErrorCode.ShuttingDown, message));
    }
    try {
      this.#desired = indexDesired(models);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    this.#models = models;
    return new Promise((resolve) => {
      this.#settled.push(resolve);
      this.#pump(true);
    });
  }

  /** Publishes that the server is draining; no load begins from now on. Settles when every
   * subscriber has acknowledged that. */
  async drain(): Promise<void> {
    this.#draining = true;
    await this.#publish();
  }

  /** Does what can be done now. Called after every change; publishes at most once. */
  #pump(changed: boolean): void {
    let dirty = changed;
    const begin: (() => void)[] = [];
    for (let round = this.#plan(); round.length > 0; round = this.#plan()) {
      dirty = true;
      for (const action of round) this.#apply(action, begin);
    }
    const idle = this.#busy === 0;
    if (idle && !this.#started) [this.#started, dirty] = [true, true];
    const acknowledged = dirty ? this.#publish() : Promise.resolve();
    this.#unloadAfter(acknowledged, begin);
    if (!idle) return;
    const settled = this.#settled;
    this.#settled = [];
    for (const resolve of settled) resolve();
  }

  #plan(): readonly LifecycleAction[] {
    return planActions({
      models: new Set(this.#models.map((model) => model.name)),
      desired: [...this.#desired.values()],
      actual: [...this.#instances].map(([key, one]) => ({
        key,
        name: one.name,
        version: one.desired.version,
        state: one.state,
        unloaded: one.unloaded,
      })),
      loadsAtOnce: this.#draining ? 0 : this.#loadsAtOnce,
      endedVersionsMax: this.#endedVersionsMax,
    });
  }

  #apply(action: LifecycleAction, begin: (() => void)[]): void {
    const { key } = action;
    switch (action.kind) {
      case 'add': {
        const wanted = this.#desired.get(key);
        if (wanted !== undefined) this.#instances.set(key, newInstance(wanted));
        return;
      }
      case 'load':
        this.#change(key, { state: 'LOADING' });
        this.#busy += 1;
        void this.#load(key);
        return;
      case 'unload':
        this.#change(key, { state: 'UNLOADING' });
        this.#busy += 1;
        begin.push(() => void this.#unload(key));
        return;
      case 'forget':
        this.#instances.delete(key);
    }
  }

  #unloadAfter(acknowledged: Promise<void>, begin: readonly (() => void)[]): void {
    if (begin.length === 0) return;
    void acknowledged.then(() => {
      for (const unload of begin) unload();
    });
  }

  #change(key: string, change: Partial<Instance>): void {
    const instance = this.#instances.get(key);
    if (instance !== undefined) this.#instances.set(key, { ...instance, ...change });
  }

  async #load(key: string): Promise<void> {
    const instance = this.#instances.get(key);
    if (instance === undefined) return;
    const { name, desired } = instance;
    const fields = { model: name, version: desired.version };
    this.#logger.debug('loading model', { ...fields, path: desired.spec.path });
    try {
      await Promise.resolve(); // LOADING is published first
      const loaded = deepFreeze(structuredClone(await this.#engine.load(desired.spec)));
      this.#change(key, { state: 'AVAILABLE', loaded });
      this.#logger.info('model loaded', { ...fields, loadMs: Math.round(loaded.loadUs / 1000) });
    } catch (error) {
      const { code, message } = asServalError(error);
      this.#change(key, { state: 'END', errorCode: code, errorMessage: message });
      this.#logger.error('model failed to load', { ...fields, reason: message });
    }
    this.#busy -= 1;
    this.#pump(true);
  }

  async #unload(key: string): Promise<void> {
    const instance = this.#instances.get(key);
    const ended = { state: 'END', unloaded: true, loaded: undefined } as const;
    if (instance?.loaded !== undefined) {
      const fields = { model: instance.name, version: instance.desired.version };
      try {
        await this.#engine.unload(instance.loaded.handle);
        this.#change(key, ended);
        this.#logger.info('model unloaded', fields);
      } catch (error) {
        const { code, message } = asServalError(error);
        this.#change(key, { ...ended, errorCode: code, errorMessage: message });
        this.#logger.error('model failed to unload', { ...fields, reason: message });
      }
    }
    this.#busy -= 1;
    this.#pump(true);
  }

  /** Settles when every subscriber of this moment has acknowledged. */
  async #publish(): Promise<void> {
    const snapshot = buildSnapshot({
      epoch: this.#snapshot.epoch + 1,
      models: this.#models,
      instances: [...this.#instances.values()],
      previous: this.#snapshot,
      started: this.#started,
      draining: this.#draining,
      strictReadiness: this.#strictReadiness,
    });
    this.#snapshot = snapshot;
    try {
      this.#engine.publishRoutes(snapshot.epoch, buildRoutes(snapshot));
    } catch (error) {
      const reason = asServalError(error).message;
      this.#logger.error('the engine did not take the routes', { epoch: snapshot.epoch, reason });
    }
    await Promise.all([...this.#subscribers].map((one) => this.#deliver(one, snapshot)));
  }

  #deliver(subscriber: Subscriber, snapshot: RegistrySnapshot): Promise<void> {
    return new Promise((resolve) => {
      subscriber.due.add(resolve);
      const acknowledge = (): void => {
        subscriber.due.delete(resolve);
        resolve();
      };
      const failed = (error: unknown): void => {
        const reason = error instanceof Error ? error.message : String(error);
        this.#logger.error('a snapshot was not taken', { epoch: snapshot.epoch, reason });
        acknowledge();
      };
      try {
        Promise.resolve(subscriber.listener(snapshot)).then(acknowledge, failed);
      } catch (error) {
        failed(error);
      }
    });
  }
}

function newInstance(wanted: DesiredInstance): Instance {
  return {
    name: wanted.name,
    desired: wanted.desired,
    state: 'START',
    unloaded: false,
    loaded: undefined,
    errorCode: ErrorCode.Ok,
    errorMessage: '',
  };
}

function indexDesired(models: readonly DesiredModel[]): Map<string, DesiredInstance> {
  const instances = new Map<string, DesiredInstance>();
  const seen = new Set<string>();
  const once = (id: string, text: string): void => {
    if (seen.has(id)) throw new ServalError(ErrorCode.InvalidArgument, `${text} is given twice`);
    seen.add(id);
  };
  for (const { name, versions } of models) {
    once(JSON.stringify([name]), `model '${name}'`);
    for (const desired of versions) {
      const { version, revision, spec } = desired;
      once(JSON.stringify([name, version]), `version ${version} of model '${name}'`);
      const key = JSON.stringify([name, version, revision, spec]);
      instances.set(key, { key, name, version, desired });
    }
  }
  return instances;
}

function asServalError(error: unknown): ServalError {
  if (error instanceof ServalError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ServalError(ErrorCode.Internal, message);
}
