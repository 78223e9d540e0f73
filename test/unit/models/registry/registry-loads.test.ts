// The registry's steps around one load: retries, the resource-preserving order, preparation,
// configurations that do not fit, versions that cannot be loaded, and the number of published
// snapshots.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { PUBLISH_EVERY_MS, PUBLISH_EVERY_MS_MAX } from '../../../../ts/base/limits.js';
import type { DesiredModel, DesiredVersion } from '../../../../ts/models/registry/desired.js';
import { publishPauseMs } from '../../../../ts/models/registry/publish-turns.js';
import { Registry } from '../../../../ts/models/registry/registry.js';
import type { PreparedVersion } from '../../../../ts/models/warmup/prepare.js';
import type { RegistryOptions } from '../../../../ts/models/registry/registry.js';
import {
  applyChange,
  shownSnapshot,
  snapshotChange,
} from '../../../../ts/models/registry/snapshot-build.js';
import type { RegistrySnapshot, VersionSnapshot } from '../../../../ts/model/snapshot.js';
import { desired, FakeClock, FakeEngine, quietLogger, settle } from './fakes.js';

function setup(options: Partial<RegistryOptions> = {}): {
  engine: FakeEngine;
  registry: Registry;
  lines: string[];
  clock: FakeClock;
} {
  const engine = new FakeEngine();
  const lines: string[] = [];
  const clock = new FakeClock();
  const registry = new Registry({ engine, logger: quietLogger(lines), clock, ...options });
  return { engine, registry, lines, clock };
}

function states(snapshot: RegistrySnapshot): string {
  return Object.values(snapshot.models)
    .flatMap((model) => model.versions.map((one) => `${model.name}/${one.version}:${one.state}`))
    .join(' ');
}

function first(registry: Registry, name = 'm'): VersionSnapshot | undefined {
  return registry.snapshot.models[name]?.versions[0];
}

/** The model with these members in its only version. */
function with1(change: Partial<DesiredVersion>, revision = 'r1'): DesiredModel {
  const model = desired('m', ['1'], revision);
  return { ...model, versions: model.versions.map((one) => ({ ...one, ...change })) };
}

test('retries log an error only for a new reason', async () => {
  const { engine, registry, clock, lines } = setup({ loadRetries: 3, loadRetryMs: 1000 });
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  for (const reason of ['no memory', 'no memory', 'no file', 'no file']) {
    await engine.failLoad(reason);
    await clock.pass(1000);
    await settle();
  }
  const errors = lines.filter((line) => /error.*model failed to load/i.test(line));
  assert.deepEqual(
    errors.map((line) => /no \w+/.exec(line)?.[0]),
    ['no memory', 'no file'],
  );
  assert.match(errors[1] ?? '', /retry\W+2/);
  assert.equal(registry.counters.loadFailures, 4);
});

test('a failed load is tried again after its time and shows why until then', async () => {
  const { engine, registry, clock } = setup({ loadRetries: 2, loadRetryMs: 60_000 });
  const tried = registry.reconcile([desired('m', ['1']), desired('n', ['1'])]);
  await settle();
  await engine.failLoad('no memory');
  await engine.finishLoad();
  await tried;
  assert.equal(states(registry.snapshot), 'm/1:END n/1:AVAILABLE');
  assert.equal(first(registry)?.errorMessage, 'no memory');
  assert.equal(registry.snapshot.ready, false);
  assert.equal(clock.nextMs, 60_000);
  await clock.pass(59_999);
  assert.equal(engine.loads.length, 0);
  await clock.pass(1);
  assert.equal(states(registry.snapshot), 'm/1:LOADING n/1:AVAILABLE');
  assert.equal(first(registry)?.errorMessage, '');
  await engine.finishLoad();
  assert.equal(states(registry.snapshot), 'm/1:AVAILABLE n/1:AVAILABLE');
  assert.equal(registry.snapshot.ready, true);
  assert.equal(clock.nextMs, undefined);
  assert.deepEqual(registry.counters, { loads: 2, loadFailures: 1, unloads: 0 });
});

