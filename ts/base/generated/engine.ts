// What both languages name. Data only; any thread. Generated from proto/engine.fbs by proto/generate.mjs.

export type DType = 'BOOL' | 'UINT8' | 'UINT16' | 'UINT32' | 'UINT64' | 'INT8' | 'INT16' | 'INT32' | 'INT64' | 'FP16' | 'FP32' | 'FP64' | 'BYTES' | 'BF16' | 'STRING' | 'DATE' | 'TIMESTAMP' | 'VECTOR' | 'DECIMAL';

/** One row each in ts/base/errors.ts (HTTP and gRPC status) and docs/reference/errors.md. */
export enum ErrorCode {
  Ok = 0,
  /** well-formed request that the model or the protocol refuses */
  InvalidArgument = 1,
  /** not JSON / not protobuf / truncated / bad binary section */
  MalformedBody = 2,
  /** no such URL or rpc */
  PathNotFound = 3,
  /** unknown model, version or label */
  ModelNotFound = 4,
  /** the model has no such signature */
  SignatureNotFound = 5,
  /** known, but loading, failed or unloaded */
  ModelNotReady = 6,
  MethodNotAllowed = 7,
  /** request over a byte limit, inflated size included */
  BodyTooLarge = 8,
  /** Content-Encoding that we do not read */
  UnsupportedEncoding = 9,
  QueueFull = 10,
  /** named feature that this server does not have */
  Unimplemented = 11,
  DeadlineExceeded = 12,
  Cancelled = 13,
  ShuttingDown = 14,
  /** model file missing, corrupt or unsupported */
  ModelInvalid = 15,
  /** the runtime library is missing or too old */
  RuntimeUnavailable = 16,
  /** the model ran and failed */
  BackendFailed = 17,
  /** our bug */
  Internal = 18,
  /** the budget of --memory-limit is used up, or memory itself */
  MemoryFull = 19,
}

/** The kinds of requests that the engine serves end to end. V1: TensorFlow Serving's REST API. Tf: its gRPC PredictionService. */
export enum Protocol {
  V1Predict = 0,
  V2Rest = 1,
  V2Grpc = 2,
  V2GrpcStream = 3,
  TfPredict = 4,
  TfClassify = 5,
  TfRegress = 6,
  V1Classify = 7,
  V1Regress = 8,
  TfMultiInference = 9,
}

/** What a call of the addon returns besides an ErrorCode. */
export enum CallResult {
  /** the answer follows as a completion */
  Pending = 255,
}

/** Events of a native listener, for the JavaScript thread that answers the calls that it forwards. Each is six u32 words (EventWord) and a payload, padded to whole words. */
export enum ListenerEvent {
  /** a call of a forwarded method; value: its index; payload: f64, its */
  Open = 0,
  /** payload: the message */
  Message = 1,
  /** the client sends no more */
  HalfClosed = 2,
  /** the call is gone, its client too */
  Closed = 3,
  /** value: answers of a stream that left */
  Left = 4,
  /** a call of a native method failed for a name that is missing; value: */
  Explain = 5,
  /** value: connections; more are refused */
  Full = 6,
  /** value: 0 = read anew, 1 = not (payload: why) */
  Certificates = 7,
  /** value: calls that were cut; payload: the models of those that the */
  Drained = 8,
  /** value: TLS handshakes that failed so far; payload: the last one's */
  HandshakeFailed = 9,
  /** an HTTP request; value: bits of RequestFlag; payload: its method, */
  Request = 10,
  /** a piece of its body; value: 1 = the last one */
  Data = 11,
  /** a request that the engine was asked failed; value: the number of its */
  Failed = 12,
  /** bytes that are no request were refused; value: the status; payload: */
  Refused = 13,
}

export enum RequestFlag {
  /** the client is on this machine */
  Local = 1,
}

export enum EventWord {
  Kind = 0,
  Thread = 1,
  CallLow = 2,
  CallHigh = 3,
  Value = 4,
  Bytes = 5,
  Words = 6,
}

