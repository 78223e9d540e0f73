// Versions that are added, changed, broken and removed while the model serves, from a base path
// that is polled every second. No request may fail meanwhile. Source: tfserving.md 3.3, 3.4, 9.
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import {
  index,
  logLines,
  metric,
  plusModel,
  predict,
  put,
  v1Versions,
} from '../support/operating.js';
import { SteadyLoad, until } from '../support/polling.js';
import { jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const ZERO = '{"instances":[0.0]}';
const POLLED = ['--file-system-poll-wait-seconds=1', '--settle-ms=200'];
const MODEL_BYTES = 400_000;
/**
 * The number of pieces and the pause between two: together longer than a poll and the settling
 * time.
 */
const PIECES = 24;
const PIECE_MS = 90;

const answerOf = (number: number): string => JSON.stringify({ predictions: [number] });

describe('versions of a base path', () => {
  const folders = new ModelFolders();
  const base = join(folders.folder, 'moving');
  let server: ServalProcess;
  let load: SteadyLoad;
  before(async () => {
    put(join(base, '1', 'model.onnx'), plusModel(1));
    server = await startServer([
      '--model-name',
      'moving',
      '--model-base-path',
      base,
      ...POLLED,
      '--log-level',
      'debug',
    ]);
    load = new SteadyLoad(server.httpPort, '/v1/models/moving:predict', ZERO);
  });
  after(async () => {
    await load.stop();
    await server.stop();
    folders.remove();
  });

  const file = (version: number): string => join(base, String(version), 'model.onnx');
  const answers = (number: number) =>
    until(
      `${number} is served`,
      () => load.answers.at(-1) === answerOf(number),
      () => `${load.answers.join()} ${load.failures.join()} ${server.stderr.slice(-2000)}`,
    );
  const state = async (version: string): Promise<string> =>
    (await v1Versions(server, 'moving')).get(version)?.state ?? 'none';

  it('a new one is served and the old one goes, without a gap', async () => {
    await load.more(1);
    put(join(folders.folder, 'made', 'model.onnx'), plusModel(2));
    renameSync(join(folders.folder, 'made'), join(base, '2'));
    await answers(2);
    await until('version 1 is gone', async () => (await state('1')) === 'END');
    assert.equal(await state('2'), 'AVAILABLE');
    assert.equal((await predict(server, 'moving/versions/1', ZERO)).status, 404);
    assert.deepEqual(load.failures, []);
    assert.deepEqual(load.answers, [answerOf(1), answerOf(2)]);
  });

  it('a version that is replaced in place serves the new content without a gap', async () => {
    put(join(base, '.new', 'model.onnx'), plusModel(20));
    renameSync(join(base, '2'), join(base, '.old'));
    renameSync(join(base, '.new'), join(base, '2'));
    await answers(20);
    writeFileSync(file(2), plusModel(21));
    await answers(21);
    assert.equal(await state('2'), 'AVAILABLE');
    assert.deepEqual(load.failures, []);
  });

  it('one that is being copied is not loaded before it settles', async () => {
    const bytes = plusModel(3, MODEL_BYTES);
    const step = Math.ceil(bytes.length / PIECES);
    mkdirSync(join(base, '3'));
    // On a machine that stalls for longer than the settling time the copy would look complete: then
    // it is repeated.
    for (let pauseMs = Infinity; pauseMs > 150; ) {
      writeFileSync(file(3), '');
      pauseMs = 0;
      for (let at = 0; at < bytes.length; at += step) {
        const beganMs = performance.now();
        appendFileSync(file(3), bytes.subarray(at, at + step));
        await new Promise((resolve) => {
          setTimeout(resolve, PIECE_MS);
        });
        pauseMs = Math.max(pauseMs, performance.now() - beganMs);
        assert.ok(pauseMs > 150 || load.answers.at(-1) === answerOf(21), 'loaded half written');
      }
    }
    await answers(3);
    assert.equal(await state('3'), 'AVAILABLE');
    assert.deepEqual(load.failures, []);
    const failed = logLines(server).filter(
      (line) => line['version'] === '3' && line['message'] === 'model failed to load',
    );
    assert.deepEqual(failed, []);
  });

  it('a broken one leaves the old one serving, and says why everywhere', async () => {
    put(file(4), 'no model at all');
    await until('version 4 has failed', async () => (await state('4')) === 'END');
    await load.more(3);
    const shown = await v1Versions(server, 'moving');
    const reason = shown.get('4')?.status.error_message ?? '';
    assert.equal(shown.get('3')?.state, 'AVAILABLE');
    assert.deepEqual(shown.get('3')?.status, { error_code: 'OK', error_message: '' });
    assert.ok(reason.includes('moving/4/model.onnx'), reason);
    const entries = await index(server);
    assert.deepEqual(
      entries.filter((one) => one.version === '3'),
      [{ name: 'moving', version: '3', state: 'READY' }],
    );
    const broken = entries.find((one) => one.version === '4');
    assert.equal(broken?.state, 'UNAVAILABLE');
    assert.ok(broken.reason?.includes(reason), broken.reason);
    const labels = ['model="moving"', 'version="4"'];
    assert.equal(await metric(server, 'serval_model_load_failed', ...labels), 1);
    assert.equal(await metric(server, 'serval_model_load_failures'), 1);
    const textOf = (full: unknown): string => String(full).replace(join(base, '..', '/'), '');
    const logged = logLines(server).filter((line) => textOf(line['reason']) === reason);
    assert.deepEqual(
      logged.map((line) => [line['level'], line['model'], line['version']]),
      [['error', 'moving', '4']],
    );
    assert.equal(load.answers.at(-1), answerOf(3));
    assert.deepEqual(load.failures, []);
  });

  it('a broken one that is mended in place is served', async () => {
    writeFileSync(file(4), plusModel(4));
    await answers(4);
    assert.equal(await metric(server, 'serval_model_load_failures'), 0);
    assert.deepEqual(load.failures, []);
  });

  it('new content that is broken leaves the content that serves, and says why', async () => {
    writeFileSync(file(4), 'no model either');
    const reason = await until(
      'the reason is shown',
      async () => (await v1Versions(server, 'moving')).get('4')?.status.error_message || undefined,
    );
    assert.ok(reason.includes('moving/4/model.onnx'), reason);
    assert.equal(await state('4'), 'AVAILABLE');
    const entry = (await index(server)).find((one) => one.version === '4');
    assert.deepEqual([entry?.state, entry?.reason?.includes(reason)], ['READY', true]);
    await load.more(1);
    assert.equal(load.answers.at(-1), answerOf(4));
    assert.deepEqual(load.failures, []);
  });

  it('one that is removed gives way to the one before it, without a gap', async () => {
    rmSync(join(base, '4'), { recursive: true });
    await answers(3);
    await until('version 4 is gone', async () => (await state('4')) !== 'AVAILABLE');
    assert.equal((await predict(server, 'moving/versions/4', ZERO)).status, 404);
    assert.deepEqual(load.failures, []);
  });
});

describe('the transition from one version to the next', { concurrency: 2 }, () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  /** The log's lines about loads and unloads while version 2 replaces version 1. */
  const replaced = async (context: TestContext, policy: string): Promise<readonly string[]> => {
    const base = join(folders.folder, policy);
    put(join(base, '1', 'model.onnx'), plusModel(1));
    const server = await startServer([
      '--model-name',
      'm',
      '--model-base-path',
      base,
      ...POLLED,
      `--version-transition=${policy}`,
    ]);
    context.after(() => server.stop());
    put(join(base, '2', 'model.onnx'), plusModel(2));
    await until('version 2 serves', async () => {
      const response = await predict(server, 'm', ZERO);
      return response.status === 200 && JSON.stringify(jsonOf(response)) === answerOf(2);
    });
    const steps = (): readonly string[] =>
      logLines(server)
        .filter(({ message }) => message === 'model loaded' || message === 'model unloaded')
        .map(({ message, version }) => `${String(message)} ${String(version)}`);
    await until('both have happened', () => steps().length === 3);
    return steps();
  };

  it('loads the new one first with --version-transition=availability', async (context) => {
    assert.deepEqual(await replaced(context, 'availability'), [
      'model loaded 1',
      'model loaded 2',
      'model unloaded 1',
    ]);
  });

  it('unloads the old one first with --version-transition=resource', async (context) => {
    assert.deepEqual(await replaced(context, 'resource'), [
      'model loaded 1',
      'model unloaded 1',
      'model loaded 2',
    ]);
  });
});
