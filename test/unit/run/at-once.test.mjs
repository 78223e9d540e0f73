// Programs that run in parallel, and how their exits are reported. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapAtOnce, runProgram } from '../../run/at-once.mjs';

test('so many at a time, results in the order of the items', async () => {
  const waiting = [];
  let most = 0;
  const work = (item) =>
    new Promise((resolve) => {
      waiting.push(() => resolve(item * 2));
      most = Math.max(most, waiting.length);
      if (waiting.length === 2 || item === 5) while (waiting.length > 0) waiting.pop()();
    });
  assert.deepEqual(await mapAtOnce([1, 2, 3, 4, 5], work, 2), [2, 4, 6, 8, 10]);
  assert.equal(most, 2);
});

test('a program that ends, fails, dies, hangs or is not there', async () => {
  const node = (code, options) => runProgram([process.execPath, '-e', code], options);
  const fine = await node('console.log(1); console.error(2)');
  assert.deepEqual(fine, { status: 0, reason: '', stdout: '1\n', stderr: '2\n' });
  assert.equal((await node('process.exitCode = 3')).reason, 'exit status 3');
  assert.equal((await node('process.kill(process.pid, "SIGSEGV")')).reason, 'SIGSEGV');
  assert.equal((await node('setInterval(() => {}, 1000)', { timeout: 500 })).reason, 'SIGKILL');
  assert.match((await runProgram(['/nowhere/at-all'])).reason, /ENOENT/);
});
