// Time for whatever waits: a clock that never goes back, so that changes of the system's time mean
// nothing. Control plane, main thread.

export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  nowMs(): number;
  /** Calls once, `ms` from now; the function it returns takes that back. */
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
