// Answers that need what is known of a model only after its load: while a version that loads on
// demand was never loaded, they wait for its load. Control plane, any thread.
import { ErrorCode, ServalError } from '../base/errors.js';
import type { RegistrySnapshot, VersionSnapshot } from '../model/snapshot.js';
import { applyChange } from '../models/registry/snapshot-build.js';
import type { ModelControl } from './control.js';

/** Loads a version that loads on demand. */
export type Demand = Pick<ModelControl, 'demand'>;

/** Thrown by an answer that needs the version's load. */
export class NeedsLoad extends ServalError {
  constructor(
    readonly model: string,
    readonly version: string,
  ) {
    super(ErrorCode.ModelNotReady, `model '${model}' version ${version} is not loaded yet`);
  }
}

/** The version, with its signatures. Errors: NeedsLoad. */
export function seenVersion(model: string, version: VersionSnapshot): VersionSnapshot {
  if (version.demand === 'unseen') throw new NeedsLoad(model, version.version);
  return version;
}

/** The result of `make`; undefined if it needs a load. */
export function unlessUnseen<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof NeedsLoad) return undefined;
    throw error;
  }
}

/** The result of `make`, which is called again after a load that it needs. */
export async function afterLoad<T>(
  control: Demand,
  snapshot: RegistrySnapshot,
  make: (snapshot: RegistrySnapshot) => T,
): Promise<T> {
  try {
    return make(snapshot);
  } catch (error) {
    if (!(error instanceof NeedsLoad)) throw error;
    const model = await control.demand(error.model, error.version);
    return make(applyChange(snapshot, { ...snapshot, models: [model], removed: [] }));
  }
}
