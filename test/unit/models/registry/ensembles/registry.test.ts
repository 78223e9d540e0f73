// Ensembles in the registry: bound to loaded versions of their steps, and bound again when those
// change. The engine loads on the test's command.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import type { EnsembleStep } from '../../../../../ts/models/config/ensembles/steps.js';
import type { DesiredModel } from '../../../../../ts/models/registry/desired.js';
import { Registry, type RegistryOptions } from '../../../../../ts/models/registry/registry.js';
import { desired, FakeEngine, quietLogger, settle } from '../fakes.js';

interface Setup {
  readonly engine: FakeEngine;
  readonly registry: Registry;
  readonly lines: string[];
  /** "name/version:STATE" of everything. */
  states(): string;
  /** Why the model's newest version does not serve. */
  why(name: string): string;
}

function setup(options: Partial<RegistryOptions> = {}): Setup {
  const engine = new FakeEngine();
  const lines: string[] = [];
  const registry = new Registry({ engine, logger: quietLogger(lines), ...options });
  return {
    engine,
    registry,
    lines,
    states: () =>
      Object.values(registry.snapshot.models)
        .flatMap(({ name, versions }) =>
          versions.map((one) => `${name}/${one.version}:${one.state}`),
        )
        .join(' '),
    why: (name) => registry.snapshot.models[name]?.versions[0]?.errorMessage ?? '',
  };
}

/** An ensemble of these models in a row: "x" or "x/2" for version 2. */
function ensemble(name: string, models: readonly string[], revision = 'r1'): DesiredModel {
  const steps = models.map((text, i): EnsembleStep => {
    const [model = '', version = ''] = text.split('/');
    const input = { name: 'x', tensor: i === 0 ? 'in' : `t${i}` };
    const output = { name: 'y', tensor: i === models.length - 1 ? 'out' : `t${i + 1}` };
    return { model, version, inputs: [input], outputs: [output] };
  });
  const plain = desired(name, ['1'], revision);
  const versions = plain.versions.map((one) => ({
    ...one,
    spec: { name, version: '1', backend: 'ensemble' as const },
    ensemble: steps,
  }));
  return { ...plain, versions };
}

/** Starts with everything loaded, in the order of the loads; returns the handles. */
async function loaded(of: Setup, models: readonly DesiredModel[]): Promise<readonly number[]> {
  const done = of.registry.reconcile(models);
  await settle();
  const handles: number[] = [];
  while (of.engine.loads.length > 0) handles.push(await of.engine.finishLoad());
  await done;
  return handles;
}

const unloading = ({ engine }: Setup): readonly number[] =>
  engine.unloads.map(({ handle }) => handle);

/** Ends all unloads, those that begin later included; returns the handles in their order. */
async function endUnloads(of: Setup): Promise<readonly number[]> {
  const ended: number[] = [];
  for (let [next] = unloading(of); next !== undefined; [next] = unloading(of)) {
    ended.push(next);
    await of.engine.finishUnload();
  }
  return ended;
}

/** Handles of the steps that the ensemble's pending load names. */
function stepHandles({ engine }: Setup, index = 0): readonly number[] {
  return engine.loads[index]?.spec.ensemble?.map(({ handle }) => handle) ?? [];
}

test('an ensemble loads after its steps, with their handles', async () => {
  const of = setup();
  const reconciled = of.registry.reconcile([
    ensemble('e', ['a', 'b']),
    desired('a', ['1']),
    desired('b', ['1', '2']),
  ]);
  let done = false;
  void reconciled.then(() => (done = true));
  await settle();
  assert.equal(of.states(), 'a/1:LOADING b/2:LOADING b/1:LOADING');
  assert.equal(
    of.registry.snapshot.models['e']?.problem,
    "step 1 needs model 'a', which is being loaded",
  );
  const a = await of.engine.finishLoad();
  const newest = await of.engine.finishLoad();
  assert.deepEqual(of.engine.events.includes('load e/1'), true, 'any version of a step is enough');
  await of.engine.finishLoad();
  assert.equal(done, false, 'the ensemble is still loading');
  assert.deepEqual(stepHandles(of), [a, newest]);
  const spec = of.engine.loads[0]?.spec;
  assert.deepEqual(spec?.ensemble?.[1], {
    handle: newest,
    inputs: [{ name: 'x', tensor: 't1' }],
    outputs: [{ name: 'y', tensor: 'out' }],
  });
  await of.engine.finishLoad();
  await reconciled;
  assert.equal(of.states(), 'a/1:AVAILABLE b/2:AVAILABLE b/1:AVAILABLE e/1:AVAILABLE');
  assert.equal(of.registry.snapshot.ready, true);
});

