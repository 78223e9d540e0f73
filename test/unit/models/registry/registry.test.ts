// The registry with an engine that loads on the test's command.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { Registry } from '../../../../ts/models/registry/registry.js';
import { findModel } from '../../../../ts/models/registry/snapshot-build.js';
import type { RegistrySnapshot } from '../../../../ts/model/snapshot.js';
import { desired, FakeEngine, quietLogger, settle } from './fakes.js';

function setup(options: { loadsAtOnce?: number; endedVersionsMax?: number } = {}): {
  engine: FakeEngine;
  registry: Registry;
  lines: string[];
} {
  const engine = new FakeEngine();
  const lines: string[] = [];
  const registry = new Registry({ engine, logger: quietLogger(lines), ...options });
  return { engine, registry, lines };
}

/** "name/version:STATE" of everything, highest version first. */
function states(snapshot: RegistrySnapshot): string {
  return Object.values(snapshot.models)
    .flatMap((model) => model.versions.map((one) => `${model.name}/${one.version}:${one.state}`))
    .join(' ');
}

test('a model goes through its states; reconcile settles when it is available', async () => {
  const { engine, registry } = setup();
  const seen: string[] = [];
  registry.subscribe((snapshot) => void seen.push(`${states(snapshot)} ${snapshot.ready}`));
  assert.deepEqual(seen, [' false']);
  let done = false;
  const reconciled = registry.reconcile([desired('m', ['3'])]).then(() => (done = true));
  await settle();
  assert.equal(done, false);
  const handle = await engine.finishLoad();
  await reconciled;
  assert.deepEqual(seen, [' false', 'm/3:LOADING false', 'm/3:AVAILABLE true']);
  const model = registry.snapshot.models['m'];
  assert.equal(model?.defaultVersion, '3');
  assert.equal(model?.versions[0]?.handle, handle);
  assert.equal(model?.versions[0]?.signatures[0]?.inputs[0]?.name, 'x');
  assert.deepEqual(engine.routes, [
    {
      name: 'm',
      defaultVersion: 0,
      labels: {},
      versions: [{ version: '3', handle, ready: true, reason: '' }],
    },
  ]);
});

test('a failed load shows END with code and message; others serve', async () => {
  const { engine, registry, lines } = setup();
  const reconciled = registry.reconcile([desired('a', ['1']), desired('b', ['1'])]);
  await settle();
  await engine.failLoad('graph has a cycle');
  await engine.finishLoad();
  await reconciled;
  assert.equal(states(registry.snapshot), 'a/1:END b/1:AVAILABLE');
  const failed = registry.snapshot.models['a'];
  assert.equal(failed?.defaultVersion, undefined);
  assert.equal(failed?.versions[0]?.errorCode, ErrorCode.ModelInvalid);
  assert.equal(failed?.versions[0]?.errorMessage, 'graph has a cycle');
  assert.equal(failed?.versions[0]?.handle, undefined);
  assert.equal(registry.snapshot.ready, false);
  assert.deepEqual(engine.routes[0], {
    name: 'a',
    defaultVersion: -1,
    labels: {},
    versions: [
      { version: '1', handle: 0, ready: false, reason: 'failed to load: graph has a cycle' },
    ],
  });
  assert.ok(lines.some((line) => /ERROR model failed to load model=a version=1/.test(line)));
  await registry.reconcile([desired('a', ['1']), desired('b', ['1'])]);
  assert.deepEqual(engine.events, ['load a/1', 'load b/1'], 'a failed load is not tried again');
});

test('a foreign error becomes Internal with its text', async () => {
  const { engine, registry } = setup();
  engine.load = () => {
    throw new RangeError('odd');
  };
  await registry.reconcile([desired('a', ['1'])]);
  const version = registry.snapshot.models['a']?.versions[0];
  assert.deepEqual([version?.errorCode, version?.errorMessage], [ErrorCode.Internal, 'odd']);
});

