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
  /** request over a byte limit, including its decompressed size */
  BodyTooLarge = 8,
  /** unsupported Content-Encoding */
  UnsupportedEncoding = 9,
  QueueFull = 10,
  /** a feature that this server does not have */
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
  /** a bug in Serval */
  Internal = 18,
  /** the --memory-limit budget, or memory itself, is exhausted */
  MemoryFull = 19,
  /** a limit of the model or of the caller's key */
  LimitReached = 20,
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
  /** the result follows as a completion */
  Pending = 255,
}

/** Events of a native listener, for the JavaScript thread that answers forwarded calls. Each is six u32 words (EventWord) and a payload, padded to whole words. */
export enum ListenerEvent {
  /** a call of a forwarded method; value: its index; payload: f64, its */
  Open = 0,
  /** payload: the message */
  Message = 1,
  /** the client has half-closed */
  HalfClosed = 2,
  /** the call and its client are gone */
  Closed = 3,
  /** value: responses of a stream that were written */
  Left = 4,
  /** a call of a native method failed because a name is missing; value: */
  Explain = 5,
  /** value: connections; further ones are refused */
  Full = 6,
  /** value: 0 = reloaded, 1 = failed (payload: why) */
  Certificates = 7,
  /** value: calls that were cut; payload: the models of those that were */
  Drained = 8,
  /** value: failed TLS handshakes so far; payload: the last one's */
  HandshakeFailed = 9,
  /** an HTTP request; value: bits of RequestFlag; payload: its method, */
  Request = 10,
  /** a piece of its body; value: 1 = the last one */
  Data = 11,
  /** a request that the engine ran failed; value: the number of its */
  Failed = 12,
  /** bytes that are not a request were refused; value: the status; */
  Refused = 13,
  /** a listener thread was added; value: their number; payload: u32, the */
  ThreadAdded = 14,
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

/** Commands from that thread to the listener, about a call. */
export enum ListenerCommand {
  /** sends bytes */
  Message = 0,
  /** value: the status; bytes: its text */
  Finish = 1,
  /** value: 1 = no more messages for now; for an HTTP request, 0 = send */
  Pause = 2,
  /** value: the status of the failed call; bytes: its text */
  ExplainedStatus = 3,
  /** bytes: the reply to a stream's failed request */
  ExplainedReply = 4,
  /** to an HTTP request; value: its status; bytes: u32 size of the lines, */
  Answer = 5,
  /** the engine may answer requests like this one; value: the model's */
  Learn = 6,
}

/** Words of the block of u32 that a JavaScript thread shares with the engine. */
export enum LinkWord {
  /** length of the response or of the error's text */
  Bytes = 0,
  /** JSON before binary data; for an error: size of Missing before it */
  JsonBytes = 1,
  /** of a pending request or an open body */
  Ticket = 2,
  /** of slot 0's memory */
  Generation = 3,
  /** 1: this call's request is traced, with these ids: */
  Traced = 4,
  /** four words, its bytes in wire order */
  TraceId = 5,
  /** two words */
  SpanId = 9,
  /** the completions */
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
  /** how long it waited for its model's load, rounded up; 0: it did not */
  LoadWaitMs = 6,
  /** per completion */
  Words = 7,
}

/** The naming scheme of metrics(). */
export enum MetricsKind {
  Triton = 0,
  TensorFlow = 1,
}

/** Content-Encodings that the engine decompresses. */
export enum PackedCoding {
  Gzip = 0,
  Deflate = 1,
}

export type ExecMode = 'auto' | 'inline' | 'queued';

/** Whether waiting requests of one model run together. Off: never. Auto: batches only requests that have to wait anyway, and only if the first dim is proven to be the batch; a fast model still runs requests inline, one by one. On: every request goes through the batcher. */
export type BatchMode = 'off' | 'auto' | 'on';

/** Whether the rows of a batch are independent, read from a graph. Unknown: not analysed. Proved: row i of every output depends on row i of the inputs alone. Coupled: rows influence each other's results, or are not the first axis of an output. Unproved: an operator has no rule. */
export type RowsVerdict = 'unknown' | 'proved' | 'coupled' | 'unproved';

/** The result of the probe at load that runs rows together. Untried: it was not needed. Contradicted: results differ. Undecided: a run was refused, results are not repeatable, or it takes too long. */
export type BatchProof = 'untried' | 'proven' | 'contradicted' | 'undecided';

export type TimeoutAction = 'reject' | 'delay';

/** The values of an input that the server computes from the shapes that a source has in the requests of a batch (Triton's batch_input). Counts have one entry per request, item shapes one per row. */
export type BatchInputKind = 'elementcount' | 'accumulatedelementcount' | 'accumulatedelementcountwithzero' | 'maxelementcountasshape' | 'itemshape' | 'itemshapeflatten';

/** Whether a model whose CUDA graphs cannot be recorded fails to load (Required) or runs without them. Known: it also runs without them if its inputs have free dims besides the batch. */
export type GraphUse = 'required' | 'optional' | 'known';

/** Direct: a sequence has a row of an instance's batches. Oldest: batches take the oldest requests. */
export type SequenceStrategy = 'direct' | 'oldest';

/** A signal about a request. Ready: its row has one. */
export type SequenceSignal = 'start' | 'ready' | 'end' | 'id';

export type MissingPart = 'model' | 'version' | 'label' | 'ready' | 'number' | 'int64' | 'signature' | 'limit';

/** The ranks of an unchecked input that the operator after it accepts. */
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
  /** per dim, "" if it has no symbolic name */
  readonly symbols: readonly string[];
  readonly unknownRank: boolean;
  /** requests are not checked against the shape */
  readonly unchecked?: boolean;
  readonly ranks?: RankRule;
  /** a TensorProto, used if a request omits the input */
  readonly defaultProto?: Uint8Array;
  /** outputs: class names stored in the model */
  readonly labels?: readonly string[];
  /** optional inputs: the configuration lists it */
  readonly inConfig?: boolean;
}

