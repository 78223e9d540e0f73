// Imports in separate threads: limits on time and memory, crashes, and leftover files.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import {
  importInThread,
  type ImportThreadOptions,
} from '../../../../ts/importers/run/import-thread.js';
import { ownThread, QuietThreads } from '../../../../ts/importers/run/quiet-thread.js';
import { tempFolder } from '../../temp-folder.js';
import { modelAndCache, plusModel, request } from './support.js';
import { attr, type NodeText } from '../tensorflow/messages.js';

const OPTIONS: ImportThreadOptions = { programVersion: '1' };

/** A worker with these statements; `made` is the folder that it reports to have made. */
function worker(t: TestContext, statements: string): { file: URL; made: string } {
  const folder = tempFolder(t);
  const made = join(folder, 'made');
  const path = join(folder, 'worker.mjs');
  writeFileSync(
    path,
    `import { mkdirSync } from 'node:fs';
    import { parentPort } from 'node:worker_threads';
    mkdirSync(${JSON.stringify(made)});
    parentPort.postMessage({ folder: ${JSON.stringify(made)} });
    ${statements}\n`,
  );
  return { file: pathToFileURL(path), made };
}

async function failure(run: Promise<unknown>): Promise<ServalError> {
  try {
    await run;
  } catch (error) {
    assert.ok(error instanceof ServalError, String(error));
    return error;
  }
  return assert.fail('expected an error');
}

async function gone(path: string): Promise<void> {
  while (existsSync(path))
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
}

test('an import, with its temporary folder', async (t) => {
  const { path } = modelAndCache(t);
  const { model, temporaryFolder, fromCache } = await importInThread(request(path), OPTIONS);
  assert.deepEqual(
    model.graphs.map((one) => one.signature),
    ['serving_default'],
  );
  assert.ok(model.graphs[0]?.onnx instanceof Uint8Array);
  assert.equal(fromCache, false);
  assert.ok(existsSync(temporaryFolder));
  rmSync(temporaryFolder, { recursive: true });
});

test('several at once, one of them bad', async (t) => {
  const { path, cacheFolder } = modelAndCache(t);
  const bad = modelAndCache(t, Buffer.from([0xff]));
  const asked = request(path, { cacheFolder });
  const [one, error, two] = await Promise.all([
    importInThread(asked, OPTIONS),
    failure(importInThread(request(bad.path), OPTIONS)),
    importInThread(asked, OPTIONS),
  ]);
  assert.deepEqual(one.model, two.model);
  assert.equal(error.code, ErrorCode.ModelInvalid);
  assert.match(error.message, /saved_model\.pb/);
  assert.equal(readdirSync(cacheFolder).length, 1);
});

test('errors keep their code', async (t) => {
  const { path } = modelAndCache(t, Buffer.alloc(0));
  writeFileSync(join(path, 'model.keras'), 'x');
  const error = await failure(importInThread(request(join(path, 'model.keras')), OPTIONS));
  assert.equal(error.code, ErrorCode.Unimplemented);
});

test('one that takes too long is ended, and what it wrote is removed', async (t) => {
  const { file, made } = worker(t, 'for (;;);');
  const began = performance.now();
  const error = await failure(
    importInThread(request('/model'), { ...OPTIONS, workerFile: file, msMax: 300 }),
  );
  assert.equal(error.code, ErrorCode.ModelInvalid);
  assert.equal(error.message, '/model: the import took longer than 0.3 s');
  assert.ok(performance.now() - began < 10_000);
  await gone(made);
});

test('one that needs too much memory ends alone', async (t) => {
  const { file, made } = worker(t, 'const all = []; for (;;) all.push(new Array(1e4).fill({}));');
  const error = await failure(
    importInThread(request('/model'), { ...OPTIONS, workerFile: file, heapMbMax: 16 }),
  );
  assert.equal(error.code, ErrorCode.ModelInvalid);
  assert.equal(error.message, '/model: the import needs more than 16 MiB of heap');
  assert.ok(!existsSync(made));
});

