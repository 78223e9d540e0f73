// Folders of a process: they are reserved for its lifetime, and no other process's folders are
// removed.
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, test, type TestContext } from 'node:test';
import {
  makeHeldFolder,
  tensorRtPlace,
  removeHeldFolders,
  removeLeftovers,
  type Locks,
} from '../../ts/models/placement/tensorrt/held-folders.js';
import { loadBinding } from '../../ts/engine/binding.js';
import { filledFolder, tempFolder } from '../unit/temp-folder.js';

const NATIVE: Locks = loadBinding();
const ROOT = join('tensorrt', 'plans');

afterEach(removeHeldFolders);

/** A cache in which processes left folders. */
const cacheWith = (context: TestContext, ...names: readonly string[]): string =>
  filledFolder(
    context,
    Object.fromEntries(names.map((name) => [join(ROOT, name, 'model-x', 'model.plan'), 'ftrt'])),
  );
const leftIn = (cache: string): readonly string[] => readdirSync(join(cache, ROOT)).sort();
/**
 * Removes folders of this cache only: other tests, and servers, have some among temporary files.
 */
const removedOf = async (cache: string, locks = NATIVE): Promise<readonly string[]> =>
  (await removeLeftovers(cache, locks)).filter((path) => path.startsWith(cache));

test('one process has one folder in a place, and it is not removed while it is held', async (t) => {
  const cache = tempFolder(t);
  const [a, b] = [
    await makeHeldFolder(tensorRtPlace(cache), NATIVE),
    await makeHeldFolder(tensorRtPlace(cache), NATIVE),
  ];
  assert.notEqual(a, b);
  assert.equal(dirname(a), dirname(b));
  assert.deepEqual(await removedOf(cache), []);
  assert.ok(existsSync(a) && existsSync(b));
  removeHeldFolders();
  assert.deepEqual(leftIn(cache), []);
  assert.ok(existsSync(await makeHeldFolder(tensorRtPlace(cache), NATIVE)));
});

test('makes a removed folder again', async (t) => {
  const cache = tempFolder(t);
  const first = await makeHeldFolder(tensorRtPlace(cache), NATIVE);
  rmSync(dirname(first), { recursive: true });
  const again = await makeHeldFolder(tensorRtPlace(cache), NATIVE);
  assert.ok(existsSync(again));
});

test('removes a folder without holders completely', async (t) => {
  const cache = cacheWith(t, 'server-aaaaaa', 'server-bbbbbb');
  const lock = openSync(join(cache, ROOT, 'server-bbbbbb', 'lock'), 'w');
  assert.equal(NATIVE.lockFile(lock), 0);
  assert.deepEqual(await removedOf(cache), [join(cache, ROOT, 'server-aaaaaa')]);
  assert.deepEqual(leftIn(cache), ['server-bbbbbb']);
  closeSync(lock);
  await removedOf(cache);
  assert.deepEqual(leftIn(cache), []);
});

test('keeps entries that are not such folders', async (t) => {
  const names = ['server-toolong', 'other-aaaaaa', 'server-a.b.c.'];
  const cache = cacheWith(t, ...names);
  const outside = filledFolder(t, { file: 'content' });
  symlinkSync(outside, join(cache, ROOT, 'server-cccccc'));
  assert.deepEqual(await removedOf(cache), []);
  assert.deepEqual(leftIn(cache), [...names, 'server-cccccc'].sort());
  assert.deepEqual(readdirSync(outside), ['file']);
  assert.deepEqual(await removedOf(join(cache, 'nowhere')), []);
});

test('without locks folders are made, and none is removed', async (t) => {
  const cache = cacheWith(t, 'server-aaaaaa');
  const none: Locks = { lockFile: () => 2 };
  const folder = await makeHeldFolder(tensorRtPlace(cache), none);
  assert.ok(existsSync(folder));
  assert.deepEqual(await removedOf(cache, none), []);
  assert.equal(leftIn(cache).length, 2);
});

test('makes another folder if a new one is claimed first', async (t) => {
  const cache = tempFolder(t);
  mkdirSync(join(cache, ROOT), { recursive: true });
  const answers = [1, 0];
  const locks: Locks = { lockFile: () => answers.shift() ?? 0 };
  const folder = await makeHeldFolder(tensorRtPlace(cache), locks);
  assert.ok(existsSync(folder));
  assert.deepEqual(answers, []);
  assert.equal(leftIn(cache).length, 2);
});