export interface Signature {
  readonly name: string;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** SignatureDef.method_name; absent: the format has none */
  readonly methodName?: string;
  /** the graph runs without them; `inputs` has the others */
  readonly optionalInputs?: readonly TensorSpec[];
}

/** A constant shared by the graphs of a model: raw little-endian elements in a file. */
export interface Weight {
  /** the initializer's name in every graph that uses it */
  readonly name: string;
  readonly datatype: DType;
  readonly dims: readonly number[];
  /** index into ModelSpec.weight_files */
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
  /** over exactly these bytes; absent: not checked */
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
  /** with the names that clients use */
  readonly signature: Signature;
  /** the ModelProto */
  readonly model: Uint8Array;
  /** names in the ONNX graph, in the signature's order */
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** indices into ModelSpec.weights */
  readonly weights: readonly number[];
  readonly states: readonly GraphState[];
}

/** The result of the analysis for one signature. */
export interface RowsFinding {
  readonly signature: string;
  readonly verdict: RowsVerdict;
  /** the first node that prevents the proof, and why */
  readonly text: string;
}

/** The common form of TensorFlow Serving's batching parameters and Triton's dynamic_batching. A row is one entry along the first dim. */
export interface BatchPolicy {
  readonly mode: BatchMode;
  /** largest batch */
  readonly rowsMax: number;
  /** larger requests are refused; 0 = any */
  readonly requestRowsMax: number;
  /** ascending; a batch of such a size starts at once */
  readonly preferredRows: readonly number[];
  /** ascending; batches are padded up to the next one */
  readonly allowedRows: readonly number[];
  /** how long the oldest request may wait for others */
  readonly delayUs: number;
  /** requests over rows_max are run in pieces */
  readonly split: boolean;
  /** trailing dims are zero-padded to the largest instead of separated */
  readonly padInner: boolean;
  /** responses keep the order of the requests */
  readonly preserveOrdering: boolean;
  /** Off unless the first dim of every input and output is free. */
  readonly onlyIfBatchable: boolean;
  /** never padded, even if the model's operators plan each shape */
  readonly anyRows: boolean;
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

/** A configuration's settings of one input or output, in any order. */
export interface TensorOverride {
  readonly name: string;
  /** the clients' shape, including the batch dim; -1 = free */
  readonly dims: readonly number[];
  /** the model's shape (reshape); empty = dims */
  readonly modelDims: readonly number[];
  /** outputs: classification labels by index */
  readonly labels: readonly string[];
  /** inputs: a request may omit it */
  readonly optional: boolean;
  /** inputs: requests of any shapes join to one flat tensor */
  readonly ragged: boolean;
}

export interface BatchInput {
  readonly input: string;
  readonly kind: BatchInputKind;
  /** INT32 or FP32 */
  readonly datatype: DType;
  /** an input of the clients */
  readonly source: string;
}

/** An output whose elements are split among the requests of a batch, by the shape of a source in each (Triton's BATCH_SCATTER_WITH_INPUT_SHAPE). */
export interface BatchOutput {
  readonly output: string;
  readonly source: string;
}

export interface Provider {
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
}

/** The options of a provider that were set by the command line or the server itself. Others come from a model's configuration and are checked: proto/runtime-options.mjs. */
export interface ServerOptions {
  readonly provider: string;
  readonly options: readonly string[];
}

/** An input or output of a step, and the ensemble's tensor that is connected with it. */
export interface EnsembleLink {
  readonly name: string;
  readonly tensor: string;
}

/** One step of an ensemble: a loaded model, with the tensors that it reads and makes. An input that the model can do without may have no link. */
export interface EnsembleStep {
  readonly handle: number;
  readonly inputs: readonly EnsembleLink[];
  readonly outputs: readonly EnsembleLink[];
}

/** An input that the server fills. */
export interface SequenceControl {
  readonly input: string;
  readonly signal: SequenceSignal;
  readonly datatype: DType;
  /** the element if the signal is off; not for Id */
  readonly off: Uint8Array;
  readonly on: Uint8Array;
}

/** An output that becomes an input of the sequence's next request. */
export interface SequenceState {
  readonly input: string;
  readonly output: string;
  readonly datatype: DType;
  /** of the initial value, without the batch dim */
  readonly dims: readonly number[];
  /** its elements in V2's binary form; empty = zeros or empty texts */
  readonly initial: Uint8Array;
}

/** Triton's sequence_batching. Batches have the sizes of ModelSpec.batch. */
export interface SequenceSpec {
  readonly strategy: SequenceStrategy;
  /** a sequence without a request for this long ends */
  readonly idleUs: number;
  /** Oldest: sequences that have a slot, per instance */
  readonly slots: number;
  /** Direct: a batch of fewer rows waits for batch.delay_us */
  readonly rowsMin: number;
  readonly controls: readonly SequenceControl[];
  readonly states: readonly SequenceState[];
  /** Iterative: a request is a sequence of its own, whose steps repeat until this output is true. "" = not iterative */
  readonly doneOutput: string;
  /** a request that is not done after as many steps fails */
  readonly stepsMax: number;
}

/** Limits of the requests of a model, or of a caller; 0 = none. Rates: a burst is one second's worth, at least 1. */
export interface LimitSpec {
  /** admitted and not yet answered */
  readonly maxInFlight: number;
  readonly requestsPerSecond: number;
  readonly rowsPerSecond: number;
}

/** A resource that a run of a model needs while the rate limiter is on. Triton's ModelRateLimiter.Resource. */
export interface RateResource {
  readonly name: string;
  /** one count for all devices */
  readonly global: boolean;
  readonly count: number;
}

/** A caller with an API key that has limits or may use some models only. */
export interface Caller {
  /** not 0; names the key for the life of the process */
  readonly number: number;
  /** the key's, for messages and metrics */
  readonly name: string;
  readonly limits: LimitSpec;
  /** patterns of model names (* and ?); empty = all models */
  readonly models: readonly string[];
  /** its share of a model's time, relative to other callers */
  readonly weight: number;
}

export interface CallerTable {
  readonly callers: readonly Caller[];
}

/** A model to load. Paths are absolute. `backend` is "onnxruntime", "tabular" (path: a plan), "ensemble" or "null". */
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
  /** Auto: runs on the listener's thread while the measured time is below this. */
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
  /** one session per device, used in turn; empty = one session */
  readonly devices?: readonly number[];
  /** ONNX Runtime session options by name */
  readonly sessionConfig?: Readonly<Record<string, string>>;
  /** instead of the file at `path`: one session per signature */
  readonly graphs?: readonly GraphSpec[];
  readonly weights?: readonly Weight[];
  readonly weightFiles?: readonly string[];
  /** indices of the weights with the states' initial values */
  readonly states?: readonly number[];
  /** a tensor model with V2's extension (tabular.md 2.1 X1) */
  readonly extendedV2?: boolean;
  /** batch sizes of CUDA graphs; 0 = a model without a batch */
  readonly graphRows?: readonly number[];
  readonly serverOptions?: readonly ServerOptions[];
  readonly graphUse?: GraphUse;
  /** requests in flight when its process ends are run once more */
  readonly retry?: boolean;
  /** in the configuration's order */
  readonly ensemble?: readonly EnsembleStep[];
  readonly ensembleSignature?: Signature;
  /** responses are cached, if the engine has a cache */
  readonly responseCache?: boolean;
  /** its requests are parts of sequences */
  readonly sequence?: SequenceSpec;
  /** ModelInfer refuses it, as in Triton: streams serve it */
  readonly decoupled?: boolean;
  /** of its requests, over all versions and listeners */
  readonly limits?: LimitSpec;
  readonly batchInputs?: readonly BatchInput[];
  readonly batchOutputs?: readonly BatchOutput[];
  /** its share of the cores, relative to other models */
  readonly turnWeight?: number;
  /** While the rate limiter is on: what a run needs; and its priority, 1 = the most runs. */
  readonly rateResources?: readonly RateResource[];
  readonly ratePriority?: number;
  /** Libraries with custom operators, absolute paths; only for a model in its own process. */
  readonly operatorLibraries?: readonly string[];
}

