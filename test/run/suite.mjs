// Runs the *.test.mjs and *.test.ts files of one or more folders with node's own test runner.
//   node test/run/suite.mjs FOLDER... [--jobs N] [--again N]
// TypeScript tests are compiled to build/test first (test/tsconfig.json); a type error is a
// failure. So is a folder without tests: a suite that is not there has not passed. Where at most N
// files failed, each is run once more, and the second run counts; both are shown, with a line
// "AGAIN file". Ends with the plain line "N passed, N failed, N skipped". Test time only.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  exitWhenWritten,
  failedFiles,
  noCounts,
  parseTap,
  printSkipped,
  summaryLine,
} from './counts.mjs';

// For one file with all its tests; a test that hangs is a failure.
const FILE_TIMEOUT_MS = 300_000;

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export function testFilesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .filter((path) => /\.test\.(mjs|ts)$/.test(path))
    .map((path) => join(folder, path))
    .sort();
}

// Where the compiler puts a test: build/test mirrors the checkout.
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

// The runner shows only failures on the screen; the counts come from its TAP file.
function runFiles(files, jobs) {
  const scratch = mkdtempSync(join(tmpdir(), 'serval-suite-'));
  const tap = join(scratch, 'tap');
  const args = ['--test', `--test-concurrency=${jobs}`, `--test-timeout=${FILE_TIMEOUT_MS}`];
  args.push('--test-reporter=tap', `--test-reporter-destination=${tap}`);
  args.push('--test-reporter=spec', '--test-reporter-destination=stdout', ...files);
  const env = { ...process.env, FORCE_COLOR: '0', NODE_TEST_CONTEXT: undefined };
  const options = { cwd: root, env, encoding: 'utf8', maxBuffer: 256 * 2 ** 20 };
  const result = spawnSync(process.execPath, args, options);
  const text = existsSync(tap) ? readFileSync(tap, 'utf8') : '';
  rmSync(scratch, { recursive: true, force: true });
  return { status: result.status, output: `${result.stdout ?? ''}${result.stderr ?? ''}`, text };
}

// What a run of `files` came to; what failed is shown.
function ranOnce(files, jobs) {
  const { status, output, text } = runFiles(files, jobs);
  const counts = parseTap(text) ?? { ...noCounts(), failed: 1 };
  if (status !== 0 && counts.failed === 0) counts.failed = 1;
  if (counts.failed > 0) process.stdout.write(output);
  return { counts, failed: failedFiles(text, files) ?? [] };
}

// A machine that stands still for seconds fails tests of real servers, sockets and clients that are
// right. Such a failure does not come twice; one of ours that does is counted.
function ranAgain(first, again) {
  if (first.failed.length === 0 || first.failed.length > again) return first.counts;
  const { counts } = first;
  let failed = 0;
  for (const file of first.failed) {
    const second = ranOnce([file], 1).counts;
    const outcome = second.failed === 0 ? 'passed' : 'failed';
    process.stdout.write(`AGAIN ${relative(root, file)}: failed, then ${outcome} alone\n`);
    failed += second.failed;
  }
  const mended = Math.max(0, counts.failed - failed);
  return { ...counts, passed: counts.passed + mended, failed };
}

function numberAt(args, name, otherwise) {
  const at = args.indexOf(name);
  return at < 0 ? otherwise : Number(args.splice(at, 2)[1]);
}

function main(args) {
  const jobs = numberAt(args, '--jobs', 2);
  const again = numberAt(args, '--again', 0);
  const counts = noCounts();
  const files = [];
  for (const folder of args) {
    const found = testFilesIn(join(root, folder));
    if (found.length === 0) {
      process.stdout.write(`FAILED ${folder}: no *.test.mjs or *.test.ts file in it\n`);
      counts.failed += 1;
    }
    files.push(...found);
  }
  if (files.some((file) => file.endsWith('.ts')) && !compileTests()) {
    process.stdout.write('FAILED type check of the tests (test/tsconfig.json)\n');
    counts.failed += 1;
  }
  if (files.length > 0) {
    const got = ranAgain(ranOnce(files.map(compiledPath), jobs), again);
    counts.passed += got.passed;
    counts.failed += got.failed;
    counts.skipped.push(...got.skipped);
  }
  printSkipped(counts);
  process.stdout.write(`${summaryLine(counts)}\n`);
  return counts.failed === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  exitWhenWritten(main(process.argv.slice(2)));
}
