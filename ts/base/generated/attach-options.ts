// The options of attach(). Types only; any thread. Generated from proto/attach-options.mjs by proto/generate.mjs.
/** An absent or undefined option has the default of the engine. The options of the first
 * thread that attaches count for the engine. */
export interface AttachOptions {
  /** Path of libonnxruntime; empty: there is none. */
  readonly onnxruntimeLibrary?: string | undefined;
  /** Threads of the pool that all models share; 0 = the process's cores. */
  readonly intraOpThreads?: number | undefined;
  /** Threads that load and unload models. */
  readonly loadThreads?: number | undefined;
  /** How long an unload waits for running requests before it ends them. */
  readonly unloadMsMax?: number | undefined;
  /** Bytes that all requests together may hold; default: unlimited. */
  readonly memoryLimitBytes?: number | undefined;
  /** Host memory pinned for GPUs; 0 = none. */
  readonly pinnedPoolBytes?: number | undefined;
  /** How long a request waits for its model's process to return; 0 = not at all. */
  readonly isolateWaitMs?: number | undefined;
  /** Size of the response cache; 0 = none. */
  readonly responseCacheBytes?: number | undefined;
  /** Whether Triton's rate limiter schedules the runs. */
  readonly rateLimit?: boolean | undefined;
  /** Its counts, a line each: "COUNT DEVICE NAME"; device -1 = every device. */
  readonly rateLimitResources?: string | undefined;
  /** Whether requests are counted and timed. */
  readonly metrics?: boolean | undefined;
  /** Whether Triton's metrics have counters of latencies. */
  readonly latencyCounters?: boolean | undefined;
  /** Quantiles of the summaries of Triton's metrics, '0.5,0.99'; empty: no summaries. */
  readonly summaryQuantiles?: string | undefined;
  /** Largest request body after inflation. */
  readonly bodyBytesMax?: number | undefined;
  /** Largest size that a compressed REST body may inflate to. */
  readonly inflatedBytesMax?: number | undefined;
  /** Largest response. */
  readonly responseBytesMax?: number | undefined;
  /** Deepest nesting of JSON. */
  readonly jsonDepthMax?: number | undefined;
  /** Requests of one listener that may be in flight. */
  readonly inFlightMax?: number | undefined;
  /** Time limit of a REST request; 0 = none. */
  readonly restTimeoutUs?: number | undefined;
  /** Whether TensorFlow Serving's gRPC responses carry tensors as raw bytes. */
  readonly tfTensorContent?: boolean | undefined;
  /** Whether classify and regress check a signature's method name. */
  readonly tfCheckMethod?: boolean | undefined;
  /** Whether the process stays alive while this thread is attached; default true. */
  readonly keepsProcess?: boolean | undefined;
}
