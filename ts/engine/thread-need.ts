// Checks that the process may start the threads that it needs: pids.max of a control group and
// ulimit -u limit them. Without them a server hangs at startup, or reports ready and answers no
// inference. Control plane, main thread, once, before anything else starts threads.
import { stat } from 'node:fs/promises';
import { ErrorCode, ServalError } from '../base/errors.js';

/** Node's pool for files and names; Node aborts the process if one of its threads cannot start. */
const LIBUV_THREADS = 4;
/** A load (or an import), an instance that runs a model, metrics, and a watch of deadlines. */
const ENGINE_THREADS = 4;

/** Settings that determine the number of threads. */
export interface ThreadSettings {
  /** Threads at the start; `growth`: the threads that listeners may add to them. */
  readonly httpThreads: number;
  readonly grpcThreads: number;
  readonly growth: number;
  /** Size of ONNX Runtime's pool, including the caller's thread; 0 = the number of processors. */
  readonly intraOpThreads: number;
  readonly processors: number;
}

/** Returns how many threads the server starts in addition to the current ones. */
export function threadNeed(settings: ThreadSettings): number {
  const { httpThreads, grpcThreads, growth, intraOpThreads, processors } = settings;
  const runtime = Math.max(1, intraOpThreads || processors) - 1;
  // Each HTTP thread also has a front thread.
  return 2 * httpThreads + grpcThreads + growth + runtime + ENGINE_THREADS;
}

/** Returns how many threads can be started, at most the number requested. */
type Startable = (wanted: number) => number;

/** Starts Node's pool. Errors: RuntimeUnavailable: too few threads for it. */
export async function startNodePool(startable: Startable): Promise<void> {
  refuseFewer(LIBUV_THREADS, startable);
  await stat('/');
}

/**
 * Call after startNodePool(). Returns how many threads the listeners may add, at most the growth of
 * the settings: a server that cannot add all of them starts nevertheless. Errors:
 * RuntimeUnavailable: too few threads for the server without growth.
 */
export function requireThreads(settings: ThreadSettings, startable: Startable): number {
  const had = startable(threadNeed(settings));
  const needed = threadNeed({ ...settings, growth: 0 });
  if (had < needed) refuse(needed, had);
  return Math.min(settings.growth, had - needed);
}

function refuseFewer(needed: number, startable: Startable): void {
  const had = startable(needed);
  if (had < needed) refuse(needed, had);
}

function refuse(needed: number, had: number): never {
  throw new ServalError(
    ErrorCode.RuntimeUnavailable,
    `not started: the server needs ${needed} threads more than it has, and only ${had} could be ` +
      'started: raise the limit of processes and threads (pids.max of the control group, ' +
      'docker run --pids-limit, podPidsLimit, ulimit -u), or lower --http-threads, ' +
      '--grpc-threads or --intra-op-threads',
  );
}
