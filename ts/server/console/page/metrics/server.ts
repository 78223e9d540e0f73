// The whole server's numbers over the last minutes, computed from successive pages of metrics.
// Pure; the browser's thread.
import {
  byLabel,
  histogramOf,
  quantile,
  samplesNamed,
  since,
  total,
  type Histogram,
  type Samples,
} from './exposition.js';
import { POINTS_MAX } from './series.js';

const ANSWERED = 'nv_inference_request_success';
const FAILED = 'nv_inference_request_failure';
const REFUSED = 'serval_requests_refused_total';
const LATENCY = 'serval_request_duration_seconds';
const GPU = ['utilization', 'memory_used_bytes', 'memory_total_bytes'].map((of) => `nv_gpu_${of}`);
const PROCESS = {
  resident: 'process_resident_memory_bytes',
  inFlight: 'serval_memory_used_bytes',
  limit: 'serval_memory_limit_bytes',
  began: 'process_start_time_seconds',
  cpuSeconds: 'process_cpu_seconds_total',
  machineUsed: 'nv_cpu_memory_used_bytes',
  machineTotal: 'nv_cpu_memory_total_bytes',
} as const;
const NAMES = new Set([
  ...[ANSWERED, FAILED, REFUSED, `${LATENCY}_bucket`],
  ...GPU,
  ...Object.values(PROCESS),
]);

/** Number of models in the table. */
export const SLOWEST_MAX = 10;

export interface ModelNumbers {
  readonly name: string;
  readonly answered: number;
  readonly failed: number;
  /** Seconds, since the model was loaded. */
  readonly p50: number;
  readonly p99: number;
}

export interface GpuNumbers {
  readonly id: string;
  /** 0 to 1; undefined: the device does not report it. */
  readonly utilization: number | undefined;
  readonly usedBytes: number;
  readonly totalBytes: number;
}

/** Since the server began. */
export interface ServerNumbers {
  readonly answered: number;
  readonly failed: number;
  /** Rejected before any model ran. */
  readonly refused: number;
  readonly latency: Histogram;
  readonly process: Readonly<Record<keyof typeof PROCESS, number>>;
  readonly gpus: readonly GpuNumbers[];
  /** The highest p99 first. */
  readonly slowest: readonly ModelNumbers[];
}

/** Between two pages. undefined: nothing was answered. */
export interface ServerPoint {
  readonly answeredPerSecond: number;
  readonly failedPerSecond: number;
  readonly refusedPerSecond: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
  readonly residentBytes: number;
  readonly cores: number;
}

function modelNumbers(name: string, samples: Samples): ModelNumbers {
  const latency = histogramOf(samples, LATENCY);
  return {
    name,
    answered: total(samples, ANSWERED),
    failed: total(samples, FAILED),
    p50: quantile(latency, 0.5),
    p99: quantile(latency, 0.99),
  };
}

function gpuNumbers(id: string, samples: Samples): GpuNumbers {
  const [utilization = '', used = '', all = ''] = GPU;
  return {
    id,
    utilization: samples.get(utilization)?.[0]?.value,
    usedBytes: total(samples, used),
    totalBytes: total(samples, all),
  };
}

/** Reads a page of metrics. */
export function serverNumbers(text: string): ServerNumbers {
  const samples = samplesNamed(text, NAMES);
  const models = [...byLabel(samples, 'model')].map(([name, own]) => modelNumbers(name, own));
  const answering = models.filter(({ p99 }) => Number.isFinite(p99));
  const process = Object.fromEntries(
    Object.entries(PROCESS).map(([key, name]) => [key, total(samples, name)]),
  ) as ServerNumbers['process'];
  return {
    answered: total(samples, ANSWERED),
    failed: total(samples, FAILED),
    refused: total(samples, REFUSED),
    latency: histogramOf(samples, LATENCY),
    process,
    gpus: [...byLabel(samples, 'gpu_uuid')].map(([id, own]) => gpuNumbers(id, own)),
    slowest: answering.sort((a, b) => b.p99 - a.p99).slice(0, SLOWEST_MAX),
  };
}

const measured = (histogram: Histogram, part: number): number | undefined => {
  const value = quantile(histogram, part);
  return Number.isFinite(value) ? value : undefined;
};

export class ServerSeries {
  readonly points: ServerPoint[] = [];
  last: ServerNumbers | undefined;
  #seconds = 0;

  add(text: string, seconds: number): void {
    const before = this.last;
    const page = serverNumbers(text);
    // A model that was loaded again counts from 0, and so does a server that was started again.
    const goesOn = before !== undefined && page.process.began === before.process.began;
    if (goesOn) this.#addPoint(before, page, Math.max(1e-3, seconds - this.#seconds));
    this.last = page;
    this.#seconds = seconds;
  }

  #addPoint(before: ServerNumbers, page: ServerNumbers, seconds: number): void {
    const perSecond = (of: (one: ServerNumbers) => number): number =>
      Math.max(0, of(page) - of(before)) / seconds;
    const latency = since(page.latency, before.latency);
    this.points.push({
      answeredPerSecond: perSecond(({ answered }) => answered),
      failedPerSecond: perSecond(({ failed }) => failed),
      refusedPerSecond: perSecond(({ refused }) => refused),
      p50: measured(latency, 0.5),
      p99: measured(latency, 0.99),
      residentBytes: page.process.resident,
      cores: perSecond(({ process }) => process.cpuSeconds),
    });
    if (this.points.length > POINTS_MAX) this.points.shift();
  }
}