test('retries end; whenSettled waits for them where asked', async () => {
  const { engine, registry, clock } = setup({ loadRetries: 1, loadRetryMs: 10 });
  void registry.reconcile([desired('m', ['1'])]);
  const settled: string[] = [];
  void registry.whenSettled(['m']).then(() => settled.push('first'));
  void registry.whenSettled(['m'], true).then(() => settled.push('last'));
  void registry.whenSettled(undefined, true).then(() => settled.push('all'));
  void registry.whenSettled(['other'], true).then(() => settled.push('other'));
  await settle();
  assert.deepEqual(settled, ['other']);
  await engine.failLoad();
  assert.deepEqual(settled, ['other', 'first']);
  await clock.pass(10);
  await engine.failLoad('still broken');
  assert.deepEqual(settled, ['other', 'first', 'last', 'all']);
  await clock.pass(10_000);
  assert.equal(engine.loads.length, 0);
  assert.deepEqual(registry.failures('m'), [
    { version: '1', code: ErrorCode.ModelInvalid, message: 'still broken' },
  ]);
  assert.deepEqual(registry.failures('n'), []);
});

test('a load that is due again is dropped with its model, and while draining', async () => {
  const { engine, registry, clock } = setup({ loadRetries: 5, loadRetryMs: 10 });
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  await engine.failLoad();
  void registry.reconcile([]);
  await clock.pass(1000);
  assert.deepEqual([engine.loads.length, clock.nextMs], [0, undefined]);
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  await engine.failLoad();
  await registry.drain();
  await clock.pass(1000);
  assert.equal(engine.loads.length, 0);
  await registry.whenSettled(undefined, true);
});

test('`again` tries a failed version once more; others are left alone', async () => {
  const { engine, registry } = setup();
  const models = [desired('m', ['1']), desired('n', ['1'])];
  void registry.reconcile(models);
  await settle();
  await engine.failLoad();
  await engine.failLoad();
  void registry.reconcile(models);
  await settle();
  assert.equal(engine.loads.length, 0);
  void registry.reconcile(models, ['n', 'unknown']);
  await settle();
  assert.deepEqual(
    engine.loads.map((one) => one.spec.name),
    ['n'],
  );
  await engine.finishLoad();
  assert.equal(states(registry.snapshot), 'm/1:END n/1:AVAILABLE');
});

test('resource preserving: the old version has ended before the new one is loaded', async () => {
  const { engine, registry } = setup({ transition: 'resource', loadsAtOnce: 1 });
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  await engine.finishLoad();
  void registry.reconcile([desired('m', ['2']), desired('n', ['1'])]);
  await settle();
  assert.deepEqual(engine.events, ['load m/1', 'load n/1', 'unload 1']);
  await engine.finishLoad();
  assert.equal(states(registry.snapshot), 'm/2:START m/1:UNLOADING n/1:AVAILABLE');
  await engine.finishUnload();
  assert.deepEqual(engine.events.slice(3), ['load m/2']);
  await engine.finishLoad();
  assert.equal(states(registry.snapshot), 'm/2:AVAILABLE m/1:END n/1:AVAILABLE');
});

test('a version is prepared before it is available; loadMs counts that', async () => {
  const prepared: PreparedVersion[] = [];
  let done = (): void => undefined;
  const clock = new FakeClock();
  const { engine, registry } = setup({
    clock,
    prepare: (version) => {
      prepared.push(version);
      return new Promise((resolve) => (done = resolve));
    },
  });
  const config = { name: 'm', max_batch_size: 8 };
  const reconciled = registry.reconcile([with1({ config })]);
  await settle();
  const handle = await engine.finishLoad();
  assert.equal(states(registry.snapshot), 'm/1:LOADING');
  const [one] = prepared;
  assert.deepEqual(
    [one?.name, one?.version, one?.path, one?.config, one?.loaded.handle],
    ['m', '1', '/m/m/1', config, handle],
  );
  await clock.pass(250);
  done();
  await reconciled;
  assert.equal(first(registry)?.state, 'AVAILABLE');
  assert.equal(first(registry)?.loadMs, 250);
  const complete = JSON.parse(first(registry)?.configJson ?? '') as Record<string, unknown>;
  assert.equal(complete['name'], 'm');
  assert.equal(complete['max_batch_size'], 8);
});

test('preparing a version that is not wanted any more is ended; all at a drain', async () => {
  const ended: string[] = [];
  const { engine, registry } = setup({
    prepare: ({ name }, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended.push(name);
          reject(new ServalError(ErrorCode.Cancelled, 'ended'));
        });
      }),
  });
  void registry.reconcile([desired('m', ['1']), desired('n', ['1'])]);
  await settle();
  await engine.finishLoad();
  await engine.finishLoad();
  assert.equal(states(registry.snapshot), 'm/1:LOADING n/1:LOADING');
  void registry.reconcile([desired('n', ['1'])]);
  await settle();
  assert.deepEqual(ended, ['m']);
  await engine.finishUnload();
  await registry.drain();
  assert.deepEqual(ended, ['m', 'n']);
});