test('a step can name a version', async () => {
  const of = setup();
  const [, one] = await loaded(of, [ensemble('e', ['a/1']), desired('a', ['1', '2'])]);
  assert.deepEqual(of.engine.events, ['load a/2', 'load a/1', 'load e/1']);
  const e = of.registry.snapshot.models['e'];
  assert.equal(e?.versions[0]?.state, 'AVAILABLE');
  assert.equal(one, 2);
});

test('a new version of a step: the new binding serves before the old one goes', async () => {
  const of = setup();
  const [a, e] = await loaded(of, [ensemble('e', ['a']), desired('a', ['1'])]);
  const changed = of.registry.reconcile([ensemble('e', ['a']), desired('a', ['2'])]);
  await settle();
  const newA = await of.engine.finishLoad();
  assert.deepEqual(stepHandles(of), [newA]);
  assert.deepEqual(unloading(of), [], 'the ensemble holds the old step');
  assert.equal(of.registry.snapshot.models['e']?.versions[0]?.handle, e, 'no gap');
  const newE = await of.engine.finishLoad();
  assert.deepEqual(unloading(of), [e]);
  assert.equal(of.registry.snapshot.models['e']?.versions[0]?.handle, newE);
  assert.deepEqual(await endUnloads(of), [e, a]);
  await changed;
  assert.equal(of.states(), 'a/2:AVAILABLE a/1:END e/1:AVAILABLE');
});

test('a step whose new version fails keeps its old one, and the ensemble its binding', async () => {
  const of = setup();
  await loaded(of, [ensemble('e', ['a']), desired('a', ['1'])]);
  const changed = of.registry.reconcile([ensemble('e', ['a']), desired('a', ['2'])]);
  await settle();
  await of.engine.failLoad();
  await changed;
  assert.equal(of.states(), 'a/2:END a/1:AVAILABLE e/1:AVAILABLE');
  assert.deepEqual(of.engine.events, ['load a/1', 'load e/1', 'load a/2']);
});

test('a step that fails to load is the reason of the ensemble', async () => {
  const of = setup();
  const done = of.registry.reconcile([
    ensemble('e', ['a', 'b']),
    desired('a', ['1']),
    desired('b', ['1']),
  ]);
  await settle();
  await of.engine.finishLoad();
  await of.engine.failLoad('no such operator');
  await done;
  assert.equal(of.why('e'), "step 2 needs model 'b', which failed to load: no such operator");
  assert.equal(of.registry.snapshot.models['e']?.versions[0]?.errorCode, ErrorCode.ModelInvalid);
  assert.equal(of.registry.snapshot.ready, false);
  const again = of.registry.reconcile([
    ensemble('e', ['a', 'b']),
    desired('a', ['1']),
    desired('b', ['1'], 'r2'),
  ]);
  await settle();
  await of.engine.finishLoad();
  await of.engine.finishLoad();
  await again;
  assert.equal(of.states(), 'a/1:AVAILABLE b/1:AVAILABLE e/1:AVAILABLE');
});

test('an ensemble goes with its step, and comes back with it', async () => {
  const of = setup();
  const e = ensemble('e', ['a']);
  const a = desired('a', ['1']);
  const [oldA, oldE] = await loaded(of, [e, a]);
  const gone = of.registry.reconcile([e]);
  await settle();
  assert.deepEqual(await endUnloads(of), [oldE, oldA]);
  await gone;
  assert.equal(of.states(), 'e/1:END');
  assert.equal(of.why('e'), "step 1 needs model 'a', which is not loaded");
  const failures = of.lines.filter((line) => line.includes('failed to load'));
  assert.equal(failures.length, 1, failures.join());
  await loaded(of, [e, a]);
  assert.equal(of.states(), 'a/1:AVAILABLE e/1:AVAILABLE');
});