/** The number of a graph's nodes that a provider runs, by ONNX Runtime's name for it. */
export interface ProviderNodes {
  readonly provider: string;
  readonly nodes: number;
}

/** How a model runs on a GPU. Each instance records its own graphs; these are the first one's. */
export interface DeviceRuns {
  /** batch sizes recorded at load; 0 = a model without a batch */
  readonly graphRows: readonly number[];
  /** device memory that they took */
  readonly graphBytes: number;
  /** ascending; batches are padded to these sizes; empty = to none */
  readonly fixedRows: readonly number[];
  /** why sizes are fixed, or why there are no graphs */
  readonly why: string;
}

/** The result of a load. */
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
  /** the providers in use */
  readonly providers: readonly string[];
  /** the effective BatchPolicy.mode */
  readonly batchMode: BatchMode;
  /** the first dim of every input and output is free */
  readonly inputsBatchable: boolean;
  readonly batchProof: BatchProof;
  /** why it is not proven */
  readonly batchFinding: string;
  /** parts of the model that are not served, a sentence each */
  readonly notes?: readonly string[];
  /** set if providers besides the CPU's are in use */
  readonly nodes?: readonly ProviderNodes[];
  /** one for each signature whose graph was read */
  readonly rows?: readonly RowsFinding[];
  /** set if the model runs on a GPU */
  readonly device?: DeviceRuns;
}