test('a version that cannot be prepared is unloaded; the old content goes on serving', async () => {
  let fails = false;
  const { engine, registry } = setup({
    prepare: () =>
      fails
        ? Promise.reject(new ServalError(ErrorCode.InvalidArgument, 'warmup: bad shape'))
        : Promise.resolve(),
  });
  void registry.reconcile([desired('m', ['1'], 'old')]);
  await settle();
  const old = await engine.finishLoad();
  fails = true;
  const replaced = registry.reconcile([desired('m', ['1'], 'new')]);
  await settle();
  const failed = await engine.finishLoad();
  assert.deepEqual(engine.events.slice(-1), [`unload ${failed}`]);
  assert.equal(registry.snapshot.models['m']?.versions[0]?.handle, old);
  await engine.finishUnload();
  await replaced;
  const version = first(registry);
  assert.deepEqual(
    [version?.state, version?.handle, version?.errorCode, version?.errorMessage],
    ['AVAILABLE', old, ErrorCode.InvalidArgument, 'warmup: bad shape'],
  );
  assert.equal(engine.routes[0]?.versions[0]?.reason, '');
});

test('a discarded version whose unload fails is logged and ends with its own reason', async () => {
  const { engine, registry, lines } = setup({ prepare: () => Promise.reject(new Error('cold')) });
  const reconciled = registry.reconcile([desired('m', ['1'])]);
  await settle();
  await engine.finishLoad();
  engine.unloads[0]?.reject(new Error('stuck'));
  await reconciled;
  assert.deepEqual([first(registry)?.state, first(registry)?.errorMessage], ['END', 'cold']);
  assert.ok(lines.some((line) => line.includes('failed to unload') && line.includes('stuck')));
});

test('a configuration that does not fit the model fails the load', async () => {
  const { engine, registry } = setup();
  const config = { input: [{ name: 'z', data_type: 'TYPE_FP32', dims: [-1] }] };
  const reconciled = registry.reconcile([with1({ config })]);
  await settle();
  await engine.finishLoad();
  await engine.finishUnload();
  await reconciled;
  const version = first(registry);
  assert.deepEqual([version?.state, version?.errorCode], ['END', ErrorCode.ModelInvalid]);
  assert.match(version?.errorMessage ?? '', /input "z": the model has no such input; it has x/);
  assert.deepEqual([version?.configJson, version?.loadMs], ['', 0]);
});

test('a version with a problem is never loaded and leaves the old one serving', async () => {
  for (const transition of ['availability', 'resource'] as const) {
    const { engine, registry, lines } = setup({ transition, loadRetries: 3, loadRetryMs: 1 });
    void registry.reconcile([with1({}, 'old')]);
    await settle();
    const handle = await engine.finishLoad();
    const bad = with1({ problem: '/r/m/config.pbtxt:3:7: unknown field' }, 'new');
    await registry.reconcile([bad]);
    const version = first(registry);
    assert.deepEqual(
      [version?.state, version?.handle, version?.errorMessage],
      ['AVAILABLE', handle, '/r/m/config.pbtxt:3:7: unknown field'],
    );
    assert.equal(engine.events.length, 1);
    assert.equal(registry.counters.loadFailures, 1);
    assert.equal(lines.filter((line) => line.includes('unknown field')).length, 1);
    await registry.reconcile([with1({}, 'old')]);
    assert.deepEqual([first(registry)?.handle, first(registry)?.errorMessage], [handle, '']);
    assert.equal(engine.events.length, 1);
  }
});

test('a model that only a call asked for does not keep the server from being ready', async () => {
  const { engine, registry } = setup();
  const reconciled = registry.reconcile([
    desired('a', ['1']),
    { ...desired('b', ['1']), required: false },
  ]);
  await settle();
  await engine.finishLoad();
  await engine.failLoad();
  await reconciled;
  assert.equal(registry.snapshot.ready, true);
  void registry.reconcile([{ ...desired('b', ['1']), required: true }]);
  await settle();
  assert.equal(registry.snapshot.ready, false);
});

