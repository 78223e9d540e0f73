// The package suite: makes all artefacts of a release, then installs each one in an empty place and
// sends it requests. `make test-package`, or one file with `make t` after `make package`. Ends with
// "N passed, N failed, N skipped". Test time only.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitWhenWritten } from '../run/counts.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

function run(...args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
}

function main() {
  if (!run(join('scripts', 'package.mjs'))) {
    process.stdout.write('FAILED scripts/package.mjs\n0 passed, 1 failed, 0 skipped\n');
    return 1;
  }
  return run(join('test', 'run', 'suite.mjs'), 'test/package', '--jobs', '1') ? 0 : 1;
}

exitWhenWritten(main());
