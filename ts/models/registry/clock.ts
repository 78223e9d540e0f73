// Monotonic clock and timers, so that changes of the system time have no effect. Control plane,
// main thread.

export interface Clock {
  /** Milliseconds since an arbitrary moment; never goes back. */
  nowMs(): number;
  /** Runs `call` once, `ms` from now; the returned function cancels it. */
  after(ms: number, call: () => void): () => void;
}

/** Timers do not keep the process alive. */
export const SYSTEM_CLOCK: Clock = {
  nowMs: () => performance.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms).unref();
    return () => clearTimeout(timer);
  },
};