test('loads of a burst that end together are published together, and a burst in few', async () => {
  const { engine, registry, clock } = setup({ loadsAtOnce: 50 });
  const names = Array.from({ length: 400 }, (_, i) => `m${String(i).padStart(3, '0')}`);
  const seen: number[] = [];
  const available = ({ models }: RegistrySnapshot): number =>
    Object.values(models).filter((one) => one.defaultVersion !== undefined).length;
  const reconciled = registry.reconcile(names.map((name) => desired(name, ['1'])));
  registry.subscribe((snapshot) => void seen.push(available(snapshot)));
  const published = engine.routeEpochs.length;
  await settle();
  const finish = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) void engine.finishLoad();
    await settle();
  };
  await finish(50);
  assert.deepEqual(seen, [0], 'they wait for each other');
  assert.equal(engine.loading, 50, 'loads wait for no snapshot');
  await clock.pass(PUBLISH_EVERY_MS);
  assert.deepEqual(seen, [0, 50]);
  assert.equal(engine.routeEpochs.length, published + 1);
  await finish(10);
  await registry.whenSettled(['m055']);
  assert.equal(available(registry.snapshot), 60, 'what somebody waited for is published at once');
  while (engine.loads.length > 0) await finish(10);
  await reconciled;
  assert.equal(seen.at(-1), 400);
  assert.equal(engine.routes.filter((one) => one.versions[0]?.ready).length, 400);
  assert.ok(seen.length <= 20, `${seen.length} snapshots`);
});

test('publishing takes a tenth of the time at most', () => {
  assert.equal(publishPauseMs(0), PUBLISH_EVERY_MS);
  assert.equal(publishPauseMs(5), 45);
  assert.equal(publishPauseMs(1000), PUBLISH_EVERY_MS_MAX);
});

test('routes that the engine refused are sent again with the next ones', async () => {
  const { engine, registry } = setup();
  const take = engine.publishRoutes.bind(engine);
  engine.publishRoutes = () => {
    throw new Error('not now');
  };
  void registry.reconcile([desired('a', ['1']), desired('b', ['1'])]);
  await settle();
  await engine.finishLoad();
  engine.publishRoutes = take;
  await engine.finishLoad();
  const routes = engine.routes.map((one) => [one.name, one.defaultVersion]);
  assert.deepEqual(routes, [
    ['a', 0],
    ['b', 0],
  ]);
  void registry.reconcile([desired('b', ['1'])]);
  await settle();
  await engine.finishUnload();
  assert.deepEqual(
    engine.routes.map((one) => one.name),
    ['b'],
  );
});

test('rebuilds only the changed ones of a thousand models', async () => {
  const { engine, registry, clock } = setup({ loadsAtOnce: 2 });
  const names = Array.from({ length: 1000 }, (_, i) => `m${i}`);
  const models = names.map((name) => desired(name, ['1']));
  let before = registry.snapshot;
  let largest = 0;
  let publishes = 0;
  registry.subscribe((snapshot) => {
    const rebuilt = Object.values(snapshot.models).filter(
      (model) => model !== before.models[model.name],
    ).length;
    if (publishes > 1) largest = Math.max(largest, rebuilt);
    publishes += 1;
    before = snapshot;
  });
  const reconciled = registry.reconcile(models);
  await settle();
  for (const _ of names) {
    await engine.finishLoad();
    await clock.pass(PUBLISH_EVERY_MS);
  }
  await reconciled;
  assert.equal(Object.values(before.models).filter((one) => one.defaultVersion).length, 1000);
  assert.ok(publishes >= 1000, `${publishes} snapshots`);
  assert.ok(largest <= 2, `${largest} models were built for one change`);
  const settled = registry.snapshot;
  void registry.reconcile([...models.slice(0, -1), desired('m999', ['1', '2'])]);
  const { models: changed, removed } = snapshotChange(settled, registry.snapshot);
  assert.deepEqual([changed.map((one) => one.name), removed], [['m999'], []]);
});

test('the change between two snapshots makes the newer one of the older one', async () => {
  const { engine, registry } = setup();
  const seen: RegistrySnapshot[] = [];
  registry.subscribe((snapshot) => void seen.push(snapshot));
  void registry.reconcile([desired('b', ['1']), desired('__proto__', ['1'])]);
  await settle();
  await engine.finishLoad();
  await engine.finishLoad();
  void registry.reconcile([desired('a', ['1']), desired('b', ['1', '2'])]);
  await settle();
  while (engine.loads.length > 0) await engine.finishLoad();
  while (engine.unloads.length > 0) await engine.finishUnload();
  let copy = structuredClone(seen[0]) as RegistrySnapshot;
  for (let i = 1; i < seen.length; i++) {
    const [before, after] = [seen[i - 1], seen[i]] as [RegistrySnapshot, RegistrySnapshot];
    copy = applyChange(copy, structuredClone(snapshotChange(before, after)));
    assert.deepEqual(copy, after);
    assert.deepEqual(Object.keys(copy.models), Object.keys(after.models));
  }
  assert.equal(states(copy), 'a/1:AVAILABLE b/2:AVAILABLE b/1:AVAILABLE');
});

