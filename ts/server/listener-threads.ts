// The threads of a server's listeners, from the configuration and the machine. Pure but for the
// number of cores; control plane, main thread, at start.
import type { Config } from '../config/config.js';
import { sharesPort } from '../config/server-settings.js';
import { sharedThreads, threadRange, type ThreadRange } from '../listeners/threads.js';
import { usableCores } from './usable-cores.js';

export interface ListenersThreads {
  /** JavaScript threads of the HTTP port; a native listener needs only one. */
  readonly workers: number;
  /** A disabled listener has 0 threads; without HTTP its worker remains. */
  readonly http: ThreadRange;
  readonly grpc: ThreadRange;
  /** The number of threads that all listeners together may add. */
  readonly growth: number;
}

const growthOf = ({ threads, threadsMax = threads }: ThreadRange): number => threadsMax - threads;

/** `growthMax`: a limit of the threads that are added, shared evenly by the listeners. */
export function listenerThreads(
  config: Pick<
    Config,
    | 'listeners'
    | 'httpThreads'
    | 'httpListener'
    | 'grpc'
    | 'host'
    | 'grpcHost'
    | 'httpPort'
    | 'grpcPort'
  >,
  growthMax = Infinity,
  cores = usableCores(),
): ListenersThreads {
  const { listeners, httpListener, httpThreads, grpc } = config;
  const isUws = httpListener === 'uws';
  const shares = sharesPort(config);
  const growing = shares || !listeners.http || !listeners.grpc || isUws ? 1 : 2;
  const most = 1 + Math.floor(growthMax / growing);
  const none = { threads: 0 };
  if (shares) {
    const both = threadRange(sharedThreads(httpThreads, grpc.threads), cores, most);
    return { workers: 1, http: both, grpc: both, growth: growthOf(both) };
  }
  // uWebSockets.js has a JavaScript thread for each listener thread, and adds none.
  const fixed = httpThreads === 'auto' ? 1 : httpThreads;
  const http = isUws ? { threads: fixed } : threadRange(httpThreads, cores, most);
  const ofGrpc = listeners.grpc ? threadRange(grpc.threads, cores, most) : none;
  const ofHttp = listeners.http ? http : { threads: 1 };
  const growth = growthOf(ofHttp) + growthOf(ofGrpc);
  return { workers: isUws ? fixed : 1, http: ofHttp, grpc: ofGrpc, growth };
}
