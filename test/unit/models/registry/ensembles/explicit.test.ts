// Ensembles in repositories: how their folders are read, and which of their steps load and unload
// calls include.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { filledFolder } from '../../../temp-folder.js';
import {
  POLL,
  setupSource,
  startSource,
  write,
  type SourceSetup,
} from '../sources/source-setup.js';

const TENSORS = `
  input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]`;

/** The configuration of an ensemble of these models in a row. */
function config(...models: readonly string[]): string {
  const steps = models.map((model, i) => {
    const [from, to] = [i === 0 ? 'x' : `t${i}`, i === models.length - 1 ? 'y' : `t${i + 1}`];
    return `{ model_name: "${model}" model_version: -1
      input_map { key: "x" value: "${from}" } output_map { key: "y" value: "${to}" } }`;
  });
  const scheduling = `ensemble_scheduling { step [ ${steps.join(', ')} ] }`;
  return `platform: "ensemble" ${TENSORS} ${scheduling}`;
}

/** e = a, b; f = b, c; g = e. */
function repository(t: TestContext): string {
  return filledFolder(t, {
    'a/1/model.onnx': 'x',
    'b/1/model.onnx': 'x',
    'c/1/model.onnx': 'x',
    'e/config.pbtxt': config('a', 'b'),
    'e/1/.keep': '',
    'f/config.pbtxt': config('b', 'c'),
    'f/1/.keep': '',
    'g/config.pbtxt': config('e'),
    'g/1/.keep': '',
  });
}

function explicit(t: TestContext, loadModels: readonly string[] = []): Promise<SourceSetup> {
  return startSource({
    sources: { modelRepositories: [repository(t)] },
    control: { mode: 'explicit', loadModels },
  });
}

const served = (setup: SourceSetup): string =>
  setup
    .states()
    .split(' ')
    .filter((one) => one.endsWith(':AVAILABLE'))
    .map((one) => one.replace('/1:AVAILABLE', ''))
    .join(' ');

test('an ensemble needs only an empty version folder, and has its platform', async (t) => {
  const setup = await startSource({ sources: { modelRepositories: [repository(t)] } });
  assert.equal(served(setup), 'a b c e f g');
  const [version] = setup.registry.snapshot.models['e']?.versions ?? [];
  assert.deepEqual([version?.format, version?.platform], ['ensemble', 'ensemble']);
  const spec = setup.engine.specs.find(({ name }) => name === 'e');
  const [a, b] = ['a', 'b'].map(
    (name) => setup.registry.snapshot.models[name]?.versions[0]?.handle,
  );
  assert.deepEqual(
    spec?.ensemble?.map(({ handle }) => handle),
    [a, b],
  );
  assert.equal(spec?.ensembleSignature?.inputs[0]?.name, 'x');
  assert.deepEqual(
    [spec?.providers, spec?.instances, spec?.placement],
    [undefined, undefined, undefined],
  );
});

test('an ensemble without a version folder is a problem that says what is expected', async (t) => {
  const folder = filledFolder(t, { 'e/config.pbtxt': config('a'), 'a/1/model.onnx': 'x' });
  const { registry } = await startSource({ sources: { modelRepositories: [folder] } });
  const expected = `${join(folder, 'e')} has no version folder: expected ${join(folder, 'e', '1')}`;
  assert.equal(registry.snapshot.models['e']?.problem, expected);
});

test('poll: an ensemble serves once its step is there', async (t) => {
  const folder = filledFolder(t, { 'e/config.pbtxt': config('a'), 'e/1/.keep': '' });
  const setup = await startSource({
    sources: { modelRepositories: [folder] },
    control: { ...POLL, settleMs: 0 },
  });
  const why = setup.registry.snapshot.models['e']?.versions[0]?.errorMessage;
  assert.equal(why, "step 1 needs model 'a', which is not loaded");
  write(join(folder, 'a/1/model.onnx'));
  await setup.look(10_000);
  assert.equal(served(setup), 'a e');
  await setup.source.stop();
});

