// The page's parts about the measurements: a summary, plots, the table of all points. Control
// plane; pure.
import type { BenchPoint } from '../types.js';
import {
  allGroups,
  askedWords,
  fastest,
  ofLoop,
  partsOf,
  type Group,
  type Part,
} from './groups.js';
import { h, type Child, type Markup } from './html.js';
import { count, duration, grouped, pathWords, rowsWords } from './numbers.js';
import { plotFigure, X_FROM, X_TO, Y_FROM, Y_TO, type Axis, type Mark } from './plot.js';
import { doubling, fitting } from './scale.js';

const hasAnswers = ({ answered }: BenchPoint): boolean => answered > 0;

/** Tooltip of a point's mark. */
export function pointTitle(name: string, point: BenchPoint): string {
  const { latency, requestsPerSecond, rowsPerSecond, failed, batch } = point;
  const rows = batch > 1 ? `, ${grouped(rowsPerSecond)} rows/s` : '';
  return [
    `${name}: ${askedWords(point)}`,
    `${grouped(requestsPerSecond)} requests/s${rows}`,
    `p50 ${duration(latency.p50)}, p90 ${duration(latency.p90)}`,
    `p99 ${duration(latency.p99)}, p99.9 ${duration(latency.p999)}`,
    ...(failed > 0 ? [`${grouped(failed)} failed`] : []),
  ].join('\n');
}

export function latencyAxis(values: readonly number[], name: string): Axis {
  return { name, scale: fitting(values, Y_FROM, Y_TO), shown: duration };
}

/** p99 as a line with marks, p50 thin, over the response rate. */
function latencyOverRate(groups: readonly Group[], loop: string): Child {
  const points = groups.flatMap((group) => group.points).filter(hasAnswers);
  if (points.length < 2) return '';
  const latencies = points.flatMap(({ latency }) => [latency.p50, latency.p99]);
  const marks = (group: Group, value: (point: BenchPoint) => number, label: boolean): Mark[] =>
    group.points.filter(hasAnswers).map((point) => ({
      x: point.requestsPerSecond,
      y: value(point),
      title: pointTitle(group.name, point),
      label: label && point.loop === 'closed' ? String(point.concurrency) : undefined,
    }));
  const isLabelled = groups.length === 1;
  const isUnlisted = !isLabelled;
  const hasClosed = points.some(({ loop }) => loop === 'closed');
  const series = groups.flatMap((group) => [
    {
      name: 'p50',
      isUnlisted,
      style: group.style,
      marks: marks(group, ({ latency }) => latency.p50, false),
      isMinor: true,
    },
    {
      name: isLabelled ? 'p99' : group.name,
      style: group.style,
      marks: marks(group, ({ latency }) => latency.p99, isLabelled),
    },
  ]);
  const rates = points.map(({ requestsPerSecond }) => requestsPerSecond);
  return plotFigure({
    title: `Latency over rate${loop}`,
    note: isLabelled && hasClosed ? 'numbers: requests in flight' : 'lines: p99, dashes: p50',
    x: { name: 'responses per second', scale: fitting(rates, X_FROM, X_TO), shown: count },
    y: latencyAxis(latencies, 'latency'),
    series: [...series.filter(({ isMinor }) => isMinor), ...series.filter((one) => !one.isMinor)],
  });
}

function throughputOver(
  title: string,
  groups: readonly Group[],
  x: {
    readonly name: string;
    readonly of: (point: BenchPoint) => number;
    readonly isCount?: boolean;
  },
): Markup {
  const points = groups.flatMap((group) => group.points);
  const isRows = points.some(({ batch }) => batch > 1);
  const rate = (point: BenchPoint): number =>
    isRows ? point.rowsPerSecond : point.requestsPerSecond;
  const asked = points.map(x.of);
  const { isCount = false } = x;
  const scale = isCount ? doubling(asked, X_FROM + 14, X_TO - 14) : fitting(asked, X_FROM, X_TO);
  const y = fitting(points.map(rate), Y_FROM, Y_TO);
  return plotFigure({
    title,
    x: { name: x.name, scale, shown: isCount ? grouped : count },
    y: { name: `${isRows ? 'rows' : 'responses'} per second`, scale: y, shown: count },
    series: groups.map(({ name, style, points: own }) => ({
      name,
      style,
      marks: own.map((point) => {
        return { x: x.of(point), y: rate(point), title: pointTitle(name, point) };
      }),
    })),
  });
}

