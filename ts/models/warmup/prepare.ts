// The step between a version's load and its availability. Types only; control plane.
import type { LoadedModel } from '../../model/engine-api.js';
import type { TritonConfig } from '../config/types.js';

/** A version that is loaded but not yet available. */
export interface PreparedVersion {
  readonly name: string;
  readonly version: string;
  /** The version's folder. */
  readonly path: string;
  readonly config: TritonConfig | undefined;
  readonly loaded: LoadedModel;
}

/**
 * Warms up a version before it becomes available; a rejection fails the load. `signal`: aborted
 * when the version is no longer wanted.
 */
export type Prepare = (version: PreparedVersion, signal: AbortSignal) => Promise<void>;
