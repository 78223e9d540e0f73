// The main thread's part of the load: starts its threads, divides a schedule among them, merges
// their results. Threads that send to a server are the addon's; the one that calls the engine is a
// worker.
import { Worker } from 'node:worker_threads';
import { ErrorCode, ServalError, reasonOf } from '../../../base/errors.js';
import { Histogram } from './histogram.js';
import { NativeClient } from './native-client.js';
import {
  now,
  type EngineTarget,
  type FromLoad,
  type LoadPart,
  type LoadSchedule,
  type LoadRequest,
  type LoadResult,
  type LoadTarget,
  type ToLoad,
} from './sender.js';
import type { LoadData } from './load-worker.js';

/** dist/bundle/ has a copy beside the main thread's file. */
const WORKER_FILE = new URL('./load-worker.js', import.meta.url);
/** Delay between the start order and the first request, so that all threads have received it. */
const LEAD_MS = 5;

/** Combined result of all threads. */
export interface LoadTotal {
  readonly answered: number;
  readonly failed: number;
  readonly firstError: string | undefined;
  readonly latencies: Histogram;
  readonly late: Histogram;
  /** Busy time of all threads, in units of one thread. */
  readonly busyThreads: number;
}

export class Load {
  readonly #threads: readonly LoadPart[];

  /**
   * `threads`: each opens its own connections; the engine has one. Errors: those of NativeClient.
   */
  constructor(target: LoadTarget, threads: number) {
    this.#threads = Array.from({ length: threads }, () =>
      target.kind === 'engine' ? new EngineThread(target) : new NativeClient(target),
    );
  }

  /**
   * `measuring` is called when the measured time begins (true) and ends (false). Errors: no server;
   * the engine's error about the model.
   */
  async run(
    request: LoadRequest,
    schedule: LoadSchedule,
    measuring: (begins: boolean) => void,
  ): Promise<LoadTotal> {
    const count =
      schedule.loop === 'closed' ? Math.min(this.#threads.length, schedule.concurrency) : undefined;
    const threads = this.#threads.slice(0, count);
    const parts = threads.map((thread, i) => {
      const own = partOf(schedule, i, threads.length);
      return { thread, schedule: own };
    });
    await Promise.all(parts.map((one) => one.thread.prepare(request, one.schedule)));
    const begins = now() + LEAD_MS;
    const measured = begins + schedule.warmupMs;
    const [results] = await Promise.all([
      Promise.all(parts.map((one) => one.thread.go(begins))),
      at(measured, () => measuring(true)),
      at(measured + schedule.measureMs, () => measuring(false)),
    ]);
    return totalOf(results);
  }

  /** Never rejects. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}

/** Settles when it was called, at `when` of now(). */
function at(when: number, call: () => void): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => {
      call();
      resolve();
    }, when - now());
  });
}

function partOf(schedule: LoadSchedule, index: number, count: number): LoadSchedule {
  const more = index < schedule.concurrency % count ? 1 : 0;
  return {
    ...schedule,
    concurrency: Math.floor(schedule.concurrency / count) + more,
    rate: schedule.rate / count,
    seed: schedule.seed + index,
  };
}

function totalOf(results: readonly LoadResult[]): LoadTotal {
  const latencies = new Histogram();
  const late = new Histogram();
  for (const one of results) latencies.merge(one.latencies);
  for (const one of results) late.merge(one.late);
  const sum = (of: (one: LoadResult) => number): number =>
    results.reduce((all, one) => all + of(one), 0);
  return {
    answered: sum((one) => one.answered),
    failed: sum((one) => one.failed),
    firstError: results.find((one) => one.firstError !== undefined)?.firstError,
    latencies,
    late,
    busyThreads: sum((one) => one.busy),
  };
}

class EngineThread implements LoadPart {
  readonly #worker: Worker;
  #asked: { resolve: (answer: FromLoad) => void; reject: (error: unknown) => void } | undefined;
  #ended: Error | undefined;

  constructor(target: EngineTarget) {
    const data: LoadData = { role: 'load', target };
    this.#worker = new Worker(WORKER_FILE, { workerData: data });
    this.#worker.on('message', (answer: FromLoad) => {
      const asked = this.#asked;
      this.#asked = undefined;
      if (answer.say === 'failed') asked?.reject(new ServalError(answer.code, answer.message));
      else asked?.resolve(answer);
    });
    this.#worker.on('error', (error: unknown) => {
      this.#lost(new ServalError(ErrorCode.Internal, `a load thread: ${reasonOf(error)}`));
    });
    this.#worker.on('exit', () => {
      this.#lost(new ServalError(ErrorCode.Internal, 'a load thread has ended'));
    });
  }

  async prepare(request: LoadRequest, schedule: LoadSchedule): Promise<void> {
    await this.#ask({ say: 'prepare', request, schedule });
  }

  async go(begins: number): Promise<LoadResult> {
    const answer = await this.#ask({ say: 'go', begins });
    if (answer.say !== 'done')
      throw new TypeError(`unexpected message of a load thread: ${answer.say}`);
    return answer.result;
  }

  /** One at a time. */
  #ask(message: ToLoad): Promise<FromLoad> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended);
        return;
      }
      this.#asked = { resolve, reject };
      this.#worker.postMessage(message);
    });
  }

  async close(): Promise<void> {
    // It may have ended already.
    await this.#ask({ say: 'close' }).catch(() => undefined);
    await this.#worker.terminate();
  }

  #lost(error: Error): void {
    this.#ended ??= error;
    this.#asked?.reject(this.#ended);
    this.#asked = undefined;
  }
}
