// Cached imports: what changes the key, what invalidates an entry, and concurrent makers of one
// entry.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { importModel } from '../../../../ts/importers/run/import-model.js';
import type { TensorFlowRequest } from '../../../../ts/importers/run/importer.js';
import {
  beginEntry,
  cacheKey,
  finishEntry,
  quicklyCached,
  readCached,
} from '../../../../ts/importers/run/model-cache.js';
import { filledFolder } from '../../temp-folder.js';
import { modelAndCache, plusModel, request } from './support.js';
import { invalid } from '../tensorflow/messages.js';

test('the key is that of the content, not of the times', (t) => {
  const folder = filledFolder(t, {
    'saved_model.pb': 'abc',
    'variables/variables.index': 'i',
    'assets/a.txt': 'words',
    'variables/variables.data-00000-of-00001': '1234',
  });
  const key = (): string => cacheKey(request(folder), '1');
  const first = key();
  assert.match(first, /^[0-9a-f]{64}$/);
  utimesSync(join(folder, 'saved_model.pb'), 1, 2);
  utimesSync(folder, 3, 4);
  assert.equal(key(), first);
  const changes: readonly (() => void)[] = [
    () => writeFileSync(join(folder, 'saved_model.pb'), 'abd'),
    () => writeFileSync(join(folder, 'assets/a.txt'), 'word'),
    () => writeFileSync(join(folder, 'variables/variables.index'), 'j'),
    () => appendFileSync(join(folder, 'variables/variables.data-00000-of-00001'), '5'),
    () => writeFileSync(join(folder, 'assets/b.txt'), ''),
    () => renameSync(join(folder, 'assets/b.txt'), join(folder, 'assets/c.txt')),
    () => mkdirSync(join(folder, 'assets/d')),
    () => rmSync(join(folder, 'assets/c.txt')),
  ];
  const seen = new Set([first]);
  for (const change of changes) {
    change();
    seen.add(key());
  }
  assert.equal(seen.size, changes.length + 1);
});

test("everything that is asked for counts, and the program's version", (t) => {
  const folder = filledFolder(t, { 'saved_model.pb': 'abc' });
  const asked: Partial<TensorFlowRequest>[] = [
    {},
    { tags: ['a', 'b'] },
    { tags: ['a,b'] },
    { inputs: ['a'] },
    { outputs: ['a'] },
    { first: 'a' },
    { signatures: ['a'] },
  ];
  const keys = asked.map((more) => cacheKey(request(folder, more), '1'));
  keys.push(cacheKey(request(folder), '2'));
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(cacheKey(request(folder, { cacheFolder: '/elsewhere' }), '1'), keys[0]);
});

test('a folder that is gone, one that is too large, and one that never ends', (t) => {
  const folder = filledFolder(t, { 'a/saved_model.pb': '12345' });
  assert.match(
    invalid(() => cacheKey(request(join(folder, 'none')), '1')),
    /ENOENT/,
  );
  assert.match(
    invalid(() => cacheKey(request(folder), '1', 4)),
    /more than 4 bytes/,
  );
  symlinkSync('..', join(folder, 'a', 'again'));
  assert.match(
    invalid(() => cacheKey(request(folder), '1')),
    /too many files/,
  );
});

test('does not read paths that are not files', { timeout: 10_000 }, (t) => {
  const folder = filledFolder(t, { 'saved_model.pb': 'abc' });
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  symlinkSync('/dev/zero', join(folder, 'device'));
  assert.match(cacheKey(request(folder), '1'), /^[0-9a-f]{64}$/);
});

test('the second import comes from the cache, and is the same', async (t) => {
  const { path, cacheFolder } = modelAndCache(t);
  const asked = request(path, { cacheFolder });
  assert.equal(quicklyCached(asked, '1'), undefined);
  const first = await importModel(asked, '1');
  const second = await importModel(asked, '1');
  assert.deepEqual([first.fromCache, second.fromCache], [false, true]);
  assert.deepEqual(second.model, first.model);
  assert.deepEqual(quicklyCached(asked, '1'), first.model);
  assert.deepEqual([first.temporaryFolder, second.temporaryFolder], ['', '']);
  assert.equal((await importModel(asked, '2')).fromCache, false, 'another program');
  for (const { path: place, offset, byteLength } of first.model.weights) {
    assert.ok(readFileSync(place).length >= offset + byteLength);
  }
  assert.equal(readdirSync(cacheFolder).length, 2, 'nothing else is left');
});

