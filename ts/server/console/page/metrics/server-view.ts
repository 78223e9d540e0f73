// Live numbers of the whole server: requests, latency, errors, memory, processor, GPUs, and the
// slowest models. Reads /metrics for as long as it is on the page. The browser's thread.
import { columnPlot, linePlot } from '../charts.js';
import { bytes, duration, factOf, h, replace, short } from '../dom.js';
import { quantile } from './exposition.js';
import { MetricsReader } from './reader.js';
import { POINTS_MAX } from './series.js';
import { ServerSeries, type GpuNumbers, type ModelNumbers, type ServerNumbers } from './server.js';
import { columnsOf, bound } from './view.js';

const HOUR_S = 3600;
const DAY_HOURS = 24;

/** "3 d 4 h", "2 h 5 min", "40 s". */
export function uptime(seconds: number): string {
  if (!(seconds >= 0)) return '–';
  const hours = Math.floor(seconds / HOUR_S);
  if (hours >= DAY_HOURS) return `${Math.floor(hours / DAY_HOURS)} d ${hours % DAY_HOURS} h`;
  const minutes = Math.floor((seconds % HOUR_S) / 60);
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

const tableOf = (titles: readonly string[], rows: readonly HTMLElement[]): HTMLElement =>
  h(
    'div.scroll',
    {},
    h(
      'table.numbers',
      {},
      h('thead', {}, h('tr', {}, ...titles.map((title) => h('th', { scope: 'col' }, title)))),
      h('tbody', {}, ...rows),
    ),
  );

function slowestTable(models: readonly ModelNumbers[]): HTMLElement {
  const rows = models.map(({ name, answered, failed, p50, p99 }) =>
    h(
      'tr',
      { 'data-model': name },
      h('th', { scope: 'row' }, h('a', { href: `#/${encodeURIComponent(name)}/metrics` }, name)),
      h('td', {}, short(answered)),
      h(failed > 0 ? 'td.bad' : 'td', {}, short(failed)),
      h('td', {}, duration(p50)),
      h('td', {}, duration(p99)),
    ),
  );
  return h(
    'section.slowest',
    {},
    h('h3', {}, 'Slowest models since they were loaded'),
    tableOf(['Model', 'Answered', 'Failed', 'p50', 'p99'], rows),
  );
}

function gpuTable(gpus: readonly GpuNumbers[]): HTMLElement {
  const rows = gpus.map(({ id, utilization, usedBytes, totalBytes }) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, id),
      h('td', {}, utilization === undefined ? '–' : `${Math.round(utilization * 100)} %`),
      h('td', {}, `${bytes(usedBytes)} of ${bytes(totalBytes)}`),
    ),
  );
  return h('section.gpus', {}, h('h3', {}, 'GPUs'), tableOf(['GPU', 'Busy', 'Memory'], rows));
}

export class ServerView {
  readonly element = h('div.server');
  readonly #series = new ServerSeries();
  readonly #reader: MetricsReader;

  constructor() {
    replace(this.element, h('p.note', {}, 'Waiting for /metrics…'));
    this.#reader = new MetricsReader({
      read: (text, seconds) => {
        this.#series.add(text, seconds);
        this.#draw();
      },
      failed: (reason) => replace(this.element, h('p.note', {}, `No numbers: ${reason}`)),
    });
  }

  /** Reads no more. */
  close(): void {
    this.#reader.close();
  }

  #draw(): void {
    const { last } = this.#series;
    if (last === undefined) return;
    replace(
      this.element,
      this.#facts(last),
      this.#plots(last),
      last.gpus.length > 0 && gpuTable(last.gpus),
      last.slowest.length > 0 && slowestTable(last.slowest),
    );
  }

  #facts({ answered, failed, refused, latency, process }: ServerNumbers): HTMLElement {
    const { inFlight, limit, resident, machineUsed, machineTotal, began } = process;
    const machine = machineTotal > 0 ? `${bytes(machineUsed)} of ${bytes(machineTotal)}` : '–';
    return h(
      'div.facts',
      {},
      factOf('answered', short(answered)),
      factOf('failed', short(failed), failed > 0),
      factOf('refused', short(refused), refused > 0),
      factOf('p50', duration(quantile(latency, 0.5))),
      factOf('p99', duration(quantile(latency, 0.99))),
      factOf('process memory', bytes(resident)),
      factOf('in flight', `${bytes(inFlight)} of ${bytes(limit)}`),
      factOf("machine's memory", machine),
      factOf('running for', uptime(Date.now() / 1000 - began)),
    );
  }

  #plots({ latency }: ServerNumbers): HTMLElement {
    const { points } = this.#series;
    const line = (
      name: string,
      colour: number,
      pick: (point: (typeof points)[number]) => number | undefined,
    ) => ({ name, colour, values: points.map(pick) });
    const plot = (
      title: string,
      shown: (value: number) => string,
      ...lines: readonly ReturnType<typeof line>[]
    ): HTMLElement => linePlot({ title, samples: POINTS_MAX, shown, lines });
    return h(
      'div.plots',
      {},
      plot(
        'Requests per second',
        short,
        line('answered', 1, (point) => point.answeredPerSecond),
        line('failed', 2, (point) => point.failedPerSecond),
        line('refused', 3, (point) => point.refusedPerSecond),
      ),
      plot(
        'Latency',
        duration,
        line('p50', 1, ({ p50 }) => p50),
        line('p99', 2, ({ p99 }) => p99),
      ),
      plot(
        'Process memory',
        bytes,
        line('resident', 1, ({ residentBytes }) => residentBytes),
      ),
      plot(
        'Busy cores',
        short,
        line('cores', 1, ({ cores }) => cores),
      ),
      columnPlot('Latency since the start', columnsOf(latency, bound)),
    );
  }
}
