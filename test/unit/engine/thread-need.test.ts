// The check at start-up that enough threads are available.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../ts/base/errors.js';
import { requireThreads, startNodePool, threadNeed } from '../../../ts/engine/thread-need.js';

const SETTINGS = { httpThreads: 2, grpcThreads: 3, growth: 0, intraOpThreads: 0, processors: 8 };

test('the need for threads follows the settings', () => {
  assert.equal(threadNeed(SETTINGS), 4 + 3 + 7 + 4);
  assert.equal(threadNeed({ ...SETTINGS, intraOpThreads: 1 }), 4 + 3 + 0 + 4);
});

test('too few threads are refused with the numbers and the remedy', async () => {
  const need = threadNeed(SETTINGS);
  requireThreads(SETTINGS, (wanted) => wanted);
  assert.throws(() => requireThreads(SETTINGS, (wanted) => wanted - 1), {
    code: ErrorCode.RuntimeUnavailable,
    message: new RegExp(`needs ${need} threads .* only ${need - 1} could .*pids\\.max.*ulimit -u`),
  });
  await assert.rejects(() => startNodePool(() => 3), /needs 4 threads .* only 3 could/);
  await startNodePool((wanted) => wanted);
});

test('listeners may add as many threads as can be started', () => {
  const growing = { ...SETTINGS, growth: 6 };
  const need = threadNeed(SETTINGS);
  assert.equal(threadNeed(growing), need + 6);
  assert.equal(
    requireThreads(growing, (wanted) => wanted),
    6,
  );
  assert.equal(
    requireThreads(growing, () => need + 2),
    2,
  );
  assert.equal(
    requireThreads(growing, () => need),
    0,
  );
  assert.throws(() => requireThreads(growing, () => need - 1), /needs .* threads more/);
});
