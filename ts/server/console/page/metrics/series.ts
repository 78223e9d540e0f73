// History of one model over the last minutes, computed from successive pages of metrics. Pure; the
// browser's thread.
import { EMPTY, histogramOf, quantile, since, total, type Histogram } from './exposition.js';
import type { Samples } from './exposition.js';

/** Points that are kept: two minutes of one every two seconds. */
export const POINTS_MAX = 60;

const LATENCY = 'serval_request_duration_seconds';
const BATCH = 'serval_batch_rows';
const QUEUE = 'serval_queue_duration_seconds';

interface Page {
  readonly seconds: number;
  readonly answered: number;
  readonly failed: number;
  readonly rows: number;
  readonly latency: Histogram;
  readonly batches: Histogram;
  readonly queue: Histogram;
  readonly pending: number;
}

/** Between two pages. undefined: nothing was answered. */
export interface Point {
  readonly answeredPerSecond: number;
  readonly failedPerSecond: number;
  readonly rowsPerSecond: number;
  readonly pending: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
  readonly p999: number | undefined;
  readonly queueP99: number | undefined;
}

const measured = (histogram: Histogram, part: number): number | undefined => {
  const value = quantile(histogram, part);
  return Number.isFinite(value) ? value : undefined;
};

export class Series {
  readonly points: Point[] = [];
  #last: Page | undefined;

  /** Since the model was loaded, as are the next three. */
  get latency(): Histogram {
    return this.#last?.latency ?? EMPTY;
  }

  get batches(): Histogram {
    return this.#last?.batches ?? EMPTY;
  }

  get answered(): number {
    return this.#last?.answered ?? 0;
  }

  get failed(): number {
    return this.#last?.failed ?? 0;
  }

  add(samples: Samples, seconds: number): void {
    const page: Page = {
      seconds,
      answered: total(samples, 'nv_inference_request_success'),
      failed: total(samples, 'nv_inference_request_failure'),
      rows: total(samples, 'nv_inference_count'),
      latency: histogramOf(samples, LATENCY),
      batches: histogramOf(samples, BATCH),
      queue: histogramOf(samples, QUEUE),
      pending: total(samples, 'nv_inference_pending_request_count'),
    };
    const last = this.#last;
    const goesOn = last !== undefined && page.answered >= last.answered;
    if (goesOn) this.#addPoint(last, page);
    this.#last = page;
  }

  #addPoint(before: Page, page: Page): void {
    const seconds = Math.max(1e-3, page.seconds - before.seconds);
    const latency = since(page.latency, before.latency);
    this.points.push({
      answeredPerSecond: (page.answered - before.answered) / seconds,
      failedPerSecond: Math.max(0, page.failed - before.failed) / seconds,
      rowsPerSecond: (page.rows - before.rows) / seconds,
      pending: page.pending,
      p50: measured(latency, 0.5),
      p99: measured(latency, 0.99),
      p999: measured(latency, 0.999),
      queueP99: measured(since(page.queue, before.queue), 0.99),
    });
    if (this.points.length > POINTS_MAX) this.points.shift();
  }
}
