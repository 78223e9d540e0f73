// Models from folders to the registry: what is found at start, what polls notice, what goes wrong
// on disk. Real folders, no real time.
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ErrorCode } from '../../../../ts/errors.js';
import { filledFolder } from '../../temp-folder.js';
import { settle } from '../fakes.js';
import { setupSource, startSource } from './source-setup.js';

function write(path: string, text = 'x'): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const poll = { mode: 'poll', repositoryPollSeconds: 10 } as const;

test('at start everything is taken as found and loaded', async (t) => {
  const folder = filledFolder(t, {
    'repo/a/1/model.onnx': 'x',
    'repo/a/2/model.onnx': 'x',
    'repo/b/1/other.bin': 'x',
    'base/7/model.onnx': 'x',
    'one.onnx': 'x',
  });
  const { source, states } = await startSource({
    sources: {
      paths: [join(folder, 'one.onnx')],
      modelRepositories: [join(folder, 'repo')],
      baseModel: { name: 'tf', path: join(folder, 'base') },
    },
  });
  assert.equal(states(), 'a/2:AVAILABLE one/1:AVAILABLE tf/7:AVAILABLE');
  assert.deepEqual(source.problems, [
    `${folder}/repo/b/1 has no model: expected model.onnx, got other.bin`,
  ]);
  assert.deepEqual(source.startProblems, source.problems);
  await source.stop();
});

test('what the command line names must be there', async (t) => {
  const folder = filledFolder(t, { 'm.onnx': 'x' });
  const none = join(folder, 'none');
  const wrong = [
    { paths: [none] },
    { modelRepositories: [none] },
    { modelRepositories: [`${folder}/m.onnx`] },
    { baseModel: { name: 'm', path: none } },
    { modelConfigFile: none },
    { baseModel: { name: 'n'.repeat(4097), path: folder } },
  ];
  for (const sources of wrong) {
    const { source } = setupSource({ sources });
    await assert.rejects(
      source.firstLook(),
      { code: ErrorCode.InvalidArgument },
      JSON.stringify(sources).slice(0, 100),
    );
  }
});

test('poll: a new version is taken when it has settled, and the old one goes then', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
  const { clock, engine, look, states } = await startSource({
    sources: { modelRepositories: [folder] },
    control: poll,
  });
  write(join(folder, 'm/2/model.onnx'), 'half');
  await look(10_000);
  assert.equal(states(), 'm/1:AVAILABLE');
  assert.equal(clock.nextMs, 1000, 'looks again when it may have settled');
  writeFileSync(join(folder, 'm/2/model.onnx'), 'all of it');
  await look(1000);
  assert.equal(states(), 'm/1:AVAILABLE', 'it was still being written');
  await look(1000);
  assert.equal(states(), 'm/2:AVAILABLE m/1:END');
  assert.equal(clock.nextMs, 10_000);
  assert.deepEqual(engine.events, ['load m/1', 'load m/2', 'unload 1']);
});

test('poll: models come and go with their folders', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
  const { look, states, source } = await startSource({
    sources: { modelRepositories: [folder] },
    control: { ...poll, settleMs: 0 },
  });
  write(join(folder, 'n/3/model.onnx'));
  await look(10_000);
  assert.equal(states(), 'm/1:AVAILABLE n/3:AVAILABLE');
  rmSync(join(folder, 'm'), { recursive: true });
  await look(10_000);
  assert.equal(states(), 'n/3:AVAILABLE');
  await source.stop();
});

test('a version replaced in place is loaded anew, or left alone where asked', async (t) => {
  for (const reloadChangedVersions of [true, false]) {
    const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
    const { engine, look, states } = await startSource({
      sources: { modelRepositories: [folder] },
      control: { ...poll, settleMs: 0, reloadChangedVersions },
    });
    writeFileSync(join(folder, 'm/1/model.onnx'), 'other');
    await look(10_000);
    const loads = engine.events.filter((event) => event === 'load m/1').length;
    assert.equal(loads, reloadChangedVersions ? 2 : 1);
    assert.equal(states(), 'm/1:AVAILABLE');
  }
});

