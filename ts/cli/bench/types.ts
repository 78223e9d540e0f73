// Measurements and report of `serval bench`. Types only; any thread. `--json` writes the report
// unchanged and the page reads it (docs/guides/bench.md).

/**
 * The transport between the caller and the model. `engine`: none, the library's call; `v1-json`,
 * `grpc-predict`: TensorFlow Serving's APIs; the others: V2.
 */
export type BenchPath =
  | 'engine'
  | 'rest-json'
  | 'rest-binary'
  | 'grpc'
  | 'v1-json'
  | 'grpc-predict';

/**
 * closed: a fixed number of requests is in flight; open: a fixed number is sent per second,
 * independent of responses.
 */
export type BenchLoop = 'closed' | 'open';

/** The order for one measurement. Exactly one of `concurrency` and `rate` is above 0. */
export interface BenchWorkload {
  readonly path: BenchPath;
  readonly loop: BenchLoop;
  /** Requests in flight (closed). */
  readonly concurrency: number;
  /** Requests per second (open). */
  readonly rate: number;
  /** Rows of one request; 0 if the model has no batch dimension. */
  readonly batch: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
}

/**
 * Microseconds, from the time a request was due to the end of its response: in an open loop,
 * waiting for a slow server counts.
 */
export interface BenchLatency {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface BenchPoint extends BenchWorkload {
  /** Answered without an error within `seconds`. */
  readonly answered: number;
  /** Answered with an error or not at all; not included in any latency. */
  readonly failed: number;
  /** The first error's message. */
  readonly firstError?: string | undefined;
  /** Requests per second, and rows per second (the same if `batch` is 0). */
  readonly requestsPerSecond: number;
  readonly rowsPerSecond: number;
  readonly latency: BenchLatency;
  /** Cores that the load itself used: near 1 per thread, the load was the limit. */
  readonly clientCores: number;
  /** Cores that the server used; undefined if it is on another machine. */
  readonly serverCores?: number | undefined;
  /**
   * Open loop: the median delay between the time a request was due and when it was sent: the
   * client's own share of the latency (its clock, its threads), or waiting for a free connection to
   * a slow server.
   */
  readonly lateMicroseconds?: number | undefined;
}

export interface BenchMachine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly node: string;
}

export interface BenchReport {
  readonly format: 1;
  readonly serval: string;
  /** ISO 8601. */
  readonly at: string;
  /** The command's arguments as they were given. */
  readonly command: readonly string[];
  readonly machine: BenchMachine;
  readonly model: { readonly name: string; readonly version: string; readonly platform: string };
  /** The server's location: "this process' child", or the URL. */
  readonly server: string;
  readonly points: readonly BenchPoint[];
  /** Trials and result of `--tune`. */
  readonly tuned?: TuneReport | undefined;
}

/** Settings that `--tune` measured. */
export interface TuneTrial {
  readonly settings: TunedSettings;
  /** Why they were tried, as text. */
  readonly why: string;
  readonly points: readonly BenchPoint[];
  /**
   * The point with the most rows per second among those that keep the bound and lost no request.
   */
  readonly best?: BenchPoint | undefined;
  /** Why it ended early, or could not begin. */
  readonly problem?: string | undefined;
}

export interface TuneReport {
  /** Bound of p99, in microseconds; undefined: none. */
  readonly latencyBound?: number | undefined;
  /** The first one is the server's defaults. */
  readonly trials: readonly TuneTrial[];
  /** Index into `trials`; undefined if none kept the bound. */
  readonly best?: number | undefined;
  /** The steps and their reasons, a line each. */
  readonly steps: readonly string[];
  /** The text of a config.pbtxt that serves the model with the best settings. */
  readonly config: string;
  /** Equivalent TensorFlow Serving batching parameters, if requested. */
  readonly batchingParameters?: string | undefined;
}

/**
 * Runs one measurement. Rejects if it cannot be made at all (no server, a request that the model
 * refuses); single failures are counted in the point.
 */
export type Measure = (workload: BenchWorkload) => Promise<BenchPoint>;

/** Model settings that `--tune` may change; undefined = the server's default. */
export interface TunedSettings {
  /** instance_group.count */
  readonly instances?: number | undefined;
  /** ONNX Runtime's intra-op threads of each instance. */
  readonly threads?: number | undefined;
  /** dynamic_batching: 0 = off. */
  readonly maxBatchSize?: number | undefined;
  readonly preferredBatchSize?: number | undefined;
  readonly maxQueueDelayMicroseconds?: number | undefined;
}

/** A server with the model under these settings, which is measured and then closed. */
export interface TunedServer {
  readonly measure: Measure;
  close(): Promise<void>;
}
export type StartTuned = (settings: TunedSettings) => Promise<TunedServer>;
