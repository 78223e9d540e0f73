// What the rest of TypeScript may ask of the native engine: the contract of ts/native/engine.ts.
// Control plane here; the per-request calls are in ts/native/hot.ts.
import type { ErrorCode } from '../errors.js';
import type { SignatureInfo } from '../registry/snapshot.js';

export type ExecModeName = 'auto' | 'inline' | 'queued';

export interface ProviderOptions {
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
}

/** engine.fbs BatchPolicy; a row is one entry along the first dim. */
export interface BatchPolicy {
  readonly mode: 'off' | 'auto' | 'on';
  readonly rowsMax: number;
  /** 0 = any. */
  readonly requestRowsMax: number;
  readonly preferredRows: readonly number[];
  readonly allowedRows: readonly number[];
  readonly delayUs: number;
  readonly split: boolean;
  readonly padInner: boolean;
  readonly preserveOrdering: boolean;
  readonly onlyIfBatchable: boolean;
}

/** engine.fbs QueuePolicy. */
export interface QueuePolicy {
  readonly timeoutAction: 'reject' | 'delay';
  /** 0 = none. */
  readonly defaultTimeoutUs: number;
  readonly allowTimeoutOverride: boolean;
  /** 0 = ModelSpec.queueRequestsMax. */
  readonly requestsMax: number;
}

export interface PriorityQueuePolicy {
  readonly level: number;
  readonly policy: QueuePolicy;
}

/** engine.fbs TensorOverride. */
export interface TensorOverride {
  readonly name: string;
  readonly dims: readonly number[];
  readonly modelDims: readonly number[];
  readonly labels: readonly string[];
}

/** engine.fbs ModelSpec. Absent members take the engine's defaults. */
export interface ModelSpec {
  readonly name: string;
  readonly version: string;
  readonly backend: 'onnxruntime' | 'null';
  readonly path?: string;
  readonly intraOpThreads?: number;
  readonly interOpThreads?: number;
  readonly graphOptimization?: number;
  readonly providers?: readonly ProviderOptions[];
  readonly instances?: number;
  readonly queueRequestsMax?: number;
  readonly execMode?: ExecModeName;
  readonly inlineUsMax?: number;
  readonly nullMode?: 'echo' | 'delay' | 'fail';
  readonly nullDelayUs?: number;
  readonly nullSignature?: SignatureInfo;
  readonly batch?: BatchPolicy;
  readonly priorityLevels?: number;
  readonly defaultPriority?: number;
  readonly queuePolicy?: QueuePolicy;
  readonly priorityPolicies?: readonly PriorityQueuePolicy[];
  readonly batchDim?: boolean;
  readonly inputs?: readonly TensorOverride[];
  readonly outputs?: readonly TensorOverride[];
  readonly devices?: readonly number[];
  readonly sessionConfig?: Readonly<Record<string, string>>;
}

/** engine.fbs ModelInfo. */
export interface LoadedModel {
  readonly handle: number;
  readonly signatures: readonly SignatureInfo[];
  readonly producer: string;
  readonly graphName: string;
  readonly description: string;
  readonly domain: string;
  readonly modelVersion: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fileBytes: number;
  readonly loadUs: number;
  readonly providers: readonly string[];
  readonly batchMode: 'off' | 'auto' | 'on';
  readonly inputsBatchable: boolean;
}

export interface VersionRoute {
  readonly version: string;
  readonly handle: number;
  readonly ready: boolean;
  readonly reason: string;
}

export interface ModelRoute {
  readonly name: string;
  /** Index into versions; -1 = none is ready. */
  readonly defaultVersion: number;
  readonly versions: readonly VersionRoute[];
  readonly labels: Readonly<Record<string, string>>;
}

/** The engine's control calls. All promises settle on the thread that called. */
export interface EngineControl {
  /** Loads on a native thread. Rejects with ServalError (ModelInvalid, RuntimeUnavailable). */
  load(spec: ModelSpec): Promise<LoadedModel>;
  /** Takes the model out of use; settles when its last request is done and its memory is
   * released. */
  unload(handle: number): Promise<void>;
  /** Publishes the route table (gRPC requests name their model inside the message). */
  publishRoutes(epoch: number, models: readonly ModelRoute[]): void;
  /** Runs one V2 ModelInferRequest (protobuf) on a loaded model, routes or not, and drops the
   * answer. Rejects with what the request would have been answered with. */
  warmUp(handle: number, message: Uint8Array): Promise<void>;
  /** Of these models, or of all. */
  stats(handles?: readonly number[]): EngineStats;
}

export interface ModelStats {
  readonly handle: number;
  readonly requestsInline: number;
  readonly requestsQueued: number;
  readonly failures: number;
  readonly cancelled: number;
  readonly queueFull: number;
  readonly queueNs: number;
  readonly computeNs: number;
  /** Milliseconds since 1970; 0 = none yet. */
  readonly lastInferenceMs: number;
  /** Rows; requests where the model has no batch dim. */
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly success: DurationStat;
  readonly fail: DurationStat;
  readonly queue: DurationStat;
  readonly computeInput: DurationStat;
  readonly computeInfer: DurationStat;
  readonly computeOutput: DurationStat;
  readonly batches: readonly BatchStat[];
  readonly rejected: number;
  readonly pending: number;
}

export interface DurationStat {
  readonly count: number;
  readonly ns: number;
}

export interface BatchStat {
  readonly batchSize: number;
  readonly computeInput: DurationStat;
  readonly computeInfer: DurationStat;
  readonly computeOutput: DurationStat;
}

export interface EngineStats {
  readonly models: readonly ModelStats[];
  readonly tensorBytesCopied: number;
  readonly tensorBytesViewed: number;
  readonly bodiesOpen: number;
  readonly ticketsOpen: number;
}

/** For code that reports a failed load. */
export interface LoadFailure {
  readonly code: ErrorCode;
  readonly message: string;
}
