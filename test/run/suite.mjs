// Runs the *.test.mjs and *.test.ts files of one or more folders with node's own test runner.
//   node test/run/suite.mjs FOLDER... [--jobs N]
// N files run at once (default 2); those of alone.mjs run after them, one at a time. TypeScript
// tests are compiled to build/test first (test/tsconfig.json). A type error is a failure, and so is
// a folder without tests. A failing test fails the suite: nothing is run twice. Lists the slowest
// files and ends with the plain line "N passed, N failed, N skipped". Test time only.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ALONE } from './alone.mjs';
import {
  addCounts,
  addFailure,
  exitWhenWritten,
  noCounts,
  parseTap,
  printNames,
  seconds,
  summaryLine,
} from './counts.mjs';

// The limit of one file with all its tests; a test that hangs is a failure.
const FILE_TIMEOUT_MS = 300_000;
// Set to 1 by suites.mjs, which compiles the tests once for all suites.
export const TESTS_COMPILED = 'SERVAL_TESTS_COMPILED';
// Files that the list of slow ones has, and the least time of each.
const SLOW_FILES = 12;
const SLOW_MS = 5_000;

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export function testFilesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .filter((path) => /\.test\.(mjs|ts)$/.test(path))
    .map((path) => join(folder, path))
    .sort();
}

// The place where the compiler puts a test: build/test mirrors the checkout.
export function compiledPath(file) {
  if (file.endsWith('.mjs')) return file;
  return join(root, 'build', 'test', relative(root, file)).replace(/\.ts$/, '.js');
}

// False when a test does not type-check; it is compiled all the same.
export function compileTests() {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', join('test', 'tsconfig.json')];
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
}

// The runner shows only failures on the screen; the counts come from its TAP file and the times of
// the files from file-times.mjs.
function runFiles(files, jobs) {
  const scratch = mkdtempSync(join(tmpdir(), 'serval-suite-'));
  const tap = join(scratch, 'tap');
  const times = join(scratch, 'times');
  const args = ['--test', `--test-concurrency=${jobs}`, `--test-timeout=${FILE_TIMEOUT_MS}`];
  args.push('--test-reporter=tap', `--test-reporter-destination=${tap}`);
  args.push(`--test-reporter=${join(root, 'test', 'run', 'file-times.mjs')}`);
  args.push(`--test-reporter-destination=${times}`);
  args.push('--test-reporter=spec', '--test-reporter-destination=stdout', ...files);
  const env = { ...process.env, FORCE_COLOR: '0', NODE_TEST_CONTEXT: undefined };
  const options = { cwd: root, env, encoding: 'utf8', maxBuffer: 256 * 2 ** 20 };
  const result = spawnSync(process.execPath, args, options);
  const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  const [text, timed] = [read(tap), read(times)];
  rmSync(scratch, { recursive: true, force: true });
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}`;
  return { status: result.status, output, text, times: parseTimes(timed) };
}

// Runs `files`, adds to `counts` and `times`, and shows what failed.
function runAndCount(files, jobs, counts, times) {
  if (files.length === 0) return;
  const { status, output, text, times: more } = runFiles(files, jobs);
  const got = parseTap(text) ?? noCounts();
  if (status !== 0 && got.failed === 0) addFailure(got, `node --test ended with status ${status}`);
  if (got.failed > 0) process.stdout.write(output);
  addCounts(counts, got);
  times.push(...more);
}

/** The lines "milliseconds file" of file-times.mjs, slowest first. */
export function parseTimes(text) {
  return [...text.matchAll(/^(\d+) (.*)$/gm)]
    .map(([, ms, file]) => ({ file, ms: Number(ms) }))
    .sort((a, b) => b.ms - a.ms);
}

function printSlow(times) {
  const slow = times.sort((a, b) => b.ms - a.ms).filter(({ ms }) => ms >= SLOW_MS);
  for (const { file, ms } of slow.slice(0, SLOW_FILES)) {
    process.stdout.write(`  ${seconds(ms).padStart(9)}  ${relative(root, file)}\n`);
  }
}

/** Whether a test file must not share the machine with another one. */
function runsAlone(file) {
  return ALONE.has(relative(root, file));
}

function numberAt(args, name, otherwise) {
  const at = args.indexOf(name);
  return at < 0 ? otherwise : Number(args.splice(at, 2)[1]);
}

function main(args) {
  const jobs = numberAt(args, '--jobs', 2);
  const counts = noCounts();
  const files = [];
  for (const folder of args) {
    const found = testFilesIn(join(root, folder));
    if (found.length === 0) {
      addFailure(counts, `${folder}: no *.test.mjs or *.test.ts file in it`);
    }
    files.push(...found);
  }
  const compiled = process.env[TESTS_COMPILED] === '1';
  if (!compiled && files.some((file) => file.endsWith('.ts')) && !compileTests()) {
    addFailure(counts, 'type check of the tests (test/tsconfig.json)');
  }
  const times = [];
  const beside = files.filter((file) => !runsAlone(file));
  runAndCount(beside.map(compiledPath), jobs, counts, times);
  runAndCount(files.filter(runsAlone).map(compiledPath), 1, counts, times);
  printSlow(times);
  printNames(counts);
  process.stdout.write(`${summaryLine(counts)}\n`);
  return counts.failed === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  exitWhenWritten(main(process.argv.slice(2)));
}
