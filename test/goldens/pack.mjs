// Packs the goldens (test/conformance/golden-folder.ts) into test/goldens/<name>.tar.xz, so that a
// fresh machine need not install the systems that make them. Makes those whose generator or lock
// changed, and removes archives that no generator makes any more. `make goldens` calls it.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKED, goldenName } from '../../build/test/test/conformance/golden-folder.js';

const here = dirname(fileURLToPath(import.meta.url));
const TAR = '--sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s';

function run(command, args, options) {
  const { status, stdout } = spawnSync(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    ...options,
  });
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
  return stdout.trim();
}

const names = new Set();
for (const { script, args } of PACKED) {
  const name = goldenName(script, args);
  const archive = `${name}.tar.xz`;
  names.add(archive);
  if (existsSync(join(here, archive))) continue;
  const folder = run(script, args, { env: { ...process.env, SERVAL_GOLDENS: 'made' } });
  const left = ['--exclude=./complete', '--exclude=./make.log'];
  run('tar', [...TAR.split(' '), ...left, '-cJf', join(here, archive), '-C', folder, '.'], {
    env: { ...process.env, XZ_OPT: '-9e' },
  });
  process.stdout.write(`packed ${archive}\n`);
}
for (const file of readdirSync(here)) {
  if (!file.endsWith('.tar.xz') || names.has(file)) continue;
  rmSync(join(here, file));
  process.stdout.write(`removed ${file}\n`);
}
