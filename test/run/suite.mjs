// Runs the *.test.mjs and *.test.ts files of one or more folders with node's own test runner.
//   node test/run/suite.mjs FOLDER... [--jobs N]
// TypeScript tests are compiled to build/test first (test/tsconfig.json); a type error is a
// failure. So is a folder without tests: a suite that is not there has not passed. Ends with the
// plain line "N passed, N failed, N skipped". Test time only.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitWhenWritten, noCounts, parseTap, printSkipped, summaryLine } from './counts.mjs';

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

function main(args) {
  const jobsAt = args.indexOf('--jobs');
  const jobs = jobsAt < 0 ? 2 : Number(args[jobsAt + 1]);
  const folders = jobsAt < 0 ? args : args.toSpliced(jobsAt, 2);
  const counts = noCounts();
  const files = [];
  for (const folder of folders) {
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
    const { status, output, text } = runFiles(files.map(compiledPath), jobs);
    const got = parseTap(text) ?? { ...noCounts(), failed: 1 };
    if (status !== 0 && got.failed === 0) got.failed = 1;
    if (got.failed > 0) process.stdout.write(output);
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