test('ensembles of ensembles load in their order, and go together', async () => {
  const of = setup();
  const all = [ensemble('c', ['b']), ensemble('b', ['a']), desired('a', ['1'])];
  const [a, b, c] = await loaded(of, all);
  assert.deepEqual(of.engine.events, ['load a/1', 'load b/1', 'load c/1']);
  const gone = of.registry.reconcile(all.slice(0, 2));
  await settle();
  assert.deepEqual(await endUnloads(of), [c, b, a]);
  await gone;
  assert.equal(
    of.why('c'),
    "step 1 needs model 'b', which failed to load: step 1 needs model 'a', which is not loaded",
  );
  await loaded(of, all);
  assert.equal(of.states(), 'a/1:AVAILABLE b/1:AVAILABLE c/1:AVAILABLE');
});

test('a new version of the innermost step binds every ensemble above it again', async () => {
  const of = setup();
  const all = [ensemble('c', ['b', 'a']), ensemble('b', ['a'])];
  await loaded(of, [...all, desired('a', ['1'])]);
  const changed = of.registry.reconcile([...all, desired('a', ['2'])]);
  await settle();
  const a = await of.engine.finishLoad();
  // c is bound at once to the new version of a and the old b, then to the new b.
  while (of.engine.loads.length > 0) await of.engine.finishLoad();
  while (of.engine.unloads.length > 0) await of.engine.finishUnload();
  await changed;
  assert.equal(of.states(), 'a/2:AVAILABLE a/1:END b/1:AVAILABLE c/1:AVAILABLE');
  const b = of.registry.snapshot.models['b']?.versions[0]?.handle;
  assert.ok(b !== undefined && b > a);
});

test('of ten ensembles in a row, each is unloaded before its step, whatever else is', async () => {
  const of = setup();
  const names = Array.from({ length: 10 }, (_, i) => `e${i}`);
  const all = names.map((name, i) => ensemble(name, [i === 0 ? 'a' : `e${i - 1}`]));
  const old = await loaded(of, [...all, desired('a', ['1']), desired('other', ['1'])]);
  const [a, other, ...ensembles] = old;
  const changed = of.registry.reconcile([...all, desired('a', ['2'])]);
  await settle();
  while (of.engine.loads.length > 0) await of.engine.finishLoad();
  assert.deepEqual(unloading(of), [other, ensembles.at(-1)], 'the engine has few threads');
  assert.deepEqual(await endUnloads(of), [other, ...[...ensembles].reverse(), a]);
  await changed;
  for (const name of names) {
    const { state } = of.registry.snapshot.models[name]?.versions[0] ?? {};
    assert.equal(state, 'AVAILABLE', name);
  }
});

test('a cycle of ensembles is a problem that names them', async () => {
  const of = setup();
  await loaded(of, [
    ensemble('a', ['b']),
    ensemble('b', ['a']),
    ensemble('user', ['a']),
    ensemble('good', ['m']),
    desired('m', ['1']),
  ]);
  assert.equal(of.why('a'), "expected ensembles without a cycle, got 'a' -> 'b' -> 'a'");
  assert.equal(of.why('b'), "expected ensembles without a cycle, got 'b' -> 'a' -> 'b'");
  assert.match(of.why('user'), /^step 1 needs model 'a', which failed to load: expected ensembles/);
  assert.equal(of.registry.snapshot.models['good']?.versions[0]?.state, 'AVAILABLE');
});

test('with transition resource the ensemble goes first, then the step', async () => {
  const of = setup({ transition: 'resource' });
  const e = ensemble('e', ['a']);
  const [a, oldE] = await loaded(of, [e, desired('a', ['1'])]);
  const changed = of.registry.reconcile([e, desired('a', ['2'])]);
  await settle();
  assert.equal(of.engine.loads.length, 0);
  assert.deepEqual(await endUnloads(of), [oldE, a]);
  const newA = await of.engine.finishLoad();
  assert.deepEqual(stepHandles(of), [newA]);
  await of.engine.finishLoad();
  await changed;
  assert.equal(of.states(), 'a/2:AVAILABLE a/1:END e/1:AVAILABLE');
});

test('an ensemble that does not fit the new step goes, so that the old step can', async () => {
  const of = setup();
  const e = ensemble('e', ['a']);
  const [a, oldE] = await loaded(of, [e, desired('a', ['1'])]);
  const changed = of.registry.reconcile([e, desired('a', ['2'])]);
  await settle();
  await of.engine.finishLoad();
  await of.engine.failLoad('step 1: x has another type');
  assert.deepEqual(unloading(of), [oldE]);
  await of.engine.failLoad('step 1: x has another type');
  assert.deepEqual(await endUnloads(of), [oldE, a]);
  await changed;
  assert.equal(of.states(), 'a/2:AVAILABLE a/1:END e/1:END');
  assert.equal(of.why('e'), 'step 1: x has another type');
  assert.equal(of.engine.loads.length, 0);
});