/** What that thread has the listener do with a call. */
export enum ListenerCommand {
  /** sends bytes */
  Message = 0,
  /** value: the status; bytes: its text */
  Finish = 1,
  /** value: 1 = no more messages for now; 0 of an HTTP request: its body */
  Pause = 2,
  /** value: the status that the failed call ends with; bytes: its text */
  ExplainedStatus = 3,
  /** bytes: what a stream's failed request is answered */
  ExplainedReply = 4,
  /** of an HTTP request; value: its status; bytes: u32 of the lines, then */
  Answer = 5,
  /** the engine may answer requests like this one; value: the model's */
  Learn = 6,
}

/** Words of the block of u32 that a JavaScript thread shares with the engine. */
export enum ControlWord {
  /** length of the answer or of the error's text */
  Bytes = 0,
  /** JSON before binary data; of an error: what is missing, before it */
  JsonBytes = 1,
  /** of a pending request or an open body */
  Ticket = 2,
  /** of slot 0's memory */
  Generation = 3,
  /** 1: the request that came with this call is traced, as: */
  Traced = 4,
  /** four words of its bytes, as they are sent */
  TraceId = 5,
  /** two words */
  SpanId = 9,
  /** completions, one behind the other */
  Ring = 16,
}

/** Words of one completion in the ring. */
export enum RingWord {
  Ticket = 0,
  Code = 1,
  Slot = 2,
  Bytes = 3,
  JsonBytes = 4,
  Generation = 5,
  /** of one */
  Words = 6,
}

/** Whose names metrics() writes. */
export enum MetricsKind {
  Triton = 0,
  TensorFlow = 1,
}

/** Content-Encodings that the engine unpacks. */
export enum PackedCoding {
  Gzip = 0,
  Deflate = 1,
}

export type ExecMode = 'auto' | 'inline' | 'queued';

/** Whether waiting requests of one model are run together. Off: never. Auto: only requests that wait anyway are batched; a fast model still runs inline, one by one; only where the first dim is proven to be the batch. On: every request goes through the batcher. */
export type BatchMode = 'off' | 'auto' | 'on';

/** Whether the rows of a batch keep apart, read from a graph. Unknown: nobody looked. Proved: row i of every output depends on row i of the inputs alone. Coupled: rows change each other's answers, or are not the first axis of an output. Unproved: an operator has no rule that says so. */
export type RowsVerdict = 'unknown' | 'proved' | 'coupled' | 'unproved';

/** What a probe at load says of rows run together. Untried: nothing hangs on it. Contradicted: they are answered differently. Undecided: refused, not the same twice, or it takes too long to try. */
export type BatchProof = 'untried' | 'proven' | 'contradicted' | 'undecided';

export type TimeoutAction = 'reject' | 'delay';

export type MissingPart = 'model' | 'version' | 'label' | 'ready' | 'number' | 'int64' | 'signature';

/** Ranks of an unchecked input that an operator behind it takes. */
export interface RankRule {
  readonly min: number;
  /** absent: any */
  readonly max?: number;
  /** the operator; "" = the graph itself */
  readonly of: string;
}

/** One input or output. */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: DType;
  /** -1 = free */
  readonly shape: readonly number[];
  /** of each dim, "" where it has no symbolic name */
  readonly symbols: readonly string[];
  readonly unknownRank: boolean;
  /** the shape is documentation: requests are not checked against it */
  readonly unchecked?: boolean;
  readonly ranks?: RankRule;
  /** a TensorProto, fed where a request leaves the input out */
  readonly defaultProto?: Uint8Array;
  /** outputs: the names of classes that stand in the model */
  readonly labels?: readonly string[];
}

export interface Signature {
  readonly name: string;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** SignatureDef.method_name; absent: the format has none */
  readonly methodName?: string;
  /** with a default in the graph; `inputs` has the others */
  readonly optionalInputs?: readonly TensorSpec[];
}

/** A constant that the graphs of a model share: raw little-endian elements in a file. */
export interface Weight {
  /** the initializer, in every graph that has it */
  readonly name: string;
  readonly datatype: DType;
  readonly dims: readonly number[];
  /** index into ModelSpec.weight_files */
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
  /** of exactly these bytes; absent: not checked */
  readonly maskedCrc32c?: number;
}

