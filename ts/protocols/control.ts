// Server-wide calls that protocols make: repository, loading and unloading models, log settings.
// The registry's thread serves them; other threads call through ts/server/admin/control-proxy.ts.
// Control plane. Types only.
import type { CudaRegion, SharedRegion } from '../model/engine-api.js';
import type { ModelSnapshot } from '../model/snapshot.js';

/** Triton's states. */
export type RepositoryState = 'READY' | 'LOADING' | 'UNLOADING' | 'UNAVAILABLE';

export interface RepositoryIndexEntry {
  readonly name: string;
  /** Decimal text; "" for a model of which no version was ever requested. */
  readonly version: string;
  readonly state: RepositoryState;
  /** Why it is not ready; "" otherwise. */
  readonly reason: string;
}

export interface LoadModelRequest {
  readonly model: string;
  /** Triton ModelConfig as JSON text; replaces the file's. */
  readonly config: string | undefined;
  /** "version/file" -> bytes: serve these instead of the repository's files. Requires `config`. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** Log settings by Triton's names; log_verbose_level is 0 or more. */
export interface LogSettings {
  readonly log_file: string;
  readonly log_info: boolean;
  readonly log_warning: boolean;
  readonly log_error: boolean;
  readonly log_verbose_level: number;
  readonly log_format: 'default' | 'ISO8601';
}

/** Trace settings by Triton's names: trace_level is a list, the others are text. */
export type TraceSettings = Readonly<Record<string, string | readonly string[]>>;
/** Shared memory of clients. All reject with ServalError. */
export interface SharedMemoryControl {
  /** One region, or all if the name is "". Errors: InvalidArgument (no such region). */
  sharedRegions(name: string): Promise<readonly SharedRegion[]>;
  /** Errors: Unimplemented (clients may not); those of SharedRegions.register(). */
  registerSharedRegion(region: SharedRegion): Promise<void>;
  /** One region, or all if the name is ""; an unknown name is no error. */
  unregisterSharedRegion(name: string): Promise<void>;
  /** The same for GPU memory. Errors: InvalidArgument (no such region). */
  cudaRegions(name: string): Promise<readonly CudaRegion[]>;
  /** `handle`: a cudaIpcMemHandle_t. Errors: Unimplemented (clients may not); InvalidArgument (no
   * name); those of SharedRegions.registerCuda(). */
  registerCudaRegion(region: CudaRegion, handle: Uint8Array): Promise<void>;
  unregisterCudaRegion(name: string): Promise<void>;
}

/** All reject with ServalError. Settle on the caller's thread. */
export interface ModelControl extends SharedMemoryControl {
  /**
   * Every version of every model that is or could be served, by name, then version ascending;
   * `readyOnly` omits the others. `repository` "" means all. Errors: InvalidArgument (unknown
   * repository).
   */
  index(repository: string, readyOnly: boolean): Promise<readonly RepositoryIndexEntry[]>;
  /**
   * Loads versions that are not loaded, have changed since, or have failed; settles when the model
   * is served. Errors: ModelNotReady outside explicit mode; ModelNotFound; InvalidArgument (config,
   * files); the load's own error, while the old version still serves.
   */
  load(request: LoadModelRequest): Promise<void>;
  /**
   * Settles when no version of it serves any more. `unloadDependents`: with an ensemble, the steps
   * that were loaded with it, too. Errors: ModelNotReady outside explicit mode; ModelNotFound.
   */
  unload(model: string, unloadDependents: boolean): Promise<void>;
  /**
   * Serves these models in place of those of models.config or --model-base-path; settles when the
   * new ones serve. `config`: a ModelServerConfig message. Errors: MalformedBody; InvalidArgument:
   * anything wrong in it, and nothing is changed then; a load's own error, while the rest of the
   * list is served.
   */
  reloadModels(config: Uint8Array): Promise<void>;
  /**
   * Loads a version that loads on demand; settles with its model once it is loaded. Errors:
   * ModelNotFound; the load's own; MemoryFull: no other model can leave.
   */
  demand(model: string, version: string): Promise<ModelSnapshot>;
  /** Rereads configuration files and folders, as a poll does, and settles when done. */
  reload(): Promise<void>;
  /** The OpenAPI document as JSON text: of all models, or of one ("" = all); `allowed`: patterns of
   * the models that exist for the caller, absent: all. Errors: ModelNotFound, ModelNotReady. */
  openApi(model: string, allowed?: readonly string[]): Promise<string>;
  logSettings(): Promise<LogSettings>;
  /** Changes the given members. Errors: InvalidArgument (unknown name, wrong type, log_file). */
  updateLogSettings(change: Readonly<Record<string, unknown>>): Promise<LogSettings>;
  /** Settings of a model, "" = of all. Errors: InvalidArgument (unknown model). */
  traceSettings(model: string): Promise<TraceSettings>;
  /**
   * Changes the given settings; null = no longer set. Errors: InvalidArgument (unknown model or
   * name, wrong value); Unimplemented (trace_file).
   */
  updateTraceSettings(
    model: string,
    change: Readonly<Record<string, unknown>>,
  ): Promise<TraceSettings>;
}

/** Owner of the trace settings; of a model, "" = of all. */
export interface TraceControl {
  settings(model: string): Promise<TraceSettings>;
  update(model: string, change: Readonly<Record<string, unknown>>): Promise<TraceSettings>;
}
