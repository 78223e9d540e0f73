// What has been wrong with the server's places since it was started, and whether they are watched.
// Pure but for what it remembers; control plane.
import type { Config } from '../../../config/config.js';
import { placeOf } from '../../../config/values/model-path.js';
import type { ModelEntry } from '../../config/types.js';

/** A place or file that the server was started with, and what is wrong with it now. */
export interface Place {
  readonly what: string;
  readonly faults: readonly string[];
}

type SourceSettings = Pick<Config, 'sources' | 'control'>;

/** What has been wrong from the start on. A place that was right once is none of it any more: what
 * goes wrong later takes nothing away from what serves. */
export class StartFaults {
  readonly #nothing: string;
  readonly #right = new Set<string>();
  #served: boolean;

  constructor({ sources, control }: SourceSettings) {
    const { paths, modelRepositories, baseModel, modelConfigFile } = sources;
    const looked = [...paths.map(placeOf), ...modelRepositories, baseModel?.path, modelConfigFile];
    const where = looked.filter((path) => path !== undefined).join(', ');
    this.#nothing = `no model is there to be served: looked in ${where}`;
    // Nothing need be there where nothing is asked for.
    this.#served = control.mode === 'explicit' && control.loadModels.length === 0;
  }

  /** `models`: how many are asked for now. None, and none at any time, is a fault of its own where
   * no place says why. */
  now(places: readonly Place[], models: number): readonly string[] {
    this.#served ||= models > 0;
    for (const { what, faults } of places) if (faults.length === 0) this.#right.add(what);
    const open = places.filter(({ what }) => !this.#right.has(what));
    if (open.length > 0 || this.#served) return open.flatMap(({ faults }) => faults);
    return [this.#nothing];
  }
}

/** Whether a later look, or a load call, may bring what is not there now. */
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
