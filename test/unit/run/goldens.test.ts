// test/goldens has an archive of each generator as it is now, and nothing else: a changed generator
// needs `make goldens`.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { PACKED, archiveOf } from '../../conformance/golden-folder.js';

test('the packed goldens are those of the generators', () => {
  const files = readdirSync(join(packageRoot(), 'test', 'goldens'));
  const packed = files.filter((file) => file.endsWith('.tar.xz')).sort();
  const wanted = PACKED.map(archiveOf).sort();
  assert.deepEqual(packed, wanted, 'run `make goldens`');
});
