// Schedules scans of folders and files: periodically, sooner if something has to settle, and on
// request; never two scans at once. Control plane, main thread. It knows no models.
import type { Clock } from '../clock.js';

export interface Watched {
  /** Name for messages. */
  readonly what: string;
  /** From the end of one scan to the start of the next; undefined = only on request. */
  readonly everyMs: number | undefined;
  /** Returns whether a change that it saw has to settle first. */
  look(): Promise<boolean>;
}

export interface WatcherOptions {
  readonly clock: Clock;
  /** Delay of the next scan if a change has to settle. */
  readonly settleMs: number;
  /** Called when a scan rejects; the next one runs as scheduled. */
  readonly failed: (what: string, error: unknown) => void;
}

/** How often lookNow() repeats the scan of things that keep changing. */
const LOOKS_AGAIN_MAX = 4;

interface Waiter {
  readonly pending: Set<Watched>;
  readonly resolve: () => void;
}

export class Watcher {
  #watched: readonly Watched[];
  readonly #options: WatcherOptions;
  readonly #dueMs = new Map<Watched, number>();
  #waiters: Waiter[] = [];
  /** Those whose latest scan saw a change that has to settle. */
  readonly #unsettled = new Set<Watched>();
  /** Settles when all running and queued scans have ended. */
  #queue: Promise<void> = Promise.resolve();
  #cancel: (() => void) | undefined;
  #running = false;

  constructor(watched: readonly Watched[], options: WatcherOptions) {
    this.#watched = watched;
    this.#options = options;
  }

  /** Starts the scans; the first runs one interval from now. */
  start(): void {
    this.#running = true;
    for (const one of this.#watched) this.#schedule(one, false);
    this.#arm();
  }

  /** Adds this to the scans; its first scan runs one interval from now. */
  add(one: Watched): void {
    this.#watched = [...this.#watched, one];
    this.#schedule(one, false);
    this.#arm();
  }

  /** Stops new scans; settles when the running one has ended. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#cancel?.();
    for (const { resolve } of this.#waiters) resolve();
    this.#waiters = [];
    await this.#queue;
  }

  /**
   * Scans everything now, then repeats for changes that have to settle, a few times at most: a
   * settled file may add folders that have to settle themselves.
   */
  async lookNow(): Promise<void> {
    let unsettled = await this.exclusive(() => this.#lookAt(this.#watched));
    for (let again = 0; again < LOOKS_AGAIN_MAX; again += 1) {
      if (unsettled.length === 0 || !this.#running) return;
      await this.#next(unsettled);
      unsettled = unsettled.filter((one) => this.#unsettled.has(one));
    }
  }

  /** Settles when each of these was scanned once more. */
  #next(chosen: readonly Watched[]): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ pending: new Set(chosen), resolve });
    });
  }

  /** Runs `work` while no scan is running. Settles with its result or error. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }

  /** Returns those that have a change that has to settle. */
  async #lookAt(chosen: readonly Watched[]): Promise<readonly Watched[]> {
    const unsettled: Watched[] = [];
    for (const one of chosen) {
      const waits = await this.#lookAtOne(one);
      if (waits) unsettled.push(one);
      this.#schedule(one, waits);
    }
    this.#arm();
    return unsettled;
  }

  async #lookAtOne(one: Watched): Promise<boolean> {
    // Resolves only those already waiting: a running scan may have missed the latest change.
    const waiters = this.#waiters.filter(({ pending }) => pending.has(one));
    try {
      const waits = await one.look();
      if (waits) this.#unsettled.add(one);
      else this.#unsettled.delete(one);
      return waits;
    } catch (error) {
      this.#options.failed(one.what, error);
      this.#unsettled.delete(one);
      return false;
    } finally {
      for (const { pending, resolve } of waiters) {
        pending.delete(one);
        if (pending.size === 0) resolve();
      }
      this.#waiters = this.#waiters.filter(({ pending }) => pending.size > 0);
    }
  }

  #schedule(one: Watched, unsettled: boolean): void {
    const { settleMs, clock } = this.#options;
    const everyMs = one.everyMs ?? Infinity;
    const waitMs = unsettled ? Math.min(everyMs, settleMs) : everyMs;
    if (waitMs < Infinity) this.#dueMs.set(one, clock.nowMs() + waitMs);
    else this.#dueMs.delete(one);
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (!this.#running || this.#dueMs.size === 0) return;
    const { clock } = this.#options;
    const soonest = Math.min(...this.#dueMs.values());
    this.#cancel = clock.after(Math.max(0, soonest - clock.nowMs()), () => {
      void this.exclusive(() => this.#lookAt(this.#due()));
    });
  }

  #due(): readonly Watched[] {
    const nowMs = this.#options.clock.nowMs();
    if (!this.#running) return [];
    return this.#watched.filter((one) => (this.#dueMs.get(one) ?? Infinity) <= nowMs);
  }
}
