// Live metrics of one model: latency, rates, queue and batch sizes. Reads /metrics for as long as
// it is on the page. The browser's thread.
import { columnPlot, linePlot, type Column } from '../charts.js';
import { duration, factOf, h, replace, short } from '../dom.js';
import { quantile, samplesOf, type Histogram } from './exposition.js';
import { MetricsReader } from './reader.js';
import { POINTS_MAX, Series } from './series.js';

/** Those between the first and the last that have any. */
export function columnsOf(
  { bounds, counts }: Histogram,
  label: (bound: number) => string,
): Column[] {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  if (first < 0) return [];
  return counts.slice(first, last + 1).map((count, at) => {
    const bound = bounds[first + at] ?? Infinity;
    return { label: Number.isFinite(bound) ? label(bound) : 'more', count };
  });
}

export const bound = (seconds: number): string => `≤${duration(Number(seconds.toPrecision(3)))}`;

export class MetricsView {
  readonly element = h('div.metrics');
  readonly #model: string;
  readonly #series = new Series();
  readonly #reader: MetricsReader;

  constructor(model: string) {
    this.#model = model;
    replace(this.element, h('p.note', {}, 'Waiting for the first two readings of /metrics…'));
    this.#reader = new MetricsReader({
      read: (text, seconds) => {
        this.#series.add(samplesOf(text, this.#model), seconds);
        this.#draw();
      },
      failed: (reason) =>
        replace(this.element, h('p.bad', { role: 'alert' }, `Failed to read /metrics: ${reason}`)),
    });
  }

  /** Reads no more. */
  close(): void {
    this.#reader.close();
  }

  #draw(): void {
    const { points, latency, batches, answered, failed } = this.#series;
    const line = (
      name: string,
      colour: number,
      pick: (point: (typeof points)[number]) => number | undefined,
    ) => ({ name, colour, values: points.map(pick) });
    const samples = POINTS_MAX;
    replace(
      this.element,
      h(
        'div.facts',
        {},
        factOf('answered', short(answered)),
        factOf('failed', short(failed), failed > 0),
        factOf('p50', duration(quantile(latency, 0.5))),
        factOf('p99', duration(quantile(latency, 0.99))),
        factOf('p99.9', duration(quantile(latency, 0.999))),
      ),
      h(
        'div.plots',
        {},
        linePlot({
          title: 'Latency',
          samples,
          shown: duration,
          lines: [
            line('p50', 1, ({ p50 }) => p50),
            line('p99', 2, ({ p99 }) => p99),
            line('p99.9', 3, ({ p999 }) => p999),
          ],
        }),
        linePlot({
          title: 'Rates per second',
          samples,
          shown: short,
          lines: [
            line('answered', 1, (point) => point.answeredPerSecond),
            line('rows', 2, (point) => point.rowsPerSecond),
            line('failed', 3, (point) => point.failedPerSecond),
          ],
        }),
        linePlot({
          title: 'Queued requests',
          samples,
          shown: short,
          lines: [line('requests', 1, ({ pending }) => pending)],
        }),
        linePlot({
          title: 'Queue time',
          samples,
          shown: duration,
          lines: [line('p99', 2, ({ queueP99 }) => queueP99)],
        }),
        columnPlot('Latency since the start', columnsOf(latency, bound)),
        columnPlot(
          'Batch size since the start',
          columnsOf(batches, (rows) => `≤${rows}`),
        ),
      ),
    );
  }
}
