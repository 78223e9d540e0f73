// The registry's table: desired versions, every known version of every model (loaded or not), and
// the models with pending actions. Control plane, main thread. It makes no decisions
// (ts/models/registry/decisions.ts does) and calls nothing.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { lateCrypto } from '../../base/late-modules.js';
import type { DesiredModel, DesiredVersion } from './desired.js';
import { retryAtMs } from './lifecycle.js';
import type { ServableId, RetryRules } from './lifecycle.js';
import type { Servable } from './snapshot-build.js';

export interface DesiredServable extends ServableId {
  readonly desired: DesiredVersion;
}

/** The desired models and the keys of their versions, by name. */
export interface Wanted {
  readonly models: ReadonlyMap<string, DesiredModel>;
  readonly versions: ReadonlyMap<string, readonly DesiredServable[]>;
}

export class Servables {
  /** Names of models that need a decision. */
  readonly dirty = new Set<string>();
  /** Number of servables that are LOADING or UNLOADING. */
  loading = 0;
  unloading = 0;
  /** Names of models with a servable in START, longest waiting first. */
  readonly starting = new Set<string>();
  /** Name -> when its failed load is retried. */
  readonly retryAtMs = new Map<string, number>();
  readonly #retryRules: RetryRules;
  #changed = new Set<string>();
  /** Contains no empty lists. */
  readonly #byName = new Map<string, readonly Servable[]>();

  constructor(retryRules: RetryRules) {
    this.#retryRules = retryRules;
  }

  get byName(): ReadonlyMap<string, readonly Servable[]> {
    return this.#byName;
  }

  of(name: string): readonly Servable[] {
    return this.#byName.get(name) ?? [];
  }

  find({ name, key }: Pick<ServableId, 'name' | 'key'>): Servable | undefined {
    return this.of(name).find((one) => one.key === key);
  }

  touch(name: string): void {
    this.dirty.add(name);
    this.#changed.add(name);
  }

  /** Names of models that changed since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** Adds it in state START, or END if no load can help. */
  add(wanted: DesiredServable): void {
    const others = this.of(wanted.name).filter((one) => one.key !== wanted.key);
    this.#set(wanted.name, [...others, newServable(wanted)]);
  }

  change({ name, key }: Pick<ServableId, 'name' | 'key'>, change: Partial<Servable>): void {
    this.#set(
      name,
      this.of(name).map((one) => (one.key === key ? { ...one, ...change } : one)),
    );
  }

  remove({ name, key }: Pick<ServableId, 'name' | 'key'>): void {
    this.#set(
      name,
      this.of(name).filter((one) => one.key !== key),
    );
  }

  /** Servables whose last load failed. */
  failed(name: string): readonly Servable[] {
    return this.of(name).filter((one) => one.state === 'END' && !one.unloaded);
  }

  #set(name: string, servables: readonly Servable[]): void {
    this.#count(this.of(name), -1);
    this.#count(servables, 1);
    if (servables.length > 0) this.#byName.set(name, servables);
    else this.#byName.delete(name);
    if (servables.some((one) => one.state === 'START')) this.starting.add(name);
    else this.starting.delete(name);
    const times = servables.map((one) => retryAtMs(one, this.#retryRules) ?? Infinity);
    const soonest = Math.min(...times);
    if (soonest < Infinity) this.retryAtMs.set(name, soonest);
    else this.retryAtMs.delete(name);
    this.touch(name);
  }

  #count(servables: readonly Servable[], by: number): void {
    for (const { state } of servables) {
      if (state === 'LOADING') this.loading += by;
      else if (state === 'UNLOADING') this.unloading += by;
    }
  }
}

/** A version before its first load; END with its problem if no load can help. */
export function newServable({ key, name, desired }: DesiredServable): Servable {
  const { problem = '' } = desired;
  const good = problem === '';
  return {
    key,
    name,
    desired,
    state: good ? 'START' : 'END',
    unloaded: false,
    loaded: undefined,
    configJson: '',
    loadMs: 0,
    errorCode: good ? ErrorCode.Ok : ErrorCode.ModelInvalid,
    errorMessage: problem,
    failures: good ? 0 : Infinity,
    failedAtMs: 0,
  };
}

/**
 * Indexes the desired models; a model that is the same object as in `before` keeps its keys.
 * Errors: InvalidArgument for a model or a version given twice.
 */
export function indexModels(models: readonly DesiredModel[], before: Wanted): Wanted {
  const byName = new Map<string, DesiredModel>();
  const versions = new Map<string, readonly DesiredServable[]>();
  for (const model of models) {
    const { name } = model;
    if (byName.has(name)) throw givenTwice(`model '${name}'`);
    byName.set(name, model);
    const known = before.models.get(name) === model ? before.versions.get(name) : undefined;
    versions.set(name, known ?? indexVersions(model));
  }
  return { models: byName, versions };
}

/** Errors: InvalidArgument for a version given twice. */
export function indexVersions({ name, versions }: DesiredModel): readonly DesiredServable[] {
  const seen = new Set<string>();
  return versions.map((desired) => {
    const { version, revision, spec, problem } = desired;
    if (seen.has(version)) throw givenTwice(`version ${version} of model '${name}'`);
    seen.add(version);
    const content = JSON.stringify([name, version, revision, spec, problem]);
    const key = lateCrypto().createHash('sha1').update(content).digest('base64url');
    return { key, name, version, desired };
  });
}

function givenTwice(text: string): ServalError {
  return new ServalError(ErrorCode.InvalidArgument, `${text} is given twice`);
}
