// The difference between desired and actual versions, by cases and by random histories.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lifecycleActions, retryAtMs } from '../../../../ts/models/registry/lifecycle.js';
import type {
  ServableId,
  ServableView,
  LifecycleView,
} from '../../../../ts/models/registry/lifecycle.js';

/** "m/1" or "m/1@new": name, version, content. */
function id(text: string): ServableId {
  const [name = '', rest = ''] = text.split('/');
  return { key: text, name, version: rest.split('@')[0] ?? '' };
}

/** "m/1:END" failed once, at 100; "m/1:END3" three times; "m/1:UNLOADED" was ended by an unload. */
function view(text: string): ServableView {
  const [key = '', written = ''] = text.split(':');
  const [, state = '', failures = '1'] = /^([A-Z]+)(\d*)$/.exec(written) ?? [];
  const unloaded = state === 'UNLOADED';
  return {
    ...id(key),
    state: (unloaded ? 'END' : state) as ServableView['state'],
    unloaded,
    failures: state === 'END' ? Number(failures || 1) : 0,
    failedAtMs: 100,
  };
}

const RULES = {
  loadsAtOnce: 4,
  loadingElsewhere: 0,
  endedVersionsMax: 2,
  transition: 'availability',
  nowMs: 100,
  loadRetries: 0,
  loadRetryMs: 50,
} as const;

function decide(desired: string, actual: string, rules: Partial<LifecycleView> = {}): string {
  const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');
  const ids = words(desired).map(id);
  const actions = lifecycleActions({
    ...RULES,
    ...rules,
    models: new Set(ids.map((one) => one.name)),
    desired: ids.filter((one) => one.version !== ''),
    actual: words(actual).map(view),
  });
  return actions.map((action) => `${action.kind} ${action.key}`).join(', ');
}

test('desired minus actual', () => {
  const cases: [desired: string, actual: string, actions: string][] = [
    ['', '', ''],
    ['b/1 a/1 a/2', '', 'add a/2, add a/1, add b/1'],
    ['a/1 b/1', 'b/1:START a/1:START', 'load a/1, load b/1'],
    ['a/1', 'a/1:LOADING', ''],
    ['a/1', 'a/1:AVAILABLE', ''],
    ['a/1', 'a/1:END', ''],
    ['a/1', 'a/1:UNLOADED', 'forget a/1, add a/1'],
    ['', 'a/1:START', 'forget a/1'],
    ['', 'a/1:LOADING', ''],
    ['', 'a/1:AVAILABLE a/2:AVAILABLE', 'unload a/2, unload a/1'],
    ['', 'a/1:UNLOADING', ''],
    ['', 'a/1:END b/1:UNLOADED', 'forget a/1, forget b/1'],
    ['a/2', 'a/1:AVAILABLE a/2:LOADING', ''],
    ['a/2', 'a/1:AVAILABLE a/2:AVAILABLE', 'unload a/1'],
    ['a/2', 'a/1:AVAILABLE a/2:END', ''],
    ['a/3', 'a/1:AVAILABLE a/2:AVAILABLE a/3:END', 'unload a/1'],
    // A label may still need version 1 while 3 is being loaded.
    ['a/2 a/3', 'a/1:AVAILABLE a/2:AVAILABLE a/3:LOADING', ''],
    ['a/2 a/3', 'a/1:AVAILABLE a/2:AVAILABLE a/3:AVAILABLE', 'unload a/1'],
    ['a/2 a/3', 'a/1:AVAILABLE a/2:AVAILABLE a/3:END', 'unload a/1'],
    ['a/1@new', 'a/1@old:AVAILABLE', 'add a/1@new'],
    ['a/1@new', 'a/1@old:AVAILABLE a/1@new:AVAILABLE', 'unload a/1@old'],
    ['a/1@new', 'a/1@old:AVAILABLE a/1@new:END', ''],
    ['a/1@new a/2', 'a/1@old:AVAILABLE a/1@new:LOADING a/2:AVAILABLE', ''],
    ['a/1@new', 'a/1@old:UNLOADED a/1@new:AVAILABLE', 'forget a/1@old'],
    ['a', 'a/1:UNLOADED a/2:AVAILABLE', 'unload a/2'],
    ['a/9', 'a/9:AVAILABLE a/1:UNLOADED a/3:UNLOADED a/2:UNLOADED', 'forget a/1'],
  ];
  for (const [desired, actual, actions] of cases) {
    assert.equal(decide(desired, actual), actions, `${desired} | ${actual}`);
  }
});

test('loads are bounded by what loads already', () => {
  const two = { loadsAtOnce: 2 };
  assert.equal(decide('a/1 b/1 c/1', 'a/1:LOADING b/1:START c/1:START', two), 'load b/1');
  assert.equal(decide('a/1 b/1', 'a/1:LOADING b/1:START', { loadsAtOnce: 1 }), '');
  assert.equal(decide('a/1', 'a/1:START', { loadsAtOnce: 0 }), '');
  assert.equal(decide('a/1', 'a/1:START', { ...two, loadingElsewhere: 2 }), '');
});