test('loads begin by name, a bounded number at a time', async () => {
  const { engine, registry } = setup({ loadsAtOnce: 2 });
  const names = ['d', 'a', 'c', 'b'];
  const reconciled = registry.reconcile(names.map((name) => desired(name, ['1'])));
  await settle();
  assert.equal(states(registry.snapshot), 'a/1:LOADING b/1:LOADING c/1:START d/1:START');
  for (let i = 0; i < 4; i++) await engine.finishLoad();
  await reconciled;
  assert.deepEqual(engine.events, ['load a/1', 'load b/1', 'load c/1', 'load d/1']);
  assert.equal(engine.loadingMax, 2);
});

test('a new version replaces the old one only when it serves', async () => {
  const { engine, registry } = setup();
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  const first = await engine.finishLoad();
  const replaced = registry.reconcile([desired('m', ['2'])]);
  await settle();
  assert.equal(states(registry.snapshot), 'm/2:LOADING m/1:AVAILABLE');
  assert.equal(registry.snapshot.models['m']?.defaultVersion, '1');
  assert.equal(registry.snapshot.ready, true);
  await engine.finishLoad();
  assert.equal(states(registry.snapshot), 'm/2:AVAILABLE m/1:UNLOADING');
  assert.equal(registry.snapshot.models['m']?.versions[1]?.handle, undefined);
  assert.deepEqual(engine.events.slice(2), [`unload ${first}`]);
  await engine.finishUnload();
  await replaced;
  assert.equal(states(registry.snapshot), 'm/2:AVAILABLE m/1:END');
  assert.equal(engine.routes[0]?.versions[1]?.reason, 'unloaded');
});

test('a failed new version leaves the old one serving', async () => {
  const { engine, registry } = setup();
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  const first = await engine.finishLoad();
  const replaced = registry.reconcile([desired('m', ['2'])]);
  await settle();
  await engine.failLoad();
  await replaced;
  assert.equal(states(registry.snapshot), 'm/2:END m/1:AVAILABLE');
  assert.equal(registry.snapshot.models['m']?.versions[1]?.handle, first);
  assert.equal(engine.unloads.length, 0);
});

test('a version whose files changed is swapped without a gap', async () => {
  const { engine, registry } = setup();
  void registry.reconcile([desired('m', ['1'], 'old')]);
  await settle();
  const first = await engine.finishLoad();
  const gaps: string[] = [];
  registry.subscribe((snapshot) => {
    if (snapshot.models['m']?.versions[0]?.handle === undefined) gaps.push(states(snapshot));
  });
  const replaced = registry.reconcile([desired('m', ['1'], 'new')]);
  await settle();
  assert.equal(registry.snapshot.models['m']?.versions[0]?.handle, first);
  const second = await engine.finishLoad();
  assert.equal(registry.snapshot.models['m']?.versions[0]?.handle, second);
  await engine.finishUnload();
  await replaced;
  assert.equal(states(registry.snapshot), 'm/1:AVAILABLE');
  assert.deepEqual(gaps, []);
});

test('unload waits until every subscriber acknowledged that the handle is gone', async () => {
  const { engine, registry } = setup();
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  const handle = await engine.finishLoad();
  const acknowledge: (() => void)[] = [];
  let mentions = 0;
  registry.subscribe((snapshot) => {
    if (findModel(snapshot, 'm')?.versions[0]?.handle === handle) mentions += 1;
    return new Promise((resolve) => acknowledge.push(resolve));
  });
  const leave = registry.subscribe(() => new Promise(() => {}));
  assert.equal(mentions, 1);
  void registry.reconcile([]);
  await settle();
  assert.equal(engine.unloads.length, 0);
  assert.equal(acknowledge.length, 2);
  acknowledge[1]?.();
  await settle();
  assert.equal(engine.unloads.length, 0, 'the second subscriber has not acknowledged');
  leave();
  await settle();
  assert.deepEqual(engine.events.slice(1), [`unload ${handle}`]);
  await engine.finishUnload();
  assert.deepEqual(registry.snapshot.models, {});
});

