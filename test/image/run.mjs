// The image suite: makes the tarball, builds the container image from it and runs it; and lintian
// inspects the Debian package. Not part of `make test`, because it needs root, buildah, a network
// and minutes. Ends with "N passed, N failed, N skipped". Test time only.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitWhenWritten } from '../run/counts.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

function run(...args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
}

function main() {
  if (!run(join('scripts', 'package.mjs'), 'tarball', 'deb')) {
    process.stdout.write('FAILED scripts/package.mjs\n0 passed, 1 failed, 0 skipped\n');
    return 1;
  }
  return run(join('test', 'run', 'suite.mjs'), 'test/image', '--jobs', '1') ? 0 : 1;
}

exitWhenWritten(main());
