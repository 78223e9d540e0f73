// Keeps the desired versions of ensembles bound to loaded versions of their steps: computes them
// again when a model that an ensemble names has changed. The life cycle of ensembles is then that
// of other models. Control plane, main thread; calls nothing.
import type { DesiredModel } from '../desired.js';
import { indexVersions, type DesiredServable, type Servables, type Wanted } from '../servables.js';
import type { Servable } from '../snapshot-build.js';
import {
  bindSteps,
  boundVersion,
  isStale,
  problemVersion,
  type Binding,
  type StepModel,
} from './bind.js';
import { ensembleCycles } from './cycles.js';

/** The desired versions of an ensemble, for now. */
interface Target {
  readonly model: DesiredModel;
  readonly versions: readonly DesiredServable[];
  /** A step is still moving. */
  readonly waits: boolean;
}

export class Ensembles {
  readonly #servables: Servables;
  /** The models of the sources, without bindings. */
  #desired: Wanted = { models: new Map(), versions: new Map() };
  #models = new Map<string, DesiredModel>();
  #versions = new Map<string, readonly DesiredServable[]>();
  /** Desired versions of all models, for now. */
  #present: ReadonlyMap<string, readonly DesiredServable[]> = this.#versions;
  /** Desired ensembles, and models that still serve as one. */
  #tracked: ReadonlySet<string> = new Set();
  /** Model -> tracked ensembles with a step of that model. */
  #users: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #cycles: ReadonlyMap<string, string> = new Map();
  readonly #waiting = new Set<string>();
  /** Ensembles to compute again whatever has changed. */
  #due: ReadonlySet<string> = new Set();

  constructor(servables: Servables) {
    this.#servables = servables;
  }

