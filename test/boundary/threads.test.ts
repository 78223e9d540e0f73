// One engine with several JavaScript threads; threads that end, and processes that exit, during
// requests.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { V1_PREDICT } from '../../ts/model/request-kinds.js';
import { bytes, inferred, nullModel, withEngine } from './support.js';

const workerFile = new URL('./thread-worker.js', import.meta.url);

test('a worker thread serves a model that another thread loaded', async () => {
  await withEngine(async (engine) => {
    const { handle } = await engine.control.load(nullModel('m', { execMode: 'queued' }));
    const workers = [0, 1, 2].map(
      () => new Worker(workerFile, { workerData: { handle, requests: 200, stay: false } }),
    );
    const exits = workers.map((worker) => once(worker, 'exit'));
    const answers = await Promise.all(workers.map((worker) => once(worker, 'message')));
    for (const [right] of answers) assert.equal(right, 200);
    await Promise.all(exits);
    const answer = await inferred(engine.link, V1_PREDICT, handle, bytes('{"instances":[1]}'));
    assert.equal(answer.text, '{"predictions":[1.0]}');
  });
});

test('a worker that is terminated mid-request takes nobody with it', async () => {
  await withEngine(async (engine) => {
    const spec = nullModel('m', { execMode: 'queued', nullMode: 'delay', nullDelayUs: 5_000_000 });
    const { handle } = await engine.control.load(spec);
    const worker = new Worker(workerFile, { workerData: { handle, requests: 8, stay: true } });
    await once(worker, 'message');
    await worker.terminate();
    const other = await engine.control.load(nullModel('n', { execMode: 'queued' }));
    const answer = await inferred(
      engine.link,
      V1_PREDICT,
      other.handle,
      bytes('{"instances":[1]}'),
    );
    assert.equal(answer.text, '{"predictions":[1.0]}');
    await engine.control.unload(handle);
  });
});

for (const how of ['exit', 'exitNow', 'throw']) {
  test(`a process that ends by ${how} mid-request ends`, async () => {
    const file = fileURLToPath(new URL('./exit-process.js', import.meta.url));
    const child = spawn(process.execPath, [file, how], { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    assert.equal(signal, null, errors);
    assert.equal(code, how === 'throw' ? 1 : 7, errors);
  });
}
