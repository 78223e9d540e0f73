// Compares two checkouts of Serval: every workload of run.mjs, measured in turns (old, new, old,
// new ...) on one machine in one command. Both must be built. Control plane.
import { resolve } from 'node:path';
import { createContext } from './context.mjs';
import { describeMachine } from './machine.mjs';
import { parseCompareOptions, SHARED_HELP } from './options.mjs';
import { alignTable, formatSide } from './report.mjs';
import { alternate, pairSeconds, Skipped } from './runner.mjs';
import { medianSample, median } from './statistics.mjs';
import { selectWorkloads } from './workloads/index.mjs';

const HELP = `node bench/compare.mjs [options] OLD_CHECKOUT NEW_CHECKOUT${SHARED_HELP}
`;

/** The figure of one pair: how many times faster the new side is. Pure. */
export function timesFaster(workload, { reference, serval }) {
  if (workload.metric === 'p50') return reference.p50Us / serval.p50Us;
  if (workload.metric === 'p99-times') return reference.p99Us / serval.p99Us;
  return reference.usPerRequest / serval.usPerRequest;
}

async function compareOne(context, workload, before, after) {
  const old = await workload.openServal(context, before);
  try {
    const now = await workload.openServal(context, after);
    try {
      return await alternate(context.options, old, now);
    } finally {
      await now.close();
    }
  } finally {
    await old.close();
  }
}

/** Returns why a workload is omitted, or ''. */
function whyNotRun(context, workload) {
  if (workload.openServal === undefined) return 'not a pair: compare two runs of run.mjs';
  const { limitSeconds } = context.options;
  const ends = context.elapsedSeconds() + pairSeconds(context.options);
  return ends > limitSeconds ? `over the limit of ${limitSeconds} s` : '';
}

function tableRow(workload, rounds) {
  const ratios = rounds.map((round) => timesFaster(workload, round));
  return [
    workload.title,
    median(ratios).toFixed(3),
    ratios.map((ratio) => ratio.toFixed(3)).join(' '),
    formatSide(medianSample(rounds.map((round) => round.reference))),
    formatSide(medianSample(rounds.map((round) => round.serval))),
  ];
}

async function main() {
  const options = parseCompareOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const before = resolve(options.before);
  const after = resolve(options.after);
  const context = createContext(options);
  const rows = [['workload', 'new is N x faster', 'each pair', 'old', 'new']];
  let failures = 0;
  for (const workload of selectWorkloads(options.only)) {
    const reason = whyNotRun(context, workload);
    if (reason !== '') {
      rows.push([workload.title, 'not run', reason, '', '']);
      continue;
    }
    process.stderr.write(`${workload.title}\n`);
    try {
      rows.push(tableRow(workload, await compareOne(context, workload, before, after)));
    } catch (error) {
      const skipped = error instanceof Skipped;
      failures += skipped ? 0 : 1;
      const what = skipped ? 'SKIPPED' : 'ERROR';
      rows.push([workload.title, what, error.message.split('\n')[0], '', '']);
    }
  }
  const commits = `${describeMachine(before).commit} -> ${describeMachine(after).commit}`;
  process.stdout.write(`\n${commits}\n${alignTable(rows)}\n`);
  process.exitCode = failures === 0 ? 0 : 1;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  main().then(
    () => process.exit(),
    (error) => {
      process.stderr.write(`compare: ${error.message}\n`);
      process.exit(2);
    },
  );
}
