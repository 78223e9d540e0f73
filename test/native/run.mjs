// Builds and runs the native tests: plain (release flags, as shipped), with ASan+UBSan and with
// TSan.
//
//   node test/native/run.mjs [plain] [asan] [tsan] [--filter TEXT]    default: all three
//
// With a filter, each *_test.cc of test/native is one executable; without, the files of a folder
// share some. The counts come from GoogleTest's own report, and an executable that dies without a
// report counts as one failure. Ends with the plain line "N passed, N failed, N skipped". Test time
// only.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cmakeEnvironment, dropForeignCache, run } from '../../scripts/build-native.mjs';
import {
  addCounts,
  addFailure,
  exitWhenWritten,
  noCounts,
  printNames,
  seconds,
  summaryLine,
} from '../run/counts.mjs';
import { mapAtOnce, runProgram } from '../run/at-once.mjs';
import { googleTestCounts } from './google-test.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const TEST_TIMEOUT_MS = 900_000; // several files, with TSan, on a busy machine

// TSan is ten times slower and finds nothing in code without threads, so it only covers these areas
// and files.
const BUILDS = {
  plain: { sanitize: '', type: 'Release', areas: undefined },
  asan: { sanitize: 'address,undefined', type: 'Release', areas: undefined, addon: true },
  tsan: {
    sanitize: 'thread',
    type: 'Release',
    areas: [
      'engine',
      'stats',
      'gpu',
      'backend',
      'transport',
      'calls',
      'load',
      'tabular/threads_test.cc',
      'capi/serval_test.cc',
    ],
  },
  // Not run by default: test/run/coverage.mjs.
  // gcov reports each source by its own object, so none are joined.
  coverage: {
    sanitize: '',
    type: 'RelWithDebInfo',
    areas: undefined,
    flags: '--coverage -g1',
    joined: false,
  },
};
const BY_DEFAULT = ['plain', 'asan', 'tsan'];

