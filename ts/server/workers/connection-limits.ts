// Limits the connections of the listeners, so that descriptors do not run out. Control plane, main
// thread, once. Node has already raised the soft limit to the hard one.
import { readFileSync } from 'node:fs';
import { CONNECTIONS_MAX, DESCRIPTORS_KEPT } from '../../base/limits.js';
import type { ThreadRange } from '../../listeners/threads.js';

/** Descriptors of a listener's thread: its poller, events, sockets, a reserve. */
const THREAD_DESCRIPTORS = 8;

export interface ConnectionLimits {
  /** Limit of one HTTP listener thread. */
  readonly http: number;
  /** Limit of a listener in the addon, for all its threads together. */
  readonly native: number;
}

/**
 * Splits the `descriptors` that the process may open, minus a reserve for files and internal use,
 * evenly between the transports. `wanted`: --max-connections, per port; 0 = as many as possible.
 */
export function connectionLimits(
  descriptors: number,
  { http, growth }: { readonly http: ThreadRange; readonly growth: number },
  wanted: number,
): ConnectionLimits {
  const httpThreads = http.threads;
  const kept = DESCRIPTORS_KEPT + THREAD_DESCRIPTORS * (httpThreads + growth);
  const free = Math.floor(Math.max(0, descriptors - kept) / 2);
  const half = wanted === 0 ? free : Math.min(wanted, free);
  const within = (count: number): number => Math.max(1, Math.min(CONNECTIONS_MAX, count));
  return { http: within(Math.floor(half / httpThreads)), native: within(half) };
}

/** The soft limit of open files; Infinity if it is unknown or unlimited. */
export function openFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}
