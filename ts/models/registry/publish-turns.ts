// Limits how often the registry publishes. A single change is published at once; changes of a burst
// (a thousand models loading at start) within a few milliseconds are published together, because
// the cost of a snapshot for every reader grows with the number of models. Control plane, main
// thread.
import { PUBLISH_EVERY_MS, PUBLISH_EVERY_MS_MAX, PUBLISH_TIMES } from '../../base/limits.js';
import type { Clock } from './clock.js';

/** Minimum pause in a burst after a publish that took `tookMs`. Pure. */
export function publishPauseMs(tookMs: number): number {
  return Math.min(PUBLISH_EVERY_MS_MAX, Math.max(PUBLISH_EVERY_MS, tookMs * PUBLISH_TIMES));
}

export class PublishTurns {
  readonly #clock: Clock;
  #nextMs = -Infinity;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the last publish was long enough ago. */
  get isOpen(): boolean {
    return this.#clock.nowMs() >= this.#nextMs;
  }

  /**
   * Calls `publish` when it is: once for any number of calls meanwhile, and not at all if something
   * else was published before.
   */
  whenOpen(publish: () => void): void {
    this.#cancel ??= this.#clock.after(Math.max(0, this.#nextMs - this.#clock.nowMs()), publish);
  }

  /** Publishes now and returns the result of `publish`. */
  take<T>(publish: () => T): T {
    this.#cancel?.();
    this.#cancel = undefined;
    const beganMs = this.#clock.nowMs();
    try {
      return publish();
    } finally {
      const endedMs = this.#clock.nowMs();
      this.#nextMs = endedMs + publishPauseMs(endedMs - beganMs);
    }
  }
}