/** test/native/area/part/name_test.cc -> area_part_name_test, its executable. */
export function testTarget(path) {
  return path
    .replace(/^test\/native\//, '')
    .replace(/\.cc$/, '')
    .replaceAll('/', '_');
}

// The test files of a build, below test/native.
function testFiles(areas, filter) {
  return readdirSync(here, { recursive: true })
    .filter((path) => path.endsWith('_test.cc'))
    .filter(
      (path) => areas === undefined || areas.some((area) => `${path}/`.startsWith(`${area}/`)),
    )
    .filter((path) => filter === undefined || testTarget(path).includes(filter))
    .sort();
}

/**
 * The executables of test files: those of groups (lines of test_groups.txt: its name, its files)
 * whose files are all wanted, and one for each other file.
 */
export function targetsOf(files, groups) {
  const left = new Set(files);
  const joined = [];
  for (const line of groups.split('\n')) {
    const [name, ...paths] = line.split(' ');
    if (paths.length === 0 || !paths.every((path) => left.has(path))) continue;
    joined.push(name);
    for (const path of paths) left.delete(path);
  }
  return [...joined, ...[...left].map(testTarget)].sort();
}

function configure(folder, { sanitize, type, flags, addon = false, joined = true }) {
  dropForeignCache(folder, 'Ninja'); // Make would build the named targets one after another
  const args = ['-G', 'Ninja', '-S', root, '-B', folder];
  args.push(`-DSERVAL_ADDON=${addon ? 'ON' : 'OFF'}`, '-DSERVAL_TESTS=ON');
  args.push(`-DSERVAL_JOIN=${joined ? 'ON' : 'OFF'}`);
  args.push(`-DSERVAL_SANITIZE=${sanitize}`, `-DCMAKE_BUILD_TYPE=${type}`, '-Wno-dev');
  args.push('--log-level=WARNING');
  // The same flag as in cmake-js's build, so that a compiler cache finds the addon's objects.
  args.push(`-DCMAKE_CXX_FLAGS=${flags ?? '-DBUILDING_NODE_EXTENSION'}`);
  return run('cmake', args, cmakeEnvironment());
}

function compile(folder, targets) {
  return run('cmake', ['--build', folder, '--target', ...targets], cmakeEnvironment());
}

function build(folder, settings, targets) {
  return configure(folder, settings) && compile(folder, targets);
}

function ortLibrary() {
  const binaries = join(root, 'node_modules', 'onnxruntime-node', 'bin', 'napi-v6', 'linux');
  return join(binaries, process.arch, 'libonnxruntime.so.1');
}

// Sanitizer settings: stop at the first report, and suppress only reports from inside ONNX Runtime
// (it is not instrumented; the file explains each rule).
function testEnvironment() {
  const suppress = (name) => `suppressions=${join(here, name)}`;
  const symbolizer = ['/usr/bin/llvm-symbolizer-14', '/usr/bin/llvm-symbolizer'].find(existsSync);
  const symbols = symbolizer === undefined ? '' : `:external_symbolizer_path=${symbolizer}`;
  return {
    SERVAL_ORT_LIBRARY: ortLibrary(),
    SERVAL_ROOT: root,
    ASAN_OPTIONS: `detect_leaks=1:allocator_may_return_null=1${symbols}`,
    LSAN_OPTIONS: `print_suppressions=0:${suppress('lsan.supp')}`,
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    TSAN_OPTIONS: `halt_on_error=1:second_deadlock_stack=1:${suppress('tsan.supp')}${symbols}`,
    ...process.env,
  };
}

// GCC 12's sanitizers cannot map their shadow where the kernel randomises more than 28 bits.
function withoutRandomisation() {
  const setting = '/proc/sys/vm/mmap_rnd_bits';
  let bits = 28;
  try {
    bits = Number(readFileSync(setting, 'utf8'));
  } catch {
    return [];
  }
  if (bits <= 28) return [];
  const works = spawnSync('setarch', ['-R', 'true'], { stdio: 'ignore' }).status === 0;
  return works ? ['setarch', '-R'] : [];
}

async function runTest(executable, report, prefix) {
  rmSync(report, { force: true });
  const command = [...prefix, executable, '--gtest_brief=1', `--gtest_output=json:${report}`];
  const options = { cwd: root, env: testEnvironment(), timeout: TEST_TIMEOUT_MS };
  const result = await runProgram(command, options);
  const text = existsSync(report) ? readFileSync(report, 'utf8') : '';
  const counts = googleTestCounts(text, result.stdout);
  const died = result.status !== 0 && counts.failed === 0;
  const program = executable.slice(root.length + 1);
  if (died) addFailure(counts, `${program}: ${result.reason}`);
  if (counts.failed > 0) {
    process.stdout.write(`${result.stdout}${result.stderr}`);
    process.stdout.write(`in ${program}\n`);
  }
  return counts;
}

/** Builds targets as shipped; returns whether that succeeded. */
export function buildTargets(targets) {
  return build(buildFolder('plain'), BUILDS.plain, targets);
}

/** Returns the folder of a build. */
export function buildFolder(name) {
  return join(root, 'build', `native-${name}`);
}

/** Builds and runs the tests of one of BUILDS; returns its counts. */
export async function runBuild(name, filter) {
  const started = Date.now();
  const total = noCounts();
  const folder = buildFolder(name);
  const files = testFiles(BUILDS[name].areas, filter);
  if (files.length === 0) {
    addFailure(total, `native ${name}: no test file matches`);
    return total;
  }
  const configured = configure(folder, BUILDS[name]);
  const alone = filter !== undefined || BUILDS[name].joined === false;
  const groups = !configured || alone ? '' : readFileSync(join(folder, 'test_groups.txt'), 'utf8');
  const targets = targetsOf(files, groups);
  process.stdout.write(
    `native ${name}: ${files.length} test files, ${targets.length} executables\n`,
  );
  if (!configured || !compile(folder, targets)) {
    addFailure(total, `native ${name}: the build failed`);
    return total;
  }
  const built = Date.now();
  const prefix = BUILDS[name].sanitize === '' ? [] : withoutRandomisation();
  const reports = join(folder, 'reports');
  mkdirSync(reports, { recursive: true });
  const runOne = (target) => runTest(join(folder, target), join(reports, `${target}.json`), prefix);
  for (const counts of await mapAtOnce(targets, runOne)) addCounts(total, counts);
  const times = `built in ${seconds(built - started)}, ran in ${seconds(Date.now() - built)}`;
  process.stdout.write(`native ${name}: ${summaryLine(total)} (${times})\n`);
  return total;
}

/**
 * Builds `targets` as shipped and runs the tests that `name` selects (part of a test's name, or a
 * whole GoogleTest filter), with output on the screen. False if something failed or nothing was
 * selected.
 */
export function runGoogleTest(targets, name) {
  const folder = buildFolder('plain');
  if (!build(folder, BUILDS.plain, targets)) return false;
  const filter = name === '' || /[*:]/.test(name) ? name : `*${name}*`;
  let [passed, ran] = [true, 0];
  for (const target of targets) {
    const report = join(folder, 'reports', `${target}.json`);
    const args = [`--gtest_output=json:${report}`];
    if (filter !== '') args.push(`--gtest_filter=${filter}`);
    const options = { cwd: root, env: testEnvironment(), stdio: 'inherit' };
    if (spawnSync(join(folder, target), args, options).status !== 0) passed = false;
    ran += JSON.parse(readFileSync(report, 'utf8')).tests;
  }
  if (ran === 0) process.stdout.write(`no test is named '${name}'\n`);
  return passed && ran > 0;
}

/**
 * Builds the addon with ASan and UBSan. Resolves to the environment in which Node loads it (their
 * libraries come first; memory that Node itself keeps at its exit is not our leak) and the command
 * that Node must run under; undefined if the build failed.
 */
export function sanitizedAddon() {
  const folder = buildFolder('asan');
  if (!build(folder, BUILDS.asan, ['serval'])) return undefined;
  const library = (name) =>
    spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim();
  const env = {
    ...testEnvironment(),
    SERVAL_ADDON: join(folder, 'serval.node'),
    LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')}`,
  };
  env.ASAN_OPTIONS = env.ASAN_OPTIONS.replace('detect_leaks=1', 'detect_leaks=0');
  return { env, prefix: withoutRandomisation() };
}

async function main(args) {
  const filterAt = args.indexOf('--filter');
  const filter = filterAt < 0 ? undefined : args[filterAt + 1];
  const named = filterAt < 0 ? args : args.toSpliced(filterAt, 2);
  const unknown = named.find((name) => !BY_DEFAULT.includes(name));
  if (unknown !== undefined) {
    process.stderr.write(`run.mjs: unknown build '${unknown}'; expected plain, asan or tsan\n`);
    return 2;
  }
  const total = noCounts();
  const names = named.length > 0 ? named : BY_DEFAULT;
  for (const name of names) addCounts(total, await runBuild(name, filter));
  printNames(total);
  process.stdout.write(`${summaryLine(total)}\n`);
  return total.failed === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  exitWhenWritten(await main(process.argv.slice(2)));
}
