// Keeps a worker thread at idle priority, so that it uses a core only while no request needs one,
// and ends that if it finds no time. Main thread. See native/engine/control/quiet_work.h.
import { readFileSync, readlinkSync } from 'node:fs';

/** Sets idle or normal priority of a thread of this process; false: not permitted. */
export type SetIdle = (thread: number, idle: boolean) => boolean;

const CHECK_MS = 250;
/** Starved: the thread ran for less than this part of the time since the last check, */
const STARVED_RUNS = 0.1;
/** and waited for a core for more than this part. */
const STARVED_WAITS = 0.5;
/** Afterwards threads keep normal priority for this time. */
const BUSY_MS = 10_000;
const NS_PER_MS = 1e6;

/** The kernel's number of the calling thread. */
export function ownThread(): number {
  return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
}

/** Time that a thread ran, and that it waited for a core. */
export interface CoreTimes {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/** undefined: the system does not tell, or the thread has ended. */
function coreTimes(thread: number): CoreTimes | undefined {
  try {
    const text = readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1');
    const [ran = NaN, waited = NaN] = text.split(' ').map(Number);
    return { ranMs: ran / NS_PER_MS, waitedMs: waited / NS_PER_MS };
  } catch {
    return undefined;
  }
}

export class QuietThreads {
  readonly #setIdle: SetIdle;
  readonly #timesOf: (thread: number) => CoreTimes | undefined;
  #starvedAtMs = -Infinity;

  constructor(setIdle: SetIdle, timesOf = coreTimes) {
    this.#setIdle = setIdle;
    this.#timesOf = timesOf;
  }

  /**
   * Gives `thread` idle priority. If it finds no time, it gets normal priority again; `starved` is
   * called if that is not permitted. The returned function ends the observation.
   */
  keep(thread: number, starved: () => void): () => void {
    if (performance.now() - this.#starvedAtMs < BUSY_MS) return () => undefined;
    let before = this.#timesOf(thread);
    if (before === undefined || !this.#setIdle(thread, true)) return () => undefined;
    let checkedMs = performance.now();
    const timer = setInterval(() => {
      const now = this.#timesOf(thread);
      if (now === undefined || before === undefined) return;
      const ms = performance.now() - checkedMs;
      const ran = now.ranMs - before.ranMs;
      const waited = now.waitedMs - before.waitedMs;
      before = now;
      checkedMs += ms;
      if (ran >= STARVED_RUNS * ms || waited <= STARVED_WAITS * ms) return;
      this.#starvedAtMs = checkedMs;
      clearInterval(timer);
      if (!this.#setIdle(thread, false)) starved();
    }, CHECK_MS);
    return () => clearInterval(timer);
  }
}
