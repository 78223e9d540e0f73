// Folders of models that have MLServer's settings: their names, versions and files, and finding a
// model whose name is not that of its folder.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PathSource } from '../../../../../ts/models/registry/sources/path-source.js';
import { scanSources } from '../../../../../ts/models/registry/sources/paths/scan-path.js';
import { scanRepository } from '../../../../../ts/models/registry/sources/repository.js';
import type { FoundModel } from '../../../../../ts/models/registry/sources/scan.js';
import { FakeClock } from '../fakes.js';
import { filledFolder } from '../../../temp-folder.js';

const settings = (rest: object): string =>
  JSON.stringify({ implementation: 'mlserver_xgboost.XGBoostModel', ...rest });
const facts = ({ name, versions, config }: FoundModel): readonly unknown[] => [
  name,
  ...versions.map(({ version, path, format }) => `${version} ${format} ${path}`),
  ...(config.problem === '' ? [] : ['refused']),
];

test('names, versions and files are those of the settings', async (t) => {
  const folder = filledFolder(t, {
    'a/model-settings.json': settings({ name: 'risk', parameters: { version: '4' } }),
    'a/model.bst': 'x',
    'b/model-settings.json': settings({ parameters: { uri: './weights' } }),
    'b/weights': 'x',
    'b/model.json': 'x',
    'c/2/model-settings.json': settings({ name: 'c', parameters: { uri: 'own.xgb' } }),
    'c/2/own.xgb': 'x',
    'd/model-settings.json': '{',
    'd/model.bst': 'x',
    'e/model-settings.json': settings({ name: 'risk' }),
    'e/model.bst': 'x',
  });
  const at = (name: string): string => join(folder, name);
  const { models, problems } = await scanRepository(folder, {});
  assert.deepEqual(models.map(facts), [
    ['b', `1 booster ${at('b/weights')}`],
    ['c', `2 booster ${at('c/2/own.xgb')}`],
    ['d', `1 booster ${at('d/model.bst')}`, 'refused'],
    ['risk', `4 booster ${at('a/model.bst')}`],
  ]);
  assert.deepEqual(problems, [
    `model 'risk' is in ${at('a')} and in ${at('e')}: the first is served`,
  ]);
});

test('a PATH is the model of its settings, under its own name or a given one', async (t) => {
  const folder = filledFolder(t, {
    'model-settings.json': settings({ name: 'risk' }),
    'model.ubj': 'x',
    'sub/other.json': 'x',
  });
  for (const [path, name] of [
    [folder, 'risk'],
    [{ name: 'mine', path: folder }, 'mine'],
  ] as const) {
    const { models } = await scanSources({ paths: [path], modelRepositories: [] });
    assert.deepEqual(models.map(facts), [[name, `1 booster ${join(folder, 'model.ubj')}`]]);
  }
});

test('a model is found again by the name of its settings', async (t) => {
  const folder = filledFolder(t, {
    'a/model-settings.json': settings({ name: 'risk' }),
    'a/model.bst': 'x',
    'b/1/model.onnx': 'x',
  });
  const source = new PathSource(folder, true, {
    clock: new FakeClock(),
    settleMs: 0,
    takesChanges: () => true,
    autoComplete: true,
    batchingPerModel: false,
    wants: undefined,
    configOf: () => undefined,
  });
  await source.firstLook();
  assert.deepEqual(await source.list(), ['b', 'risk']);
  writeFileSync(
    join(folder, 'a', 'model-settings.json'),
    settings({ name: 'risk', platform: 'x' }),
  );
  const found = await source.find('risk', () => undefined);
  assert.equal(found?.basePath, join(folder, 'a'));
  assert.equal(found.config.notes.length, 1);
});
