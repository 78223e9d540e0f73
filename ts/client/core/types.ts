// Arguments and results of the client. Types only; any thread of any JavaScript runtime.

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

export type Scalar = number | bigint | boolean | string | null | Uint8Array;

/** A scalar, nested lists, or a typed array; lists may contain typed arrays. */
export type Values = Scalar | TypedArray | readonly Values[];

export type Parameters = Readonly<Record<string, string | number | bigint | boolean>>;

/** Values with facts that they do not carry themselves. */
export interface TensorInput {
  /** Flat or nested. */
  readonly data: Values;
  readonly shape?: readonly number[] | undefined;
  /** Default: the model's, else that of the typed array. */
  readonly datatype?: string | undefined;
  /** Parameters of V2's tensor. */
  readonly parameters?: Parameters | undefined;
}

export type Inputs = Readonly<Record<string, Values | TensorInput>>;

export type Cell = number | bigint | boolean | string | null | readonly Cell[];

/**
 * A typed array of the datatype's class: Float32Array for FP16 and BF16, Uint8Array of 0 and 1 for
 * BOOL. BYTES are a list of strings, with a Uint8Array for an element that is not UTF-8. Datatypes
 * that V2 does not define, and lists with missing values of tabular models (null), are JSON values.
 */
export type TensorData = TypedArray | readonly (string | Uint8Array)[] | readonly Cell[];

export interface Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: TensorData;
  readonly parameters: Parameters;
}

/** By output name, in the order of the response. */
export type Outputs = Readonly<Record<string, Tensor>>;

/** A requested output. */
export interface RequestedOutput {
  readonly name: string;
  /** Returns the K largest elements as "value:index[:label]". */
  readonly classification?: number | undefined;
  readonly parameters?: Parameters | undefined;
}

/** Repetition of failed calls. */
export interface RetryOptions {
  /** The most attempts of one call, including the first. Default: 3; 1 disables retries. */
  readonly attempts?: number | undefined;
  /** Upper limit of the wait before the second attempt; it doubles for each further one. Default:
   * 100 ms. The wait is random between half of the limit and the limit. */
  readonly initialMs?: number | undefined;
  /** Default: 5,000 ms. */
  readonly maxMs?: number | undefined;
  /** Tokens of the client's retry budget, as in gRPC's retry throttling: a failed attempt uses one,
   * a successful call returns `budgetRatio`, and calls are repeated only while more than half of
   * the tokens are left. Set for the client, not for a call. Default: 100. */
  readonly budget?: number | undefined;
  /** Default: 0.1. */
  readonly budgetRatio?: number | undefined;
}

export interface CallOptions {
  /** The time that the call may take with all its attempts. Default: the client's; 0: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Cancels the call. */
  readonly signal?: AbortSignal | undefined;
  /** Additional headers; gRPC metadata. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly retries?: RetryOptions | undefined;
  /** Compresses the request. Default: the client's. */
  readonly compression?: 'gzip' | 'deflate' | 'none' | undefined;
}

export interface VersionOptions extends CallOptions {
  /** Default: the server's choice. */
  readonly version?: string | number | undefined;
}

/** The position of a request in a sequence, for models that keep state. */
export interface SequenceOptions {
  readonly id: number | bigint | string;
  readonly start?: boolean | undefined;
  readonly end?: boolean | undefined;
}

export interface InferOptions extends VersionOptions {
  /** The requested outputs, by name or with their parameters. Default: all. */
  readonly outputs?: readonly (string | RequestedOutput)[] | undefined;
  /** Returned in the response. */
  readonly id?: string | undefined;
  /** Parameters of V2's request. */
  readonly parameters?: Parameters | undefined;
  readonly sequence?: SequenceOptions | undefined;
  /** V2's `priority`: 1 is the highest. */
  readonly priority?: number | undefined;
  /** V2's `timeout`: the longest time in the server's queue, in microseconds. */
  readonly queueTimeoutUs?: number | undefined;
  /** Requests the K best classes of each output that `outputs` names. */
  readonly classification?: number | undefined;
  /** REST only: whether tensors are sent and requested as bytes. Default: if the server has the
   * extension binary_tensor_data. */
  readonly binary?: boolean | undefined;
  /** Returns FP16 and BF16 as Uint16Array of their bits, BYTES as Uint8Array. */
  readonly raw?: boolean | undefined;
}

export interface InferResult<O = Outputs> {
  readonly model: string;
  readonly version: string;
  /** "" if the response has none. */
  readonly id: string;
  readonly parameters: Parameters;
  readonly outputs: O;
}

export interface TensorInfo {
  readonly name: string;
  readonly datatype: string;
  /** -1 is a free dimension. */
  readonly shape: readonly number[];
}

export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

export interface ModelIndex {
  readonly name: string;
  readonly version: string;
  readonly state: string;
  readonly reason: string;
}

/** A JSON document of the server. */
export type Document = Readonly<Record<string, unknown>>;

export interface LoadOptions extends CallOptions {
  /** Replaces the model's config.pbtxt: an object, or its JSON. */
  readonly config?: Document | string | undefined;
  readonly parameters?: Parameters | undefined;
}

export interface IndexOptions extends CallOptions {
  /** Only models that are ready. */
  readonly ready?: boolean | undefined;
}

export interface ClientOptions {
  /** The default of each call's `timeoutMs`. Default: 60,000; 0: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Sent as `Authorization: Bearer KEY`. */
  readonly apiKey?: string | undefined;
  /** Another header for the key, without "Bearer". */
  readonly apiKeyHeader?: string | undefined;
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly retries?: RetryOptions | undefined;
  readonly compression?: 'gzip' | 'deflate' | 'none' | undefined;
}

/** Options of a client over REST. */
export interface RestOptions extends ClientOptions {
  /** Default: the runtime's. */
  readonly fetch?: typeof fetch | undefined;
}

/** TLS in Node: PEM texts or DER bytes. */
export interface TlsOptions {
  /** Trusted authorities. Default: Node's. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /** The client's certificate and its key. */
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
  readonly passphrase?: string | undefined;
  /** The expected name in the server's certificate. Default: the URL's host. */
  readonly serverName?: string | undefined;
  /** Default: true. */
  readonly rejectUnauthorized?: boolean | undefined;
}
