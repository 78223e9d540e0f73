// One measurement on one thread: when requests are sent, and which of their responses count. The
// load's threads.
//
// closed: a response triggers the next request; latencies are of responses within the measured
// time. open: requests are due by the clock, independent of responses; latencies are of requests
// that were due in the measured time, from that moment on, even if the client itself was late:
// waiting caused by a slow server is included (no coordinated omission).
import { BENCH_WAITING_MAX } from '../../../base/limits.js';
import { performance } from 'node:perf_hooks';
import { randomNumbers } from '../../predict/inputs.js';
import { Histogram } from './histogram.js';
import type { Pacer } from './pacer.js';
import { now, type LoadSchedule, type LoadResult, type Sender } from './sender.js';

/** Maximum delay of other work on the thread. */
const TURN_MS = 1;

export class Loop {
  readonly #sender: Sender;
  readonly #schedule: LoadSchedule;
  readonly #pacer: Pacer;
  readonly #latencies = new Histogram();
  /** Delay between the time a request was due and when it was sent. */
  readonly #late = new Histogram();
  readonly #random: () => number;
  #measured = 0;
  #ends = 0;
  #inFlight = 0;
  #answered = 0;
  #failed = 0;
  #firstError: string | undefined;
  /** open: requests that were due in the measured time and have no response. */
  #owed = 0;
  #pumping = false;
  #stopped = false;
  #due = 0;
  #waiting: number[] = [];
  #waitingAt = 0;
  #finished: () => void = () => undefined;

  constructor(sender: Sender, schedule: LoadSchedule, pacer: Pacer) {
    this.#sender = sender;
    this.#schedule = schedule;
    this.#pacer = pacer;
    this.#random = randomNumbers(schedule.seed);
  }

  /** Runs from `begins` (of now()) to the end of the measured time and of the grace period. */
  async run(begins: number): Promise<LoadResult> {
    const { warmupMs, measureMs, graceMs } = this.#schedule;
    this.#measured = begins + warmupMs;
    this.#ends = this.#measured + measureMs;
    this.#sender.onAnswer = (begun, error) => this.#answer(begun, error);
    this.#sender.onFree = () => this.#pump();
    await until(begins);
    this.#due = begins + this.#gap() * this.#random();
    this.#pacer.onDue = () => this.#pump();
    this.#pump();
    await until(this.#measured);
    const first = performance.eventLoopUtilization();
    await until(this.#ends);
    const busy = performance.eventLoopUtilization(first).utilization;
    // The last requests that are due.
    this.#pump();
    this.#stopped = true;
    await this.#rest(graceMs);
    this.#sender.onAnswer = () => undefined;
    this.#sender.onFree = () => undefined;
    this.#pacer.onDue = () => undefined;
    this.#sender.cut();
    return {
      answered: this.#answered,
      failed: this.#failed,
      firstError: this.#firstError,
      latencies: this.#latencies.data(),
      late: this.#late.data(),
      busy,
    };
  }

  /**
   * Requests that were due in time but have no response at the end of the grace period have failed.
   */
  async #rest(graceMs: number): Promise<void> {
    if (this.#inFlight + this.#queued > 0) {
      const timer = setTimeout(() => this.#finished(), graceMs);
      await new Promise<void>((resolve) => {
        this.#finished = resolve;
      });
      clearTimeout(timer);
    }
    if (this.#owed > 0) {
      this.#failed += this.#owed;
      this.#firstError ??= `no response ${(graceMs / 1000).toFixed(1)} s after the end`;
    }
  }

  get #queued(): number {
    return this.#waiting.length - this.#waitingAt;
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    const open = this.#schedule.loop === 'open';
    if (open) this.#takeDue();
    const until = now() + TURN_MS;
    while (open ? this.#queued > 0 : this.#mayBegin()) {
      if (!this.#sender.free()) break;
      this.#inFlight += 1;
      const sent = now();
      const begun = open ? this.#next() : sent;
      if (open && begun >= this.#measured) this.#late.add((sent - begun) * 1000);
      this.#sender.send(begun);
      if (now() > until) {
        setImmediate(() => this.#pump());
        break;
      }
    }
    this.#pumping = false;
  }

  #mayBegin(): boolean {
    return !this.#stopped && this.#inFlight < this.#schedule.concurrency && now() < this.#ends;
  }

  #gap(): number {
    const mean = 1000 / this.#schedule.rate;
    if (this.#schedule.arrivals === 'constant') return mean;
    return -Math.log(1 - this.#random()) * mean;
  }

  /** Queues the requests that are due by now. */
  #takeDue(): void {
    const at = now();
    while (this.#due <= at && this.#due < this.#ends) {
      const counts = this.#due >= this.#measured;
      if (this.#queued < BENCH_WAITING_MAX) {
        this.#waiting.push(this.#due);
        if (counts) this.#owed += 1;
      } else if (counts) {
        this.#fail(`more than ${BENCH_WAITING_MAX} requests are waiting to be sent`);
      }
      this.#due += this.#gap();
    }
    if (this.#due < this.#ends) this.#pacer.wakeAt(this.#due);
  }

  #next(): number {
    const due = this.#waiting[this.#waitingAt] ?? 0;
    this.#waitingAt += 1;
    if (this.#waitingAt >= 1024 && this.#waitingAt * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#waitingAt);
      this.#waitingAt = 0;
    }
    return due;
  }

  #answer(begun: number, error: string | undefined): void {
    this.#inFlight -= 1;
    const at = now();
    const inTime = at >= this.#measured && at < this.#ends;
    const open = this.#schedule.loop === 'open';
    const counts = open ? begun >= this.#measured : inTime;
    if (open && counts) this.#owed -= 1;
    if (error === undefined) {
      if (inTime) this.#answered += 1;
      if (counts) this.#latencies.add((at - begun) * 1000);
    } else if (counts) {
      this.#fail(error);
    }
    if (this.#stopped && this.#inFlight + this.#queued === 0) this.#finished();
    this.#pump();
  }

  #fail(error: string): void {
    this.#failed += 1;
    this.#firstError ??= error;
  }
}

/** Settles at `when` of now(), using a timer. */
function until(when: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, when - now()));
  });
}
