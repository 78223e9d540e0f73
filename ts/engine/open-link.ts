// Attaches a thread to the engine. Control plane, any thread, once each. Not in engine.ts, so
// that the listeners' threads load no code that only the control calls need.
import type { AttachOptions } from '../base/generated/attach-options.js';
import { loadBinding, onnxruntimeLibrary } from './binding.js';
import { EngineLink } from './link.js';

/** The options of the addon, and those that this folder applies itself. */
export interface EngineOptions extends AttachOptions {
  /** Names of models whose sessions run in their own processes; `all`, `none`. */
  readonly isolate?: readonly string[] | undefined;
  /** Whether models on GPUs run in their own processes by default; default false. */
  readonly isolatesGpus?: boolean | undefined;
  /** Folders that libraries with custom operators may be in; default none. */
  readonly operatorLibraries?: readonly string[] | undefined;
  /** One word that all threads share: 1 where the trace context of callers counts. */
  readonly tracing?: SharedArrayBuffer | undefined;
}

/** Attaches this thread to the process's engine, which the first thread that attaches makes.
 * Throws ServalError(RuntimeUnavailable) when the addon cannot be loaded, TypeError for an unknown
 * option. */
export function openLink(options: EngineOptions): EngineLink {
  // ONNX Runtime reports usage to its maker by default (1.30). The backend turns that off too; the
  // variable is set here because changing the environment is safe only before threads run.
  process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
  const { tracing, isolate: _isolate, isolatesGpus: _isolatesGpus, ...others } = options;
  const { operatorLibraries: _libraries, ...rest } = others;
  const attach: AttachOptions = {
    ...rest,
    onnxruntimeLibrary: onnxruntimeLibrary(options.onnxruntimeLibrary),
  };
  return new EngineLink(loadBinding(), attach, tracing);
}
