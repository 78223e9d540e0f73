// Base paths and models.config to the registry: changes found by polls, labels, errors in the file.
// Real folders, no real time.
import assert from 'node:assert/strict';
import { renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filledFolder } from '../../../temp-folder.js';
import { startSource, write } from './source-setup.js';

test('base paths: emptied unloads, unreadable does not, a bad one blocks no other', async (t) => {
  const folder = filledFolder(t, { 'a/1/model.onnx': 'x', 'b/00000002/model.onnx': 'x' });
  const entry = (name: string): string =>
    `config { name: "${name}" base_path: "${folder}/${name}" }`;
  const file = join(folder, 'models.config');
  writeFileSync(file, `model_config_list { ${['a', 'b', 'c'].map(entry).join(' ')} }`);
  const { look, source, states, registry } = await startSource({
    sources: { modelConfigFile: file },
    control: { settleMs: 0 },
  });
  assert.equal(states(), 'a/1:AVAILABLE b/2:AVAILABLE');
  assert.match(source.problems.join(), /cannot read .*\/c: ENOENT/);
  assert.equal(registry.snapshot.ready, false, 'model c is asked for');
  renameSync(join(folder, 'a'), join(folder, 'away'));
  rmSync(join(folder, 'b/00000002'), { recursive: true });
  write(join(folder, 'c/5/model.onnx'));
  await look(1000);
  assert.equal(states(), 'a/1:AVAILABLE b/2:END c/5:AVAILABLE');
  assert.match(
    source.problems.join('; '),
    /cannot read .*\/a: ENOENT.*; .*\/b has no version folder/,
  );
});

test('models.config: policies, labels, platforms; re-read on its own schedule', async (t) => {
  const folder = filledFolder(t, {
    'a/1/model.onnx': 'x',
    'a/2/model.onnx': 'x',
    'a/3/model.onnx': 'x',
    'b/1/model.onnx': 'x',
  });
  const file = join(folder, 'models.config');
  const config = (a: string, b = ''): void =>
    writeFileSync(
      file,
      `model_config_list {
    config { name: "a" base_path: "${folder}/a" ${a} } ${b} }`,
    );
  config(
    'model_version_policy { specific { versions: 1 versions: 9 } } ' +
      'version_labels { key: "stable" value: 1 }',
    `config { name: "b" base_path: "${folder}/b" model_platform: "pmml" }`,
  );
  const { look, source, states, registry } = await startSource({
    sources: { modelConfigFile: file },
    control: { settleMs: 0, modelConfigFilePollSeconds: 60, fileSystemPollSeconds: 0 },
  });
  assert.equal(states(), 'a/1:AVAILABLE b/1:END');
  assert.deepEqual(registry.snapshot.models['a']?.labels, { stable: '1' });
  const reason = registry.snapshot.models['b']?.versions[0]?.errorMessage ?? '';
  assert.match(reason, /models.config:2:\d+: model_platform of model 'b': expected "onnx" or none/);
  assert.ok(source.startProblems.includes(`model 'b', version 1: ${reason}`));
  assert.ok(
    source.problems.includes(`${folder}/a has no version 9, which the version policy requests`),
  );
  // A two-step change in one: it adds the version and moves the label to it.
  config(
    'model_version_policy { latest { num_versions: 2 } } ' +
      'version_labels { key: "stable" value: 3 }',
  );
  await look(60_000);
  assert.equal(states(), 'a/3:AVAILABLE a/2:AVAILABLE a/1:END');
  assert.deepEqual(registry.snapshot.models['a']?.labels, { stable: '3' });
  assert.deepEqual(source.problems, []);
});

test('reports settings without effect once, and starts', async (t) => {
  const folder = filledFolder(t, {
    'a/1/model.onnx': 'x',
    'a/1/batching_params.pbtxt': 'thread_pool_name { value: "p" }',
    'r/b/1/model.onnx': 'x',
    'r/b/config.pbtxt': 'optimization { eager_batching: true }',
    'batching.txt': 'max_batch_size { value: 8 }\nthread_pool_name { value: "q" }',
  });
  const file = join(folder, 'models.config');
  const logging = 'logging_config { sampling_config { attributes: 1 } }';
  const entry = `config { name: "a" base_path: "${folder}/a" ${logging} }`;
  writeFileSync(file, `model_config_list { ${entry} }`);
  const { look, source, states, lines } = await startSource({
    sources: { modelConfigFile: file, modelRepositories: [join(folder, 'r')] },
    control: { settleMs: 0, exitOnError: true, modelConfigFilePollSeconds: 1 },
    batching: { enabled: true, parametersFile: join(folder, 'batching.txt'), perModel: true },
  });
  assert.equal(states(), 'a/1:AVAILABLE b/1:AVAILABLE');
  const told = [
    /batching.txt:2:\d+: thread_pool_name: each model has/,
    /models.config:1:\d+: attributes: Serval does not know the origin and criticality/,
    /a\/1\/batching_params.pbtxt:1:\d+: thread_pool_name: each model has/,
    /r\/b\/config.pbtxt:1:\d+: eager_batching: a batch is formed/,
  ];
  for (const one of told) assert.equal(source.problems.filter((it) => one.test(it)).length, 1);
  assert.equal(source.problems.length, told.length);
  assert.deepEqual(source.startProblems, []);
  const listed = await source.list('');
  assert.deepEqual(
    listed.map(({ name, problems }) => [name, problems]),
    [
      ['a', []],
      ['b', []],
    ],
  );
  await look(1000);
  for (const one of told) assert.equal(lines.filter((it) => one.test(it)).length, 1);
});