/** A variable that a graph reads and, with `output`, assigns: state of the loaded version. */
export interface GraphState {
  /** index into ModelSpec.states */
  readonly state: number;
  readonly input: string;
  /** "" = only read */
  readonly output: string;
}

/** One signature's ONNX graph. */
export interface GraphSpec {
  /** as clients name its tensors */
  readonly signature: Signature;
  /** the ModelProto */
  readonly model: Uint8Array;
  /** in the ONNX graph, in the signature's order */
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** of ModelSpec.weights, those that it names */
  readonly weights: readonly number[];
  readonly states: readonly GraphState[];
}

/** Of one signature. */
export interface RowsFinding {
  readonly signature: string;
  readonly verdict: RowsVerdict;
  /** the first node that stands against it, and why */
  readonly text: string;
}

/** TensorFlow Serving's batching parameters and Triton's dynamic_batching both become this. A row is one entry along the first dim. */
export interface BatchPolicy {
  readonly mode: BatchMode;
  /** largest batch that is run */
  readonly rowsMax: number;
  /** larger requests are refused; 0 = any */
  readonly requestRowsMax: number;
  /** ascending; a batch of such a size leaves at once */
  readonly preferredRows: readonly number[];
  /** ascending; batches are padded up to the next one */
  readonly allowedRows: readonly number[];
  /** how long the oldest request may wait for company */
  readonly delayUs: number;
  /** requests over rows_max are run in pieces */
  readonly split: boolean;
  /** inner dims are zero-padded to the largest instead of kept apart */
  readonly padInner: boolean;
  /** answers leave in the order the requests came */
  readonly preserveOrdering: boolean;
  /** Off unless the first dim of every input and output is free. */
  readonly onlyIfBatchable: boolean;
}

export interface QueuePolicy {
  readonly timeoutAction: TimeoutAction;
  /** 0 = none */
  readonly defaultTimeoutUs: number;
  /** a request's `timeout` may shorten it */
  readonly allowTimeoutOverride: boolean;
  /** 0 = ModelSpec.queue_requests_max */
  readonly requestsMax: number;
}

/** Level 1 is served first. */
export interface PriorityQueuePolicy {
  readonly level: number;
  readonly policy: QueuePolicy;
}

/** What a configuration says of one input or output, in the model's own order or not. */
export interface TensorOverride {
  readonly name: string;
  /** as clients see it, the batch dim included; -1 = free */
  readonly dims: readonly number[];
  /** what the model gets instead (reshape); empty = dims */
  readonly modelDims: readonly number[];
  /** outputs: classification labels by index */
  readonly labels: readonly string[];
}

export interface Provider {
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
}

/** Options of a provider that the command line or the server itself set. Others come from a model's configuration and are checked: proto/runtime-options.mjs. */
export interface ServerOptions {
  readonly provider: string;
  readonly options: readonly string[];
}

