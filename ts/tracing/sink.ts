// Where traces go. Control plane, main thread. Types only.
import type { TraceRecord } from '../model/generated/engine.js';

export interface TraceSink {
  /** Takes traces that have ended, oldest first. Never throws, and never keeps more than its limit:
   * what it loses, now or later, it counts. */
  write(records: readonly TraceRecord[]): void;
  /** How many traces were lost since the last call. */
  takeLost(): number;
  /** Writes what waits, for a while; then gives up. */
  close(): Promise<void>;
}

/** Lets a warning through now and then. */
export class RareWarning {
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly everyMs: number) {}

  tell(warn: () => void): void {
    const now = performance.now();
    if (now - this.#toldMs < this.everyMs) return;
    this.#toldMs = now;
    warn();
  }
}

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