export interface VersionRoute {
  readonly version: string;
  readonly handle: number;
  readonly ready: boolean;
  /** why it is not ready */
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
  /** the model is removed (a model that exists may have no versions) */
  readonly gone: boolean;
}

/** The name in a request that does not exist in the engine. Precedes the text of an error; its length is the response's JSON bytes. TypeScript formats the message, or a gRPC listener with the sentences that it was given; only a missing signature and a limit come with a text. */
export interface Missing {
  readonly part: MissingPart;
  readonly model: string;
  /** in the request, "" = none; Signature: the one that runs */
  readonly version: string;
  readonly label: string;
  /** Ready: the existing version */
  readonly foundVersion: string;
  /** Ready: why it is not ready */
  readonly reason: string;
  readonly signature: string;
  /** for V2 */
  readonly requestId: string;
  /** the registry has more information about it */
  readonly known: boolean;
  /** Limit: seconds until a request may be admitted */
  readonly retryAfterS: number;
}

/** A change of the routes, applied atomically: its models are added or replaced, those that are `gone` are removed, the others are kept. */
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
  /** rows (requests if the model has no batch dim) */
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
  /** number waiting now */
  readonly pending: number;
  /** answered from the response cache: the look-ups */
  readonly cacheHit: DurationStat;
  /** run, with a cache: the look-ups and stores */
  readonly cacheMiss: DurationStat;
}

