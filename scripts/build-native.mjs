// Builds the addon to build/Release/serval.node. cmake-js configures build/addon once
// (CMakeLists.txt is the only build description); after that this is `cmake --build`, which
// compiles what changed. Called by make, by npm (`build:native`, `install`) and by binding.gyp.
// Build time only.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, homedir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beginBuild } from './packaging/record/built.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const work = join(root, 'build', 'addon');
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
function missedPackages() {
  const text = readFileSync(join(work, 'CMakeCache.txt'), 'utf8');
  return /^(?:SERVAL|FLATBUFFERS)_\w+:\w+=\S*-NOTFOUND$/m.test(text);
}

function buildAddon() {
  dropForeignCache(work);
  mkdirSync(output, { recursive: true });
  const env = cmakeEnvironment();
  if (existsSync(join(work, 'CMakeCache.txt'))) {
    if (missedPackages() && !run('cmake', [work], env)) return false;
    return run('cmake', ['--build', work], env);
  }
  const cmakeJs = join(root, 'node_modules', 'cmake-js', 'bin', 'cmake-js');
  if (!existsSync(cmakeJs)) {
    process.stderr.write('build-native: cmake-js is missing: run `npm ci` with devDependencies\n');
    return false;
  }
  const option = `--CDCMAKE_LIBRARY_OUTPUT_DIRECTORY=${output}`;
  return run(process.execPath, [cmakeJs, 'compile', '--out', work, option], env);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const finished = beginBuild('native');
  if (!buildAddon()) process.exit(1);
  finished();
}
