// `make bench`: every workload against its reference, as one table of ratios. Control plane.
// Writes bench/results/latest.json and .svg. Ends with 1 when a row could not be measured, 0
// otherwise: a missed target is a figure, not a failure of the run.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext } from './context.mjs';
import { describeMachine } from './machine.mjs';
import { formatMicro, runMicro } from './micro.mjs';
import { parseRunOptions, SHARED_HELP } from './options.mjs';
import {
  compareRuns,
  formatComparison,
  formatErrors,
  formatRows,
  formatSkipped,
} from './report.mjs';
import { loadRun, saveRun } from './results.mjs';
import { runWorkload } from './runner.mjs';
import { selectWorkloads } from './workloads/index.mjs';

const RESULTS = fileURLToPath(new URL('results', import.meta.url));
const BUSY_LOAD = 0.5;
const HELP = `node bench/run.mjs [options]${SHARED_HELP}
  --save NAME         also keep this run as bench/results/NAME.json and .svg
  --compare NAME      print the change against a kept run
  --checkout DIR      measure the Serval built in DIR instead of this one
  --no-micro          leave the codec table out
`;

const print = (text) => process.stdout.write(`${text}\n`);
const progress = (text) => process.stderr.write(`${text}\n`);

function describeRun({ cores, options }, machine) {
  const busy = machine.load1 > BUSY_LOAD ? ` (busy: load ${machine.load1.toFixed(1)})` : '';
  const shared = cores.shared ? ', ONE core for both: figures are not comparable' : '';
  return `${machine.cpu}, kernel ${machine.kernel}, Node ${machine.node}${busy}; commit ${
    machine.commit
  }
server on core ${cores.server}, load on core ${cores.load}${shared}; ${options.rounds} rounds of ${
    options.seconds
  } s, A B A B; got = median over the rounds, spread = smallest .. largest,
by cpu = the same from the servers' CPU time per request\n`;
}

async function runAll(context, workloads) {
  const rows = [];
  for (const [index, workload] of workloads.entries()) {
    progress(`[${index + 1}/${workloads.length}] ${workload.title}`);
    rows.push(...(await runWorkload(context, workload)));
  }
  return rows;
}

/** The tables of codecs and counters, unless they are disabled or --only selects something else. */
async function microTable(context) {
  const { micro, only } = context.options;
  const none = { tables: [], error: '' };
  if (!micro || (only !== undefined && !only.includes('codec'))) return none;
  progress('codecs, and the other costs of a request');
  try {
    return { tables: await runMicro(context), error: '' };
  } catch (error) {
    return { ...none, error: `codecs: ${error.message}` };
  }
}

async function main() {
  const options = parseRunOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const saved = options.compare === undefined ? null : loadRun(RESULTS, options.compare);
  const workloads = options.only === 'codec' ? [] : selectWorkloads(options.only);
  const context = createContext(options, { root: options.checkout });
  const machine = describeMachine(context.root);
  const rows = await runAll(context, workloads);
  const micro = await microTable(context);
  const run = { machine, options, rows, micro: micro.tables.flat() };
  print(`\n${describeRun(context, machine)}`);
  if (rows.length > 0) print(formatRows(rows));
  for (const table of micro.tables) print(`\n${formatMicro(table)}`);
  if (saved !== null) {
    print(`\n${formatComparison(options.compare, compareRuns(saved, rows))}`);
  }
  const skipped = formatSkipped(rows);
  if (skipped !== '') progress(`\n${skipped}`);
  const errors = [formatErrors(rows), micro.error].filter((text) => text !== '').join('\n');
  if (errors !== '') progress(`\n${errors}`);
  const names = options.save === undefined ? ['latest'] : ['latest', options.save];
  const paths = names.map((name) => saveRun(RESULTS, name, run));
  const written = paths.flatMap(({ json, svg }) => [json, svg]);
  print(`\nwritten: ${written.map((path) => relative('.', path)).join(' ')}`);
  process.exitCode = errors === '' ? 0 : 1;
}

main().then(
  () => process.exit(),
  (error) => {
    progress(`bench: ${error.message}`);
    process.exit(2);
  },
);