test('a models.config that turns bad unloads nothing', async (t) => {
  const folder = filledFolder(t, { 'a/1/model.onnx': 'x', 'b/1/model.onnx': 'x' });
  const file = join(folder, 'models.config');
  const entry = (name: string, more = ''): string =>
    `config { name: "${name}" base_path: "${folder}/${name}" ${more} }`;
  writeFileSync(file, `model_config_list { ${entry('a')} }`);
  const { look, lines, source, states } = await startSource({
    sources: { modelConfigFile: file },
    control: { settleMs: 0, modelConfigFilePollSeconds: 60, fileSystemPollSeconds: -1 },
  });
  writeFileSync(file, 'model_config_list {');
  await look(60_000);
  assert.equal(states(), 'a/1:AVAILABLE');
  assert.match(source.problems[0] ?? '', /models.config:1:\d+: /);
  writeFileSync(file, `model_config_list { ${entry('a', 'nonsense: 1')} ${entry('b')} }`);
  await look(60_000);
  assert.equal(states(), 'a/1:AVAILABLE b/1:AVAILABLE', 'the good entry comes, the bad one stays');
  unlinkSync(file);
  await look(60_000);
  await look(60_000);
  assert.equal(states(), 'a/1:AVAILABLE b/1:AVAILABLE');
  assert.equal(lines.filter((line) => line.includes('ENOENT')).length, 1);
  writeFileSync(file, `model_config_list { ${entry('b')} }`);
  await look(60_000);
  assert.equal(states(), 'b/1:AVAILABLE', 'a good file that leaves a model out unloads it');
  assert.deepEqual(source.problems, []);
});

test('applies a changed models.config when it has settled, with its new models', async (t) => {
  const folder = filledFolder(t, { 'a/1/model.onnx': 'x', 'b/1/model.onnx': 'x' });
  const file = join(folder, 'models.config');
  const entry = (name: string): string =>
    `config { name: "${name}" base_path: "${folder}/${name}" }`;
  writeFileSync(file, `model_config_list { ${entry('a')} }`);
  const { clock, look, states } = await startSource({
    sources: { modelConfigFile: file },
    control: { settleMs: 300, modelConfigFilePollSeconds: 60, fileSystemPollSeconds: 0 },
  });
  writeFileSync(file, `model_config_list { ${entry('b')} }`);
  await look(60_000);
  assert.equal(states(), 'a/1:AVAILABLE');
  assert.equal(clock.nextMs, 300);
  await look(300);
  assert.equal(clock.nextMs, 300, 'the new base path has to settle as well');
  await look(300);
  assert.equal(states(), 'b/1:AVAILABLE');
  assert.equal(clock.nextMs, 60_000);
});

test('labels for unavailable versions can be refused, one by one', async (t) => {
  const folder = filledFolder(t, { 'a/1/model.onnx': 'x', 'a/2/model.onnx': 'x' });
  const file = join(folder, 'models.config');
  const config = (versions: string, labels: string): void =>
    writeFileSync(
      file,
      `model_config_list { config { name: "a" base_path: "${folder}/a" model_version_policy { specific
    { versions: [${versions}] } } version_labels { ${labels} } } }`,
    );
  config('1', 'key: "stable" value: 1 } version_labels { key: "canary" value: 2');
  const { look, source, registry } = await startSource({
    sources: { modelConfigFile: file },
    control: {
      settleMs: 0,
      modelConfigFilePollSeconds: 60,
      fileSystemPollSeconds: 0,
      labelsForUnavailable: false,
    },
  });
  assert.deepEqual(registry.snapshot.models['a']?.labels, { stable: '1' });
  assert.deepEqual(source.problems, [
    'Request to assign label to version 2 of model a, which is ' +
      "not currently available for inference (label 'canary')",
  ]);
  config('1, 2', 'key: "stable" value: 2');
  await look(60_000);
  assert.deepEqual(registry.snapshot.models['a']?.labels, { stable: '2' });
  assert.deepEqual(source.problems, []);
});

test('a models.config that becomes empty keeps the models; an empty list unloads them', async (t) => {
  const folder = filledFolder(t, { 'a/1/model.onnx': 'x' });
  const file = join(folder, 'models.config');
  const good = `model_config_list { config { name: "a" base_path: "${folder}/a" } }`;
  writeFileSync(file, good);
  const { look, lines, source, states } = await startSource({
    sources: { modelConfigFile: file },
    control: { settleMs: 0, modelConfigFilePollSeconds: 60, fileSystemPollSeconds: -1 },
  });
  for (const text of ['', '\n', '# nothing\n', ' \t# a\n# b']) {
    writeFileSync(file, text);
    await look(60_000);
    assert.equal(states(), 'a/1:AVAILABLE', JSON.stringify(text));
    assert.equal(source.problems.length, 1, JSON.stringify(text));
    assert.match(source.problems[0] ?? '', /models\.config: expected model_config_list, got/);
  }
  assert.equal(lines.filter((one) => one.includes('expected model_config_list')).length, 1);
  writeFileSync(file, good);
  await look(60_000);
  assert.deepEqual(source.problems, []);
  writeFileSync(file, 'model_config_list {}');
  await look(60_000);
  assert.equal(states(), '');
  writeFileSync(file, '');
  await look(60_000);
  assert.deepEqual(source.problems, [], 'there are no models to keep');
});
