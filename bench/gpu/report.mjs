// Formats the rows of gpu/run.mjs as a Markdown table, with verdicts. Pure.
import { formatFigure, formatSide } from '../report.mjs';
import { median, spread } from '../statistics.mjs';
import { titlesOf } from './groups.mjs';
import { KINDS, kindTitle } from './kinds.mjs';

const HEADING = [
  ...['model', 'batch', 'in flight', 'path', 'Serval', 'got', 'spread', 'target', 'met'],
  ...['Serval itself', 'what it is measured against'],
];

const verdictOf = ({ ok }) => (ok === null ? '' : ok ? 'yes' : '**no**');

function cellsOf(row) {
  const { model, batch, inFlight } = row.place;
  const { path, mode } = titlesOf(row.place);
  const head = [model, String(batch), String(inFlight), path, mode];
  const figure = (value) => formatFigure(row.form, value);
  const target = row.target === null ? '' : `${row.target.relation} ${figure(row.target.limit)}`;
  if (row.error !== undefined) {
    return [...head, '', '', target, 'ERROR', row.error.split('\n')[0], ''];
  }
  return [
    ...head,
    figure(row.got),
    `${figure(row.spread.min)} .. ${figure(row.spread.max)}`,
    target,
    verdictOf(row),
    formatSide(row.sides.serval),
    formatSide(row.sides.reference),
  ];
}

const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

/** The rows as a table. */
export function markdownTable(rows) {
  const rule = HEADING.map(() => '---');
  return [HEADING, rule, ...rows.map(cellsOf)].map(line).join('\n');
}

const judgedOf = (rows, metric, mode, kind = 'plain') =>
  rows.filter(
    ({ error, metric: own, place }) =>
      error === undefined && own === metric && place.mode === mode && place.kind === kind,
  );

/** States whether a target was met in the rows of one metric and mode; '' if there is none. */
function targetVerdict(rows, metric, mode, what, kind) {
  const judged = judgedOf(rows, metric, mode, kind);
  if (judged.length === 0) return '';
  const [{ form, target }] = judged;
  const met = judged.filter(({ ok }) => ok).length;
  const sign = metric === 'rate' ? 1 : -1;
  const worst = judged.reduce((last, row) => (sign * row.got < sign * last.got ? row : last));
  const goal = `${target.relation} ${formatFigure(form, target.limit)}`;
  const word = met === judged.length ? 'met' : 'MISSED';
  const where = titlesOf(worst.place).mode;
  const least = `worst ${formatFigure(form, worst.got)} (${worst.title})`;
  return `${what}, ${where}, ${goal}: ${word}, ${met} of ${judged.length} rows; ${least}`;
}

function isolationVerdict(rows, metric, what) {
  const judged = judgedOf(rows, metric, 'isolation');
  if (judged.length === 0) return '';
  const [{ form }] = judged;
  const values = judged.map(({ got }) => got);
  const { min, max } = spread(values);
  const figure = (value) => formatFigure(form, value);
  const range = `${figure(min)} .. ${figure(max)}`;
  return `isolation, ${what}: ${figure(median(values))}, median of ${values.length} rows, ${range}`;
}

/** Summarizes the rows: a line for each target and mode, and the cost of isolation. */
export function verdicts(rows) {
  const failed = rows.filter(({ error }) => error !== undefined).length;
  return [
    ...['none', 'isolated'].flatMap((mode) => [
      targetVerdict(rows, 'rate', mode, 'throughput at 16 in flight'),
      targetVerdict(rows, 'p50', mode, 'p50 over the runtime alone'),
    ]),
    ...KINDS.filter((kind) => kind !== 'plain').flatMap((kind) =>
      ['none', 'isolated'].flatMap((mode) => [
        targetVerdict(rows, 'rate', mode, `${kindTitle(kind)}, throughput`, kind),
        targetVerdict(rows, 'p50', mode, `${kindTitle(kind)}, p50 over the runtime alone`, kind),
      ]),
    ),
    isolationVerdict(rows, 'rate', 'throughput at 16 in flight over that in the server'),
    isolationVerdict(rows, 'p50', 'p50 over that in the server'),
    failed === 0 ? '' : `NOT MEASURED: ${failed} of ${rows.length} rows`,
  ].filter((text) => text !== '');
}

/** Formats the page of a run: {machine, options, rows, verdicts}. */
export function markdownPage({ machine, options, rows, verdicts: lines }) {
  const { server, load } = machine.cores;
  const notes = [
    `${machine.gpus.join(', ')} (driver ${machine.driver}), ${machine.cpu}, ${machine.cpus} cores`,
    `kernel ${machine.kernel}, Node ${machine.node}, commit ${machine.commit}, ${machine.time}`,
    `server and runtime alone on cores ${server.join(' ')}, load on ${load.join(' ')}`,
    `${options.rounds} rounds of ${options.seconds} s, in turn${
      options.oneReference ? ', the runtime alone once a round' : ''
    }; got = median over the rounds`,
    ...(options.servalArgs.length === 0
      ? []
      : [`serval serve ... ${options.servalArgs.join(' ')}`]),
    ...(options.tiny ? ['**The models are scaled down: this is not a measurement.**'] : []),
    ...(machine.isFake ? ['**Over stand-ins, without a GPU: this is not a measurement.**'] : []),
  ];
  return `# Serval on a GPU, against ONNX Runtime alone

${notes.map((text) => `- ${text}`).join('\n')}

${lines.map((text) => `- ${text}`).join('\n')}

${markdownTable(rows)}
`;
}
