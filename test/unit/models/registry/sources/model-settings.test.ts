// Load settings of models: config.pbtxt, batching files and the settings of all models. Real
// folders, no real time.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filledFolder } from '../../../temp-folder.js';
import { POLL, startSource } from './source-setup.js';

test('a bad config.pbtxt fails its model, or leaves the old one serving', async (t) => {
  const folder = filledFolder(t, {
    'bad/config.pbtxt': 'nonsense: 1',
    'bad/1/model.onnx': 'x',
    'good/config.pbtxt': 'max_batch_size: 4',
    'good/1/model.onnx': 'x',
  });
  const { look, registry, states, engine, source } = await startSource({
    sources: { modelRepositories: [folder] },
    control: { ...POLL, settleMs: 0 },
  });
  const message = (name: string): string =>
    registry.snapshot.models[name]?.versions[0]?.errorMessage ?? '';
  assert.equal(states(), 'bad/1:END good/1:AVAILABLE');
  assert.match(message('bad'), /bad\/config.pbtxt:1:1: /);
  assert.deepEqual(engine.events, ['load good/1']);
  writeFileSync(join(folder, 'good/config.pbtxt'), 'max_batch_size: oops');
  await look(10_000);
  assert.equal(states(), 'bad/1:END good/1:AVAILABLE');
  assert.match(message('good'), /good\/config.pbtxt:1:\d+: max_batch_size/);
  assert.equal(engine.events.length, 1);
  writeFileSync(join(folder, 'good/config.pbtxt'), 'max_batch_size: 4');
  writeFileSync(join(folder, 'bad/config.pbtxt'), 'max_batch_size: 2');
  await look(10_000);
  assert.equal(states(), 'bad/1:AVAILABLE good/1:AVAILABLE');
  assert.deepEqual([message('good'), source.problems], ['', []]);
  assert.deepEqual(engine.events, ['load good/1', 'load bad/1']);
});

test("settings: of all models, then batching of the source, then the model's own", async (t) => {
  const folder = filledFolder(t, {
    'repo/auto/1/model.onnx': 'x',
    'repo/own/1/model.onnx': 'x',
    'repo/own/config.pbtxt': 'max_batch_size: 16 instance_group { count: 3 } dynamic_batching { }',
    'tf/1/model.onnx': 'x',
    'tf/2/model.onnx': 'x',
    'one.onnx': 'x',
    'tf/2/batching_params.pbtxt': 'max_batch_size { value: 5 }',
    'batching.txt': 'max_batch_size { value: 9 } num_batch_threads { value: 2 }',
    'models.config': '',
  });
  const file = join(folder, 'models.config');
  writeFileSync(
    file,
    `model_config_list { config { name: "tf" base_path: "${folder}/tf"
    model_version_policy { all {} } } }`,
  );
  const { engine } = await startSource({
    sources: {
      paths: [join(folder, 'one.onnx')],
      modelRepositories: [join(folder, 'repo')],
      modelConfigFile: file,
    },
    batching: { enabled: true, perModel: true, parametersFile: join(folder, 'batching.txt') },
  });
  const batch = Object.fromEntries(
    engine.specs.map((spec) => [
      `${spec.name}/${spec.version}`,
      [spec.batch?.mode, spec.batch?.rowsMax, spec.instances, spec.intraOpThreads],
    ]),
  );
  assert.deepEqual(Object.fromEntries(Object.entries(batch).filter(([name]) => name !== 'tf/2')), {
    'auto/1': ['auto', 4, 1, 0],
    'own/1': ['on', 16, 3, 0],
    'one/1': [undefined, undefined, 1, 0],
    'tf/1': ['on', 9, 2, 0],
  });
  assert.deepEqual(batch['tf/2']?.slice(0, 2), ['on', 5]);
});

test('bad batching files: for all models, and of one version', async (t) => {
  const folder = filledFolder(t, {
    'tf/1/model.onnx': 'x',
    'tf/1/batching_params.pbtxt': 'max_batch_size: 5',
    'batching.txt': 'max_batch_size { value: 0 }',
  });
  const { engine, source, states } = await startSource({
    sources: { baseModel: { name: 'tf', path: join(folder, 'tf') } },
    batching: { enabled: true, perModel: true, parametersFile: join(folder, 'batching.txt') },
  });
  assert.equal(states(), 'tf/1:END');
  assert.equal(engine.specs.length, 0);
  assert.match(source.problems[0] ?? '', /batching.txt:1:\d+: max_batch_size: expected 1 to/);
  assert.match(source.problems[1] ?? '', /batching_params.pbtxt:1:\d+: /);
  const plain = await startSource({
    sources: { baseModel: { name: 'tf', path: join(folder, 'tf') } },
    batching: { enabled: true, parametersFile: join(folder, 'none') },
  });
  assert.equal(plain.engine.specs[0]?.batch, undefined, 'without a good file nothing is batched');
  assert.equal(plain.source.problems.length, 1);
});

test('without autocomplete a model needs a config.pbtxt', async (t) => {
  const folder = filledFolder(t, {
    'a/1/model.onnx': 'x',
    'b/1/model.onnx': 'x',
    'b/config.pbtxt': '',
  });
  const { source, states } = await startSource({
    sources: { modelRepositories: [folder] },
    batching: { autoComplete: false },
  });
  assert.equal(states(), 'a/1:END b/1:AVAILABLE');
  assert.match(source.problems[0] ?? '', /a\/config.pbtxt: no such file: expected one/);
});
