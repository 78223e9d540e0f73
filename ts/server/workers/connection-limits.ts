// How many connections the listeners may hold, so that descriptors do not run out. Control plane,
// main thread, once. Node has raised the soft limit to the hard one by then.
import { readFileSync } from 'node:fs';
import { CONNECTIONS_MAX, DESCRIPTORS_KEPT } from '../../base/limits.js';

export interface ConnectionLimits {
  /** Of one HTTP listener thread. */
  readonly http: number;
  /** Of a listener in the addon, all its threads together. */
  readonly native: number;
}

/** Of `descriptors`, which the process may open, less those kept for files and for ourselves: half
 * for each transport. `wanted`: --max-connections, of each port; 0 = as many as there may be. */
export function connectionLimits(
  descriptors: number,
  httpThreads: number,
  wanted: number,
): ConnectionLimits {
  const free = Math.floor(Math.max(0, descriptors - DESCRIPTORS_KEPT - 8 * httpThreads) / 2);
  const half = wanted === 0 ? free : Math.min(wanted, free);
  const within = (count: number): number => Math.max(1, Math.min(CONNECTIONS_MAX, count));
  return { http: within(Math.floor(half / httpThreads)), native: within(half) };
}

/** The soft limit of open files; Infinity where it cannot be read or there is none. */
export function openFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}
