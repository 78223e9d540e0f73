// Builds the fuzz targets with clang (AddressSanitizer, UndefinedBehaviorSanitizer, libFuzzer) into
// build/fuzz and runs each one for a while, starting from its corpus; one per core at a time.
//
//   node test/fuzz/run.mjs [--seconds N] [TARGET...]      default: 20 seconds, all targets
//
// One target is a separate program: onnx_cases (onnx-cases.mjs). The others are files
// test/fuzz/<name>_fuzz.cc, named without "_fuzz"; a target's seeds are in test/fuzz/corpus/<name>,
// and new inputs that it finds in build/fuzz/corpus/<name>. A crash prints the reproducer and how
// to run it. Ends with the plain line "N passed, N failed, N skipped". Test time only.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cmakeEnvironment, dropForeignCache, run } from '../../scripts/build-native.mjs';
import { mapAtOnce, runProgram } from '../run/at-once.mjs';
import {
  addCounts,
  addFailure,
  exitWhenWritten,
  noCounts,
  printNames,
  seconds,
  summaryLine,
} from '../run/counts.mjs';
import { runOnnxCases } from './onnx/onnx-cases.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const folder = join(root, 'build', 'fuzz');
const ONNX_CASES = 'onnx_cases';
const COMPILER = 'clang++-14';
const LIMITS = ['-max_len=4096', '-rss_limit_mb=2048', '-timeout=10'];
const SECONDS_DEFAULT = 20;
// the time that a target may need besides its own: start, reading the corpus
const SECONDS_SPARE = 60;
// the longest reproducer that the last lines repeat, in characters of base64
const BASE64_NAMED = 4096;

function say(text) {
  process.stdout.write(`${text}\n`);
}

// The names of all targets: adding a file adds a decoder.
function targetNames() {
  const files = readdirSync(here).filter((file) => file.endsWith('_fuzz.cc'));
  return files.map((file) => file.slice(0, -'_fuzz.cc'.length)).sort();
}

// True if clang can link a libFuzzer binary (its runtime is a separate package).
function compilerWorks() {
  const scratch = mkdtempSync(join(tmpdir(), 'serval-fuzz-'));
  const source =
    'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) ' + '{ return 0; }';
  const args = ['-fsanitize=fuzzer,address', '-x', 'c++', '-', '-o', join(scratch, 'empty')];
  const options = { input: source, stdio: ['pipe', 'ignore', 'ignore'] };
  const { status } = spawnSync(COMPILER, args, options);
  rmSync(scratch, { recursive: true, force: true });
  return status === 0;
}

// Runs the script that names missing packages, and installs them if this user may.
function ensureCompiler() {
  if (compilerWorks()) return true;
  say(`fuzz: ${COMPILER} with libFuzzer is missing (packages clang-14, libclang-rt-14-dev)`);
  return run(join(root, 'scripts', 'ensure-tools.sh'), ['test']) && compilerWorks();
}

function build(names) {
  dropForeignCache(folder);
  const env = cmakeEnvironment();
  const options = [`-DCMAKE_CXX_COMPILER=${COMPILER}`, '-DSERVAL_FUZZ=ON', '-DSERVAL_ADDON=OFF'];
  options.push('-DSERVAL_SANITIZE=address,undefined', '-Wno-dev', '--log-level=WARNING');
  if (!run('cmake', ['-S', root, '-B', folder, ...options], env)) return false;
  const targets = names.map((name) => `${name}_fuzz`);
  return run('cmake', ['--build', folder, '--target', ...targets], env);
}

function fuzzEnvironment() {
  const found = ['/usr/bin/llvm-symbolizer-14', '/usr/bin/llvm-symbolizer'].find(existsSync);
  const symbolizer = found === undefined ? '' : `:external_symbolizer_path=${found}`;
  return {
    ASAN_OPTIONS: `allocator_may_return_null=1:detect_leaks=1${symbolizer}`,
    UBSAN_OPTIONS: `print_stacktrace=1:halt_on_error=1${symbolizer}`,
    ...process.env,
  };
}

// The bytes of a reproducer, for machines whose files are lost (CI).
function base64Of(file) {
  return readFileSync(file).toString('base64');
}

