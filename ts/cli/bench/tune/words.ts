// Settings and results of `--tune` as text. Control plane; pure.
import { change, duration, grouped } from '../page/numbers.js';
import type { BenchPoint, TunedSettings } from '../types.js';

/** Formatted as in the other lines of `serval bench`. */
export const time = (us: number): string => duration(us).replace('µ', 'u');

const several = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`;

/** "2 instances, 1 thread each, batches to 16, delay 500 µs"; "defaults" if nothing is set. */
export function settingsWords(settings: TunedSettings): string {
  const { instances, threads, maxBatchSize, preferredBatchSize } = settings;
  const delay = settings.maxQueueDelayMicroseconds;
  const words = [
    instances === undefined ? '' : several(instances, 'instance'),
    threads === undefined ? '' : `${several(threads, 'thread')} each`,
    maxBatchSize === undefined
      ? ''
      : maxBatchSize === 0
        ? 'no batches'
        : `batches to ${maxBatchSize}`,
    preferredBatchSize === undefined ? '' : `${preferredBatchSize} preferred`,
    delay === undefined || delay === 0 ? '' : `delay ${time(delay)}`,
  ].filter((word) => word !== '');
  return words.length === 0 ? 'defaults' : words.join(', ');
}

/** A key that is equal for equivalent settings. */
export function settingsKey(settings: TunedSettings): string {
  const delay = settings.maxQueueDelayMicroseconds ?? 0;
  const { instances, threads, maxBatchSize, preferredBatchSize } = settings;
  return [instances, threads, maxBatchSize, preferredBatchSize, delay].join(' ');
}

/** "1 200 rows/s, p99 3.1 ms with 8 in flight". */
export const pointWords = (point: BenchPoint): string =>
  `${grouped(point.rowsPerSecond)} rows/s, p99 ${time(point.latency.p99)} ` +
  `with ${point.concurrency} in flight`;

/** " (+58 %)", or "" if there is nothing to compare with. */
export const gainWords = (from: BenchPoint | undefined, to: BenchPoint): string =>
  from === undefined ? '' : ` (${change(from.rowsPerSecond, to.rowsPerSecond)})`;
