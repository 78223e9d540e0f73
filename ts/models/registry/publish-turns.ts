// How often the registry may publish. One change is published at once; of a burst (a thousand
// models that load at start) what comes within a few milliseconds is published together, because a
// snapshot costs every reader the more, the more models there are. Control plane, main thread.
import { PUBLISH_EVERY_MS, PUBLISH_EVERY_MS_MAX, PUBLISH_TIMES } from '../../base/limits.js';
import type { Clock } from './clock.js';

/** How long after a publish that took `tookMs` the next one of a burst may come. Pure. */
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

  /** Whether the last publish is long enough ago. */
  get isOpen(): boolean {
    return this.#clock.nowMs() >= this.#nextMs;
  }

  /** Calls `publish` when it is; once for however many ask meanwhile, not at all when something was
   * published before. */
  whenOpen(publish: () => void): void {
    this.#cancel ??= this.#clock.after(Math.max(0, this.#nextMs - this.#clock.nowMs()), publish);
  }

  /** Publishes now; answers what `publish` answers. */
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
