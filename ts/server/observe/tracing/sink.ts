// Where traces go. Control plane, main thread. Types only.
import type { TraceRecord } from '../../../base/generated/engine.js';

export interface TraceSink {
  /** Takes traces that have ended, oldest first. Never throws, and never keeps more than its limit:
   * what it loses, now or later, it counts. */
  write(records: readonly TraceRecord[]): void;
  /** How many traces were lost since the last call. */
  takeLost(): number;
  /** Writes what waits, for a while; then gives up. */
  close(): Promise<void>;
}
