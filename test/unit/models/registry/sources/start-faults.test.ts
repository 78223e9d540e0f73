// Errors in the paths and files that a server was started with: readiness, the log, what is
// watched, and the reasons of models without versions. Real folders, no real time.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { filledFolder } from '../../../temp-folder.js';
import { POLL, setupSource, startSource, write, type SetupChange } from './source-setup.js';

/** The errors at start-up, and the levels at which they are logged. */
async function faultsOf(t: TestContext, change: SetupChange) {
  const setup = await startSource(change);
  t.after(() => setup.source.stop());
  const { faults, ready } = setup.registry.snapshot;
  return { ...setup, faults, ready };
}

test('a bad source at the start is an ERROR, and the server is not ready', async (t) => {
  const folder = filledFolder(t, {
    'm/1/model.onnx': 'x',
    'empty/.keep': '',
    'batching.txt': 'max_batch_size { value: "x" }',
    'broken.config': 'model_config_list {',
    'remote.config': 'model_config_list { config { name: "g" base_path: "gs://bucket/g" } }',
    'none.config': 'model_config_list { }',
  });
  const at = (name: string): string => join(folder, name);
  const base = { baseModel: { name: 'm', path: at('m') } };
  for (const [change, fault] of [
    [{ sources: { modelConfigFile: at('broken.config') } }, /broken\.config:1:\d+: /],
    [{ sources: { modelConfigFile: at('remote.config') } }, /remote\.config:1:\d+: .*gs:/],
    [{ sources: { modelConfigFile: at('none.config') } }, /searched .*none\.config$/],
    [{ sources: { paths: [at('empty')] } }, /no models found: .*empty contains no model folders$/],
    [
      {
        sources: { modelRepositories: [folder] },
        control: { mode: 'explicit', loadModels: ['nope'] },
      },
      /--load-model: model 'nope'/,
    ],
    [
      {
        sources: { modelRepositories: [at('empty')] },
        control: { mode: 'explicit', loadModels: ['*'] },
      },
      /no models found/,
    ],
    [
      { sources: base, batching: { enabled: true, parametersFile: at('batching.txt') } },
      /batching\.txt:1:\d+: /,
    ],
    [{ sources: base, batching: { enabled: true, parametersFile: at('nowhere') } }, /nowhere/],
  ] as const) {
    const { faults, ready, lines } = await faultsOf(t, change);
    assert.equal(faults.length, 1, JSON.stringify(change));
    assert.match(faults[0] ?? '', fault);
    assert.equal(ready, false, String(fault));
    const name = JSON.stringify(faults[0]).slice(1, 40);
    assert.match(lines.find((line) => line.includes(name)) ?? '', / ERROR model source problem=/);
  }
});

test('a fault is logged once', async (t) => {
  const folder = filledFolder(t, {
    'empty/.keep': '',
    'repo/m/1/model.onnx': 'x',
    'repo/m/config.pbtxt': 'name: "m" max_batch_sise: 1',
    'alone/net.gguf': 'GGUF0000',
  });
  for (const [place, words] of [
    ['empty', /contains no model folders/],
    ['repo', /max_batch_sise/],
    ['alone', /net\.gguf: is GGUF/],
  ] as const) {
    const { lines, faults } = await faultsOf(t, { sources: { paths: [join(folder, place)] } });
    const told = lines.filter((line) => / (WARN|ERROR) /.test(line));
    assert.equal(told.length, 1, told.join(''));
    assert.match(told[0] ?? '', / ERROR /);
    assert.match(told[0] ?? '', words);
    assert.equal(faults.length, place === 'repo' ? 0 : 1);
  }
});

test('strict readiness only; and nothing is wrong where nothing was asked for', async (t) => {
  const folder = filledFolder(t, { '.keep': '' });
  const lenient = await faultsOf(t, {
    sources: { paths: [folder] },
    registry: { strictReadiness: false },
  });
  assert.deepEqual([lenient.ready, lenient.faults.length], [true, 1]);
  const explicit = await faultsOf(t, {
    sources: { modelRepositories: [folder] },
    control: { mode: 'explicit' },
  });
  assert.deepEqual([explicit.ready, explicit.faults], [true, []]);
});

test('a fault of the start ends when it is mended, and does not come back', async (t) => {
  const folder = filledFolder(t, { 'models.config': 'model_config_list {', 'm/1/model.onnx': 'x' });
  const file = join(folder, 'models.config');
  const { look, registry } = await faultsOf(t, {
    sources: { modelConfigFile: file },
    control: { modelConfigFilePollSeconds: 1, settleMs: 0, fileSystemPollSeconds: 0 },
  });
  writeFileSync(file, `model_config_list { config { name: "m" base_path: "${folder}/m" } }`);
  await look(1000);
  assert.deepEqual([registry.snapshot.ready, registry.snapshot.faults], [true, []]);
  writeFileSync(file, 'model_config_list {');
  await look(1000);
  assert.deepEqual([registry.snapshot.ready, registry.snapshot.faults], [true, []]);
});

test('a server polls until its first model is there', async (t) => {
  const folder = filledFolder(t, { '.keep': '' });
  const { look, registry, source } = await faultsOf(t, {
    sources: { modelRepositories: [folder] },
    control: { ...POLL, settleMs: 0 },
  });
  assert.equal(source.isWatched, true);
  assert.equal(registry.snapshot.ready, false);
  write(join(folder, 'm/1/model.onnx'));
  await look(10_000);
  assert.deepEqual([registry.snapshot.ready, registry.snapshot.faults], [true, []]);
});

test('watches paths that may provide a model later', () => {
  const repositories = { modelRepositories: ['/r'] };
  const file = { modelConfigFile: '/models.config' };
  for (const [change, watched] of [
    [{ sources: repositories }, false],
    [{ sources: repositories, control: POLL }, true],
    [{ sources: repositories, control: { ...POLL, repositoryPollSeconds: 0 } }, false],
    [{ sources: repositories, control: { mode: 'explicit' } }, true],
    [{ sources: file, control: { mode: 'explicit' } }, false],
    [{ sources: file }, false],
    [{ sources: file, control: { modelConfigFilePollSeconds: 5 } }, true],
  ] as const) {
    assert.equal(setupSource(change).source.isWatched, watched, JSON.stringify(change));
  }
});

test('a model without a version carries the reason, the configuration first', async (t) => {
  const folder = filledFolder(t, {
    'ensemble/config.pbtxt': 'platform: "ensemble"',
    'ensemble/1/.keep': '',
    'python/config.pbtxt': 'backend: "python"',
    'python/1/model.py': 'x',
    'torch/config.pbtxt': 'platform: "pytorch_libtorch"',
    'torch/1/model.pt': 'x',
    'bare/1/model.pt': 'x',
    'good/1/model.onnx': 'x',
  });
  const { registry, lines } = await faultsOf(t, { sources: { modelRepositories: [folder] } });
  const problemOf = (name: string): string => registry.snapshot.models[name]?.problem ?? '';
  assert.match(
    problemOf('ensemble'),
    /config\.pbtxt:1:\d+: platform: expected ensemble_scheduling/,
  );
  assert.match(
    problemOf('python'),
    /backend: expected one of onnxruntime, tensorflow, tabular, tensorrt, fil, ensemble, got "python"$/,
  );
  assert.match(problemOf('torch'), /platform: expected .*, got "pytorch_libtorch"$/);
  assert.match(problemOf('bare'), /has no model: expected model\.onnx, got model\.pt/);
  assert.equal(problemOf('good'), '');
  assert.ok(
    lines.some((line) => / ERROR model source .*python/.test(line)),
    lines.join(''),
  );
});