/** What to load. Paths are absolute. `backend` is "onnxruntime", "tabular" (path: a plan) or "null". */
export interface ModelSpec {
  readonly name: string;
  readonly version?: string;
  readonly backend: string;
  readonly path?: string;
  /** 0 = the engine's shared pool */
  readonly intraOpThreads?: number;
  /** 0 = sequential execution */
  readonly interOpThreads?: number;
  /** ORT's levels 0, 1, 2, 99 */
  readonly graphOptimization?: number;
  /** in order of preference; CPU is always last */
  readonly providers?: readonly Provider[];
  /** native threads that take requests from the queue */
  readonly instances?: number;
  readonly queueRequestsMax?: number;
  readonly execMode?: ExecMode;
  /** Auto: run on the listener's thread while the measured time is below. */
  readonly inlineUsMax?: number;
  /** null backend: "echo", "delay", "fail" */
  readonly nullMode?: string;
  readonly nullDelayUs?: number;
  readonly nullSignature?: Signature;
  readonly batch?: BatchPolicy;
  /** 0 = no priorities; else 1 (first) .. priority_levels */
  readonly priorityLevels?: number;
  readonly defaultPriority?: number;
  readonly queuePolicy?: QueuePolicy;
  readonly priorityPolicies?: readonly PriorityQueuePolicy[];
  /** the first dim is the batch (Triton: max_batch_size > 0) */
  readonly batchDim?: boolean;
  readonly inputs?: readonly TensorOverride[];
  readonly outputs?: readonly TensorOverride[];
  /** one session per device, instances take turns; empty = one session */
  readonly devices?: readonly number[];
  /** ONNX Runtime session options by name */
  readonly sessionConfig?: Readonly<Record<string, string>>;
  /** instead of the file at `path`: one session per signature */
  readonly graphs?: readonly GraphSpec[];
  readonly weights?: readonly Weight[];
  readonly weightFiles?: readonly string[];
  /** indices of the weights that are the states' first values */
  readonly states?: readonly number[];
  /** of a model of tensors: V2's extension too (tabular.md 2.1 X1) */
  readonly extendedV2?: boolean;
  /** batches that CUDA graphs are made of; 0 = of a model without one */
  readonly graphRows?: readonly number[];
  readonly serverOptions?: readonly ServerOptions[];
}

/** How many nodes of a model's graph a provider has, by ONNX Runtime's name of it. */
export interface ProviderNodes {
  readonly provider: string;
  readonly nodes: number;
}

/** What a load answers. */
export interface ModelInfo {
  readonly handle: number;
  readonly signatures: readonly Signature[];
  readonly producer: string;
  readonly graphName: string;
  readonly description: string;
  readonly domain: string;
  readonly modelVersion: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fileBytes: number;
  readonly loadUs: number;
  /** those in use */
  readonly providers: readonly string[];
  /** what BatchPolicy.mode came to */
  readonly batchMode: BatchMode;
  /** the first dim of every input and output is free */
  readonly inputsBatchable: boolean;
  readonly batchProof: BatchProof;
  /** why it is not proven */
  readonly batchFinding: string;
  /** what of the model is not served, each a sentence */
  readonly notes?: readonly string[];
  /** of its graph, where providers besides the CPU's are in use */
  readonly nodes?: readonly ProviderNodes[];
  /** one for each signature whose graph was read */
  readonly rows?: readonly RowsFinding[];
}

export interface VersionRoute {
  readonly version: string;
  readonly handle: number;
  readonly ready: boolean;
  /** why not ready */
  readonly reason: string;
}

export interface LabelRoute {
  readonly label: string;
  readonly version: string;
}

export interface ModelRoute {
  readonly name: string;
  /** index into `versions`; -1 = none is ready */
  readonly defaultVersion: number;
  readonly versions: readonly VersionRoute[];
  readonly labels: readonly LabelRoute[];
  /** the model is removed; without it, one may have no versions */
  readonly gone: boolean;
}

/** What a request names and the engine has not: comes before the text of an error, with its length as the answer's JSON bytes. TypeScript words it, or a gRPC listener by the sentences that it was given; there is no text but with a signature. */
export interface Missing {
  readonly part: MissingPart;
  readonly model: string;
  /** as the request has it, "" = none; Signature: the one that runs */
  readonly version: string;
  readonly label: string;
  /** Ready: the version that is there */
  readonly foundVersion: string;
  /** Ready: why it does not serve */
  readonly reason: string;
  readonly signature: string;
  /** V2's */
  readonly requestId: string;
  /** the registry knows more of it than the engine */
  readonly known: boolean;
}

