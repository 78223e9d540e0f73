// Whether the process may start the threads that it needs: pids.max of a control group and
// ulimit -u count them. Without them a server hangs in its start, or says that it is ready and
// answers no inference. Control plane, main thread, once, before anything else starts threads.
import { stat } from 'node:fs/promises';
import { ErrorCode, ServalError } from '../base/errors.js';

/** Node's pool for files and names, which ends the process where one is missing. */
const LIBUV_THREADS = 4;
/** A load (or an import), an instance that runs a model, metrics, and a watch of deadlines. */
const ENGINE_THREADS = 4;

/** What settings say of threads. */
export interface ThreadSettings {
  readonly httpThreads: number;
  readonly grpcThreads: number;
  /** Of ONNX Runtime's pool, which the caller's own thread is one of; 0 = as many as processors. */
  readonly intraOpThreads: number;
  readonly processors: number;
}

/** Threads that the server starts beside those that it has. */
export function threadNeed(settings: ThreadSettings): number {
  const { httpThreads, grpcThreads, intraOpThreads, processors } = settings;
  const runtime = Math.max(1, intraOpThreads || processors) - 1;
  // Each HTTP thread has a front.
  return 2 * httpThreads + grpcThreads + runtime + ENGINE_THREADS;
}

/** Answers how many threads can be started, at most as many as asked for. */
type Startable = (wanted: number) => number;

/** Starts Node's pool. Errors: RuntimeUnavailable: too few threads for it. */
export async function startNodePool(startable: Startable): Promise<void> {
  refuseFewer(LIBUV_THREADS, startable);
  await stat('/');
}

/** Behind startNodePool(). Errors: RuntimeUnavailable: too few threads for the server. */
export function requireThreads(settings: ThreadSettings, startable: Startable): void {
  refuseFewer(threadNeed(settings), startable);
}

function refuseFewer(needed: number, startable: Startable): void {
  const had = startable(needed);
  if (had >= needed) return;
  throw new ServalError(
    ErrorCode.RuntimeUnavailable,
    `not started: the server needs ${needed} threads more than it has, and only ${had} could be ` +
      'started: raise the limit of processes and threads (pids.max of the control group, ' +
      'docker run --pids-limit, podPidsLimit, ulimit -u), or lower --http-threads, ' +
      '--grpc-threads or --intra-op-threads',
  );
}