test('a changed ensemble that waits for a new step serves as before meanwhile', async () => {
  const of = setup();
  const [, old] = await loaded(of, [ensemble('e', ['a']), desired('a', ['1'])]);
  const changed = of.registry.reconcile([
    ensemble('e', ['a', 'b'], 'r2'),
    desired('a', ['1']),
    desired('b', ['1']),
  ]);
  let settled = false;
  void of.registry.whenSettled(['e']).then(() => (settled = true));
  await settle();
  assert.equal(of.registry.snapshot.models['e']?.versions[0]?.handle, old);
  assert.equal(settled, false);
  await of.engine.finishLoad();
  assert.equal(of.registry.snapshot.models['e']?.versions[0]?.handle, old);
  await of.engine.finishLoad();
  await of.engine.finishUnload();
  await changed;
  assert.equal(settled, true);
  assert.equal(of.states(), 'a/1:AVAILABLE b/1:AVAILABLE e/1:AVAILABLE');
});

test('a plain model that becomes an ensemble serves until the ensemble does', async () => {
  const of = setup();
  const [, old] = await loaded(of, [desired('a', ['1']), desired('e', ['1'])]);
  const changed = of.registry.reconcile([desired('a', ['1']), ensemble('e', ['a'], 'r2')]);
  await settle();
  assert.equal(of.registry.snapshot.models['e']?.versions[0]?.handle, old);
  assert.deepEqual(of.engine.unloads, []);
  await of.engine.finishLoad();
  await of.engine.finishUnload();
  await changed;
  assert.equal(of.states(), 'a/1:AVAILABLE e/1:AVAILABLE');
});

test('an ensemble with a broken configuration serves on, and goes when its step changes', async () => {
  const of = setup();
  const [, old] = await loaded(of, [ensemble('e', ['a']), desired('a', ['1'])]);
  const plain = desired('e', ['1'], 'r2');
  const broken = { ...plain, versions: plain.versions.map((one) => ({ ...one, problem: 'bad' })) };
  await of.registry.reconcile([broken, desired('a', ['1'])]);
  assert.equal(of.registry.snapshot.models['e']?.versions[0]?.handle, old);
  const changed = of.registry.reconcile([broken, desired('a', ['2'])]);
  await settle();
  await of.engine.finishLoad();
  await of.engine.finishUnload();
  await of.engine.finishUnload();
  await changed;
  assert.equal(of.states(), 'a/2:AVAILABLE a/1:END e/1:END');
  assert.equal(of.why('e'), 'bad');
});

test('a step with a smaller max_batch_size is a problem', async () => {
  const of = setup();
  const a = desired('a', ['1']);
  const e = ensemble('e', ['a']);
  const withRows = (model: DesiredModel, rows: number): DesiredModel => ({
    ...model,
    versions: model.versions.map((one) => ({ ...one, config: { max_batch_size: rows } })),
  });
  const done = of.registry.reconcile([withRows(e, 8), withRows(a, 4)]);
  await settle();
  const batched = {
    name: 'serving_default',
    inputs: [],
    outputs: [],
  };
  await of.engine.finishLoad({ signatures: [batched] });
  await done;
  assert.equal(of.why('e'), "max_batch_size: expected at most 4, that of step 1, model 'a', got 8");
});

test('an unloaded ensemble leaves its steps', async () => {
  const of = setup();
  await loaded(of, [ensemble('e', ['a']), desired('a', ['1'])]);
  const gone = of.registry.reconcile([desired('a', ['1'])]);
  await settle();
  await of.engine.finishUnload();
  await gone;
  assert.equal(of.states(), 'a/1:AVAILABLE');
});

test('2,000 models and 100 ensembles cost no quadratic work', async () => {
  const of = setup({ loadsAtOnce: 2000 });
  const models = Array.from({ length: 2000 }, (_, i) => desired(`m${i}`, ['1']));
  const ensembles = Array.from({ length: 100 }, (_, i) =>
    ensemble(`e${i}`, [`m${i}`, `m${i + 100}`]),
  );
  const handles = await loaded(of, [...ensembles, ...models]);
  assert.equal(handles.length, 2100);
  assert.equal(of.registry.snapshot.ready, true);
});
