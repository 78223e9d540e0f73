// Runs every suite, each with a heading and its time; a failing suite does not hide the ones after
// it. `make test` has built everything before.
//   node test/run/suites.mjs [SUITE...]     default: all; --list prints the names
// A suite that keeps every core busy runs alone. The others (`narrow`) wait for one process at a
// time: neighbours in the list run side by side, and each prints its output when it has ended.
// Ends with the plain line "N passed, N failed, N skipped" over all suites. Test time only.
import { spawn, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mapAtOnce } from './at-once.mjs';
import { compileTests, TESTS_COMPILED } from './suite.mjs';
import {
  addCounts,
  addFailure,
  exitWhenWritten,
  noCounts,
  parseSummary,
  printNames,
  seconds,
  summaryLine,
} from './counts.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const node = (...args) => [process.execPath, ...args];

const suite = (...args) => node('test/run/suite.mjs', ...args);

// name -> command.
const SUITES = {
  tidy: node('test/tidy/tidy.mjs'),
  boundary: suite('test/boundary', '--jobs', '1'),
  unit: suite('test/tidy', 'test/unit', 'bench/test'),
  'native-plain': node('test/native/run.mjs', 'plain'),
  conformance: suite('test/conformance'),
  e2e: suite('test/e2e'),
  clients: suite('test/clients', '--jobs', '1'),
  deploy: suite('test/deploy', '--jobs', '1'),
  package: node('test/package/run.mjs'),
  quickstart: suite('test/quickstart', '--jobs', '1'),
  'native-asan': node('test/native/run.mjs', 'asan'),
  'boundary-asan': node('test/run/boundary-asan.mjs'),
  'native-tsan': node('test/native/run.mjs', 'tsan'),
  fuzz: node('test/fuzz/run.mjs', '--seconds', '10'),
};
const NARROW = new Set(['tidy', 'boundary', 'clients', 'deploy', 'package', 'quickstart']);
const NARROW_AT_ONCE = 2;
// Suites that run no file of test/**/*.ts.
const WITHOUT_TYPESCRIPT = new Set(
  'tidy native-plain native-asan native-tsan fuzz package'.split(' '),
);

// The suites that drive the official Python clients get the interpreter that has them.
const NEEDS_PYTHON = new Set(['conformance', 'e2e']);
// Commands that install or make what a suite needs, in minutes on a fresh machine: no test's time
// limit may count that. One that fails here fails, or skips its tests, in the suite.
const PREPARATION = {
  conformance: ['test/fixtures/tensorflow/goldens.sh'],
  quickstart: [
    'test/env/quickstart-env.sh',
    'test/env/quickstart-env.sh trees',
    'test/env/tabular-env.sh',
  ],
};

function pythonInterpreter() {
  const script = join(root, 'test', 'env', 'python-env.sh');
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const { status, stdout } = spawnSync(script, options);
  return status === 0 ? join(stdout.trim(), 'bin', 'python') : undefined;
}

// Runs a program to its end. Its output goes to `write`; stdout is kept for the counts (stderr may
// arrive in the middle of a line).
function runCommand([command, ...args], env, write) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        if (stream === child.stdout) output += text;
        write(text);
      });
    }
    child.on('error', (error) => resolve({ status: 1, output: error.message }));
    child.on('close', (status) => resolve({ status: status ?? 1, output }));
  });
}

async function runSuite(name, write) {
  const env = { ...process.env };
  if (NEEDS_PYTHON.has(name) && env.SERVAL_PYTHON === undefined) {
    const python = pythonInterpreter();
    if (python === undefined) {
      const counts = noCounts();
      addFailure(counts, `${name}: no interpreter of test/env/python-env.sh`);
      return counts;
    }
    env.SERVAL_PYTHON = python;
  }
  for (const text of PREPARATION[name] ?? []) await runCommand(text.split(' '), env, write);
  const { status, output } = await runCommand(SUITES[name], env, write);
  const counts = parseSummary(output) ?? { ...noCounts(), passed: status === 0 ? 1 : 0 };
  if (status !== 0 && counts.failed === 0) addFailure(counts, `ended with status ${status}`);
  counts.failures = counts.failures.map((why) => `${name}: ${why}`);
  return counts;
}

function timeColumn(name, started) {
  return `${name.padEnd(14)} ${seconds(Date.now() - started).padStart(9)}`;
}

/** The suites in steps: a list of narrow neighbours, or one wide suite. */
export function stepsOf(names) {
  const steps = [];
  for (const name of names) {
    const last = steps.at(-1);
    if (NARROW.has(name) && last !== undefined && NARROW.has(last[0])) last.push(name);
    else steps.push([name]);
  }
  return steps;
}

// Runs one suite; resolves to its counts and its line of the table.
async function runShown(name, beside) {
  const heading = `\n== ${name} (Node ${process.versions.node})\n`;
  const kept = [heading];
  const write = beside ? (text) => kept.push(text) : (text) => process.stdout.write(text);
  if (!beside) process.stdout.write(heading);
  const started = Date.now();
  const counts = await runSuite(name, write);
  const line = `${timeColumn(name, started)}   ${summaryLine(counts)}`;
  if (beside) process.stdout.write(kept.join(''));
  process.stdout.write(`== ${line}\n`);
  return { counts, line };
}

async function main(args) {
  if (args.includes('--list')) {
    process.stdout.write(`${Object.keys(SUITES).join('\n')}\n`);
    return 0;
  }
  const names = args.length > 0 ? args : Object.keys(SUITES);
  const unknown = names.find((name) => SUITES[name] === undefined);
  if (unknown !== undefined) {
    const known = Object.keys(SUITES).join(', ');
    process.stderr.write(`test: unknown suite '${unknown}'; expected ${known}\n`);
    return 2;
  }
  const total = noCounts();
  const lines = [];
  const begun = Date.now();
  if (names.some((name) => !WITHOUT_TYPESCRIPT.has(name))) {
    // Tests with type errors are compiled all the same: the suites run, and the run fails.
    if (!compileTests()) {
      addFailure(total, 'type check of the tests (test/tsconfig.json)');
    }
    process.env[TESTS_COMPILED] = '1';
  }
  for (const step of stepsOf(names)) {
    const beside = step.length > 1;
    const ran = await mapAtOnce(step, (name) => runShown(name, beside), NARROW_AT_ONCE);
    for (const { counts, line } of ran) {
      addCounts(total, counts);
      lines.push(line);
    }
  }
  process.stdout.write(`\n${lines.join('\n')}\n${timeColumn('all suites', begun)}\n`);
  printNames(total);
  process.stdout.write(`${summaryLine(total)}\n`);
  return total.failed === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  exitWhenWritten(await main(process.argv.slice(2)));
}