/** For each path, the most rows per second at each request size. */
function overBatches(points: readonly BenchPoint[]): Child {
  const closed = points.filter(({ batch }) => batch > 0);
  const sizes = new Set(closed.map(({ batch }) => batch));
  if (sizes.size < 2) return '';
  const paths = [...new Set(closed.map(({ path }) => path))];
  const groups = paths.map((path, style) => {
    const best = [...sizes]
      .sort((a, b) => a - b)
      .flatMap((batch) => {
        return fastest(closed.filter((one) => one.path === path && one.batch === batch)) ?? [];
      });
    return { name: pathWords(path), style, points: best };
  });
  return throughputOver('Throughput over rows per request', groups, {
    name: 'rows per request',
    of: ({ batch }) => batch,
    isCount: true,
  });
}

function closedPlot(groups: readonly Group[]): Child {
  if (groups.flatMap(({ points }) => points).length < 2) return '';
  return throughputOver('Throughput over concurrency', groups, {
    name: 'requests in flight',
    of: ({ concurrency }) => concurrency,
    isCount: true,
  });
}

/** For open loops: responses received against requests sent. */
function openPlot(groups: readonly Group[]): Child {
  if (groups.flatMap(({ points }) => points).length < 2) return '';
  return throughputOver('Throughput over the rate of requests', groups, {
    name: 'requests sent per second',
    of: ({ rate }) => rate,
  });
}

function partOf({ title, groups }: Part): Child {
  const [closed, open] = [ofLoop(groups, 'closed'), ofLoop(groups, 'open')];
  const isBoth = closed.length > 0 && open.length > 0;
  return [
    title === '' ? '' : h('h3', {}, title),
    h(
      'div',
      { class: 'plots' },
      latencyOverRate(closed, isBoth ? ', closed loop' : ''),
      closedPlot(closed),
      latencyOverRate(open, isBoth ? ', open loop' : ''),
      openPlot(open),
    ),
  ];
}

export function plots(points: readonly BenchPoint[]): Child {
  const batches = overBatches(points);
  return [partsOf(points).map(partOf), batches === '' ? '' : h('div', { class: 'plots' }, batches)];
}

/** The bar of a table cell, in percent. */
export function bar(part: number): Markup {
  const width = (Math.max(0, Math.min(1, part)) * 100).toFixed(1);
  return h(
    'svg',
    { class: 'bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    h('rect', { class: 'track', x: 0, y: 0, width: 100, height: 8 }),
    h('rect', { class: 'full', x: 0, y: 0, width, height: 8 }),
  );
}

export const numberCell = (text: string, title?: string): Markup =>
  h('td', { class: 'number', title }, text);

/** One line per series: its lowest latency and its most rows per second. */
export function summary(points: readonly BenchPoint[]): Markup {
  const groups = allGroups(points).filter((group) => group.points.some(hasAnswers));
  const most = Math.max(...points.map(({ rowsPerSecond }) => rowsPerSecond));
  const rows = groups.map(({ name, points: all }) => {
    const own = all.filter(hasAnswers);
    const best = fastest(own) ?? own[0];
    const first = own.reduce((a, b) => (b.latency.p50 < a.latency.p50 ? b : a));
    if (best === undefined) return '';
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, name),
      numberCell(duration(first.latency.p50)),
      numberCell(duration(first.latency.p99)),
      h('td', {}, askedWords(first)),
      numberCell(grouped(best.requestsPerSecond)),
      numberCell(grouped(best.rowsPerSecond)),
      h('td', { class: 'barcell' }, bar(best.rowsPerSecond / most)),
      numberCell(duration(best.latency.p99)),
      h('td', {}, askedWords(best)),
    );
  });
  const heads = ['requests/s', 'rows/s', '', 'p99 then', 'with'];
  return h(
    'div',
    { class: 'scroll panel' },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          { class: 'over' },
          h('td', {}),
          h('th', { colspan: 3, scope: 'colgroup' }, 'Quickest'),
          h('th', { colspan: 5, scope: 'colgroup' }, 'Most'),
        ),
        h('tr', {}, ['', 'p50', 'p99', 'with', ...heads].map(headCell)),
      ),
      h('tbody', {}, rows),
    ),
  );
}

