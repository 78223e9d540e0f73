// A report of `serval bench` as one HTML file: it fetches, runs and sends nothing, which its
// content security policy enforces. Control plane; pure.
import { createHash } from 'node:crypto';
import type { BenchReport } from '../types.js';
import { h, raw, type Child, type Markup } from './html.js';
import { notes, plots, pointTable, rowsOf, summary } from './measured.js';
import { bytes } from './numbers.js';
import { STYLE } from './style.js';
import { tunedPart } from './tuned.js';

/** A longer table of points is collapsed. */
const OPEN_POINTS_MAX = 24;

/** Allows only the style sheet, by its digest. */
const policy = (): string => {
  const digest = createHash('sha256').update(STYLE).digest('base64');
  return `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`;
};

/** An argument quoted for a shell. */
const shellWord = (word: string): string =>
  /^[\w./:@=,+%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

function facts(report: BenchReport): Markup {
  const { machine, model, points } = report;
  const rows: readonly (readonly [string, Child])[] = [
    ['Model', `${model.name}, version ${model.version}`],
    ['Platform', model.platform],
    ['Server', report.server],
    ['Requests of', rowsOf(points)],
    ['Machine', `${machine.cpu}, ${machine.cores} cores, ${bytes(machine.memoryBytes)}`],
    ['Programs', `Serval ${report.serval}, Node ${machine.node.replace(/^v/, '')}`],
    ['Measured', h('time', { datetime: report.at }, report.at.replace(/\.\d+Z$/, 'Z'))],
    ['Command', h('code', {}, ['serval', 'bench', ...report.command].map(shellWord).join(' '))],
  ];
  const shown = rows.filter(([, value]) => value !== '');
  return h(
    'dl',
    { class: 'facts panel' },
    shown.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );
}

function measured({ points, machine, tuned }: BenchReport): Child {
  if (points.length === 0) {
    return tuned === undefined ? h('p', { class: 'warn' }, 'Nothing was measured.') : '';
  }
  return [
    notes(points, machine.cores),
    tuned === undefined ? '' : h('h2', {}, 'The best settings'),
    points.some(({ answered }) => answered > 0) ? summary(points) : '',
    plots(points),
    h(
      'details',
      { class: 'all', open: points.length <= OPEN_POINTS_MAX ? '' : undefined },
      h('summary', {}, `All ${points.length} points`),
      pointTable(points),
    ),
    h(
      'p',
      { class: 'dim' },
      'Latency is from the time when a request was due to the end of its response; failed ' +
        'requests are not included. Requests in flight: a response triggers the next request ' +
        '(closed loop). /s sent: by the clock, independent of responses (open loop).',
    ),
  ];
}

/** One self-contained HTML file; its contents are those of `report`. */
export function benchPage(report: BenchReport): string {
  const { model, tuned } = report;
  const head = h(
    'head',
    {},
    h('meta', { charset: 'utf-8' }),
    h('meta', { 'http-equiv': 'Content-Security-Policy', content: policy() }),
    h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
    h('meta', { name: 'color-scheme', content: 'light dark' }),
    h('meta', { name: 'referrer', content: 'no-referrer' }),
    h('title', {}, `${model.name} - serval bench`),
    h('style', {}, raw(STYLE)),
  );
  const body = h(
    'body',
    {},
    h(
      'main',
      {},
      h('header', {}, h('span', { class: 'brand' }, 'serval bench'), h('h1', {}, model.name)),
      facts(report),
      tuned === undefined ? '' : tunedPart(tuned),
      measured(report),
    ),
  );
  return `<!doctype html>\n${h('html', { lang: 'en' }, head, body).text}\n`;
}
