// Live metrics of one model: latency, rates, queue and batch sizes. Looks for as long as it is on
// the page. The browser's thread.
import { getText } from '../api.js';
import { columnPlot, linePlot, type Column } from '../charts.js';
import { duration, h, replace, short } from '../dom.js';
import { quantile, samplesOf, type Histogram } from './exposition.js';
import { POINTS_MAX, Series } from './series.js';

const EVERY_MS = 2000;
/** A page that takes long to come is asked for less often: this many times what it took. */
const TIMES = 5;

/** Those between the first and the last that have any. */
function columnsOf({ bounds, counts }: Histogram, label: (bound: number) => string): Column[] {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  if (first < 0) return [];
  return counts.slice(first, last + 1).map((count, at) => {
    const bound = bounds[first + at] ?? Infinity;
    return { label: Number.isFinite(bound) ? label(bound) : 'more', count };
  });
}

const bound = (seconds: number): string => `≤${duration(Number(seconds.toPrecision(3)))}`;

export class MetricsView {
  readonly element = h('div.metrics');
  readonly #model: string;
  readonly #series = new Series();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(model: string) {
    this.#model = model;
    replace(this.element, h('p.note', {}, 'Waiting for the first two readings of /metrics…'));
    void this.#look();
  }

  /** Looks no more. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const begun = performance.now();
    try {
      if (!document.hidden) {
        const text = await getText('/metrics');
        this.#series.add(samplesOf(text, this.#model), begun / 1000);
        if (!this.#isOver) this.#draw();
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      replace(this.element, h('p.bad', { role: 'alert' }, `Failed to read /metrics: ${reason}`));
    }
    if (this.#isOver) return;
    const wait = Math.max(EVERY_MS, (performance.now() - begun) * TIMES);
    this.#timer = setTimeout(() => void this.#look(), wait);
  }

  #draw(): void {
    const { points, latency, batches, answered, failed } = this.#series;
    const line = (
      name: string,
      colour: number,
      pick: (point: (typeof points)[number]) => number | undefined,
    ) => ({ name, colour, values: points.map(pick) });
    const fact = (name: string, value: string): HTMLElement =>
      h('div.fact', {}, h('span', {}, name), h('b', { 'data-fact': name }, value));
    const samples = POINTS_MAX;
    replace(
      this.element,
      h(
        'div.facts',
        {},
        fact('answered', short(answered)),
        fact('failed', short(failed)),
        fact('p50', duration(quantile(latency, 0.5))),
        fact('p99', duration(quantile(latency, 0.99))),
        fact('p99.9', duration(quantile(latency, 0.999))),
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
        columnPlot('Latency, last two minutes', columnsOf(latency, bound)),
        columnPlot(
          'Batch size',
          columnsOf(batches, (rows) => `≤${rows}`),
        ),
      ),
    );
  }
}