test('reports requested batching that changes results, with its numbers', async () => {
  const { engine, registry, lines } = setup();
  const done = registry.reconcile(['m', 'n', 'o'].map((name) => desired(name, ['1'])));
  await settle();
  const found = (batchFinding: string) => ({ batchProof: 'contradicted', batchFinding }) as const;
  await engine.finishLoad({ batchMode: 'on', ...found("output 'y': 0.5 together, 1 alone") });
  await engine.finishLoad({ batchMode: 'off', ...found("output 'y': [2,2]") });
  await engine.finishLoad({ batchMode: 'on', batchProof: 'undecided', batchFinding: 'refused' });
  await done;
  const told = lines.filter((line) => line.includes('finding'));
  assert.equal(told.length, 3);
  assert.match(told[0] ?? '', /warn.* answers may be wrong .*0\.5 together, 1 alone/i);
  assert.match(told[1] ?? '', /debug.* not batched.*\[2,2\]/i);
  assert.match(told[2] ?? '', /debug.* as configured.*refused/i);
});

test('batching by a proof whose check was cut short is logged', async () => {
  const { engine, registry, lines } = setup();
  const done = registry.reconcile([desired('m', ['1'])]);
  await settle();
  const finding = { batchProof: 'proven', batchFinding: 'its runs are too slow' } as const;
  await engine.finishLoad({ batchMode: 'auto', ...finding });
  await done;
  const told = lines.filter((line) => line.includes('finding'));
  assert.equal(told.length, 1);
  assert.match(told[0] ?? '', /info.* its check by a test run was cut short.*too slow/i);
});

test('names the node that contradicts requested batching', async () => {
  const { engine, registry, lines } = setup();
  const done = registry.reconcile(['m', 'n', 'o'].map((name) => desired(name, ['1'])));
  await settle();
  const text = "node 'mean' (ReduceMean): it reduces the batch axis";
  const finding = (verdict: 'proved' | 'coupled') => ({
    rows: [{ signature: '', verdict, text: verdict === 'proved' ? '' : text }],
  });
  await engine.finishLoad({ batchMode: 'on', ...finding('coupled') });
  await engine.finishLoad({ batchMode: 'on', ...finding('proved') });
  const contradicted = { batchProof: 'contradicted', batchFinding: 'differs' } as const;
  await engine.finishLoad({ batchMode: 'off', ...contradicted, ...finding('proved') });
  await done;
  const named = lines.filter((line) => line.includes("coupled: node 'mean' (ReduceMean)"));
  assert.equal(named.length, 2);
  assert.match(named[0] ?? '', /info.*model loaded/i);
  assert.match(named[1] ?? '', /warn.*not proved to be independent/i);
  const errors = lines.filter((line) => line.includes('bug in Serval'));
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? '', /error.*differs/i);
});

test('nothing is shown as ready that not every listener has', async () => {
  const { engine, registry } = setup();
  const empty = registry.snapshot;
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  await engine.finishLoad();
  const first = registry.snapshot;
  const shown = shownSnapshot(first, empty);
  assert.equal(states(shown), 'm/1:LOADING');
  assert.deepEqual([shown.ready, shown.models['m']?.defaultVersion], [false, undefined]);
  assert.equal(shownSnapshot(first, first), first);
  void registry.reconcile([desired('m', ['1', '2'])]);
  await settle();
  await engine.finishLoad();
  const second = shownSnapshot(registry.snapshot, first);
  assert.equal(states(second), 'm/2:LOADING m/1:AVAILABLE');
  assert.equal(second.models['m']?.defaultVersion, '1');
  void registry.reconcile([]);
  assert.equal(states(shownSnapshot(registry.snapshot, first)), states(registry.snapshot));
  for (const [name, model] of Object.entries(shownSnapshot(registry.snapshot, first).models)) {
    assert.equal(model, registry.snapshot.models[name], 'what is shown as it is, is not copied');
  }
});
