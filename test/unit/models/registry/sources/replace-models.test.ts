// A new list of models in place of models.config, as HandleReloadConfigRequest sets it. Source:
// tfserving.md 2, 3.2.
import { NO_TRACES } from '../../../server/admin/fake-control.js';
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sharedMemoryControl } from '../../../../../ts/server/admin/shared-memory.js';
import { createModelControl } from '../../../../../ts/server/admin/model-control.js';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import { LogLevels } from '../../../../../ts/base/logger.js';
import type { ModelEntry } from '../../../../../ts/models/config/types.js';
import { LATEST_ONE } from '../../../../../ts/model/version-policy.js';
import { encode, messageTypes } from '../../../protocols/raw-client.js';
import { filledFolder } from '../../../temp-folder.js';
import { startSource } from './source-setup.js';

function entry(name: string, basePath: string, more: Partial<ModelEntry> = {}): ModelEntry {
  return {
    name,
    basePath,
    platform: '',
    versionPolicy: LATEST_ONE,
    labels: {},
    place: `config[${name}]`,
    ...more,
  };
}

const failure =
  (code: ErrorCode, text: RegExp) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServalError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, text);
    return true;
  };

const TWO = { 'a/1/model.onnx': 'x', 'b/1/model.onnx': 'x', 'b/2/model.onnx': 'x' };

function configFile(folder: string, ...names: readonly string[]): string {
  const file = join(folder, 'models.config');
  const entries = names.map((name) => `config { name: "${name}" base_path: "${folder}/${name}" }`);
  writeFileSync(file, `model_config_list { ${entries.join(' ')} }`);
  return file;
}

test('the list is replaced whole; settles when the new models serve', async (t) => {
  const folder = filledFolder(t, TWO);
  const { source, states, engine, look } = await startSource({
    sources: { modelConfigFile: configFile(folder, 'a') },
    control: { settleMs: 0, modelConfigFilePollSeconds: 60, fileSystemPollSeconds: 0 },
  });
  assert.equal(states(), 'a/1:AVAILABLE');
  await source.replaceModels([entry('b', join(folder, 'b'))]);
  assert.equal(states(), 'b/2:AVAILABLE');
  const events = engine.events.length;
  await source.replaceModels([entry('b', join(folder, 'b'), { place: 'elsewhere' })]);
  assert.equal(engine.events.length, events, 'the same list again changes nothing');
  await source.replaceModels([
    entry('b', join(folder, 'b'), { versionPolicy: { kind: 'all' } }),
    entry('c', join(folder, 'a')),
  ]);
  assert.equal(states(), 'b/2:AVAILABLE b/1:AVAILABLE c/1:AVAILABLE');
  // A poll of the unchanged file keeps the list; a change of the file replaces it.
  await look(60_000, 1);
  assert.match(states(), /c\/1:AVAILABLE/);
  configFile(folder, 'b', 'a');
  await look(60_000, 1);
  assert.equal(states(), 'a/1:AVAILABLE b/2:AVAILABLE b/1:END');
});

test('an empty list unloads all', async (t) => {
  const folder = filledFolder(t, TWO);
  const { source, states, registry } = await startSource({
    sources: { baseModel: { name: 'm', path: join(folder, 'a') } },
    control: { settleMs: 0 },
  });
  await source.replaceModels([]);
  await registry.whenSettled();
  assert.equal(states(), '');
});

test('a server of repositories gets base paths too, and watches them', async (t) => {
  const folder = filledFolder(t, TWO);
  const { source, states, look } = await startSource({
    sources: { modelRepositories: [filledFolder(t, { 'r/1/model.onnx': 'x' })] },
    control: { settleMs: 0, fileSystemPollSeconds: 5 },
  });
  await source.replaceModels([entry('a', join(folder, 'a'))]);
  assert.equal(states(), 'a/1:AVAILABLE r/1:AVAILABLE');
  mkdirSync(join(folder, 'a', '3'));
  writeFileSync(join(folder, 'a', '3', 'model.onnx'), 'x');
  await look(5000, 1);
  if (!states().includes('a/3')) await look(5000, 1);
  assert.match(states(), /a\/3:AVAILABLE/);
});

test('reports models that cannot be served, and serves the rest of the list', async (t) => {
  const folder = filledFolder(t, { ...TWO, 'empty/notes': 'x' });
  const { source, states, engine } = await startSource({
    sources: { baseModel: { name: 'm', path: join(folder, 'a') } },
    control: { settleMs: 0 },
  });
  engine.broken.add(join(folder, 'b', '2', 'model.onnx'));
  await assert.rejects(
    source.replaceModels([entry('a', join(folder, 'a')), entry('b', join(folder, 'b'))]),
    failure(ErrorCode.ModelInvalid, /^load failed for model 'b': version 2: .* is broken$/),
  );
  assert.match(states(), /^a\/1:AVAILABLE b\/2:END$/);
  for (const place of ['empty', 'nowhere']) {
    await assert.rejects(
      source.replaceModels([entry('e', join(folder, place))]),
      failure(ErrorCode.ModelInvalid, /^load failed for model 'e': ./),
    );
  }
  // Served models stay if their new path cannot be read, and the call reports it.
  await source.replaceModels([entry('a', join(folder, 'a'))]);
  await assert.rejects(
    source.replaceModels([entry('a', join(folder, 'nowhere'))]),
    failure(ErrorCode.ModelInvalid, /^load failed for model 'a': cannot read .*nowhere: ENOENT/),
  );
  assert.equal(states(), 'a/1:AVAILABLE');
  // The load is retried when the list is sent again.
  engine.broken.clear();
  await source.replaceModels([entry('b', join(folder, 'b'))]);
  assert.match(states(), /b\/2:AVAILABLE/);
});

test('a name of a repository is refused and nothing changes', async (t) => {
  const repository = filledFolder(t, TWO);
  const folder = filledFolder(t, TWO);
  const { source, states } = await startSource({
    sources: { modelRepositories: [repository] },
    control: { settleMs: 0 },
  });
  const before = states();
  await assert.rejects(
    source.replaceModels([entry('c', join(folder, 'b')), entry('a', join(folder, 'a'))]),
    failure(ErrorCode.InvalidArgument, /^config\[a\]: name: model 'a' is already served from /),
  );
  assert.equal(states(), before);
});

test('changes nothing for a control message with any error', async (t) => {
  const folder = filledFolder(t, TWO);
  const { source, registry, states } = await startSource({
    sources: { baseModel: { name: 'm', path: join(folder, 'a') } },
    control: { settleMs: 0 },
  });
  const control = createModelControl({
    source,
    registry,
    mode: 'none',
    traces: NO_TRACES,
    sharedMemory: sharedMemoryControl(undefined),
    levels: new LogLevels('info'),
  });
  const types = messageTypes();
  const bytes = (...config: readonly object[]): Buffer =>
    encode(types, 'tensorflow.serving.ModelServerConfig', { model_config_list: { config } });
  const good = { name: 'b', base_path: join(folder, 'b') };
  await assert.rejects(
    control.reloadModels(bytes(good, { name: 'c', base_path: 'c' })),
    failure(ErrorCode.InvalidArgument, /base_path: expected model "c" to have an absolute path/),
  );
  await assert.rejects(
    control.reloadModels(Buffer.from('0a05', 'hex')),
    failure(ErrorCode.MalformedBody, /ModelServerConfig: byte 0/),
  );
  assert.equal(states(), 'm/1:AVAILABLE');
  await control.reloadModels(bytes(good));
  assert.equal(states(), 'b/2:AVAILABLE');
});