// Prints a failure; returns it in one line, with a small reproducer: machines whose files are lost
// (CI) may keep only the last lines.
function reportFailure(name, result, reproducers, executable) {
  const output = `${result.stdout}${result.stderr}`;
  say(output.split('\n').slice(-120).join('\n'));
  const summary = /^SUMMARY: .*$/m.exec(output)?.[0] ?? 'no SUMMARY line';
  const why = `${name}: ${result.reason === '' ? 'no statistics' : result.reason}; ${summary}`;
  say(`fuzz ${why}`);
  for (const file of reproducers) {
    say(`  reproducer: ${relative(root, file)}`);
    say(`  base64: ${base64Of(file)}`);
    say(`  run it: ${relative(root, executable)} ${relative(root, file)}`);
  }
  if (reproducers.length === 0) say('  no reproducer was written');
  const small = reproducers.map(base64Of).find((text) => text.length <= BASE64_NAMED);
  return small === undefined ? why : `${why}; base64 ${small}`;
}

// Runs one target; undefined if nothing was found, otherwise the failure in one line.
async function fuzz(name, runSeconds) {
  const executable = join(folder, `${name}_fuzz`);
  const seeds = join(here, 'corpus', name);
  const found = join(folder, 'corpus', name);
  const artifacts = join(folder, 'crashes', name);
  mkdirSync(found, { recursive: true });
  mkdirSync(artifacts, { recursive: true });
  const before = new Set(readdirSync(artifacts));
  const args = [`-max_total_time=${runSeconds}`, ...LIMITS, '-print_final_stats=1'];
  args.push(`-artifact_prefix=${artifacts}/`, found);
  if (existsSync(seeds)) args.push(seeds);
  else say(`fuzz ${name}: no seeds in ${relative(root, seeds)}, starting from nothing`);
  const started = Date.now();
  const result = await runProgram([executable, ...args], {
    cwd: root,
    env: fuzzEnvironment(),
    timeout: (runSeconds + SECONDS_SPARE) * 1000,
  });
  const stat = (key) => new RegExp(`stat::${key}:\\s+(\\d+)`).exec(result.stderr)?.[1];
  const runs = stat('number_of_executed_units');
  if (result.status !== 0 || runs === undefined) {
    const fresh = readdirSync(artifacts)
      .filter((file) => !before.has(file))
      .sort();
    const files = fresh.map((file) => join(artifacts, file));
    return reportFailure(name, result, files, executable);
  }
  const coverage = [...result.stderr.matchAll(/ cov: (\d+) /g)].at(-1)?.[1] ?? 'unknown';
  say(
    `fuzz ${name}: ${runs} runs in ${seconds(Date.now() - started)}, ` +
      `${stat('average_exec_per_sec')} per second, coverage ${coverage}, ` +
      `${stat('new_units_added')} new inputs, ${stat('peak_rss_mb')} MB at most, no crash`,
  );
  return undefined;
}

// Returns {seconds, names}, or an error text.
function parseArguments(args) {
  const known = [...targetNames(), ONNX_CASES];
  const names = [];
  let runSeconds = SECONDS_DEFAULT;
  for (let i = 0; i < args.length; ++i) {
    if (args[i] === '--seconds') {
      i += 1;
      runSeconds = Number(args[i]);
      if (!Number.isInteger(runSeconds) || runSeconds < 1) {
        return `--seconds: expected a whole number of 1 or more, got '${args[i] ?? ''}'`;
      }
    } else if (known.includes(args[i])) {
      names.push(args[i]);
    } else {
      return `unknown target '${args[i]}'; expected ${known.join(', ')}`;
    }
  }
  return { runSeconds, names: names.length > 0 ? names : known };
}

async function main(args) {
  const parsed = parseArguments(args);
  if (typeof parsed === 'string') {
    process.stderr.write(`run.mjs: ${parsed}\n`);
    return 2;
  }
  const counts = noCounts();
  const { runSeconds } = parsed;
  const names = parsed.names.filter((name) => name !== ONNX_CASES);
  if (parsed.names.includes(ONNX_CASES)) addCounts(counts, runOnnxCases(runSeconds, say));
  if (names.length > 0 && !ensureCompiler()) {
    addFailure(counts, `${COMPILER} cannot be had here`);
  } else if (names.length > 0 && !build(names)) {
    addFailure(counts, 'the build failed');
  } else {
    const found = await mapAtOnce(names, (name) => fuzz(name, runSeconds));
    for (const failure of found) {
      if (failure === undefined) counts.passed += 1;
      else addFailure(counts, failure);
    }
  }
  printNames(counts);
  say(summaryLine(counts));
  return counts.failed === 0 ? 0 : 1;
}

exitWhenWritten(await main(process.argv.slice(2)));