  /** Ensembles whose steps are still moving. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** The models, and the ensembles that are directly or indirectly bound to them. */
  withUsers(names: readonly string[]): readonly string[] {
    const all = new Set(names);
    for (const name of all) for (const user of this.#users.get(name) ?? []) all.add(user);
    return [...all];
  }

  /** Handles of the steps of loaded ensembles, and of those that are being loaded or unloaded. */
  heldSteps(): ReadonlySet<number> {
    const all = [...this.#tracked].flatMap((name) => this.#servables.of(name));
    const holders = all.filter((one) => isHeld(one) && one.state !== 'START');
    return new Set(
      holders.flatMap(({ desired }) => desired.spec.ensemble?.map(({ handle }) => handle) ?? []),
    );
  }

  /**
   * The desired state with the present bindings of ensembles. The same object as `desired` if there
   * are none; else its maps change with rebind().
   */
  want(desired: Wanted): Wanted {
    const before = this.#present;
    const steps = new Map<string, ReadonlySet<string>>();
    for (const [name, { versions }] of desired.models) {
      const names = new Set(
        versions.flatMap(({ ensemble = [] }) => ensemble.map(({ model }) => model)),
      );
      if (names.size > 0) steps.set(name, names);
    }
    this.#desired = desired;
    this.#cycles = ensembleCycles(steps);
    this.#track(steps);
    this.#waiting.clear();
    if (this.#tracked.size === 0) {
      this.#present = desired.versions;
      return desired;
    }
    this.#models = new Map(desired.models);
    this.#versions = new Map(desired.versions);
    this.#present = this.#versions;
    for (const name of this.#tracked) {
      if (desired.models.has(name)) this.#versions.set(name, before.get(name) ?? []);
    }
    this.#due = this.#tracked;
    return { models: this.#models, versions: this.#versions };
  }

  #track(steps: ReadonlyMap<string, ReadonlySet<string>>): void {
    const tracked = new Set(steps.keys());
    const users = new Map<string, Set<string>>();
    const use = (ensemble: string, model: string): void => {
      const known = users.get(model);
      if (known === undefined) users.set(model, new Set([ensemble]));
      else known.add(ensemble);
    };
    for (const [name, models] of steps) for (const model of models) use(name, model);
    for (const name of [...this.#tracked, ...tracked]) {
      for (const { desired } of this.#servables.of(name).filter(isHeld)) {
        tracked.add(name);
        for (const { model } of desired.ensemble ?? []) use(name, model);
      }
    }
    this.#tracked = tracked;
    this.#users = users;
  }

  /**
   * Computes the ensembles again that may be affected by changes of these models; returns whether
   * the desired versions of one have changed. Those are touched.
   */
  rebind(changed: ReadonlySet<string>): boolean {
    if (this.#tracked.size === 0) return false;
    const queue = new Set(this.#due);
    this.#due = new Set();
    for (const name of changed) {
      if (this.#tracked.has(name)) queue.add(name);
      for (const user of this.#users.get(name) ?? []) queue.add(user);
    }
    let isChanged = false;
    for (const name of queue) {
      queue.delete(name);
      const model = this.#desired.models.get(name);
      if (model === undefined) continue;
      const target = this.#targetOf(model);
      if (!this.#put(name, target)) continue;
      isChanged = true;
      this.#servables.touch(name);
      for (const user of this.#users.get(name) ?? []) queue.add(user);
    }
    return isChanged;
  }

  #put(name: string, { model, versions, waits }: Target): boolean {
    const known = this.#versions.get(name) ?? [];
    const same =
      waits === this.#waiting.has(name) &&
      known.length === versions.length &&
      known.every(({ key }, i) => key === versions[i]?.key) &&
      this.#models.get(name)?.problem === model.problem;
    if (waits) this.#waiting.add(name);
    else this.#waiting.delete(name);
    if (same) return false;
    this.#models.set(name, model);
    this.#versions.set(name, versions);
    return true;
  }

  readonly #modelOf = (name: string): StepModel => ({
    desired: this.#desired.models.has(name) ? this.#versions.get(name) : undefined,
    problem: this.#models.get(name)?.problem ?? '',
    servables: this.#servables.of(name),
    waits: this.#waiting.has(name),
  });

  #targetOf(model: DesiredModel): Target {
    const { name } = model;
    const bindings = model.versions.map((one) =>
      one.ensemble === undefined || one.problem !== undefined ? undefined : this.#bind(name, one),
    );
    const live = this.#servables.of(name).filter(isServing);
    const stale = live.filter((one) => isStale(one, this.#modelOf));
    const waiting = bindings.find((one) => one?.kind === 'waiting');
    if (waiting?.kind === 'waiting') {
      // Versions that serve and can go on stay until the steps are there.
      const kept = live.filter((one) => !stale.includes(one));
      return {
        model: { ...model, problem: waiting.text },
        versions: kept.map(({ key, desired }) => ({
          ...{ key, name, version: desired.version, desired },
        })),
        waits: true,
      };
    }
    const versions = model.versions.map((one, i) => {
      const binding = bindings[i];
      if (binding?.kind === 'bound') return boundVersion(one, binding.steps);
      return binding?.kind === 'problem' ? problemVersion(one, binding.text) : one;
    });
    const all = indexVersions({ ...model, versions });
    return { model, versions: this.#withoutEvicted(name, all, stale), waits: false };
  }

  #bind(name: string, version: DesiredModel['versions'][number]): Binding {
    const cycle = this.#cycles.get(name);
    if (cycle === undefined) return bindSteps(version, this.#modelOf);
    return { kind: 'problem', text: `expected ensembles without a cycle, got ${cycle}` };
  }

  /**
   * A stale ensemble keeps its steps from being unloaded, so it goes even if what replaces it
   * cannot be loaded: its version is not desired until then.
   */
  #withoutEvicted(
    name: string,
    all: readonly DesiredServable[],
    stale: readonly Servable[],
  ): readonly DesiredServable[] {
    if (stale.length === 0 || this.#servables.retryAtMs.has(name)) return all;
    const hasEnded = ({ key, desired }: DesiredServable): boolean =>
      desired.problem !== undefined || this.#servables.find({ name, key })?.state === 'END';
    if (all.every(hasEnded)) return [];
    const versions = new Set(stale.map(({ desired }) => desired.version));
    return all.filter((one) => !(versions.has(one.version) && hasEnded(one)));
  }
}

const isServing = ({ state }: Servable): boolean => state === 'AVAILABLE';

/** Whether it holds its steps, or will. */
function isHeld({ state, desired }: Servable): boolean {
  return desired.spec.ensemble !== undefined && state !== 'END';
}
