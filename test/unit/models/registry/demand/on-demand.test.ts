// The registry's versions that load on demand, with an engine whose loads end on the test's command
// and a clock that only the test advances.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import {
  DEMAND_RETRY_MS,
  ROOM_WAIT_MS,
  SESSION_BYTES,
  STAYS_MS,
} from '../../../../../ts/base/limits.js';
import type { PlaceControl } from '../../../../../ts/model/engine-api.js';
import type { DesiredModel } from '../../../../../ts/models/registry/desired.js';
import { Registry } from '../../../../../ts/models/registry/registry.js';
import { desired, FakeClock, FakeEngine, quietLogger, settle } from '../fakes.js';

const KB = 1000;

/** Places in memory: what was put, evicted and refused there. */
class FakePlaces implements PlaceControl {
  readonly events: string[] = [];
  /** Calls of asked() that wait. */
  readonly waiting: ((places: readonly number[]) => void)[] = [];
  lost = new Set<number>();
  #last = 100;

  reserve(): number {
    this.#last += 1;
    return this.#last;
  }
  put(handle: number, place: number): void {
    if (this.lost.has(place)) throw new ServalError(ErrorCode.ModelNotFound, 'no such place');
    this.events.push(`put ${handle} at ${place}`);
  }
  evict(place: number): Promise<void> {
    this.events.push(`evict ${place}`);
    return Promise.resolve();
  }
  refuse(place: number, error: ServalError): void {
    if (this.lost.has(place)) throw new ServalError(ErrorCode.ModelNotFound, 'no such place');
    this.events.push(`refuse ${place}: ${error.message}`);
  }
  asked(): Promise<readonly number[]> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }
  /** Requests wait at these places. */
  async ask(...places: readonly number[]): Promise<void> {
    this.waiting.shift()?.(places);
    await settle();
  }
}

/** Waits until a load has begun: before, the size of its files is read. */
async function begun(engine: FakeEngine): Promise<FakeEngine> {
  for (let i = 0; i < 10_000 && engine.loads.length === 0; i += 1) await settle();
  return engine;
}

function lazy(
  name: string,
  rules: { pin?: boolean; minIdleMs?: number; priority?: number } = {},
): DesiredModel {
  const model = desired(name, ['1']);
  const demand = { pin: false, minIdleMs: 0, priority: 0, ...rules };
  return { ...model, versions: model.versions.map((one) => ({ ...one, demand })) };
}

async function setup(
  models: readonly DesiredModel[],
  options: { loadsAtOnce?: number; memoryBytes?: number } = {},
) {
  const [engine, places, clock] = [new FakeEngine(), new FakePlaces(), new FakeClock()];
  const counts: Record<string, number> = {};
  const registry = new Registry({
    engine,
    places,
    clock,
    logger: quietLogger([]),
    countDemand: (value, change) => {
      counts[value] = (counts[value] ?? 0) + change;
    },
    ...options,
  });
  await registry.reconcile(models);
  const stateOf = (name: string): string | undefined =>
    registry.snapshot.models[name]?.versions[0]?.demand;
  return { engine, places, clock, registry, counts, stateOf };
}

test('a version is available without a load, and loads once for all who ask', async () => {
  const { engine, places, registry, counts, stateOf } = await setup([lazy('m')]);
  assert.equal(registry.snapshot.ready, true);
  assert.equal(registry.snapshot.models['m']?.versions[0]?.handle, 101);
  assert.deepEqual([engine.events, stateOf('m')], [[], 'unseen']);
  await places.ask(101);
  await begun(engine);
  assert.equal(stateOf('m'), 'loading');
  const demanded = registry.demand('m', '1');
  await places.ask(101);
  assert.deepEqual(engine.events, ['load m/1']);
  const handle = await (await begun(engine)).finishLoad();
  const model = await demanded;
  assert.equal(model.versions[0]?.signatures[0]?.inputs[0]?.name, 'x');
  assert.deepEqual(places.events, [`put ${handle} at 101`]);
  assert.equal(registry.snapshot.models['m']?.versions[0]?.handle, 101);
  assert.equal(stateOf('m'), 'loaded');
  await registry.demand('m', '1');
  assert.deepEqual(counts, { served: 1, loads: 1, loaded: 1, bytes: counts['bytes'] });
});