test('a subscriber that throws or rejects is logged and does not block', async () => {
  const { engine, registry, lines } = setup();
  registry.subscribe(() => {
    throw new Error('first trouble');
  });
  registry.subscribe(() => Promise.reject(new Error('second trouble')));
  const reconciled = registry.reconcile([desired('m', ['1'])]);
  await settle();
  await engine.finishLoad();
  await reconciled;
  void registry.reconcile([]);
  await settle();
  assert.equal(engine.unloads.length, 1);
  assert.ok(lines.some((line) => line.includes('first trouble')));
  assert.ok(lines.some((line) => line.includes('second trouble')));
});

test('a failed unload ends with its error', async () => {
  const { engine, registry } = setup();
  void registry.reconcile([desired('m', ['1'])]);
  await settle();
  await engine.finishLoad();
  const emptied = registry.reconcile([{ name: 'm', versions: [], labels: {} }]);
  await settle();
  engine.unloads[0]?.reject(new ServalError(ErrorCode.Internal, 'stuck'));
  await emptied;
  const version = registry.snapshot.models['m']?.versions[0];
  assert.deepEqual([version?.state, version?.errorMessage], ['END', 'stuck']);
});

test('an unloaded version can come back', async () => {
  const { engine, registry } = setup();
  for (const versions of [['1'], ['2'], ['1']]) {
    void registry.reconcile([desired('m', versions)]);
    await settle();
    await engine.finishLoad();
    if (engine.unloads.length > 0) await engine.finishUnload();
  }
  assert.equal(states(registry.snapshot), 'm/2:END m/1:AVAILABLE');
});

test('the history of ended versions is bounded', async () => {
  const { engine, registry } = setup({ endedVersionsMax: 2 });
  for (let version = 1; version <= 6; version++) {
    void registry.reconcile([desired('m', [String(version)])]);
    await settle();
    await engine.finishLoad();
    if (engine.unloads.length > 0) await engine.finishUnload();
  }
  assert.equal(states(registry.snapshot), 'm/6:AVAILABLE m/5:END m/4:END');
});

test('a newer desired state replaces one that is still loading', async () => {
  const { engine, registry } = setup({ loadsAtOnce: 1 });
  const first = registry.reconcile([desired('a', ['1']), desired('b', ['1'])]);
  await settle();
  const second = registry.reconcile([desired('c', ['1'])]);
  await settle();
  assert.equal(states(registry.snapshot), 'a/1:LOADING c/1:START');
  await engine.finishLoad();
  await engine.finishUnload();
  await engine.finishLoad();
  await Promise.all([first, second]);
  assert.equal(states(registry.snapshot), 'c/1:AVAILABLE');
  assert.deepEqual(
    engine.events,
    ['load a/1', 'load c/1', 'unload 1'].sort(
      (a, b) => engine.events.indexOf(a) - engine.events.indexOf(b),
    ),
  );
});

test('versions are compared as numbers; the default is the highest available', async () => {
  const { engine, registry } = setup();
  const versions = ['9', '10', '9223372036854775807'];
  const reconciled = registry.reconcile([desired('m', versions)]);
  await settle();
  await engine.failLoad();
  await engine.finishLoad();
  await engine.finishLoad();
  await reconciled;
  assert.equal(states(registry.snapshot), 'm/9223372036854775807:END m/10:AVAILABLE m/9:AVAILABLE');
  assert.equal(registry.snapshot.models['m']?.defaultVersion, '10');
  assert.equal(engine.routes[0]?.defaultVersion, 1);
});

test('labels apply when their version is available', async () => {
  const { engine, registry } = setup();
  void registry.reconcile([desired('m', ['1'], 'r1', { stable: '1' })]);
  await settle();
  assert.deepEqual(registry.snapshot.models['m']?.labels, {});
  await engine.finishLoad();
  assert.deepEqual(registry.snapshot.models['m']?.labels, { stable: '1' });
  void registry.reconcile([desired('m', ['1', '2'], 'r1', { stable: '2', canary: '2' })]);
  await settle();
  assert.deepEqual(registry.snapshot.models['m']?.labels, { stable: '1' });
  await engine.finishLoad();
  assert.deepEqual(registry.snapshot.models['m']?.labels, { stable: '2', canary: '2' });
  assert.deepEqual(engine.routes[0]?.labels, { stable: '2', canary: '2' });
});

