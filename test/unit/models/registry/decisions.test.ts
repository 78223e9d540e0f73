// The registry's next decision, without an engine: its table is filled by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BURST_MODELS } from '../../../../ts/base/limits.js';
import {
  isSettled,
  isWanted,
  nextRetryMs,
  nextActions,
  whenToPublish,
  type DecisionRules,
  type RegistryView,
} from '../../../../ts/models/registry/decisions.js';
import { indexModels, Servables } from '../../../../ts/models/registry/servables.js';
import type { Servable } from '../../../../ts/models/registry/snapshot-build.js';
import { desired } from './fakes.js';

const RULES: DecisionRules = {
  loadsAtOnce: 2,
  endedVersionsMax: 2,
  transition: 'availability',
  loadRetries: 1,
  loadRetryMs: 50,
};
const NOTHING = { models: new Map(), versions: new Map() };

/** "a/1:LOADING b/1": desired models, with their state if one is given. */
function view(text: string, draining = false): RegistryView {
  const words = text.split(' ').map((word) => word.split(/[/:]/));
  const wanted = indexModels(
    words.map(([name = '', version = '']) => desired(name, [version])),
    NOTHING,
  );
  const servables = new Servables(RULES);
  for (const [name = '', , state] of words) {
    const [one] = wanted.versions.get(name) ?? [];
    if (one === undefined || state === undefined) continue;
    servables.add(one);
    const failed = state === 'END' ? { failures: 1, failedAtMs: 100 } : {};
    servables.change(one, { state: state as Servable['state'], ...failed });
    servables.dirty.delete(name);
  }
  return { wanted, servables, draining };
}

function decide(of: RegistryView, rules: Partial<DecisionRules> = {}, nowMs = 0): string {
  const actions = nextActions(of, { ...RULES, ...rules }, nowMs);
  return actions.map(({ kind, name }) => `${kind} ${name}`).join(', ');
}

test('only models that changed are planned, and those that may load', () => {
  const some = view('a/1:START b/1:START c/1:START d/1:LOADING e/1');
  assert.equal(decide(some), 'load a', 'one loads already, two at once');
  assert.equal(decide(some, { loadsAtOnce: 1 }), '');
  some.servables.touch('e');
  assert.equal(decide(some), 'add e, load a');
  assert.equal(decide({ ...some, draining: true }), 'add e', 'no load begins');
});

test('the longest waiting model loads first, whatever its name', () => {
  const some = view('z/1:START a/1:START');
  assert.equal(decide(some, { loadsAtOnce: 1 }), 'load z');
  assert.equal(decide(some, { transition: 'resource' }), 'load a, load z');
});

test('a failed load is planned again when its model is due', () => {
  const some = view('a/1:END');
  assert.equal(nextRetryMs(some), 150);
  assert.equal(nextRetryMs({ ...some, draining: true }), undefined);
  some.servables.touch('a');
  assert.equal(decide(some, {}, 149), '');
  assert.equal(decide(some, {}, 150), 'retry a');
  assert.equal(nextRetryMs(view('a/1:AVAILABLE')), undefined);
});

test('a burst is published together, all else at once', () => {
  const many = { loading: 2, unloading: 0, starting: new Set<string>() };
  for (let i = 2; i < BURST_MODELS; i++) many.starting.add(`m${i}`);
  const cases: [table: typeof many, urgent: boolean, isOpen: boolean, when: string][] = [
    [many, false, false, 'when open'],
    [many, true, false, 'now'],
    [many, false, true, 'now'],
    [{ ...many, loading: 1 }, false, false, 'now'],
    [{ ...many, loading: 0 }, false, false, 'now'],
  ];
  for (const [table, urgent, isOpen, when] of cases) {
    assert.equal(
      whenToPublish(table, urgent, isOpen),
      when,
      `${table.loading} ${urgent} ${isOpen}`,
    );
  }
});

test('waits for all or some models, with or without later retries', () => {
  const all = { names: undefined, retries: false };
  const cases: [
    models: string,
    awaited: typeof all | { names: string[]; retries: boolean },
    settled: boolean,
    draining: boolean,
  ][] = [
    ['a/1:AVAILABLE b/1:END', all, true, true],
    ['a/1:START', all, false, true],
    ['a/1:LOADING', all, false, false],
    ['a/1:UNLOADING', all, false, false],
    ['a/1:END', { ...all, retries: true }, false, true],
    ['a/1:AVAILABLE b/1:LOADING', { names: ['a'], retries: true }, true, true],
    ['a/1:START b/1:END', { names: ['a'], retries: false }, false, true],
    ['a/1:END', { names: ['a'], retries: false }, true, true],
    ['a/1:END', { names: ['a'], retries: true }, false, true],
    ['a/1:END', { names: ['nobody'], retries: true }, true, true],
  ];
  for (const [models, awaited, settled, draining] of cases) {
    const what = `${models}, ${JSON.stringify(awaited)}`;
    assert.equal(isSettled(view(models), awaited), settled, what);
    assert.equal(isSettled(view(models, true), awaited), draining, `${what}, draining`);
  }
});

test('a version is wanted with this content, until the server ends', () => {
  const some = view('a/1:LOADING');
  const [one] = some.servables.of('a');
  assert.ok(one !== undefined);
  assert.equal(isWanted(some, one), true);
  assert.equal(isWanted(some, { ...one, key: 'other' }), false);
  assert.equal(isWanted({ ...some, wanted: NOTHING }, one), false);
  assert.equal(isWanted({ ...some, draining: true }, one), false);
});
