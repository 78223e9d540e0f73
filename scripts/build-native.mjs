// Builds the addon to build/Release/serval.node, and serval-baseline.node for x86-64 CPUs without
// AVX2 if the argument is `baseline` or this machine has such a CPU. cmake-js configures a build
// folder once (CMakeLists.txt is the only build description); after that this is `cmake --build`,
// which compiles what changed. Called by make, by npm (`build:native`, `install`) and by
// binding.gyp. Build time only.
//   node scripts/build-native.mjs [baseline]     baseline: only serval-baseline.node
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, homedir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beginBuild } from './packaging/record/built.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// The builds of record/built.mjs -> the folder, what cmake-js gets besides, and the target: for
// older CPUs the addon alone, because libserval.so has one variant.
const BUILDS = {
  native: { work: join(root, 'build', 'addon'), options: [], target: 'all' },
  baseline: {
    work: join(root, 'build', 'addon-baseline'),
    options: ['--CDSERVAL_CPU=x86-64-v2'],
    target: 'serval',
  },
};
const output = join(root, 'build', 'Release');
const BYTES_PER_COMPILER = 1.5 * 2 ** 30;

// The number of compilers to run at once: one per core, fewer if memory is short.
export function compileJobs() {
  const byMemory = Math.floor(totalmem() / BYTES_PER_COMPILER);
  return Math.max(1, Math.min(availableParallelism(), byMemory));
}

// Returns the environment of a CMake run: the number of jobs, and ccache if it is installed.
export function cmakeEnvironment() {
  const env = { CMAKE_BUILD_PARALLEL_LEVEL: String(compileJobs()), ...process.env };
  const ccache = spawnSync('ccache', ['--version'], { stdio: 'ignore' });
  if (ccache.status !== 0) return env;
  env.CMAKE_CXX_COMPILER_LAUNCHER ??= 'ccache';
  // Lets another checkout of the same sources find the objects too.
  env.CCACHE_BASEDIR ??= root;
  env.CCACHE_NOHASHDIR ??= 'true';
  env.CCACHE_DIR ??= join(env.SERVAL_CACHE ?? join(homedir(), '.cache', 'serval'), 'ccache');
  return env;
}

// Removes a build folder that was configured for other sources (a copied checkout) or, if
// `generator` is given, for another generator: CMake refuses both.
export function dropForeignCache(folder, generator) {
  const cache = join(folder, 'CMakeCache.txt');
  if (!existsSync(cache)) return;
  const text = readFileSync(cache, 'utf8');
  const home = /^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$/m.exec(text)?.[1];
  const made = /^CMAKE_GENERATOR:INTERNAL=(.*)$/m.exec(text)?.[1];
  if (home === root && (generator === undefined || generator === made)) return;
  rmSync(folder, { recursive: true, force: true });
}

// Runs a command in the checkout; false when it fails.
export function run(command, args, env = process.env) {
  return spawnSync(command, args, { cwd: root, stdio: 'inherit', env }).status === 0;
}

// Returns whether the last configuration missed a package. CMake does not look for it again unless
// it is configured again.
function missedPackages(work) {
  const text = readFileSync(join(work, 'CMakeCache.txt'), 'utf8');
  return /^(?:SERVAL|FLATBUFFERS)_\w+:\w+=\S*-NOTFOUND$/m.test(text);
}

// Whether this CPU needs the baseline addon: ts/engine/machine.ts.
function lacksAvx2() {
  return (
    process.arch === 'x64' && !/^flags.* avx2\b/m.test(readFileSync('/proc/cpuinfo', 'latin1'))
  );
}

function buildAddon({ work, options, target }) {
  dropForeignCache(work);
  mkdirSync(output, { recursive: true });
  const env = cmakeEnvironment();
  if (existsSync(join(work, 'CMakeCache.txt'))) {
    if (missedPackages(work) && !run('cmake', [work], env)) return false;
    return run('cmake', ['--build', work, '--target', target], env);
  }
  const cmakeJs = join(root, 'node_modules', 'cmake-js', 'bin', 'cmake-js');
  if (!existsSync(cmakeJs)) {
    process.stderr.write('build-native: cmake-js is missing: run `npm ci` with devDependencies\n');
    return false;
  }
  const args = [cmakeJs, 'compile', '--out', work, '--target', target, ...options];
  args.push(`--CDCMAKE_LIBRARY_OUTPUT_DIRECTORY=${output}`);
  return run(process.execPath, args, env);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const baseline = process.argv[2] === 'baseline';
  const parts = baseline ? ['baseline'] : lacksAvx2() ? ['native', 'baseline'] : ['native'];
  for (const part of parts) {
    const finished = beginBuild(part);
    if (!buildAddon(BUILDS[part])) process.exit(1);
    finished();
  }
}