test('snapshots are frozen, cloneable and never change', async () => {
  const { engine, registry } = setup();
  const kept: [RegistrySnapshot, string][] = [];
  registry.subscribe((snapshot) => void kept.push([snapshot, JSON.stringify(snapshot)]));
  void registry.reconcile([desired('m', ['1'], 'r', { l: '1' })]);
  await settle();
  await engine.finishLoad();
  await registry.drain();
  const assertFrozen = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    assert.ok(Object.isFrozen(value));
    Object.values(value).forEach(assertFrozen);
  };
  for (const [snapshot, text] of kept) {
    assertFrozen(snapshot);
    assert.equal(JSON.stringify(snapshot), text);
    assert.deepEqual(structuredClone(snapshot), snapshot);
  }
  const epochs = kept.map(([snapshot]) => snapshot.epoch);
  assert.deepEqual(
    epochs,
    [...new Set(epochs)].sort((a, b) => a - b),
  );
  assert.deepEqual(engine.routeEpochs, epochs.slice(1));
});

test('drain is published, acknowledged, and stops new loads', async () => {
  const { engine, registry } = setup({ loadsAtOnce: 1 });
  const loading = registry.reconcile([desired('a', ['1']), desired('b', ['1'])]);
  await settle();
  let acknowledge: (() => void) | undefined;
  registry.subscribe((snapshot) =>
    snapshot.draining ? new Promise((resolve) => (acknowledge = resolve)) : undefined,
  );
  let drained = false;
  const draining = registry.drain().then(() => (drained = true));
  await settle();
  assert.equal(registry.snapshot.draining, true);
  assert.equal(drained, false);
  acknowledge?.();
  await draining;
  await engine.finishLoad();
  await loading;
  assert.deepEqual(engine.events, ['load a/1']);
  await assert.rejects(registry.reconcile([]), { code: ErrorCode.ShuttingDown });
});

test('a name or version given twice is refused and changes nothing', async () => {
  const { registry } = setup();
  const twice = registry.reconcile([desired('m', ['1']), desired('m', ['2'])]);
  await assert.rejects(twice, { code: ErrorCode.InvalidArgument, message: /model 'm' is given/ });
  await assert.rejects(registry.reconcile([desired('m', ['1', '1'])]), /version 1 of model 'm'/);
  assert.equal(registry.snapshot.epoch, 0);
});

test('no models: ready; a model without versions: known and not ready', async () => {
  const { registry } = setup();
  await registry.reconcile([]);
  assert.equal(registry.snapshot.ready, true);
  await registry.reconcile([{ name: 'm', versions: [], labels: {} }]);
  assert.equal(registry.snapshot.ready, false);
  assert.deepEqual(registry.snapshot.models['m']?.versions, []);
});

test("names of Object's own members are names like others", async () => {
  const { engine, registry } = setup();
  const names = ['__proto__', 'constructor', 'toString'];
  const reconciled = registry.reconcile(names.map((name) => desired(name, ['1'])));
  await settle();
  for (let i = 0; i < names.length; i++) await engine.finishLoad();
  await reconciled;
  const copy = structuredClone(registry.snapshot);
  for (const name of names) assert.equal(findModel(copy, name)?.defaultVersion, '1');
  assert.equal(findModel(copy, 'hasOwnProperty'), undefined);
});

test('an engine that refuses the routes is logged', async () => {
  const { engine, registry, lines } = setup();
  engine.publishRoutes = () => {
    throw new ServalError(ErrorCode.Internal, 'table refused');
  };
  await registry.reconcile([]);
  assert.ok(lines.some((line) => line.includes('table refused')));
});
