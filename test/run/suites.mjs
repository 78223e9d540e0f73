// Every suite in the order of STYLE's CI section, each with a heading and its time; a failing suite
// does not hide the ones after it. `make test` has built everything before.
//   node test/run/suites.mjs [SUITE...]     default: all; --list prints the names
// Ends with the plain line "N passed, N failed, N skipped" over all suites. Test time only.
import { spawn, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  addCounts,
  exitWhenWritten,
  noCounts,
  parseAgain,
  parseSummary,
  printSkipped,
  seconds,
  summaryLine,
} from './counts.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const node = (...args) => [process.execPath, ...args];

// name -> command. Suites that talk to a server over sockets run their files one at a time.
const SUITES = {
  tidy: node('test/tidy/tidy.mjs'),
  unit: node('test/run/suite.mjs', 'test/tidy', 'test/unit', 'bench/test', '--again', '2'),
  'native-plain': node('test/native/run.mjs', 'plain'),
  boundary: node('test/run/suite.mjs', 'test/boundary', '--jobs', '1'),
  conformance: node('test/run/suite.mjs', 'test/conformance', '--jobs', '1', '--again', '2'),
  e2e: node('test/run/suite.mjs', 'test/e2e', '--jobs', '1', '--again', '3'),
  clients: node('test/run/suite.mjs', 'test/clients', '--jobs', '1', '--again', '1'),
  deploy: node('test/run/suite.mjs', 'test/deploy', '--jobs', '1', '--again', '1'),
  'native-asan': node('test/native/run.mjs', 'asan'),
  'boundary-asan': node('test/run/boundary-asan.mjs'),
  'native-tsan': node('test/native/run.mjs', 'tsan'),
  fuzz: node('test/fuzz/run.mjs', '--seconds', '10'),
  package: node('scripts/check-package.mjs'),
  quickstart: node('test/run/suite.mjs', 'test/quickstart', '--jobs', '1', '--again', '1'),
};

// The suites that drive the official Python clients get the interpreter that has them.
const NEEDS_PYTHON = new Set(['conformance', 'e2e']);

function pythonInterpreter() {
  const script = join(root, 'test', 'env', 'python-env.sh');
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const { status, stdout } = spawnSync(script, options);
  return status === 0 ? join(stdout.trim(), 'bin', 'python') : undefined;
}

// Output goes to the screen as it comes; what a program prints on stdout is kept for the counts
// (stderr may come in the middle of a line).
function runCommand([command, ...args], env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        if (stream === child.stdout) output += text;
        process.stdout.write(text);
      });
    }
    child.on('error', (error) => resolve({ status: 1, output: error.message }));
    child.on('close', (status) => resolve({ status: status ?? 1, output }));
  });
}

async function runSuite(name) {
  const env = { ...process.env };
  if (NEEDS_PYTHON.has(name) && env.SERVAL_PYTHON === undefined) {
    const python = pythonInterpreter();
    if (python === undefined) return { ...noCounts(), failed: 1 };
    env.SERVAL_PYTHON = python;
  }
  const { status, output } = await runCommand(SUITES[name], env);
  const counts = parseSummary(output) ?? { ...noCounts(), passed: status === 0 ? 1 : 0 };
  if (status !== 0 && counts.failed === 0) counts.failed = 1;
  return { ...counts, again: parseAgain(output) };
}

function timeColumn(name, started) {
  return `${name.padEnd(14)} ${seconds(Date.now() - started).padStart(9)}`;
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
  const again = [];
  const begun = Date.now();
  for (const name of names) {
    process.stdout.write(`\n== ${name} (Node ${process.versions.node})\n`);
    const started = Date.now();
    const counts = await runSuite(name);
    lines.push(`${timeColumn(name, started)}   ${summaryLine(counts)}`);
    process.stdout.write(`== ${lines.at(-1)}\n`);
    addCounts(total, counts);
    again.push(...(counts.again ?? []));
  }
  process.stdout.write(`\n${lines.join('\n')}\n${timeColumn('all suites', begun)}\n`);
  for (const line of again) process.stdout.write(`${line}\n`);
  printSkipped(total);
  process.stdout.write(`${summaryLine(total)}\n`);
  return total.failed === 0 ? 0 : 1;
}

exitWhenWritten(await main(process.argv.slice(2)));