test('a failed load is the answer until its pause has passed', async () => {
  const { engine, places, clock, registry, stateOf } = await setup([lazy('m')]);
  const text = "model 'm' is not ready: failed to load: broken file";
  for (const pauseMs of [DEMAND_RETRY_MS, 2 * DEMAND_RETRY_MS, 4 * DEMAND_RETRY_MS]) {
    await places.ask(101);
    await (await begun(engine)).failLoad();
    assert.deepEqual(places.events, [`refuse 101: ${text}`]);
    assert.equal(stateOf('m'), 'unseen');
    await clock.pass(pauseMs - 1);
    await places.ask(101);
    assert.deepEqual(places.events.splice(0), Array(2).fill(`refuse 101: ${text}`));
    await assert.rejects(registry.demand('m', '1'), { code: ErrorCode.ModelNotReady });
    places.events.splice(0);
    assert.equal(engine.loads.length, 0);
    await clock.pass(1);
  }
  await places.ask(101);
  await (await begun(engine)).finishLoad();
  assert.equal(stateOf('m'), 'loaded');
});

test('loads wait for their turn', async () => {
  const names = ['a', 'b', 'c'];
  const { engine, places, stateOf } = await setup(
    names.map((name) => lazy(name)),
    {
      loadsAtOnce: 1,
    },
  );
  await places.ask(101, 102, 103);
  await begun(engine);
  assert.deepEqual(engine.events, ['load a/1']);
  await (await begun(engine)).failLoad();
  await (await begun(engine)).finishLoad();
  await (await begun(engine)).finishLoad();
  assert.deepEqual(engine.events, ['load a/1', 'load b/1', 'load c/1']);
  assert.deepEqual(names.map(stateOf), ['unseen', 'loaded', 'loaded']);
});

test('the least recently used leave for others', async () => {
  const memoryBytes = 2 * (SESSION_BYTES + 10 * KB);
  const models = [lazy('a'), lazy('b'), lazy('c'), lazy('d', { pin: true })];
  const { engine, places, clock, counts, stateOf } = await setup(models, { memoryBytes });
  const load = async (place: number): Promise<void> => {
    await places.ask(place);
    await (await begun(engine)).finishLoad({ fileBytes: 10 * KB });
    await clock.pass(STAYS_MS);
  };
  await load(104);
  await load(101);
  await load(102);
  await load(103);
  assert.deepEqual(
    places.events.filter((event) => event.startsWith('evict')),
    ['evict 101', 'evict 102'],
  );
  assert.deepEqual(['a', 'b', 'c', 'd'].map(stateOf), ['waiting', 'waiting', 'loaded', 'loaded']);
  assert.deepEqual([counts['evictions'], counts['loaded']], [2, 2]);
  assert.equal(counts['bytes'], memoryBytes);
});

test('what finds no memory is refused by name', async () => {
  const memoryBytes = 2 * SESSION_BYTES;
  const models = [lazy('a', { minIdleMs: 60_000 }), lazy('b')];
  const { engine, places, clock, counts } = await setup(models, { memoryBytes });
  await places.ask(101);
  await (await begun(engine)).finishLoad({ fileBytes: 10 * KB });
  await places.ask(102);
  for (let i = 0; i < 10_000 && places.events.length < 2; i += 1)
    await clock.pass(ROOM_WAIT_MS / 100);
  assert.equal(places.events.length, 2, places.events.join('\n'));
  assert.match(places.events[1] ?? '', /^refuse 102: model 'b' needs 0.1 MB, and --models-memory/);
  assert.equal(counts['refusals'], 1);
  await clock.pass(60_000);
  await places.ask(102);
  await (await begun(engine)).finishLoad();
  assert.deepEqual(places.events.slice(2, 3), ['evict 101']);
});

test('a version that was unloaded while it loads is not put anywhere', async () => {
  const { engine, places, registry, counts } = await setup([lazy('m')]);
  await places.ask(101);
  await begun(engine);
  const gone = registry.reconcile([]);
  await settle();
  places.lost.add(101);
  await engine.finishUnload();
  await (await begun(engine)).finishLoad();
  await engine.finishUnload();
  await gone;
  assert.deepEqual(engine.events, ['load m/1', 'unload 101', 'unload 1']);
  assert.deepEqual(places.events, []);
  assert.equal(counts['served'], 0);
  assert.equal(counts['loaded'] ?? 0, 0);
  await assert.rejects(registry.demand('m', '1'), { code: ErrorCode.ModelNotFound });
});

test('nothing loads while the server stops', async () => {
  const { engine, places, registry } = await setup([lazy('m')]);
  await registry.drain();
  await places.ask(101);
  assert.deepEqual(engine.events, []);
  assert.deepEqual(places.events, ['refuse 101: the server is shutting down']);
});
