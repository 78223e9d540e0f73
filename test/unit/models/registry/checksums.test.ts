// The checksums of a configuration are compared before each load, with the files of the folder that
// has the configuration, whether the model has version folders or not.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { desiredModel, type SpecSettings } from '../../../../ts/models/registry/desired.js';
import { Registry } from '../../../../ts/models/registry/registry.js';
import { scanRepository } from '../../../../ts/models/registry/sources/repository.js';
import { filledFolder } from '../../temp-folder.js';
import { FakeClock, FakeEngine, quietLogger } from './fakes.js';
import { CONFIG } from './sources/source-setup.js';

const CONTENT = 'the model';
const SETTINGS: SpecSettings = {
  model: CONFIG.model,
  batching: undefined,
  defaultMaxBatchSize: 0,
  savedModelTags: [],
};
const sum = createHash('sha256').update(CONTENT).digest('hex');
const config = (file: string, digest = sum): string =>
  'model_repository_agents { agents { name: "checksum" ' +
  `parameters { key: "SHA256:${file}" value: "${digest}" } } }`;

test('a version loads if its files have their sums', async (t) => {
  const wrong = '0'.repeat(64);
  const folder = filledFolder(t, {
    'flat/model.onnx': CONTENT,
    'flat/config.pbtxt': config('model.onnx'),
    'versioned/1/model.onnx': CONTENT,
    'versioned/config.pbtxt': config('1/model.onnx'),
    'wrong/1/model.onnx': CONTENT,
    'wrong/config.pbtxt': config('1/model.onnx', wrong),
  });
  const { models } = await scanRepository(folder, {});
  const engine = new FakeEngine();
  const registry = new Registry({ engine, logger: quietLogger(), clock: new FakeClock() });
  void registry.reconcile(models.map((model) => desiredModel(model, SETTINGS, {}, true)));
  const first = (name: string) => registry.snapshot.models[name]?.versions[0];
  while (engine.loads.length < 2 || first('wrong')?.state !== 'END') {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(engine.loads.map(({ spec }) => spec.name).sort(), ['flat', 'versioned']);
  assert.match(
    first('wrong')?.errorMessage ?? '',
    new RegExp(`checksum: "1/model.onnx": expected SHA256 ${wrong}, got ${sum}`),
  );
});
