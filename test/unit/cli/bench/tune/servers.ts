// Servers for tests of `--tune`: throughput and latency by a formula of the settings, and a clock
// that measurements advance. Test time only.
import type {
  BenchWorkload,
  BenchPoint,
  StartTuned,
  TunedSettings,
} from '../../../../../ts/cli/bench/types.js';
import { closedPoint, latencyOf } from '../reports.js';

export interface FakeModel {
  readonly cores: number;
  /** Microseconds of a run with that many rows and threads. */
  readonly runUs: (rows: number, threads: number) => number;
  /** Replaces a point: noise, failures. */
  readonly bend?: (point: BenchPoint, settings: TunedSettings, measurement: number) => BenchPoint;
  /** Thrown when a server with these settings starts. */
  readonly refuses?: (settings: TunedSettings) => string | undefined;
}

const START_SECONDS = 0.5;

export class FakeServers {
  seconds = 0;
  /** The settings of each start, and the maximum number of open servers. */
  readonly started: TunedSettings[] = [];
  openNow = 0;
  openMost = 0;
  measurements = 0;

  constructor(private readonly model: FakeModel) {}

  readonly now = (): number => this.seconds * 1000;

  readonly start: StartTuned = async (settings) => {
    this.started.push(settings);
    this.seconds += START_SECONDS;
    const refusal = this.model.refuses?.(settings);
    if (refusal !== undefined) throw new Error(refusal);
    this.openNow += 1;
    this.openMost = Math.max(this.openMost, this.openNow);
    return {
      measure: async (workload) => this.measure(settings, workload),
      close: async () => {
        this.openNow -= 1;
      },
    };
  };

  private measure(settings: TunedSettings, workload: BenchWorkload): BenchPoint {
    this.seconds += workload.seconds + workload.warmupSeconds;
    this.measurements += 1;
    const { cores, runUs, bend } = this.model;
    const { instances = 1, threads = cores, maxBatchSize = 0 } = settings;
    const { maxQueueDelayMicroseconds: delay = 0, preferredBatchSize = 0 } = settings;
    const { concurrency, batch } = workload;
    const rows = Math.max(1, batch);
    const perInstance = Math.max(1, Math.floor(concurrency / instances));
    const together =
      maxBatchSize > rows ? Math.min(Math.floor(maxBatchSize / rows), perInstance) : 1;
    const isFull = together * rows === maxBatchSize || together * rows === preferredBatchSize;
    const busy = Math.min(instances, concurrency);
    // Threads beyond the number of cores share them.
    const slower = Math.max(1, (busy * threads) / cores);
    const run = runUs(together * rows, threads) * slower + (isFull || together === 1 ? 0 : delay);
    const requestsPerSecond = (busy * together * 1e6) / run;
    const mean = (concurrency * 1e6) / requestsPerSecond;
    const answered = Math.max(1, Math.round(requestsPerSecond * workload.seconds));
    const rowsPerSecond = requestsPerSecond * rows;
    const rates = { answered, requestsPerSecond, rowsPerSecond };
    const point = closedPoint({ ...workload, ...rates, latency: latencyOf(mean) });
    return bend?.(point, settings, this.measurements) ?? point;
  }
}

/** A run that threads hardly speed up, and batches not at all. */
export const serial: FakeModel = { cores: 8, runUs: (rows) => 1000 * rows };
/** A run that costs the same for 32 rows as for one. */
export const wide: FakeModel = { cores: 8, runUs: (rows) => 2000 * Math.ceil(rows / 32) };
/** A run that takes longer with more rows, but less than as many single runs. */
export const mixed: FakeModel = { cores: 8, runUs: (rows) => 1000 + 150 * rows };
/** A run that threads share, losing half of the time. */
export const lossy: FakeModel = {
  cores: 8,
  runUs: (rows, threads) => (8000 * rows) / (threads === 1 ? 1 : threads / 2),
};
/** A run that all threads share well. */
export const parallel: FakeModel = { cores: 8, runUs: (rows, threads) => (8000 * rows) / threads };