/** A change of the routes, taken as a whole: its models are added or replaced, those that are gone are removed, the others are kept. */
export interface RouteTable {
  readonly epoch: number;
  readonly models: readonly ModelRoute[];
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

export interface ModelStats {
  readonly handle: number;
  readonly requestsInline: number;
  readonly requestsQueued: number;
  readonly failures: number;
  readonly cancelled: number;
  readonly queueFull: number;
  readonly queueNs: number;
  readonly computeNs: number;
  /** since 1970; 0 = none yet */
  readonly lastInferenceMs: number;
  /** rows (requests where the model has no batch dim) */
  readonly inferenceCount: number;
  /** runs of the backend */
  readonly executionCount: number;
  /** whole requests */
  readonly success: DurationStat;
  readonly fail: DurationStat;
  readonly queue: DurationStat;
  /** decode and gather */
  readonly computeInput: DurationStat;
  readonly computeInfer: DurationStat;
  /** scatter and encode */
  readonly computeOutput: DurationStat;
  readonly batches: readonly BatchStat[];
  /** queue full or timed out while waiting */
  readonly rejected: number;
  /** waiting now */
  readonly pending: number;
}

export interface EngineStats {
  readonly models: readonly ModelStats[];
  /** request tensor bytes copied between body and backend */
  readonly tensorBytesCopied: number;
  /** request tensor bytes handed over as views */
  readonly tensorBytesViewed: number;
  readonly bodiesOpen: number;
  readonly ticketsOpen: number;
}

/** Which requests are traced: those of one model, or ("") of all models without a rule of their own. Setting a rule begins its counts anew. */
export interface TraceRule {
  readonly model: string;
  /** false: the model has no rule of its own any more */
  readonly own: boolean;
  readonly on: boolean;
  /** one in so many; 0 = only those whose caller traces them */
  readonly rate: number;
  /** how many still; -1 = any number */
  readonly count: number;
}

export interface TraceRules {
  /** those that change */
  readonly rules: readonly TraceRule[];
  /** whether callers' trace context counts */
  readonly parents: boolean;
}

/** A request that was traced, when it had ended. Times in nanoseconds. */
export interface TraceRecord {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  /** empty: nobody's child */
  readonly parentId: Uint8Array;
  readonly traceState: string;
  readonly model: string;
  readonly version: string;
  /** V2's */
  readonly requestId: string;
  /** Protocol */
  readonly protocol: number;
  /** ErrorCode */
  readonly code: number;
  /** since 1970 */
  readonly startS: number;
  /** and what is over */
  readonly startNs: number;
  /** the same instant on the clock that does not go back */
  readonly steadyNs: string;
  readonly totalNs: number;
  readonly queueNs: number;
  readonly inputNs: number;
  readonly inferNs: number;
  readonly outputNs: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly rows: number;
  /** empty: run alone */
  readonly batchTraceId: Uint8Array;
  readonly batchSpanId: Uint8Array;
  readonly batchRequests: number;
  readonly batchRows: number;
}

/** What takeTraces() answers. */
export interface TraceTake {
  readonly records: readonly TraceRecord[];
  /** of each rule that is set, with what is left of its count */
  readonly left: readonly TraceRule[];
}

/** Which requests are logged: of these models, and of all others. */
export interface RequestLogRate {
  /** "" = every one that has no row */
  readonly model: string;
  /** 0 .. 1 */
  readonly rate: number;
  /** what did not come as TensorFlow Serving's messages is made one */
  readonly tensorflow: boolean;
}

export interface RequestLogRates {
  readonly rates: readonly RequestLogRate[];
}

/** A logged request and what it was answered, as they were on the wire. */
export interface LoggedRequest {
  /** a Protocol */
  readonly protocol: number;
  /** as logs call it */
  readonly protocolName: string;
  /** an ErrorCode */
  readonly code: number;
  readonly model: string;
  readonly version: string;
  readonly id: string;
  /** since 1970, when it ended */
  readonly timeMs: number;
  readonly totalUs: number;
  /** of the request: JSON before binary data; -1 = all of it */
  readonly jsonBytes: number;
  /** likewise, 0 = all; of an error: what is missing, before its text */
  readonly responseJsonBytes: number;
  readonly request: Uint8Array;
  readonly response: Uint8Array;
  /** request 1, response 2: TensorFlow Serving's messages; or none */
  readonly tensorflow: Uint8Array;
  /** why there is none */
  readonly tensorflowFault: string;
}

export interface RequestLogBatch {
  readonly requests: readonly LoggedRequest[];
  /** for want of room since the last one */
  readonly dropped: number;
  readonly more: boolean;
}