test('a version or model replaced by removing and copying is never unloaded', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x', 'n/1/model.onnx': 'x' });
  const { engine, look, states } = await startSource({
    sources: { modelRepositories: [folder] },
    control: poll,
  });
  rmSync(join(folder, 'm/1'), { recursive: true });
  rmSync(join(folder, 'n'), { recursive: true });
  await look(10_000);
  assert.equal(states(), 'm/1:AVAILABLE n/1:AVAILABLE');
  write(join(folder, 'm/1/model.onnx'), 'new');
  write(join(folder, 'n/1/model.onnx'), 'new');
  await look(1000);
  await look(1000);
  assert.equal(states(), 'm/1:AVAILABLE n/1:AVAILABLE');
  const order = engine.events.slice(2).map((event) => event.replace(/\d+$/, ''));
  assert.deepEqual(order, ['load m/', 'load n/', 'unload ', 'unload ']);
  rmSync(join(folder, 'm/1'), { recursive: true });
  rmSync(join(folder, 'n'), { recursive: true });
  await look(10_000);
  await look(1000);
  assert.equal(states(), 'm/1:END', 'what stays away is unloaded');
});

test('reloadChangedVersions=false: a failed version is tried with its new files', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'bad' });
  const path = join(folder, 'm/1/model.onnx');
  const setup = setupSource({
    sources: { modelRepositories: [folder] },
    control: { ...poll, settleMs: 0, reloadChangedVersions: false },
  });
  setup.engine.broken.add(path);
  await setup.source.firstLook();
  await setup.source.start();
  assert.equal(setup.states(), 'm/1:END');
  await setup.look(10_000);
  assert.equal(setup.engine.events.length, 1, 'nothing changed: no other try');
  setup.engine.broken.clear();
  writeFileSync(path, 'good one');
  await setup.look(10_000);
  assert.equal(setup.states(), 'm/1:AVAILABLE');
});

test('a failed replacement leaves the old content serving and shows why', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
  const { engine, look, registry } = await startSource({
    sources: { modelRepositories: [folder] },
    control: { ...poll, settleMs: 0 },
  });
  engine.broken.add(join(folder, 'm/1/model.onnx'));
  writeFileSync(join(folder, 'm/1/model.onnx'), 'broken');
  await look(10_000);
  const version = registry.snapshot.models['m']?.versions[0];
  assert.deepEqual([version?.state, version?.handle], ['AVAILABLE', 1]);
  assert.match(version?.errorMessage ?? '', /is broken/);
});

test('none: repositories are looked at once, and by reload()', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
  const { clock, source, states } = await startSource({
    sources: { paths: [folder] },
    control: { settleMs: 0, fileSystemPollSeconds: 0 },
  });
  write(join(folder, 'm/2/model.onnx'));
  assert.equal(clock.nextMs, undefined);
  await clock.pass(100_000);
  assert.equal(states(), 'm/1:AVAILABLE');
  await source.reload();
  assert.equal(states(), 'm/2:AVAILABLE m/1:END');
});

test('reload() gives what has to settle one more look', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
  const { source, look, states } = await startSource({
    sources: { modelRepositories: [folder] },
    control: { settleMs: 500 },
  });
  write(join(folder, 'm/2/model.onnx'));
  const reloaded = source.reload();
  await look(0);
  assert.equal(states(), 'm/1:AVAILABLE');
  await look(500);
  await reloaded;
  assert.equal(states(), 'm/2:AVAILABLE m/1:END');
});

