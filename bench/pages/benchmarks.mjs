// The text of docs/reference/benchmarks.md from the kept runs. Pure.
import { formatFigure, formatUs } from '../report.mjs';
import { rateText } from './charts.mjs';

/** The one-minute load average from which a run counts as disturbed. */
export const BUSY_LOAD = 0.5;
const FLOORS = ['echo', 'onnxruntime'];

const cellOf = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A Markdown table: lists of cells, the heading first. */
export function markdownTable([heading, ...rows]) {
  const line = (cells) => `| ${cells.map(cellOf).join(' | ')} |`;
  return [line(heading), line(heading.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Describes the machine and the time of a run, in one paragraph. */
export function runText({ machine, options }) {
  const { cpu, cpus, kernel, node, commit, time, load1 } = machine;
  const busy =
    load1 > BUSY_LOAD
      ? ` **Other programs ran meanwhile (load ${load1.toFixed(1)}): the figures are indications.**`
      : '';
  return `${cpu}, ${cpus} cores, Linux ${kernel}, Node ${node}; commit \`${commit}\`, ${time.slice(
    0,
    10,
  )}; ${options.rounds} rounds of ${options.seconds} s.${busy}`;
}

function targetText({ target, form }) {
  return target === null ? '' : `${target.relation} ${formatFigure(form, target.limit)}`;
}

function rateOrTime(sample) {
  if (sample?.usPerRequest === undefined) return '';
  if (sample.usPerRequest >= 500) return formatUs(sample.usPerRequest);
  return `${rateText(sample.perSecond)}/s`;
}

function rowCells(row) {
  if (row.error !== undefined) {
    const why = row.error.split('\n')[0];
    const what = row.skipped === true ? 'not measured' : 'failed';
    return [row.title, row.reference, '', `${what}: ${why}`, '', '', ''];
  }
  const figure = (value) => formatFigure(row.form, value);
  const { min, max } = row.spread;
  const met = row.ok === null ? '' : row.ok ? ' met' : ' **missed**';
  return [
    row.title,
    row.reference,
    figure(row.got),
    `${figure(min)} to ${figure(max)}`,
    `${targetText(row)}${met}`,
    rateOrTime(row.sides.serval),
    rateOrTime(row.sides.reference),
  ];
}

/** The table of `make bench`. */
export function workloadTable({ rows }) {
  const heading = ['workload', 'against', 'figure', 'spread', 'target', 'Serval', 'the other'];
  return markdownTable([heading, ...rows.map(rowCells)]);
}

/** Splits the rows of a run of the peers by case: [{id, title, rows}], in order. */
export function casesOf({ rows }) {
  const cases = new Map();
  for (const row of rows) {
    const [id] = row.id.split('/');
    const found = cases.get(id) ?? { id, title: row.title, rows: [] };
    found.rows.push(row);
    cases.set(id, found);
  }
  return [...cases.values()];
}

const idOf = (row) => row.id.split('/')[1];

/** The servers of a case, measured ones only: [{title, kind, sample, rates, times}]. */
export function serversOf({ rows }) {
  const measured = rows.filter(({ error }) => error === undefined);
  if (measured.length === 0) return [];
  const rates = (side) => measured[0].rounds.map((round) => round[side].perSecond);
  const serval = {
    title: 'Serval',
    kind: 'serval',
    sample: measured[0].sides.serval,
    rates: rates('serval'),
    times: 1,
  };
  const others = measured.map((row) => ({
    title: row.reference,
    kind: FLOORS.includes(idOf(row)) ? 'floor' : 'peer',
    sample: row.sides.reference,
    rates: row.rounds.map(({ reference }) => reference.perSecond),
    times: row.got,
  }));
  return [serval, ...others];
}

/** The groups of bars that charts.mjs draws for a run of the peers. */
export function chartGroups(run) {
  return casesOf(run)
    .map((one) => ({
      title: one.title,
      bars: serversOf(one).map(({ title, kind, sample: { perSecond } }) => ({
        title,
        kind,
        perSecond,
      })),
    }))
    .filter(({ bars }) => bars.length > 0);
}

const percentile = (us) => (us === undefined ? '' : formatUs(us));

function serverCells({ title, kind, sample, rates, times }) {
  const range = `${rateText(Math.min(...rates))} to ${rateText(Math.max(...rates))}`;
  return [
    kind === 'floor' ? `*${title}*` : title,
    rateText(sample.perSecond),
    range,
    percentile(sample.p50Us),
    percentile(sample.p99Us),
    percentile(sample.cpuUs),
    kind === 'serval' ? '' : times >= 10 ? times.toFixed(0) : times.toFixed(2),
  ];
}

function caseText(one) {
  const heading = [
    'server',
    'requests/s',
    'spread',
    'p50',
    'p99',
    'CPU a request',
    'Serval is N x',
  ];
  const servers = serversOf(one);
  const table =
    servers.length === 0 ? '' : `\n\n${markdownTable([heading, ...servers.map(serverCells)])}`;
  const failed = one.rows
    .filter(({ error }) => error !== undefined)
    .map(({ reference, error }) => `\n\nNot measured: ${reference}: ${error.split('\n')[0]}`);
  return `### ${one.title}${table}${failed.join('')}`;
}

function facts(server) {
  return [
    server.title,
    server.release ?? '',
    server.configuration ?? 'defaults',
    server.installMb === undefined ? '' : `${Math.round(server.installMb)} MB`,
    `${server.readySeconds.toFixed(1)} s`,
    `${Math.round(server.memoryMb)} MB`,
  ];
}

/** The section of the peers. */
export function peersText(run) {
  const heading = ['server', 'release', 'configuration', 'installed', 'ready after', 'memory'];
  return `${runText(run)}

${markdownTable([heading, ...run.servers.map(facts)])}

"Installed" is the Python environment with ONNX Runtime; "memory" is that of all processes with the
three models, idle, with shared pages counted once.

![Requests per second of each server](../images/benchmarks-peers.svg)

${casesOf(run).map(caseText).join('\n\n')}`;
}
