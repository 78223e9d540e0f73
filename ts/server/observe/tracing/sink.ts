// Interface of trace destinations. Control plane, main thread. Types only.
import type { TraceRecord } from '../../../base/generated/engine.js';

export interface TraceSink {
  /**
   * Accepts finished traces, oldest first. Never throws, and never buffers more than its limit: it
   * counts the traces that it loses, now or later.
   */
  write(records: readonly TraceRecord[]): void;
  /** Returns the number of traces lost since the last call. */
  takeLost(): number;
  /** Writes buffered traces until a timeout, then gives up. */
  close(): Promise<void>;
}
