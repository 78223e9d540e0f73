// The number of threads of a native listener: fixed, or growing with the load
// (native/transport/threads.h). Pure; control plane, at start.

/** The value of --http-threads and --grpc-threads. */
export type ListenerThreads = number | 'auto';

/** The settings of a native listener about its threads. */
export interface ThreadRange {
  /** Threads at the start. */
  readonly threads: number;
  /** Threads are added up to this number while they are busy. Absent: never. */
  readonly threadsMax?: number;
  /** Cores that the process may use; only together with `threadsMax`. */
  readonly cores?: number;
}

/** A thread that a listener added. */
export interface ThreadAdded {
  /** The number of threads now. */
  readonly threads: number;
  /** The part of its time that the busy thread worked, in percent. */
  readonly busyPercent: number;
  /** Free cores before. */
  readonly freeCores: number;
}

/** The most threads that "auto" may reach: models keep the other half of the cores. */
export function threadsMax(asked: ListenerThreads, cores: number): number {
  return asked === 'auto' ? Math.max(1, Math.floor(cores / 2)) : asked;
}

/**
 * `most`: a limit of "auto" besides the cores. Without room for a second thread, nothing is
 * measured.
 */
export function threadRange(asked: ListenerThreads, cores: number, most = Infinity): ThreadRange {
  if (asked !== 'auto') return { threads: asked };
  const max = Math.min(threadsMax(asked, cores), most);
  return max > 1 ? { threads: 1, threadsMax: max, cores } : { threads: 1 };
}

/** The threads of a port that HTTP and gRPC share: the larger number, if any is given. */
export function sharedThreads(http: ListenerThreads, grpc: ListenerThreads): ListenerThreads {
  if (http === 'auto') return grpc;
  return grpc === 'auto' ? http : Math.max(http, grpc);
}
