// Settings worth trying, and why, given the best so far: each step of the search is a pure function
// of the known results. Control plane; pure.
import type { BenchPoint, TunedSettings } from '../types.js';
import { time } from './words.js';

export interface Candidate {
  readonly settings: TunedSettings;
  readonly why: string;
}

/** Settings in order: later ones are only tried while earlier ones were better. */
export interface Walk {
  readonly name: string;
  readonly candidates: readonly Candidate[];
  /** Number of consecutive settings that may bring no improvement. */
  readonly patience: number;
}

export interface Known {
  readonly best: TunedSettings;
  readonly point: BenchPoint;
  readonly cores: number;
  readonly canBatch: boolean;
  /** Rows of a request, at least 1, and the maximum number of requests in flight. */
  readonly rows: number;
  readonly concurrencyMax: number;
  readonly latencyBound?: number | undefined;
}

const BATCH_MAX = 256;
const DELAYS_US = [100, 250, 500, 1000, 2000, 5000, 10_000];

function halves(from: number): readonly number[] {
  const all: number[] = [];
  for (let value = from; value >= 1; value = Math.floor(value / 2)) all.push(value);
  return all;
}

/** Divides the cores: a single-threaded instance for each, then fewer with more threads. */
export function shares({ best, cores }: Known): Walk {
  const candidates = halves(cores)
    .filter((instances) => instances > 1 || cores === 1)
    .map((instances) => {
      const threads = Math.max(1, Math.floor(cores / instances));
      const why = `${cores} cores divided among ${instances}`;
      return { settings: { ...best, instances, threads }, why };
    });
  return { name: 'instances and threads', candidates, patience: 1 };
}

export function moreInstances({ best, cores }: Known): Walk {
  const now = best.instances ?? 1;
  const counts = [now * 2, now * 4].filter((count) => count <= Math.max(2, cores * 2));
  const candidates = counts.map((instances) => ({
    settings: { ...best, instances },
    why: 'more requests run at once',
  }));
  return { name: 'more instances', candidates, patience: 0 };
}

export function fewerInstances({ best }: Known): Walk {
  const counts = halves(best.instances ?? 1).slice(1);
  const candidates = counts.map((instances) => ({
    settings: { ...best, instances },
    why: 'less queueing',
  }));
  return { name: 'fewer instances', candidates, patience: 0 };
}

/** One thread, if a run is too short to parallelize; or twice as many. */
export function otherThreads({ best, cores }: Known): Walk {
  const now = best.threads ?? cores;
  const fewer = halves(now).slice(1);
  const more = now * 2 <= cores ? [now * 2] : [];
  const candidates = [...fewer, ...more].map((threads) => ({
    settings: { ...best, threads },
    why: threads < now ? 'fewer threads per run' : 'more threads per run',
  }));
  return { name: 'threads', candidates, patience: 0 };
}

/** No batches, then increasingly large ones, up to as many rows as can be in flight. */
export function batches({ best, canBatch, rows, concurrencyMax }: Known): Walk {
  const sizes: number[] = [];
  const most = Math.min(BATCH_MAX, rows * concurrencyMax);
  for (let size = rows * 2; canBatch && size <= most; size *= 2) sizes.push(size);
  const joined = sizes.map((size) => ({
    settings: {
      ...best,
      maxBatchSize: size,
      preferredBatchSize: undefined,
      maxQueueDelayMicroseconds: best.maxQueueDelayMicroseconds ?? 0,
    },
    why: `up to ${size / rows} requests run together`,
  }));
  return { name: 'batches', candidates: joined, patience: 1 };
}

/** Each request runs alone; only if that is a new combination. */
export function alone({ best, canBatch }: Known): Walk {
  const { instances, threads } = best;
  const settings = { instances, threads, maxBatchSize: 0 };
  const candidates = canBatch ? [{ settings, why: 'each request runs alone' }] : [];
  return { name: 'no batches', candidates, patience: 0 };
}

/** Batching delays: at most twice the response time, or half of the bound. */
export function delays({ best, point, latencyBound }: Known): Walk {
  const { maxBatchSize = 0, maxQueueDelayMicroseconds: now = 0 } = best;
  const most = Math.min(2 * point.latency.p50, (latencyBound ?? Infinity) / 2);
  const candidates = DELAYS_US.filter(
    (delay) => maxBatchSize > 0 && delay > now && delay <= most,
  ).map((delay) => ({
    settings: { ...best, maxQueueDelayMicroseconds: delay },
    why: `an incomplete batch waits ${time(delay)}`,
  }));
  return { name: 'queue delay', candidates, patience: 0 };
}

/** With a delay: a batch of half the size does not have to wait. */
export function preferred({ best, rows }: Known): Walk {
  const { maxBatchSize = 0, maxQueueDelayMicroseconds = 0 } = best;
  const half = Math.floor(maxBatchSize / 2);
  const isUseful = maxQueueDelayMicroseconds > 0 && half > rows;
  const settings = { ...best, preferredBatchSize: half };
  const candidates = isUseful ? [{ settings, why: `${half} rows start without waiting` }] : [];
  return { name: 'preferred size', candidates, patience: 0 };
}

/** In this order, repeated while something is found. */
export const WALKS: readonly ((known: Known) => Walk)[] = [
  shares,
  moreInstances,
  fewerInstances,
  otherThreads,
  batches,
  alone,
  delays,
  preferred,
];
