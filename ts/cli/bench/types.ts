// What `serval bench` measures and reports. Types only; any thread.
// The report is written as it is by `--json` and read by the page (docs/guides/bench.md).

/** What is between the caller and the model. `engine`: no transport, the library's call;
 * `v1-json`, `grpc-predict`: TensorFlow Serving's APIs; the others: V2. */
export type BenchPath =
  | 'engine'
  | 'rest-json'
  | 'rest-binary'
  | 'grpc'
  | 'v1-json'
  | 'grpc-predict';

/** closed: so many requests are in flight; open: so many are sent a second, whatever comes back. */
export type BenchLoop = 'closed' | 'open';

/** What one measurement is asked for. Exactly one of `concurrency` and `rate` is above 0. */
export interface BenchPlan {
  readonly path: BenchPath;
  readonly loop: BenchLoop;
  /** Requests in flight (closed). */
  readonly concurrency: number;
  /** Requests a second (open). */
  readonly rate: number;
  /** Rows of one request; 0 where the model has no batch dimension. */
  readonly batch: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
}

/** Microseconds, from the moment when a request was to be sent to the end of its answer: in an open
 * loop waiting for a slow server counts. */
export interface BenchLatency {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface BenchPoint extends BenchPlan {
  /** Answered without an error within `seconds`. */
  readonly answered: number;
  /** Answered with an error or not at all; they are in no latency. */
  readonly failed: number;
  /** The first error's words. */
  readonly firstError?: string | undefined;
  /** Requests a second, and rows a second (the same where `batch` is 0). */
  readonly requestsPerSecond: number;
  readonly rowsPerSecond: number;
  readonly latency: BenchLatency;
  /** Cores that the load itself kept busy: near 1 a thread, the load was the limit. */
  readonly clientCores: number;
  /** Cores that the server kept busy; undefined where it is on another machine. */
  readonly serverCores?: number | undefined;
  /** Open loop: the median from the moment when a request was due to when it was sent: part of the
   * latency that is the client's own (its clock, its threads), or that of a server so slow that no
   * connection was free. */
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
  /** Where the server was: "this process' child", or the URL. */
  readonly server: string;
  readonly points: readonly BenchPoint[];
  /** What `--tune` tried and found. */
  readonly tuned?: TuneReport | undefined;
}

/** Settings that `--tune` measured. */
export interface TuneTrial {
  readonly settings: TunedSettings;
  /** Why they were tried, in words. */
  readonly why: string;
  readonly points: readonly BenchPoint[];
  /** The point with the most rows a second among those that keep the bound and lost no request. */
  readonly best?: BenchPoint | undefined;
  /** Why it ended early, or could not begin. */
  readonly problem?: string | undefined;
}

export interface TuneReport {
  /** Of p99, in microseconds; undefined: any. */
  readonly latencyBound?: number | undefined;
  /** The first one is the server's defaults. */
  readonly trials: readonly TuneTrial[];
  /** Of `trials`; undefined where none kept the bound. */
  readonly best?: number | undefined;
  /** What was done and why, a line each. */
  readonly steps: readonly string[];
  /** The text of a config.pbtxt by which the best is served. */
  readonly config: string;
  /** TensorFlow Serving's batching parameters that do the same, where asked for. */
  readonly batchingParameters?: string | undefined;
}

/** Runs one measurement. Rejects where it can't be made at all (no server, a request that the
 * model refuses); single failures are counted in the point. */
export type Measure = (plan: BenchPlan) => Promise<BenchPoint>;

/** What `--tune` may change of a model; undefined = the server's default. */
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
