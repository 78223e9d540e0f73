// The boundary suite once more, with an addon that was built with ASan and UBSan: N-API calls,
// turns and the ends of threads. Ends with the line "N passed, N failed, N skipped". Test time
// only.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sanitizedAddon } from '../native/run.mjs';
import { exitWhenWritten } from './counts.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

function main() {
  const addon = sanitizedAddon();
  if (addon === undefined) {
    process.stdout.write('the build of the addon failed\n0 passed, 1 failed, 0 skipped\n');
    return 1;
  }
  const suite = join(root, 'test', 'run', 'suite.mjs');
  const command = [...addon.prefix, process.execPath, suite, 'test/boundary', '--jobs', '1'];
  const options = { cwd: root, env: addon.env, stdio: 'inherit' };
  return spawnSync(command[0], command.slice(1), options).status === 0 ? 0 : 1;
}

exitWhenWritten(main());