test('a load call loads the steps of an ensemble, and their steps', async (t) => {
  const setup = await explicit(t);
  await setup.source.load('g');
  assert.equal(served(setup), 'a b e g');
  await setup.source.stop();
});

test('--load-model loads the steps of an ensemble', async (t) => {
  const setup = await explicit(t, ['f']);
  assert.equal(served(setup), 'b c f');
  await setup.source.stop();
});

test('a load call leaves steps that are loaded, and retries failed ones', async (t) => {
  const setup = await explicit(t, ['a']);
  const { engine, source } = setup;
  const folder = engine.specs[0]?.path?.replace('/a/1/model.onnx', '') ?? '';
  engine.broken.add(join(folder, 'b/1/model.onnx'));
  await assert.rejects(source.load('e'), (error: Error & { code: ErrorCode }) => {
    assert.equal(error.code, ErrorCode.ModelInvalid);
    assert.match(
      error.message,
      /^load failed for model 'e': version 1: step 2 needs model 'b', which failed to load: .* is broken$/,
    );
    return true;
  });
  engine.broken.clear();
  await source.load('e');
  assert.equal(served(setup), 'a b e');
  assert.equal(engine.events.filter((event) => event === 'load a/1').length, 1);
  await source.stop();
});

test('a load call names the step that is not in the repository', async (t) => {
  const folder = filledFolder(t, { 'e/config.pbtxt': config('nowhere'), 'e/1/.keep': '' });
  const { source } = await startSource({
    sources: { modelRepositories: [folder] },
    control: { mode: 'explicit' },
  });
  await assert.rejects(source.load('e'), {
    message:
      "load failed for model 'e': version 1: step 1 needs model 'nowhere', which is not loaded",
  });
  await source.stop();
});

test('an unload leaves the steps; with dependents it takes those loaded with the ensemble', async (t) => {
  const setup = await explicit(t, ['a']);
  const { source } = setup;
  await source.load('e');
  await source.load('f');
  assert.equal(served(setup), 'a b c e f');
  await source.unload('e', true);
  assert.equal(served(setup), 'a b c f', 'a was loaded by itself, and f needs b');
  await source.load('e');
  await source.unload('f', false);
  assert.equal(served(setup), 'a b c e');
  await source.unload('e', true);
  assert.equal(served(setup), 'a c', 'c stays: f was unloaded without it');
  await source.stop();
});

test('an unload with dependents goes through ensembles of ensembles', async (t) => {
  const setup = await explicit(t);
  await setup.source.load('g');
  await setup.source.unload('g', true);
  assert.equal(served(setup), '');
  await setup.source.stop();
});

test('a step that is unloaded takes its ensembles, and brings them back', async (t) => {
  const setup = await explicit(t);
  const { registry, source } = setup;
  await source.load('g');
  await source.unload('b');
  assert.equal(served(setup), 'a');
  const why = registry.snapshot.models['e']?.versions[0]?.errorMessage;
  assert.equal(why, "step 2 needs model 'b', which is not loaded");
  await source.load('b');
  assert.equal(served(setup), 'a b e g');
  await source.stop();
});

test('a step of an ensemble may not load on demand', async (t) => {
  const lazy = 'parameters { key: "load_mode" value { string_value: "lazy" } }';
  const folder = filledFolder(t, {
    'a/1/model.onnx': 'x',
    'a/config.pbtxt': lazy,
    'e/config.pbtxt': config('a'),
    'e/1/.keep': '',
  });
  const places = {
    reserve: (): number => 100,
    put: (): void => undefined,
    evict: (): Promise<void> => Promise.resolve(),
    refuse: (): void => undefined,
    asked: (): Promise<readonly number[]> => new Promise(() => undefined),
  };
  const { registry, source } = setupSource({
    sources: { modelRepositories: [folder] },
    registry: { places },
  });
  await source.firstLook();
  await source.start();
  const why = registry.snapshot.models['e']?.versions[0]?.errorMessage;
  assert.equal(
    why,
    "step 1 needs model 'a', which loads on demand: steps of ensembles need load_mode eager",
  );
  await source.stop();
});
