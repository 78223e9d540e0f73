// The arm64 suite: compiles the native code and its tests for arm64, makes the packages, and runs
// all of it on this machine by qemu. Not part of `make test`, because it compiles everything once
// more. Ends with "N passed, N failed, N skipped". Test time only.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildArm64, PACKAGED, UNAVAILABLE } from '../../scripts/arm64/build.mjs';
import { exitWhenWritten } from '../run/counts.mjs';
import { nativeTargets } from './support.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

function main() {
  const built = buildArm64([...PACKAGED, ...nativeTargets()]);
  if (built !== 0) {
    const result = built === UNAVAILABLE ? '0 failed, 1 skipped' : '1 failed, 0 skipped';
    const name = 'arm64: the cross-compiler or its packages (see above)';
    process.stdout.write(`${built === UNAVAILABLE ? 'SKIPPED' : 'FAILED'} ${name}\n`);
    process.stdout.write(`0 passed, ${result}\n`);
    return built === UNAVAILABLE ? 0 : 1;
  }
  const suite = join(root, 'test', 'run', 'suite.mjs');
  const args = [suite, 'test/arm64', '--jobs', '1'];
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0 ? 0 : 1;
}

exitWhenWritten(main());
