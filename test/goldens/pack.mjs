// Packs the goldens (test/conformance/golden-folder.ts) into test/goldens/<name>.tar.xz, so that a
// fresh machine need not install the systems that make them. Makes those whose generator or lock
// changed, and removes archives that no generator makes any more. `make goldens` calls it.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  archiveOf,
  goldenFolder,
  PACKED,
} from '../../build/test/test/conformance/golden-folder.js';

const here = dirname(fileURLToPath(import.meta.url));
const TAR =
  '--sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s'.split(' ');

const names = new Set();
for (const kind of PACKED) {
  const archive = archiveOf(kind);
  names.add(archive);
  if (existsSync(join(here, archive))) continue;
  const folder = goldenFolder(kind);
  if (folder === undefined) throw new Error(`the goldens '${kind}' cannot be made here`);
  const left = ['--exclude=./complete', '--exclude=./make.log'];
  execFileSync('tar', [...TAR, ...left, '-cJf', join(here, archive), '-C', folder, '.'], {
    stdio: 'inherit',
    env: { ...process.env, XZ_OPT: '-9e' },
  });
  process.stdout.write(`packed ${archive}\n`);
}
for (const file of readdirSync(here)) {
  if (!file.endsWith('.tar.xz') || names.has(file)) continue;
  rmSync(join(here, file));
  process.stdout.write(`removed ${file}\n`);
}
