// Decides the registry's desired models from the scanned places, the settings and the load and
// unload calls, and collects the problems. Reads no files and calls nothing; pure except for what
// it remembers. Control plane.
import type { Config } from '../../../config/config.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { BatchingParameters } from '../../../model/batching-parameters.js';
import { ensembleSteps } from '../../config/ensembles/steps.js';
import { desiredModel, type DesiredModel } from '../desired.js';
import { takeLabels, type TakenLabels } from '../labels.js';
import { Namespaces, type Named } from '../namespaces/namespaces.js';
import type { ExplicitModels } from './explicit-models.js';
import { distinctModels } from './repository.js';
import { wrongWith, type FoundModel } from './scan.js';
import { StartFaults, type Place } from './start-faults.js';

export type SourceConfig = Pick<
  Config,
  'sources' | 'model' | 'control' | 'batching' | 'savedModelTags' | 'allowRandom'
> &
  Partial<Pick<Config, 'operatorLibraries'>>;

/** Current contents of all places. */
export interface Seen {
  readonly found: readonly FoundModel[];
  /** Batching of all base-path models; undefined: none. */
  readonly batching: BatchingParameters | undefined;
  /** Includes PATHs. */
  readonly repositories: readonly string[];
  /** Settings in files that have no effect, including those of models' own configurations. */
  readonly notes: readonly string[];
  /** `problems` includes faults and notes. */
  readonly places: readonly (Place & { readonly problems: readonly string[] })[];
}

export interface Desired {
  readonly models: readonly DesiredModel[];
  /** Faults that have existed since the start. */
  readonly faults: readonly string[];
  /** All current problems. */
  readonly problems: readonly string[];
  /** Problems that keep something from being served. */
  readonly grave: ReadonlySet<string>;
  /** Problems that the failed loads of versions report, too. */
  readonly elsewhere: ReadonlySet<string>;
  /** Settings that are read but have no effect; not actual problems. */
  readonly notes: ReadonlySet<string>;
}

interface KnownModel {
  readonly labels: TakenLabels | undefined;
  readonly required: boolean;
  readonly desired: DesiredModel;
  /** The models of an ensemble's steps. */
  readonly steps: string;
}

export class DesiredModels {
  readonly #config: SourceConfig;
  readonly #explicit: ExplicitModels;
  readonly #startFaults: StartFaults;
  readonly #known = new WeakMap<FoundModel, KnownModel>();
  readonly #namespaces = new Namespaces();
  readonly #takenLabels = new Map<string, TakenLabels>();

  constructor(config: SourceConfig, explicit: ExplicitModels) {
    this.#config = config;
    this.#explicit = explicit;
    this.#startFaults = new StartFaults(config);
  }

  /** `available`: the versions of a model that serve now. */
  decide(seen: Seen, available: (name: string) => readonly string[]): Desired {
    const named = this.#config.control.namespacing
      ? this.#namespaces.of(seen.found, seen.repositories)
      : undefined;
    const clashes = named?.problems ?? [];
    const problems = [...seen.places.flatMap((place) => place.problems), ...clashes];
    const found = distinctModels(named?.models ?? seen.found, problems);
    const wanted = found.filter((one) => this.#explicit.isWanted(one.name, isFromRepository(one)));
    const models = wanted.map((one) => {
      const labels = this.#takenLabelsOf(one, available);
      problems.push(...(labels?.problems ?? []));
      return this.#desiredOf(one, labels, seen.batching, named);
    });
    const taken = new Set(models.map(({ name }) => name));
    const ambiguous = (named?.ambiguous ?? []).filter(({ name }) => !taken.has(name));
    const names = this.#namesAtStart(found, seen);
    const notes = new Set([...seen.notes, ...wanted.flatMap((one) => one.config.notes)]);
    const reasons = problems.filter((one) => !notes.has(one));
    const { faults, told } = this.#startFaults.now(
      [...seen.places, ...names],
      wanted.length,
      reasons,
    );
    const own = wanted.flatMap((one) => one.problems);
    const listed = problems.filter((one) => !told.includes(one));
    const unserved = wanted.filter((one) => one.versions.length === 0);
    const loaded = wanted.filter((one) => one.versions.length > 0);
    return {
      models: [...models, ...ambiguous],
      faults,
      problems: [...listed, ...names.flatMap((one) => one.faults), ...faults, ...own],
      grave: new Set([...faults, ...clashes, ...unserved.flatMap((one) => one.problems)]),
      elsewhere: new Set(loaded.map((one) => one.config.problem)),
      notes,
    };
  }

  #namesAtStart(found: readonly FoundModel[], seen: Seen): readonly Place[] {
    return this.#explicit.namesAtStart.map((name) => {
      const known = found.some((one) => one.name === name) || !this.#explicit.isWanted(name, true);
      const faults = known ? [] : [`--load-model: ${notFound(name, seen).message}`];
      return { what: `--load-model=${name}`, faults };
    });
  }

  /** Returns undefined if the labels are accepted as they are. */
  #takenLabelsOf(
    { name, labels, versions, pending }: FoundModel,
    available: (name: string) => readonly string[],
  ): TakenLabels | undefined {
    if (this.#config.control.labelsForUnavailable) return undefined;
    const present = [...versions.map((one) => one.version), ...pending, ...available(name)];
    const taken = takeLabels(name, labels, new Set(present), this.#takenLabels.get(name));
    this.#takenLabels.set(name, taken);
    return taken;
  }

  /** Returns the same object for an unchanged model. */
  #desiredOf(
    model: FoundModel,
    labels: TakenLabels | undefined,
    batching: BatchingParameters | undefined,
    named: Named | undefined,
  ): DesiredModel {
    const required = this.#explicit.isRequired(model.name, isFromRepository(model));
    const known = this.#known.get(model);
    const stepName = (name: string): string => named?.stepName(model, name) ?? name;
    const steps = ensembleSteps(model.config.config).map((step) => stepName(step.model));
    const same = known?.labels === labels && known?.required === required;
    if (same && known.steps === steps.join()) return known.desired;
    const settings = {
      // Per-model threads stay 0: models use the shared pool, whose size the setting gives.
      model: { ...this.#config.model, intraOpThreads: 0 },
      batching,
      defaultMaxBatchSize: this.#config.batching.defaultMaxBatchSize,
      savedModelTags: this.#config.savedModelTags,
      allowRandom: this.#config.allowRandom,
      loadMode: this.#config.control.loadMode,
      stepName,
    };
    const desired = desiredModel(model, settings, labels?.labels ?? model.labels, required);
    this.#known.set(model, { labels, required, desired, steps: steps.join() });
    return desired;
  }
}

/** Whether two results request the same: models are compared by identity. */
export function sameDesired(before: Desired | undefined, now: Desired): boolean {
  return (
    before?.models.length === now.models.length &&
    now.models.every((one, i) => one === before.models[i]) &&
    now.faults.join() === before.faults.join()
  );
}

export function notFound(name: string, { repositories }: Pick<Seen, 'repositories'>): ServalError {
  const places = repositories.join(', ') || 'no repository';
  return new ServalError(ErrorCode.ModelNotFound, `model '${name}' not found: searched ${places}`);
}

/** Why no version of a found model can be loaded. */
export function unservedText(model: FoundModel | undefined): string {
  return (
    (model && wrongWith(model).join('; ')) || 'the version policy selects none of its versions'
  );
}

/** Whether explicit mode loads it only on request. */
export function isFromRepository(model: FoundModel): boolean {
  return model.source === 'repository';
}