test('imports a changed model again', async (t) => {
  const { path, cacheFolder } = modelAndCache(t);
  const asked = request(path, { cacheFolder });
  await importModel(asked, '1');
  writeFileSync(join(path, 'saved_model.pb'), plusModel(301));
  const { fromCache, model } = await importModel(asked, '1');
  assert.equal(fromCache, false);
  assert.deepEqual(model.weights[0]?.shape, [301]);
});

test('a damaged entry is not used, and replaced', async (t) => {
  const { path, cacheFolder } = modelAndCache(t);
  const asked = request(path, { cacheFolder });
  const key = cacheKey(asked, '1');
  const entry = join(cacheFolder, key, 'import.bin');
  const { model } = await importModel(asked, '1');
  const damages: readonly (() => void)[] = [
    () => truncateSync(entry, 100),
    () => truncateSync(entry, 0),
    () => rmSync(entry),
    () => writeFileSync(entry, 'nonsense'),
    () => {
      const bytes = readFileSync(entry);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      writeFileSync(entry, bytes);
    },
  ];
  for (const damage of damages) {
    damage();
    assert.equal(readCached(cacheFolder, key), undefined);
    const again = await importModel(asked, '1');
    assert.deepEqual([again.fromCache, again.model], [false, model]);
    assert.equal((await importModel(asked, '1')).fromCache, true);
  }
  assert.deepEqual(readdirSync(cacheFolder), [key]);
});

test('an entry whose weights were cut short is not used', async (t) => {
  const { path, cacheFolder } = modelAndCache(t);
  const asked = request(path, { cacheFolder, tags: ['serve'] });
  const key = cacheKey(asked, '1');
  const { model } = await importModel(asked, '1');
  assert.deepEqual(readCached(cacheFolder, key), model);
  const blob = join(cacheFolder, key, 'weights.bin');
  if (existsSync(blob)) {
    truncateSync(blob, 10);
    assert.equal(readCached(cacheFolder, key), undefined);
  } else {
    assert.ok(
      model.weights.every((one) => one.path.startsWith(path)),
      'they lie in the model',
    );
  }
});

test('keeps the first of two entries that finish at once, and both use it', async (t) => {
  const { path, cacheFolder } = modelAndCache(t);
  const asked = request(path, { cacheFolder });
  const { model } = await importModel(request(path), '1');
  const [one, two] = [beginEntry(cacheFolder), beginEntry(cacheFolder)];
  const blobbed = (folder: string): typeof model => ({
    ...model,
    weights: model.weights.map((weight) => ({
      ...weight,
      path: join(folder, 'weights.bin'),
      offset: 0,
      byteLength: 4,
    })),
  });
  for (const folder of [one, two]) writeFileSync(join(folder, 'weights.bin'), '1234');
  const key = cacheKey(asked, '1');
  const first = finishEntry(cacheFolder, key, one, blobbed(one));
  const second = finishEntry(cacheFolder, key, two, blobbed(two));
  assert.deepEqual(second, first);
  assert.equal(first.weights[0]?.path, join(cacheFolder, key, 'weights.bin'));
  assert.deepEqual(readdirSync(cacheFolder), [key]);
});

test('an import that fails leaves nothing behind', async (t) => {
  const { path, cacheFolder } = modelAndCache(t, Buffer.from('not a protobuf'));
  await assert.rejects(importModel(request(path, { cacheFolder }), '1'), {
    code: ErrorCode.ModelInvalid,
  });
  assert.deepEqual(readdirSync(cacheFolder), []);
});

test('a cache that cannot be written is an error', async (t) => {
  const { path, folder } = modelAndCache(t);
  writeFileSync(join(folder, 'file'), '');
  await assert.rejects(
    importModel(request(path, { cacheFolder: join(folder, 'file') }), '1'),
    /ENOTDIR|EEXIST/,
  );
});

test('pipelines of Spark may nest as deep in the cache as they may without', (t) => {
  const at = (depth: number): string => `${'stages/'.repeat(depth)}metadata`;
  const key = (folder: string): string =>
    cacheKey(
      { format: 'spark', path: folder, schema: '', timezone: '', ansi: '', cacheFolder: '' },
      '1',
    );
  const folder = filledFolder(t, { [at(40)]: 'x' });
  assert.match(key(folder), /^[0-9a-f]{64}$/);
  const deeper = filledFolder(t, { [at(70)]: 'x' });
  for (const refused of [() => key(deeper), () => cacheKey(request(folder), '1')]) {
    assert.match(invalid(refused), /too many files/);
  }
});
