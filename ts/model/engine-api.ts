// What the rest of TypeScript may ask of the native engine: the contract of ts/native/engine.ts.
// Control plane here; the per-request calls are in ts/native/port.ts.
import type { ErrorCode } from '../errors.js';
import type { Datatype, SignatureDefs, SignatureInfo } from './snapshot.js';
import type { MessageProtocol } from './request-kinds.js';

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

/** engine.fbs Weight. */
export interface Weight {
  readonly name: string;
  readonly datatype: Datatype;
  readonly dims: readonly number[];
  /** Index into ModelSpec.weightFiles. */
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
  readonly maskedCrc32c?: number;
}

/** engine.fbs GraphState. */
export interface GraphState {
  readonly state: number;
  readonly input: string;
  /** "" = only read. */
  readonly output: string;
}

/** A format that is compiled to ONNX at load time. */
export interface ImporterSpec {
  readonly format: 'tensorflow';
  /** SavedModel: the meta graph's tags; absent = serve. */
  readonly tags?: readonly string[];
  /** GraphDef: names of its input and output tensors; absent = found. */
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  /** The signature that requests without one get; absent or "" = serving_default. */
  readonly signature?: string;
}

/** engine.fbs GraphSpec. */
export interface GraphSpec {
  readonly signature: SignatureInfo;
  readonly model: Uint8Array;
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly weights: readonly number[];
  readonly states: readonly GraphState[];
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
  /** What compiles the files at `path` to `graphs` before the engine sees the spec. */
  readonly importer?: ImporterSpec;
  /** Instead of the file at `path`: one session per signature. */
  readonly graphs?: readonly GraphSpec[];
  readonly weights?: readonly Weight[];
  readonly weightFiles?: readonly string[];
  /** Indices of the weights that are the states' first values. */
  readonly states?: readonly number[];
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
  /** Whether made-up rows that came together were answered as each alone, and why not. */
  readonly batchProof: 'untried' | 'proven' | 'contradicted' | 'undecided';
  readonly batchFinding: string;
  /** What the model's own file says of its signatures, where its format has any. */
  readonly signatureDefs?: SignatureDefs;
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
  /** Changes the routes (gRPC requests name their model inside the message): `models` are added or
   * replaced, `removed` and those without versions go, the others stay. All of it is taken or, with
   * an error, nothing. */
  publishRoutes(epoch: number, models: readonly ModelRoute[], removed?: readonly string[]): void;
  /** Runs one request message (protobuf; a V2 ModelInferRequest or one of TensorFlow Serving's) on
   * a loaded model, routes or not, and drops the answer. Rejects with what the request would have
   * been answered with, or Cancelled when `signal` ends it. */
  warmUp(
    handle: number,
    protocol: MessageProtocol,
    message: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void>;
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
