// Deadlines, cancellation and repetition of calls. Any thread of any JavaScript runtime. Source:
// gRFC A6 (retries, throttling) for the budget and the backoff.
import { ClientError } from './errors.js';
import type { CallOptions, ClientOptions, RetryOptions } from './types.js';

/** Time and chance; tests replace them. */
export interface Clock {
  /** Milliseconds. */
  now(): number;
  /** From 0 to 1. */
  random(): number;
  /** Settles after the time, or when the signal ends it. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export const CLOCK: Clock = {
  now: () => performance.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
      if (signal?.aborted === true) done();
    }),
};

export const TIMEOUT_MS = 60_000;
/** The longest delay of a timer. */
const TIMER_MS_MAX = 2_147_483_647;

/** The client's tokens: a server that keeps failing is not loaded with retries. */
export class RetryBudget {
  readonly #max: number;
  readonly #ratio: number;
  #tokens: number;

  constructor({ budget = 100, budgetRatio = 0.1 }: RetryOptions = {}) {
    this.#max = budget;
    this.#ratio = budgetRatio;
    this.#tokens = budget;
  }

  succeeded(): void {
    this.#tokens = Math.min(this.#max, this.#tokens + this.#ratio);
  }

  /** Counts a failure; returns whether a retry is allowed. */
  failed(): boolean {
    this.#tokens = Math.max(0, this.#tokens - 1);
    return this.#tokens > this.#max / 2;
  }
}

/** One attempt of a call: `left` is the time in ms (undefined: no limit). */
export interface Attempt {
  readonly signal: AbortSignal;
  readonly left: number | undefined;
}

/** Runs calls with the client's defaults. */
export class Calls {
  readonly #defaults: ClientOptions;
  readonly #budget: RetryBudget;
  readonly #clock: Clock;

  constructor(defaults: ClientOptions, clock: Clock = CLOCK) {
    this.#defaults = defaults;
    this.#budget = new RetryBudget(defaults.retries);
    this.#clock = clock;
  }

  /**
   * Runs attempts until one succeeds, one fails for good, or the deadline, the attempts or the
   * budget are used up. `isRepeatable`: also after a lost connection. Errors: ClientError;
   * CANCELLED and DEADLINE_EXCEEDED of this side have no status.
   */
  async run<T>(
    where: string,
    options: CallOptions,
    isRepeatable: boolean,
    attempt: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs = this.#defaults.timeoutMs ?? TIMEOUT_MS } = options;
    const {
      attempts = 3,
      initialMs = 100,
      maxMs = 5_000,
    } = {
      ...this.#defaults.retries,
      ...options.retries,
    };
    const end = timeoutMs > 0 ? this.#clock.now() + timeoutMs : Infinity;
    const limit = new AbortController();
    const late = setTimeout(
      () => limit.abort(),
      timeoutMs > 0 ? Math.min(timeoutMs, TIMER_MS_MAX) : TIMER_MS_MAX,
    );
    const signal = options.signal ? AbortSignal.any([options.signal, limit.signal]) : limit.signal;
    try {
      for (let made = 1; ; made += 1) {
        if (signal.aborted) throw interrupted(where, options, timeoutMs, made - 1);
        try {
          const left = end - this.#clock.now();
          const result = await attempt({ signal, left: left < Infinity ? left : undefined });
          this.#budget.succeeded();
          return result;
        } catch (thrown) {
          if (signal.aborted) throw interrupted(where, options, timeoutMs, made, thrown);
          if (!(thrown instanceof ClientError)) throw thrown;
          thrown.attempts = made;
          const isRetryable =
            thrown.retry === 'unsent' || (thrown.retry === 'lost' && isRepeatable);
          if (!isRetryable || !this.#budget.failed() || made >= attempts) throw thrown;
          const upper = Math.min(maxMs, initialMs * 2 ** (made - 1));
          const wait = thrown.retryAfterMs ?? upper * (0.5 + this.#clock.random() / 2);
          if (this.#clock.now() + wait >= end) throw thrown;
          await this.#clock.sleep(wait, signal);
        }
      }
    } finally {
      clearTimeout(late);
    }
  }
}

function interrupted(
  where: string,
  { signal }: CallOptions,
  timeoutMs: number,
  attempts: number,
  cause?: unknown,
): ClientError {
  const error =
    signal?.aborted === true
      ? new ClientError('CANCELLED', `${where}: cancelled by the caller`, { cause: signal.reason })
      : new ClientError(
          'DEADLINE_EXCEEDED',
          `${where}: no response in ${Math.ceil(timeoutMs)} ms`,
          { cause },
        );
  error.attempts = attempts;
  return error;
}

/** Retry-After: seconds or a date; undefined if it is neither. */
export function retryAfterMs(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