test('a hostile graph meets the limit on memory', async (t) => {
  const chain = Array.from(
    { length: 60_000 },
    (_, i): NodeText => ({
      name: `n${i}`,
      op: 'Neg',
      inputs: [i === 0 ? 'x' : `n${i - 1}`],
      attributes: { T: attr.type(1) },
    }),
  );
  const nodes = [...chain, { name: 'z', op: 'Identity', inputs: ['n59999'] }];
  const { path } = modelAndCache(t, plusModel(3, nodes));
  const error = await failure(importInThread(request(path), { ...OPTIONS, heapMbMax: 8 }));
  assert.equal(error.code, ErrorCode.ModelInvalid);
  assert.match(error.message, /needs more than 8 MiB of heap/);
});

test('one that crashes, and one that says nothing', async (t) => {
  const crash = worker(t, 'throw new Error("at once");');
  const error = await failure(
    importInThread(request('/model'), { ...OPTIONS, workerFile: crash.file }),
  );
  assert.deepEqual([error.code, error.message], [ErrorCode.Internal, '/model: at once']);
  assert.ok(!existsSync(crash.made));
  const silent = worker(t, 'process.exit(0);');
  const nothing = await failure(
    importInThread(request('/model'), { ...OPTIONS, workerFile: silent.file }),
  );
  assert.equal(nothing.message, '/model: the import ended without a result');
  assert.ok(!existsSync(silent.made));
});

/** Settings of a thread that waits for a core all the time. */
function starving(permitted: boolean): {
  quiet: QuietThreads;
  set: (readonly [number, boolean])[];
} {
  const set: (readonly [number, boolean])[] = [];
  const begunMs = performance.now();
  const quiet = new QuietThreads(
    (thread, idle) => {
      set.push([thread, idle]);
      return idle || permitted;
    },
    () => ({ ranMs: 1, waitedMs: performance.now() - begunMs }),
  );
  return { quiet, set };
}

test('an import at idle priority, which returns if no core has time', async (t) => {
  const { path } = modelAndCache(t);
  const { quiet, set } = starving(true);
  const { file } = worker(
    t,
    `parentPort.postMessage({ thread: 77 });
    setTimeout(() => parentPort.postMessage({ answer: 'made' }), 1000);`,
  );
  assert.equal(
    await importInThread(request(path), { ...OPTIONS, workerFile: file, quiet }),
    'made',
  );
  assert.deepEqual(set, [
    [77, true],
    [77, false],
  ]);
  const next = worker(
    t,
    `for (const reply of [{ thread: 78 }, { answer: 'made' }]) parentPort.postMessage(reply);`,
  );
  await importInThread(request(path), { ...OPTIONS, workerFile: next.file, quiet });
  assert.equal(set.length, 2, 'no core had time a moment ago');
});

test('an import that finds no time begins again if its priority cannot be restored', async (t) => {
  const { path } = modelAndCache(t);
  const { quiet, set } = starving(false);
  const folder = tempFolder(t);
  const begun = join(folder, 'begun');
  const { file } = worker(
    t,
    `import { existsSync, writeFileSync } from 'node:fs';
    parentPort.postMessage({ thread: 77 });
    if (existsSync(${JSON.stringify(begun)})) parentPort.postMessage({ answer: 'second' });
    else writeFileSync(${JSON.stringify(begun)}, ''), setInterval(() => undefined, 1000);`,
  );
  const answer = importInThread(request(path), { ...OPTIONS, workerFile: file, quiet });
  assert.equal(await answer, 'second');
  assert.deepEqual(set, [
    [77, true],
    [77, false],
  ]);
});

test('the number of a thread, and the times of a real one', () => {
  assert.ok(existsSync(`/proc/self/task/${ownThread()}`));
  const set: boolean[] = [];
  const end = new QuietThreads((_, idle) => {
    set.push(idle);
    return true;
  }).keep(ownThread(), assert.fail);
  end();
  assert.deepEqual(set, [true]);
  new QuietThreads(() => assert.fail('of a thread that has ended')).keep(1e9, assert.fail)();
});
