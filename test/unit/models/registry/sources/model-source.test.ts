// Models from folders to the registry: models found at start-up, changes found by polls, disk
// errors. Real folders, no real time.
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { filledFolder } from '../../../temp-folder.js';
import { settle } from '../fakes.js';
import { POLL, setupSource, startSource, write } from './source-setup.js';

test('loads everything found at start without settling', async (t) => {
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

test('requires paths on the command line to exist', async (t) => {
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

test('poll applies a settled new version, and then removes the old one', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
  const { clock, engine, look, states } = await startSource({
    sources: { modelRepositories: [folder] },
    control: POLL,
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
    control: { ...POLL, settleMs: 0 },
  });
  write(join(folder, 'n/3/model.onnx'));
  await look(10_000);
  assert.equal(states(), 'm/1:AVAILABLE n/3:AVAILABLE');
  rmSync(join(folder, 'm'), { recursive: true });
  await look(10_000);
  assert.equal(states(), 'n/3:AVAILABLE');
  await source.stop();
});

test('reloads a version replaced in place, or keeps it if configured', async (t) => {
  for (const reloadChangedVersions of [true, false]) {
    const folder = filledFolder(t, { 'm/1/model.onnx': 'x' });
    const { engine, look, states } = await startSource({
      sources: { modelRepositories: [folder] },
      control: { ...POLL, settleMs: 0, reloadChangedVersions },
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
    control: POLL,
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
    control: { ...POLL, settleMs: 0, reloadChangedVersions: false },
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
    control: { ...POLL, settleMs: 0 },
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
    control: { ...POLL, settleMs: 0 },
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
  assert.ok(lines.some((line) => line.includes('problem resolved') && line.includes('ENOENT')));
});

test('a model folder or version that cannot be read keeps what is loaded', async (t) => {
  const folder = filledFolder(t, { 'real/1/model.onnx': 'x', 'repo/n/1/model.onnx': 'x' });
  symlinkSync(join(folder, 'real'), join(folder, 'repo/m'));
  const { look, source, states, engine } = await startSource({
    sources: { modelRepositories: [join(folder, 'repo')] },
    control: { ...POLL, settleMs: 0 },
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

test('links whose target is away keep what is loaded, until the link itself is removed', async (t) => {
  const folder = filledFolder(t, {
    'store/v/1/model.onnx': 'x',
    'store/two/1/model.onnx': 'x',
    'store/two/2/model.onnx': 'x',
    'store/f/model.onnx': 'x',
    'store/data/weights.bin': 'x',
    'repo/f/1/other.txt': 'x',
    'repo/data/1/model.onnx': 'x',
    'single/2/other.txt': 'x',
    'files/other.txt': 'x',
  });
  const store = join(folder, 'store');
  const link = (to: string, at: string): void => {
    mkdirSync(dirname(join(folder, at)), { recursive: true });
    symlinkSync(join(store, to), join(folder, at));
  };
  link('v/1', 'repo/v/1');
  link('two/1', 'repo/two/1');
  link('two/2', 'repo/two/2');
  link('f/model.onnx', 'repo/f/1/model.onnx');
  link('data/weights.bin', 'repo/data/1/weights.bin');
  rmSync(join(folder, 'single/2'), { recursive: true });
  link('v/1', 'single/1');
  link('f/model.onnx', 'files/one.onnx');
  link('v/1/model.onnx', 'files/three.onnx');
  const { look, source, states, engine } = await startSource({
    sources: {
      paths: [join(folder, 'single'), join(folder, 'files')],
      modelRepositories: [join(folder, 'repo')],
    },
    control: { ...POLL, settleMs: 0 },
  });
  const before = states();
  for (const one of ['v/1', 'two/2', 'f/1', 'data/1', 'single/1', 'one/1', 'two/1']) {
    if (one !== 'two/1') assert.ok(before.includes(`${one}:AVAILABLE`), `${one} in ${before}`);
  }
  const loads = engine.events.length;
  renameSync(store, join(folder, 'away'));
  for (let i = 0; i < 3; i++) {
    await look(10_000);
    assert.equal(states(), before);
  }
  assert.equal(engine.events.length, loads, 'nothing is loaded or unloaded');
  const told = source.problems.filter((one) => one.startsWith('cannot read '));
  for (const one of ['v/1', 'two/2', 'f/1/model.onnx', 'data/1/weights.bin', 'files/one.onnx']) {
    assert.ok(
      told.some((problem) => problem.includes(join(folder), 0) && problem.includes(one)),
      `${one} in ${told.join('\n')}`,
    );
  }
  renameSync(join(folder, 'away'), store);
  await look(10_000);
  assert.equal(states(), before);
  assert.deepEqual(
    source.problems.filter((one) => one.startsWith('cannot read ')),
    [],
  );
  unlinkSync(join(folder, 'repo/v/1'));
  await look(10_000);
  await look(10_000);
  assert.ok(states().includes('v/1:END'), states());
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