test('resource preserving: the old version is gone before the new one loads', () => {
  const cases: [desired: string, actual: string, actions: string][] = [
    ['a/2', 'a/1:AVAILABLE', 'add a/2'],
    ['a/2', 'a/1:AVAILABLE a/2:START', 'unload a/1'],
    ['a/2', 'a/1:UNLOADING a/2:START', ''],
    ['a/2', 'a/1:LOADING a/2:START', ''],
    ['a/2', 'a/1:UNLOADED a/2:START', 'load a/2'],
    ['a/1@new', 'a/1@old:AVAILABLE a/1@new:START', 'unload a/1@old'],
    ['a/2 b/1', 'a/1:UNLOADING a/2:START b/1:START', 'load b/1'],
    ['a/2 a/1', 'a/1:AVAILABLE a/2:START', 'load a/2'],
    // A version that cannot be loaded does not stop the one that serves.
    ['a/2', 'a/1:AVAILABLE a/2:END', ''],
    ['a/1@new', 'a/1@old:AVAILABLE a/1@new:END', ''],
    ['', 'a/1:AVAILABLE', 'unload a/1'],
  ];
  for (const [desired, actual, actions] of cases) {
    assert.equal(
      decide(desired, actual, { transition: 'resource' }),
      actions,
      `${desired} | ${actual}`,
    );
  }
});

test('retries a failed load a limited number of times, after a pause', () => {
  const retries = { loadRetries: 2, loadRetryMs: 50 };
  const cases: [actual: string, nowMs: number, actions: string][] = [
    ['a/1:END', 149, ''],
    ['a/1:END', 150, 'retry a/1'],
    ['a/1:END2', 150, 'retry a/1'],
    ['a/1:END3', 1000, ''],
    ['a/1:UNLOADED', 1000, 'forget a/1, add a/1'],
    ['a/1:AVAILABLE', 1000, ''],
    ['a/1:START', 1000, 'load a/1'],
    ['a/2:END', 1000, 'forget a/2, add a/1'],
  ];
  for (const [actual, nowMs, actions] of cases) {
    assert.equal(decide('a/1', actual, { ...retries, nowMs }), actions, `${actual} at ${nowMs}`);
  }
  assert.equal(decide('a/1', 'a/1:END', { nowMs: 1000 }), '', 'no retries asked for');
  const never = { ...view('a/1:END'), failures: Infinity };
  assert.equal(retryAtMs(never, retries), undefined);
  assert.equal(retryAtMs(view('a/1:END'), retries), 150);
});

/** A small generator of reproducible numbers. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('random histories reach the desired state and never lose a wanted model', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const next = numbers(seed);
    const actual = new Map<string, ServableView>();
    let desired: ServableId[] = [];
    const set = (key: string, state: string): void => void actual.set(key, view(`${key}:${state}`));
    const step = (): boolean => {
      const serving = new Set(
        [...actual.values()].filter((one) => one.state === 'AVAILABLE').map((one) => one.name),
      );
      const actions = lifecycleActions({
        ...RULES,
        models: new Set(desired.map((one) => one.name)),
        desired,
        actual: [...actual.values()],
        loadsAtOnce: 2,
      });
      for (const { kind, key } of actions) {
        if (kind === 'add') set(key, 'START');
        if (kind === 'load') set(key, 'LOADING');
        if (kind === 'unload') set(key, 'UNLOADING');
        if (kind === 'forget') actual.delete(key);
      }
      for (const name of serving) {
        if (!desired.some((one) => one.name === name)) continue;
        const still = [...actual.values()].some(
          (one) => one.name === name && one.state === 'AVAILABLE',
        );
        assert.ok(still, `seed ${seed}: ${name} stopped serving`);
      }
      const moving = [...actual.values()].filter((one) => /ING$/.test(one.state));
      const one = moving[next(Math.max(1, moving.length))];
      if (one?.state === 'LOADING') set(one.key, next(4) === 0 ? 'END' : 'AVAILABLE');
      if (one?.state === 'UNLOADING') set(one.key, 'UNLOADED');
      return actions.length > 0 || moving.length > 0;
    };
    for (let round = 0; round < 6; round++) {
      const wanted = new Map<string, ServableId>();
      for (let i = next(5); i > 0; i--) {
        const one = id(`m${next(2)}/${next(3)}@${next(2)}`);
        wanted.set(`${one.name}/${one.version}`, one);
      }
      desired = [...wanted.values()];
      for (let i = next(6); i > 0; i--) step();
    }
    let steps = 0;
    while (step()) assert.ok(++steps < 1000, `seed ${seed}: does not settle`);
    for (const one of desired) {
      const state = actual.get(one.key)?.state;
      assert.ok(state === 'AVAILABLE' || state === 'END', `seed ${seed}: ${one.key} is ${state}`);
    }
    for (const one of actual.values()) {
      assert.notEqual(one.state, 'START', `seed ${seed}`);
      const surplus = one.state === 'AVAILABLE' && !desired.some((want) => want.key === one.key);
      const failed = desired.some(
        (want) => want.name === one.name && actual.get(want.key)?.state === 'END',
      );
      assert.ok(!surplus || failed, `seed ${seed}: ${one.key} stays for no reason`);
    }
  }
});
