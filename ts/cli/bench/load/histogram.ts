// Histogram of request latencies: counts in buckets, 128 per doubling (0.8 % wide). Pure; any
// thread.
import type { BenchLatency } from '../types.js';

/**
 * Counts are in sixteenths of a microsecond, so that very fast models have a measurable latency.
 */
const PER_MICROSECOND = 16;
const SPLIT_BITS = 7;
const SPLIT = 2 ** SPLIT_BITS;
/** Up to 2^43 sixteenths: six days. */
const DOUBLINGS = 43 - SPLIT_BITS;
const BUCKETS = SPLIT * (DOUBLINGS + 1);

/** Contents of a histogram for transfer between threads: microseconds and counts, alternating. */
export interface HistogramData {
  readonly counts: Float64Array;
  readonly sum: number;
  readonly max: number;
}

export class Histogram {
  readonly #counts: Float64Array;
  #count = 0;
  #sum = 0;
  #max = 0;

  constructor() {
    this.#counts = new Float64Array(BUCKETS);
  }

  get count(): number {
    return this.#count;
  }

  /** Negative values count as 0, values above six days as six days. */
  add(microseconds: number): void {
    const value = microseconds > 0 ? microseconds : 0;
    this.#count += 1;
    this.#sum += value;
    if (value > this.#max) this.#max = value;
    const at = bucketOf(value * PER_MICROSECOND);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  merge({ counts, sum, max }: HistogramData): void {
    this.#sum += sum;
    this.#max = Math.max(this.#max, max);
    for (let i = 0; i + 1 < counts.length; i += 2) {
      const at = bucketOf((counts[i] ?? 0) * PER_MICROSECOND);
      const count = counts[i + 1] ?? 0;
      this.#counts[at] = (this.#counts[at] ?? 0) + count;
      this.#count += count;
    }
  }

  data(): HistogramData {
    const counts: number[] = [];
    this.#counts.forEach((count, i) => {
      if (count > 0) counts.push(middleOf(i) / PER_MICROSECOND, count);
    });
    return { counts: Float64Array.from(counts), sum: this.#sum, max: this.#max };
  }

  /** The latency that this fraction (0.99) of all did not exceed; 0 if there is none. */
  quantile(part: number): number {
    const wanted = Math.max(1, Math.ceil(part * this.#count));
    let seen = 0;
    for (let i = 0; i < BUCKETS; i += 1) {
      seen += this.#counts[i] ?? 0;
      if (seen >= wanted) return Math.min(this.#max, middleOf(i) / PER_MICROSECOND);
    }
    return this.#max;
  }

  latency(): BenchLatency {
    return {
      mean: this.#count === 0 ? 0 : this.#sum / this.#count,
      p50: this.quantile(0.5),
      p90: this.quantile(0.9),
      p99: this.quantile(0.99),
      p999: this.quantile(0.999),
      max: this.#max,
    };
  }
}

/** Below 2 * SPLIT each whole number has a bucket; above, SPLIT per doubling. */
function bucketOf(value: number): number {
  if (value < SPLIT) return Math.floor(value);
  const power = Math.floor(Math.log2(value)) - SPLIT_BITS;
  if (power >= DOUBLINGS) return BUCKETS - 1;
  // log2 may round up just below a power of two.
  const part = Math.floor(value / 2 ** power);
  return Math.min(BUCKETS - 1, power * SPLIT + part);
}

function middleOf(bucket: number): number {
  if (bucket < 2 * SPLIT) return bucket + 0.5;
  const power = Math.floor(bucket / SPLIT) - 1;
  return (bucket - power * SPLIT + 0.5) * 2 ** power;
}
