// The registry as readers see it: plain data, immutable, swapped whole, structured-cloneable (it is
// posted to every listener's worker thread). Control plane writes, hot plane reads.
import type { ErrorCode } from '../errors.js';

/** V2 datatype names. */
export type Datatype =
  | 'BOOL' | 'UINT8' | 'UINT16' | 'UINT32' | 'UINT64' | 'INT8' | 'INT16' | 'INT32' | 'INT64'
  | 'FP16' | 'FP32' | 'FP64' | 'BYTES' | 'BF16';

/** One input or output. `shape`: -1 = free dim; `symbols`: the dims' symbolic names, "" where
 * there is none. */
export interface TensorInfo {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly symbols: readonly string[];
  readonly unknownRank: boolean;
}

export interface SignatureInfo {
  readonly name: string;
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

/** TensorFlow Serving's states (ModelVersionStatus.State). */
export type VersionState = 'START' | 'LOADING' | 'AVAILABLE' | 'UNLOADING' | 'END';

/** One version of one model. `handle` is set (and signatures filled) while AVAILABLE. `version` is
 * decimal text: versions are int64 and must survive JSON. */
export interface VersionSnapshot {
  readonly version: string;
  readonly state: VersionState;
  readonly handle: number | undefined;
  /** Why it does not serve; while AVAILABLE: why its newer content could not be loaded. */
  readonly errorCode: ErrorCode;
  readonly errorMessage: string;
  readonly format: string;
  readonly platform: string;
  readonly signatures: readonly SignatureInfo[];
  /** Triton's ModelConfig, completed from the model, as JSON text; "" unless AVAILABLE. */
  readonly configJson: string;
  /** From the beginning of the load until AVAILABLE, warmup included; 0 unless AVAILABLE. */
  readonly loadMs: number;
}

export interface ModelSnapshot {
  readonly name: string;
  /** Highest version first. */
  readonly versions: readonly VersionSnapshot[];
  readonly labels: Readonly<Record<string, string>>;
  /** The version a request without one gets: the highest AVAILABLE; undefined when none is. */
  readonly defaultVersion: string | undefined;
}

export interface RegistrySnapshot {
  readonly epoch: number;
  readonly models: Readonly<Record<string, ModelSnapshot>>;
  /** Everything asked for at start was tried, and (unless readiness is not strict) every model that
   * the configuration asks for is AVAILABLE. Models loaded by call do not count. */
  readonly ready: boolean;
  readonly draining: boolean;
}