test('a repository that vanishes keeps serving and shows it once, until it is back', async (t) => {
  const folder = filledFolder(t, { 'repo/m/1/model.onnx': 'x', 'other/n/1/model.onnx': 'x' });
  const repo = join(folder, 'repo');
  const { look, lines, source, states, engine } = await startSource({
    sources: { modelRepositories: [repo, join(folder, 'other')] },
    control: { ...poll, settleMs: 0 },
  });
  renameSync(repo, join(folder, 'away'));
  await look(10_000);
  await look(10_000);
  assert.equal(states(), 'm/1:AVAILABLE n/1:AVAILABLE');
  assert.equal(source.problems.length, 1);
  assert.match(source.problems[0] ?? '', /cannot read .*repo: ENOENT/);
  assert.equal(lines.filter((line) => line.includes('cannot read')).length, 1);
  const { problems, problemsSeen } = source.counters;
  assert.deepEqual([problems, problemsSeen], [1, 1]);
  write(join(folder, 'other/n/2/model.onnx'));
  await look(10_000);
  assert.equal(states(), 'm/1:AVAILABLE n/2:AVAILABLE n/1:END', 'the others go on');
  renameSync(join(folder, 'away'), repo);
  await look(10_000);
  assert.deepEqual(source.problems, []);
  assert.equal(engine.events.filter((event) => event === 'load m/1').length, 1, 'not loaded anew');
  assert.ok(lines.some((line) => line.includes('no longer') && line.includes('ENOENT')));
});

test('a model folder or version that cannot be read keeps what is loaded', async (t) => {
  const folder = filledFolder(t, { 'real/1/model.onnx': 'x', 'repo/n/1/model.onnx': 'x' });
  symlinkSync(join(folder, 'real'), join(folder, 'repo/m'));
  const { look, source, states, engine } = await startSource({
    sources: { modelRepositories: [join(folder, 'repo')] },
    control: { ...poll, settleMs: 0 },
  });
  assert.equal(states(), 'm/1:AVAILABLE n/1:AVAILABLE');
  unlinkSync(join(folder, 'repo/m'));
  symlinkSync('m', join(folder, 'repo/m'));
  rmSync(join(folder, 'repo/n/1'), { recursive: true });
  symlinkSync('1', join(folder, 'repo/n/1'));
  await look(10_000);
  assert.equal(states(), 'm/1:AVAILABLE n/1:AVAILABLE');
  assert.deepEqual(
    source.problems.map((one) => /ELOOP/.test(one)),
    [true, true],
  );
  assert.equal(engine.events.length, 2);
});

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
    source.problems.includes(`${folder}/a has no version 9, which the version policy names`),
  );
  // The two-step trap: one change adds the version and moves the label to it.
  config(
    'model_version_policy { latest { num_versions: 2 } } ' +
      'version_labels { key: "stable" value: 3 }',
  );
  await look(60_000);
  assert.equal(states(), 'a/3:AVAILABLE a/2:AVAILABLE a/1:END');
  assert.deepEqual(registry.snapshot.models['a']?.labels, { stable: '3' });
  assert.deepEqual(source.problems, []);
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

test('a models.config that changes is taken when it has settled, its new models too', async (t) => {
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

test('a bad config.pbtxt fails its model, or leaves the old one serving', async (t) => {
  const folder = filledFolder(t, {
    'bad/config.pbtxt': 'nonsense: 1',
    'bad/1/model.onnx': 'x',
    'good/config.pbtxt': 'max_batch_size: 4',
    'good/1/model.onnx': 'x',
  });
  const { look, registry, states, engine, source } = await startSource({
    sources: { modelRepositories: [folder] },
    control: { ...poll, settleMs: 0 },
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

test('exitOnError waits for the last try of every load', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
  const setup = setupSource({
    sources: { modelRepositories: [folder] },
    control: { exitOnError: true },
    registry: { loadRetries: 1, loadRetryMs: 500 },
  });
  setup.engine.broken.add(join(folder, 'm/1/model.onnx'));
  await setup.source.firstLook();
  let started = false;
  const start = setup.source.start().then(() => (started = true));
  await settle();
  await setup.clock.pass(499);
  assert.equal(started, false);
  await setup.clock.pass(1);
  await start;
  assert.deepEqual(setup.source.startProblems, [
    `model 'm', version 1: ${folder}/m/1/model.onnx is broken`,
  ]);
});
