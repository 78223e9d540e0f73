// Tracks faults of the server's places that have existed since the start, and whether the places
// are watched. Pure except for what it remembers; control plane.
import type { Config } from '../../../config/config.js';
import { placeOf } from '../../../config/values/model-path.js';
import type { ModelEntry } from '../../config/types.js';

/** A place or file that the server was started with, and its current problems. */
export interface Place {
  readonly what: string;
  readonly faults: readonly string[];
}

/** Reasons in one fault; the others stay problems. */
const REASONS_MAX = 3;

type SourceSettings = Pick<Config, 'sources' | 'control'>;

/**
 * Faults that have existed since the start. A place that was good once is never one again: later
 * problems do not affect the versions that serve.
 */
export class StartFaults {
  readonly #nothing: string;
  readonly #right = new Set<string>();
  #served: boolean;

  constructor({ sources, control }: SourceSettings) {
    const { paths, modelRepositories, baseModel, modelConfigFile } = sources;
    const looked = [...paths.map(placeOf), ...modelRepositories, baseModel?.path, modelConfigFile];
    const where = looked.filter((path) => path !== undefined).join(', ');
    this.#nothing = `no models found: searched ${where}`;
    // Nothing needs to exist if nothing is requested.
    this.#served = control.mode === 'explicit' && control.loadModels.length === 0;
  }

  /**
   * `models`: number of models desired now. If there has never been one, that is a fault unless a
   * place already explains it. `reasons`: current problems of the places, which explain it; they
   * are then `told`, part of the fault.
   */
  now(
    places: readonly Place[],
    models: number,
    reasons: readonly string[],
  ): { readonly faults: readonly string[]; readonly told: readonly string[] } {
    this.#served ||= models > 0;
    for (const { what, faults } of places) if (faults.length === 0) this.#right.add(what);
    const open = places.filter(({ what }) => !this.#right.has(what));
    if (open.length > 0 || this.#served) {
      return { faults: open.flatMap(({ faults }) => faults), told: [] };
    }
    if (reasons.length === 0) return { faults: [this.#nothing], told: [] };
    const told = reasons.slice(0, REASONS_MAX);
    return { faults: [`no models found: ${told.join('; ')}`], told };
  }
}

/** Whether a later scan, or a load call, may add what is missing now. */
export function isWatched(
  { sources, control }: SourceSettings,
  entries: readonly ModelEntry[],
): boolean {
  const { mode, repositoryPollSeconds } = control;
  const repositories = mode === 'explicit' || (mode === 'poll' && repositoryPollSeconds > 0);
  return (
    (sources.paths.length + sources.modelRepositories.length > 0 && repositories) ||
    (sources.modelConfigFile !== undefined && control.modelConfigFilePollSeconds > 0) ||
    (entries.length > 0 && control.fileSystemPollSeconds > 0)
  );
}
