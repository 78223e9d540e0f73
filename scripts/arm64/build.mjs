// Compiles native code for arm64 on x86-64 to build/arm64/native: Debian's cross-compiler, against
// Debian's arm64 packages in build/arm64/sysroot. Build time only.
//   node scripts/arm64/build.mjs [TARGET...]     default: the addon and libserval.so
// Exits with 77 and a reason if a tool or the network is missing.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cmakeEnvironment, dropForeignCache, run } from '../build-native.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));

/** The targets that the packages contain: serval.node and libserval.so. */
export const PACKAGED = ['serval', 'serval_capi'];
/** The exit status of a build that this machine cannot make. */
export const UNAVAILABLE = 77;
/** The folder of what is built. */
export const FOLDER = join(root, 'build', 'arm64', 'native');
/** The root of the arm64 system that programs are compiled against and run in. */
export const SYSROOT = join(root, 'build', 'arm64', 'sysroot', 'root');

// Tools and the Debian packages that have them.
const TOOLS = [
  ['aarch64-linux-gnu-g++', 'g++-aarch64-linux-gnu'],
  ['cmake', 'cmake'],
  ['ninja', 'ninja-build'],
];

const has = (tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).status === 0;

/** Builds targets; returns the exit status: 0, 1, or UNAVAILABLE with the reason on stderr. */
export function buildArm64(targets) {
  const missing = TOOLS.filter(([tool]) => !has(tool)).map(([, name]) => name);
  if (missing.length > 0) {
    const install = `apt-get install -y --no-install-recommends ${missing.join(' ')}`;
    process.stderr.write(`arm64: these packages are missing: ${install}\n`);
    return UNAVAILABLE;
  }
  const sysroot = spawnSync(join(here, 'sysroot.sh'), [dirname(SYSROOT)], { stdio: 'inherit' });
  if (sysroot.status !== 0) return sysroot.status ?? 1;
  dropForeignCache(FOLDER, 'Ninja');
  const env = cmakeEnvironment();
  const configure = ['-G', 'Ninja', '-S', root, '-B', FOLDER, '-DSERVAL_TESTS=ON', '-Wno-dev'];
  configure.push(`-DCMAKE_TOOLCHAIN_FILE=${join(here, 'toolchain.cmake')}`);
  configure.push(`-DSERVAL_SYSROOT=${SYSROOT}`, '--log-level=WARNING');
  if (!run('cmake', configure, env)) return 1;
  return run('cmake', ['--build', FOLDER, '--target', ...targets], env) ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const targets = process.argv.slice(2);
  process.exit(buildArm64(targets.length > 0 ? targets : PACKAGED));
}
