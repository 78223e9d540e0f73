// The step between a version's load and its availability. Types only; control plane.
import type { LoadedModel } from '../../model/engine-api.js';
import type { TritonConfig } from '../config/types.js';

/** A version that is loaded and not yet available. */
export interface PreparedVersion {
  readonly name: string;
  readonly version: string;
  /** The version's folder. */
  readonly path: string;
  readonly config: TritonConfig | undefined;
  readonly loaded: LoadedModel;
}

/** Warms a version up before it becomes available; what it rejects with fails the load. `signal`:
 * nobody wants the version any more. */
export type Prepare = (version: PreparedVersion, signal: AbortSignal) => Promise<void>;
