// What the registry is asked for, decided from what the places hold, the settings and what was said
// by call; what is wrong with it. Reads no file and calls nobody; pure but for what it remembers.
// Control plane.
import type { Config } from '../../../config/config.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { BatchingParameters } from '../../../model/batching-parameters.js';
import { desiredModel, type DesiredModel } from '../desired.js';
import { takeLabels, type TakenLabels } from '../labels.js';
import type { ExplicitModels } from './explicit-models.js';
import { distinctModels } from './repository.js';
import { wrongWith, type FoundModel } from './scan.js';
import { StartFaults, type Place } from './start-faults.js';

export type SourceConfig = Pick<
  Config,
  'sources' | 'model' | 'control' | 'batching' | 'savedModelTags' | 'allowRandom'
>;

/** What the places hold now. */
export interface Seen {
  readonly found: readonly FoundModel[];
  /** Of all models of base paths; undefined: they are not batched. */
  readonly batching: BatchingParameters | undefined;
  /** PATHs included. */
  readonly repositories: readonly string[];
  /** What files say and makes no difference; of models' own configurations: theirs. */
  readonly notes: readonly string[];
  /** `problems`: faults and notes included. */
  readonly places: readonly (Place & { readonly problems: readonly string[] })[];
}

export interface Desired {
  readonly models: readonly DesiredModel[];
  /** What has been wrong since the start. */
  readonly faults: readonly string[];
  /** Everything that is wrong now. */
  readonly problems: readonly string[];
  /** Problems that keep something from being served. */
  readonly grave: ReadonlySet<string>;
  /** Problems that are none: what is read and makes no difference. */
  readonly notes: ReadonlySet<string>;
}

interface KnownModel {
  readonly labels: TakenLabels | undefined;
  readonly required: boolean;
  readonly desired: DesiredModel;
}

export class DesiredModels {
  readonly #config: SourceConfig;
  readonly #explicit: ExplicitModels;
  readonly #startFaults: StartFaults;
  readonly #known = new WeakMap<FoundModel, KnownModel>();
  readonly #takenLabels = new Map<string, TakenLabels>();

  constructor(config: SourceConfig, explicit: ExplicitModels) {
    this.#config = config;
    this.#explicit = explicit;
    this.#startFaults = new StartFaults(config);
  }

  /** `available`: the versions of a model that serve now. */
  decide(seen: Seen, available: (name: string) => readonly string[]): Desired {
    const problems = seen.places.flatMap((place) => place.problems);
    const found = distinctModels(seen.found, problems);
    const wanted = found.filter((one) => this.#explicit.isWanted(one.name, isFromRepository(one)));
    const models = wanted.map((one) => {
      const labels = this.#takenLabelsOf(one, available);
      problems.push(...(labels?.problems ?? []));
      return this.#desiredOf(one, labels, seen.batching);
    });
    const names = this.#namesAtStart(found, seen);
    const faults = this.#startFaults.now([...seen.places, ...names], wanted.length);
    problems.push(...names.flatMap((one) => one.faults), ...faults);
    const unserved = wanted.filter((one) => one.versions.length === 0);
    return {
      models,
      faults,
      problems: [...problems, ...wanted.flatMap((one) => one.problems)],
      grave: new Set([...faults, ...unserved.flatMap((one) => one.problems)]),
      notes: new Set([...seen.notes, ...wanted.flatMap((one) => one.config.notes)]),
    };
  }

  #namesAtStart(found: readonly FoundModel[], seen: Seen): readonly Place[] {
    return this.#explicit.namesAtStart.map((name) => {
      const known = found.some((one) => one.name === name) || !this.#explicit.isWanted(name, true);
      const faults = known ? [] : [`--load-model: ${notFound(name, seen).message}`];
      return { what: `--load-model=${name}`, faults };
    });
  }

  /** undefined: the labels are taken as they are. */
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

  /** The same object for what has not changed. */
  #desiredOf(
    model: FoundModel,
    labels: TakenLabels | undefined,
    batching: BatchingParameters | undefined,
  ): DesiredModel {
    const required = this.#explicit.isRequired(model.name, isFromRepository(model));
    const known = this.#known.get(model);
    if (known?.labels === labels && known?.required === required) return known.desired;
    const settings = {
      // Per-model threads stay 0: the shared pool, which the setting sizes, is what models use.
      model: { ...this.#config.model, intraOpThreads: 0 },
      batching,
      defaultMaxBatchSize: this.#config.batching.defaultMaxBatchSize,
      savedModelTags: this.#config.savedModelTags,
      allowRandom: this.#config.allowRandom,
    };
    const desired = desiredModel(model, settings, labels?.labels ?? model.labels, required);
    this.#known.set(model, { labels, required, desired });
    return desired;
  }
}

/** Whether two answers ask for the same: models are compared by identity. */
export function sameDesired(before: Desired | undefined, now: Desired): boolean {
  return (
    before?.models.length === now.models.length &&
    now.models.every((one, i) => one === before.models[i]) &&
    now.faults.join() === before.faults.join()
  );
}

export function notFound(name: string, { repositories }: Pick<Seen, 'repositories'>): ServalError {
  const places = repositories.join(', ') || 'no repository';
  return new ServalError(
    ErrorCode.ModelNotFound,
    `model '${name}' is not known: looked in ${places}`,
  );
}

/** Why nothing of a model that was found can be loaded. */
export function unservedText(model: FoundModel | undefined): string {
  return (model && wrongWith(model).join('; ')) || 'the version policy picks none of its versions';
}

/** Whether it is loaded only when asked for in explicit mode. */
function isFromRepository(model: FoundModel): boolean {
  return model.source === 'repository';
}