export interface EngineStats {
  readonly models: readonly ModelStats[];
  /** request tensor bytes copied between body and backend */
  readonly tensorBytesCopied: number;
  /** request tensor bytes passed as views */
  readonly tensorBytesViewed: number;
  readonly bodiesOpen: number;
  readonly ticketsOpen: number;
}

/** Which requests are traced: those of one model, or ("") of all models without their own rule. Setting a rule resets its counts. */
export interface TraceRule {
  readonly model: string;
  /** false: removes the model's own rule */
  readonly own: boolean;
  readonly on: boolean;
  /** traces one in this many; 0 = only those whose caller traces them */
  readonly rate: number;
  /** remaining number; -1 = unlimited */
  readonly count: number;
  /** traces have inputs and outputs */
  readonly tensors: boolean;
}

export interface TraceRules {
  /** the changed rules */
  readonly rules: readonly TraceRule[];
  /** whether callers' trace context is used */
  readonly parents: boolean;
}

/** An input or output of a traced request. */
export interface TracedTensor {
  readonly name: string;
  readonly output: boolean;
  readonly datatype: DType;
  readonly shape: readonly number[];
  /** raw elements: V2's binary form */
  readonly data: Uint8Array;
  /** tabular: per row, 1 = it has no value; empty = all have one */
  readonly missing: Uint8Array;
  /** the elements are not here: too many, or in a GPU's memory */
  readonly leftOut: boolean;
}

/** A traced request, after it has ended. Times in nanoseconds. */
export interface TraceRecord {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  /** empty: a root span */
  readonly parentId: Uint8Array;
  readonly traceState: string;
  readonly model: string;
  readonly version: string;
  /** for V2 */
  readonly requestId: string;
  /** Protocol */
  readonly protocol: number;
  /** ErrorCode */
  readonly code: number;
  /** since 1970 */
  readonly startS: number;
  /** fraction of start_s */
  readonly startNs: number;
  /** the same instant on the monotonic clock */
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
  /** if its rule asks for them */
  readonly tensors: readonly TracedTensor[];
  /** the part of queue_ns before its model was loaded */
  readonly loadWaitNs: number;
}

/** The result of takeTraces(). */
export interface TraceTake {
  readonly records: readonly TraceRecord[];
  /** every rule that is set, with its remaining count */
  readonly left: readonly TraceRule[];
}

/** Which requests are logged: of these models, and of all others. */
export interface RequestLogRate {
  /** "" = every model without a row */
  readonly model: string;
  /** 0 .. 1 */
  readonly rate: number;
  /** converts other requests to TensorFlow Serving's messages */
  readonly tensorflow: boolean;
}

export interface RequestLogRates {
  readonly rates: readonly RequestLogRate[];
}

/** A logged request and its response, in wire format. */
export interface LoggedRequest {
  /** a Protocol */
  readonly protocol: number;
  /** its name in logs */
  readonly protocolName: string;
  /** an ErrorCode */
  readonly code: number;
  readonly model: string;
  readonly version: string;
  readonly id: string;
  /** since 1970, when it ended */
  readonly timeMs: number;
  readonly totalUs: number;
  /** of the request: JSON before binary data; -1 = everything */
  readonly jsonBytes: number;
  /** likewise, 0 = everything; for an error: size of Missing */
  readonly responseJsonBytes: number;
  readonly request: Uint8Array;
  readonly response: Uint8Array;
  /** request 1, response 2: TensorFlow Serving's messages; may be empty */
  readonly tensorflow: Uint8Array;
  /** why it is empty */
  readonly tensorflowFault: string;
}

export interface RequestLogBatch {
  readonly requests: readonly LoggedRequest[];
  /** for lack of space since the last one */
  readonly dropped: number;
  readonly more: boolean;
}
