// The page's part about the trials of `--tune`: best against defaults, a plot, a table, the
// configuration, the steps. Control plane; pure.
import { TRITON_CONFIG_FILE } from '../../../base/file-names.js';
import { settingsWords } from '../tune/words.js';
import type { TuneReport, TuneTrial } from '../types.js';
import { h, type Child, type Markup } from './html.js';
import { bar, headCell, latencyAxis, numberCell, pointTitle } from './measured.js';
import { change, count, duration, grouped } from './numbers.js';
import { plotFigure, X_FROM, X_TO, type Mark, type Series } from './plot.js';
import { linear } from './scale.js';
import { askedWords, fastest } from './groups.js';

/** The point that represents a trial in the plot: its best, or else its fastest. */
const shownPoint = (trial: TuneTrial) => trial.best ?? fastest(trial.points);

function cards(report: TuneReport, best: TuneTrial): Markup {
  const after = best.best;
  const before = report.trials[0]?.best;
  const card = (name: string, value: string, note: string): Markup =>
    h('div', { class: 'card' }, h('span', {}, name), h('b', {}, value), h('small', {}, note));
  const was = (text: (of: NonNullable<typeof before>) => string): string =>
    before === undefined ? 'defaults: above the bound' : text(before);
  if (after === undefined) return h('div', {});
  return h(
    'div',
    { class: 'cards' },
    card(
      'rows per second',
      grouped(after.rowsPerSecond),
      was((of) => {
        const gain = change(of.rowsPerSecond, after.rowsPerSecond);
        return `defaults: ${grouped(of.rowsPerSecond)} (${gain})`;
      }),
    ),
    card(
      'p99',
      duration(after.latency.p99),
      was((of) => `defaults: ${duration(of.latency.p99)}`),
    ),
    card(
      'with',
      askedWords(after),
      was((of) => `defaults: ${askedWords(of)}`),
    ),
    card(
      'p99 bound',
      report.latencyBound === undefined ? 'none' : duration(report.latencyBound),
      `${report.trials.length} settings tried`,
    ),
  );
}

function triedPlot(report: TuneReport): Child {
  const { trials, latencyBound, best } = report;
  const marked = trials.flatMap((trial, index) => {
    const point = shownPoint(trial);
    if (point === undefined || point.answered === 0) return [];
    const title = pointTitle(settingsWords(trial.settings), point);
    const label = index === best ? 'best' : index === 0 ? 'defaults' : undefined;
    const mark: Mark = { x: point.rowsPerSecond, y: point.latency.p99, title, label };
    return [{ index, mark }];
  });
  if (marked.length === 0) return '';
  const series = (name: string, style: number, keep: (index: number) => boolean): Series => ({
    name,
    style,
    marks: marked.filter(({ index }) => keep(index)).map(({ mark }) => mark),
    hasLine: false,
  });
  const all: readonly Series[] = [
    series('other settings', 6, (index) => index !== 0 && index !== best),
    series('defaults', 1, (index) => index === 0 && index !== best),
    series('best', 0, (index) => index === best),
  ].filter(({ marks }) => marks.length > 0);
  const latencies = [...marked.map(({ mark }) => mark.y), ...(latencyBound ? [latencyBound] : [])];
  const rates = marked.map(({ mark }) => mark.x);
  return plotFigure({
    title: 'Trials',
    note: 'each at its highest throughput within the bound',
    x: { name: 'rows per second', scale: linear(rates, X_FROM, X_TO), shown: count },
    y: latencyAxis(latencies, 'p99'),
    series: all,
    bound:
      latencyBound === undefined
        ? undefined
        : { value: latencyBound, name: `bound ${duration(latencyBound)}` },
  });
}

function triedTable({ trials, best }: TuneReport): Markup {
  const most = Math.max(...trials.map((trial) => shownPoint(trial)?.rowsPerSecond ?? 0), 1e-9);
  const rows = trials.map((trial, index) => {
    const point = shownPoint(trial);
    const mark = index === best ? h('span', { class: 'tag' }, 'best') : '';
    const isOver = trial.best === undefined;
    return h(
      'tr',
      { class: index === best ? 'chosen' : undefined },
      h('th', { scope: 'row' }, settingsWords(trial.settings), ' ', mark),
      point === undefined
        ? h('td', { class: 'bad', colspan: 4 }, trial.problem ?? 'not measured')
        : [
            numberCell(grouped(point.rowsPerSecond)),
            h('td', { class: 'barcell' }, bar(point.rowsPerSecond / most)),
            h('td', { class: isOver ? 'number bad' : 'number' }, duration(point.latency.p99)),
            h('td', {}, askedWords(point)),
          ],
      h('td', { class: 'dim' }, trial.why),
    );
  });
  const heads = ['settings', 'rows/s', '', 'p99', 'with', 'reason'];
  return h(
    'div',
    { class: 'scroll panel' },
    h('table', {}, h('thead', {}, h('tr', {}, heads.map(headCell))), h('tbody', {}, rows)),
  );
}

const fileText = (name: string, text: string): Markup =>
  h('div', { class: 'file panel' }, h('h3', {}, name), h('pre', { tabindex: 0 }, text));

export function tunedPart(report: TuneReport): Child {
  const best = report.best === undefined ? undefined : report.trials[report.best];
  return [
    h('h2', {}, 'Tuning'),
    best === undefined
      ? h('p', { class: 'warn bad' }, 'No settings met the p99 latency bound.')
      : [
          h('p', { class: 'lead' }, 'Best: ', h('b', {}, settingsWords(best.settings))),
          cards(report, best),
        ],
    h(
      'div',
      { class: 'plots' },
      triedPlot(report),
      h(
        'div',
        { class: 'files' },
        fileText(TRITON_CONFIG_FILE, report.config),
        report.batchingParameters === undefined
          ? ''
          : fileText('TensorFlow Serving batching parameters', report.batchingParameters),
      ),
    ),
    triedTable(report),
    h(
      'details',
      { class: 'panel' },
      h('summary', {}, `Search log (${report.steps.length} steps)`),
      h(
        'ol',
        { class: 'steps' },
        report.steps.map((step) => h('li', {}, step)),
      ),
    ),
  ];
}
