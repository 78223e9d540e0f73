// Attaches a thread to the engine. Control plane, any thread, once each. Not in engine.ts, so
// that the listeners' threads load no code that only the control calls need.
import { loadBinding, onnxruntimeLibrary, type AttachOptions } from './binding.js';
import { EngineLink } from './link.js';

export interface EngineOptions {
  readonly onnxruntimeLibrary?: string | undefined;
  readonly intraOpThreads?: number | undefined;
  readonly bodyBytesMax?: number | undefined;
  readonly inflatedBytesMax?: number | undefined;
  readonly responseBytesMax?: number | undefined;
  readonly jsonDepthMax?: number | undefined;
  readonly inFlightMax?: number | undefined;
  readonly loadThreads?: number | undefined;
  /** How long an unload waits for requests that run before it ends them. */
  readonly unloadMsMax?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
  readonly pinnedPoolBytes?: number | undefined;
  readonly restTimeoutUs?: number | undefined;
  readonly metrics?: boolean | undefined;
  readonly tfTensorContent?: boolean | undefined;
  readonly tfCheckMethod?: boolean | undefined;
  /** Whether the process lives while this thread is attached; default true. */
  readonly keepsProcess?: boolean | undefined;
  /** Models whose sessions are in processes of their own, `all`, `none`. */
  readonly isolate?: readonly string[] | undefined;
  /** Whether models on GPUs are in processes of their own by themselves; default false. */
  readonly isolatesGpus?: boolean | undefined;
  /** One word that all threads share: 1 where callers' trace context counts. */
  readonly tracing?: SharedArrayBuffer | undefined;
}

/** Attaches this thread to the process's engine (made by the first thread that attaches).
 * Throws ServalError(RuntimeUnavailable) when the addon cannot be loaded. */
export function openLink(options: EngineOptions): EngineLink {
  // ONNX Runtime reports usage to its maker by default (1.30). The backend turns that off too; the
  // variable is set here because changing the environment is safe only before threads run.
  process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
  const { tracing, isolate: _isolate, isolatesGpus: _isolatesGpus, ...rest } = options;
  const attach: Record<string, unknown> = {
    ...rest,
    onnxruntimeLibrary: onnxruntimeLibrary(options.onnxruntimeLibrary),
  };
  return new EngineLink(loadBinding(), attach as unknown as AttachOptions, tracing);
}
