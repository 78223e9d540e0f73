// How `make t` interprets T, and that it fails if nothing ran.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { driversOf, parseWanted } from '../../run/one.mjs';
import { testTarget } from '../../native/run.mjs';

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

function one(wanted) {
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const args = [join(root, 'test', 'run', 'one.mjs'), wanted];
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env });
}

test('a path and a name', () => {
  assert.deepEqual(parseWanted('test/a.test.ts'), { path: 'test/a.test.ts', name: '' });
  assert.deepEqual(parseWanted('a_test.cc:Half.*:Bf16.*'), {
    path: 'a_test.cc',
    name: 'Half.*:Bf16.*',
  });
});

test('each language finds its runner', () => {
  assert.equal(testTarget('test/native/codec/part/a_test.cc'), 'codec_part_a_test');
  assert.deepEqual(driversOf('test_http'), ['test/e2e/tritonclient.test.ts']);
  assert.deepEqual(driversOf('test_that_is_not_there'), []);
});

test('a named test runs, and no other', () => {
  const { status, stdout } = one('test/unit/run/counts.test.mjs:.');
  assert.equal(status, 0, stdout);
  assert.match(stdout, /pass [1-9]/);
});

test('nothing that ran is no success', () => {
  const none = one('test/unit/run/counts.test.mjs:no such name');
  assert.equal(none.status, 1);
  assert.match(none.stdout, /no test is named 'no such name'/);
  const missing = one('test/unit/nowhere.test.ts');
  assert.equal(missing.status, 2);
  assert.match(missing.stderr, /no test file or folder 'test\/unit\/nowhere.test.ts'/);
});
