// A folder that was made for a load: its maker keeps it if the model's sessions are in this
// process, and it stays while the model is loaded if a process may load it again.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { LoadedModel, ModelSpec } from '../../ts/model/engine-api.js';
import type { Engine } from '../../ts/engine/engine.js';
import { packageRoot } from '../../ts/base/package-files.js';
import { until } from '../e2e/support/polling.js';
import { withEngine } from './support.js';

const MODEL = join(packageRoot(), 'examples', 'models', 'half_plus_three', '123', 'model.onnx');

const root = mkdtempSync(join(tmpdir(), 'serval-own-folder-'));
after(() => rmSync(root, { recursive: true }));

function specIn(name: string, isolated: boolean): ModelSpec & { readonly ownFolder: string } {
  const ownFolder = join(root, name);
  mkdirSync(ownFolder);
  const path = join(ownFolder, 'model.onnx');
  cpSync(MODEL, path);
  const isolation = { mode: isolated ? 'process' : 'none', group: '' } as const;
  return { name, version: '1', backend: 'onnxruntime', path, ownFolder, isolation };
}

/** The reason why the model cannot run now; "" if it can. */
const outageOf = (engine: Engine, name: string): string =>
  engine.link
    .read((native) => native.isolatedOutage(Buffer.from(name), Buffer.from('1')))
    .toString();

/** The processes that any thread of this one started. */
const childrenOf = (): readonly number[] =>
  readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );

test('one of a model in this process is not kept', () =>
  withEngine(async ({ control }) => {
    const spec = specIn('here', false);
    const loaded: LoadedModel = await control.load(spec);
    assert.equal(loaded.keepsFolder, undefined);
    assert.ok(existsSync(spec.path ?? ''));
    await control.unload(loaded.handle);
    assert.ok(existsSync(spec.path ?? ''));
  }));

test('one of an isolated model is kept until it is unloaded, and it comes back by it', () =>
  withEngine(async (engine) => {
    const spec = specIn('apart', true);
    const loaded = await engine.control.load(spec);
    assert.equal(loaded.keepsFolder, true);
    const pids = childrenOf();
    assert.equal(pids.length, 1);
    process.kill(pids[0] ?? 0, 'SIGKILL');
    await until('another process', () => {
      const now = childrenOf();
      return now.length === 1 && now[0] !== pids[0];
    });
    await until('the model to be loaded again', () => outageOf(engine, 'apart') === '');
    await engine.control.unload(loaded.handle);
    assert.equal(existsSync(spec.ownFolder), false);
  }));

test('one of a load that failed is left to who made it', () =>
  withEngine(async ({ control }) => {
    const spec = specIn('broken', true);
    rmSync(spec.path ?? '');
    await assert.rejects(control.load(spec));
    assert.ok(existsSync(spec.ownFolder));
  }));

test('those that are kept go when the engine is closed', async () => {
  const spec = specIn('left', true);
  await withEngine(async ({ control }) => {
    await control.load(spec);
    assert.ok(existsSync(spec.path ?? ''));
  });
  assert.equal(existsSync(spec.ownFolder), false);
});
