// One test, in seconds: builds what it needs as far as it changed, then runs it.
//   node test/run/one.mjs PATH[:NAME]      make t T=PATH[:NAME]
// PATH is a test file or a folder of them: *.test.ts and *.test.mjs (NAME is a pattern of test
// names), test/native/**/*_test.cc (NAME is part of a GoogleTest name or a whole filter),
// test/e2e/python/**/test_*.py (NAME is part of a test's name; run is the *.test.ts that starts the
// server for that module). What a test prints goes to the screen. Test time only.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runGoogleTest, testTarget } from '../native/run.mjs';
import { compiledPath, compileTests, testFilesIn } from './suite.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
// Tests below these folders run the product: addon, dist/bundle and example models.
const RUNS_THE_PRODUCT = /^test\/(boundary|conformance|e2e)\//;

/** Splits "PATH[:NAME]" into {path, name}; name is '' if there is none. */
export function parseWanted(text) {
  const at = text.indexOf(':');
  return at < 0 ? { path: text, name: '' } : { path: text.slice(0, at), name: text.slice(at + 1) };
}

function filesBelow(folder, pattern) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((path) => pattern.test(path))
    .map((path) => join(folder, path))
    .sort();
}

/** Returns the files of test/e2e that run the Python module `suite`. */
export function driversOf(suite) {
  return filesBelow('test/e2e', /\.test\.ts$/).filter((path) =>
    readFileSync(join(root, path), 'utf8').includes(`'${suite}'`),
  );
}

function run(command, args, env = {}) {
  const options = { cwd: root, env: { ...process.env, ...env }, stdio: 'inherit' };
  return spawnSync(command, args, options).status === 0;
}

/** Counts the tests of a TAP report that ran. Node 22 counts a file without tests as one. */
export function ranTests(tap, files) {
  const isFile = (name) => files.some((path) => path === name || relative(root, path) === name);
  return [...tap.matchAll(/^ *(?:not )?ok \d+ - (.*)$/gm)]
    .map((match) => match[1])
    .filter((name) => !/ # (SKIP|TO.O)/.test(name) && !isFile(name)).length;
}

function runNodeTests(files, name, env) {
  if (files.some((path) => RUNS_THE_PRODUCT.test(path)) && !run('make', ['build', 'models'])) {
    return false;
  }
  if (files.some((path) => path.endsWith('.ts')) && !compileTests()) return false;
  const tap = join(root, 'build', 'test', 'one.tap');
  const args = ['--test', '--test-concurrency=1'];
  args.push('--test-reporter=spec', '--test-reporter-destination=stdout');
  args.push('--test-reporter=tap', `--test-reporter-destination=${tap}`);
  if (name !== '') args.push(`--test-name-pattern=${name}`);
  const compiled = files.map((path) => compiledPath(join(root, path)));
  args.push(...compiled);
  const passed = run(process.execPath, args, { NODE_TEST_CONTEXT: undefined, ...env });
  if (ranTests(readFileSync(tap, 'utf8'), compiled) > 0) return passed;
  process.stdout.write(`no test is named '${name}'\n`);
  return false;
}

function runPython(path, name) {
  const module = relative('test/e2e/python', path).replace(/\.py$/, '');
  const suite = module.replaceAll('/', '.');
  const drivers = driversOf(suite);
  if (drivers.length === 0) throw new Error(`no test of test/e2e runs ${suite}`);
  return runNodeTests(drivers, '', { SERVAL_PYTHON_SUITE: suite, SERVAL_PYTHON_TESTS: name });
}

/** Runs the tests that `text` names. Returns false if one failed or none was found. */
function runWanted(text) {
  const { path: written, name } = parseWanted(text);
  const path = relative(root, resolve(root, written));
  if (written === '' || path.startsWith('..') || !existsSync(join(root, path))) {
    throw new Error(`no test file or folder '${written}': make t T=path[:name]`);
  }
  if (path.endsWith('.py')) return runPython(path, name);
  if (path.endsWith('_test.cc')) return runGoogleTest([testTarget(path)], name);
  if (path.startsWith('test/native')) {
    return runGoogleTest(filesBelow(path, /_test\.cc$/).map(testTarget), name);
  }
  const files = /\.test\.(ts|mjs)$/.test(path)
    ? [path]
    : testFilesIn(join(root, path)).map((file) => relative(root, file));
  if (files.length === 0) throw new Error(`no test in '${written}'`);
  return runNodeTests(files, name, {});
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exit(runWanted(process.argv[2] ?? '') ? 0 : 1);
  } catch (error) {
    process.stderr.write(`t: ${error.message}\n`);
    process.exit(2);
  }
}
