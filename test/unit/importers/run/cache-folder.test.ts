// Which users may write the folder of cached imports, and which of its entries are read.
import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkCacheFolder } from '../../../../ts/importers/run/cache-folder.js';
import { importModel } from '../../../../ts/importers/run/import-model.js';
import { cacheKey, quicklyCached, readCached } from '../../../../ts/importers/run/model-cache.js';
import { tempFolder } from '../../temp-folder.js';
import { modelAndCache } from './support.js';

test('a folder that another user may write is refused', (context) => {
  const folder = join(tempFolder(context), 'cache', 'deep');
  const before = process.umask(0);
  try {
    checkCacheFolder(folder);
  } finally {
    process.umask(before);
  }
  assert.equal(statSync(folder).mode & 0o777, 0o700, 'made for its owner');
  for (const mode of [0o777, 0o1777, 0o702, 0o722]) {
    chmodSync(folder, mode);
    assert.throws(
      () => checkCacheFolder(folder),
      /--model-cache: .*expected a folder that no other/,
    );
  }
  // Volumes of Kubernetes belong to the process's group.
  for (const mode of [0o700, 0o755, 0o2775]) {
    chmodSync(folder, mode);
    checkCacheFolder(folder);
  }
  checkCacheFolder('');
});

test("an entry counts only where it is its owner's and under its own key", async (context) => {
  const { path, cacheFolder } = modelAndCache(context);
  const asked = { path, cacheFolder, format: 'tensorflow', tags: ['serve'], inputs: [] } as const;
  const request = { ...asked, outputs: [], first: '', signatures: [] };
  const { model } = await importModel(request, '1');
  const key = cacheKey(request, '1');
  const [entry, other] = [key, 'f'.repeat(64)].map((name) => join(cacheFolder, name)) as [
    string,
    string,
  ];
  assert.equal(statSync(entry).mode & 0o077, 0);
  const isRead = (): boolean => readCached(cacheFolder, key) !== undefined;
  assert.ok(isRead());
  cpSync(entry, other, { recursive: true });
  assert.equal(readCached(cacheFolder, 'f'.repeat(64)), undefined, 'moved from another key');
  for (const mode of [0o770, 0o707, 0o720]) {
    chmodSync(entry, mode);
    assert.equal(isRead(), false, `mode ${mode.toString(8)}`);
  }
  chmodSync(entry, 0o700);
  rmSync(other, { recursive: true });
  renameSync(entry, other);
  symlinkSync(other, entry);
  assert.equal(isRead(), false, 'a link to a folder');
  rmSync(entry);
  mkdirSync(entry, { mode: 0o700 });
  for (const name of readdirSync(other)) symlinkSync(join(other, name), join(entry, name));
  assert.equal(isRead(), false, 'links to files');
  rmSync(entry, { recursive: true });
  assert.equal((await importModel(request, '1')).fromCache, false);
  assert.deepEqual(quicklyCached(request, '1'), model);
});
