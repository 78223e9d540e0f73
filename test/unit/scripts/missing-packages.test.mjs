// A build without a package that the listeners need ends with the package's name. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), ...['..', '..', '..']);

test('CMake ends with the names of the packages that are missing', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-missing-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const hidden = '-DCMAKE_IGNORE_PATH=/usr/share/llhttp;/usr/share/include/llhttp';
  const options = ['-S', root, '-B', folder, hidden];
  const { status, stderr } = spawnSync('cmake', options, { encoding: 'utf8' });
  assert.notEqual(status, 0);
  const said = stderr.replace(/\s+/g, ' ');
  assert.match(said, /the listeners need packages that are missing: apt-get install node-llhttp/);
});