const NUMBERS = /^(requests\/s|rows\/s|p\d.*|mean|max|answered|failed|.*cores)$/;
export const headCell = (text: string): Markup =>
  text === ''
    ? h('td', {})
    : h('th', { scope: 'col', class: NUMBERS.test(text) ? 'number' : undefined }, text);

const COLUMNS = [
  ...['path', 'load', 'rows', 'requests/s', 'rows/s', 'mean', 'p50', 'p90', 'p99', 'p99.9', 'max'],
  ...['answered', 'failed', 'load cores', 'server cores'],
];

/** Every measured point. */
export function pointTable(points: readonly BenchPoint[]): Markup {
  const cores = (value: number | undefined): string =>
    value === undefined ? '–' : value.toFixed(2);
  const rows = points.map((point) => {
    const { latency, firstError } = point;
    const times = [latency.mean, latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, pathWords(point.path)),
      h('td', {}, askedWords(point)),
      h('td', {}, point.batch === 0 ? '–' : String(point.batch)),
      numberCell(grouped(point.requestsPerSecond)),
      numberCell(grouped(point.rowsPerSecond)),
      times.map((time) => numberCell(hasAnswers(point) ? duration(time) : '–')),
      numberCell(grouped(point.answered)),
      h('td', { class: point.failed > 0 ? 'number bad' : 'number', title: firstError }, [
        grouped(point.failed),
      ]),
      numberCell(cores(point.clientCores)),
      numberCell(cores(point.serverCores)),
    );
  });
  return h(
    'div',
    { class: 'scroll panel' },
    h('table', {}, h('thead', {}, h('tr', {}, COLUMNS.map(headCell))), h('tbody', {}, rows)),
  );
}

/** Caveats that a reader must know. */
export function notes(points: readonly BenchPoint[], cores: number): Child {
  const failing = points.filter(({ failed }) => failed > 0);
  const failed = failing.reduce((sum, one) => sum + one.failed, 0);
  const error = failing.find(({ firstError }) => firstError !== undefined)?.firstError;
  const full = points.filter(
    ({ clientCores, serverCores }) =>
      serverCores !== undefined && clientCores + serverCores > 0.9 * cores && clientCores > 0.25,
  );
  const shares = full.map(({ clientCores }) => clientCores);
  return [
    failing.length === 0
      ? ''
      : h(
          'p',
          { class: 'warn bad' },
          `${grouped(failed)} requests failed in ${failing.length} of ${points.length} measurements` +
            `${error === undefined ? '.' : `; the first: ${error}`}`,
        ),
    full.length === 0
      ? ''
      : h(
          'p',
          { class: 'warn' },
          `In ${full.length} of ${points.length} measurements the machine's ${cores} cores were busy, ` +
            `up to ${Math.max(...shares).toFixed(1)} of them by the load itself: with the load on ` +
            'another machine the server would be faster.',
        ),
  ];
}

export const rowsOf = (points: readonly BenchPoint[]): string =>
  [...new Set(points.map(({ batch }) => batch))]
    .filter((batch) => batch > 0)
    .map(rowsWords)
    .join(', ');
