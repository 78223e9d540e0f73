// Which scanned changes are applied.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_CONFIG, type FoundModel } from '../../../../../ts/models/registry/sources/scan.js';
import { Settling, takeModel } from '../../../../../ts/models/registry/sources/settle.js';
import type { TakeRules } from '../../../../../ts/models/registry/sources/settle.js';
import { found } from './found-model.js';

function contents(model: FoundModel | undefined): string {
  if (model === undefined) return 'nothing';
  return model.versions.map((one) => `${one.version}${one.revision}`).join(' ');
}

const rules = (settled: boolean, takesChanges = true): TakeRules => ({
  isSettled: () => settled,
  takesChanges: () => takesChanges,
});

test('content is settled when two looks far enough apart found the same', () => {
  const settling = new Settling(100);
  assert.equal(settling.isSettled('m/1', 'a', 0), false);
  assert.equal(settling.isSettled('m/1', 'a', 99), false);
  assert.equal(settling.isSettled('m/1', 'b', 100), false, 'it changed');
  assert.equal(settling.isSettled('m/1', 'b', 199), false);
  assert.equal(settling.isSettled('m/2', 'b', 199), false, 'another thing');
  assert.equal(settling.isSettled('m/1', 'b', 200), true);
  assert.equal(settling.isSettled('m/1', 'a', 300), false, 'it changed again');
});

test('what one look does not find begins anew; without a time everything is settled', () => {
  const settling = new Settling(100);
  settling.isSettled('m/1', 'a', 0);
  settling.endLook();
  settling.endLook();
  assert.equal(settling.isSettled('m/1', 'a', 150), false);
  settling.endLook();
  assert.equal(settling.isSettled('m/1', 'a', 250), true);
  assert.equal(new Settling(0).isSettled('m/1', 'a', 0), true);
});

test('applies new and changed versions when they have settled', () => {
  const cases: [before: string | undefined, now: string, settled: boolean, taken: string][] = [
    [undefined, '1a 2b', true, '1a 2b'],
    [undefined, '1a', false, 'nothing'],
    [undefined, '', false, 'nothing'],
    [undefined, '', true, ''],
    ['1a', '1a', false, '1a'],
    ['1a', '1b', false, '1a'],
    ['1a', '1b', true, '1b'],
    // Latest 1: the old version is no longer found, and stays until the new one is applied.
    ['1a', '2b', false, '1a'],
    ['1a', '2b', true, '2b'],
    // All versions: a removed version that is not replaced stays until it has been gone for a
    // while.
    ['1a 2b', '2b', false, '2b 1a'],
    ['1a 2b', '2b', true, '2b'],
    ['1a 2b', '2b 3c', true, '2b 3c'],
    ['1a', '', false, '1a'],
    ['1a', '', true, ''],
  ];
  for (const [before, now, settled, expected] of cases) {
    const previous = before === undefined ? undefined : found(before);
    const { model, unsettled } = takeModel(found(now), previous, rules(settled));
    assert.equal(contents(model), expected, `${before} -> ${now}, settled ${settled}`);
    assert.equal(
      unsettled,
      !settled && before !== now,
      `${before} -> ${now}, settled ${settled}: unsettled`,
    );
  }
});

test('versions that wait are named', () => {
  const { model } = takeModel(found('3c 1b'), found('1a 2a'), rules(false));
  assert.deepEqual(model?.pending, ['3', '1']);
  assert.equal(contents(model), '1a 2a');
});

test('changes of a version that serves can be left alone; new versions are not', () => {
  const { model } = takeModel(found('1b 2a'), found('1a'), rules(true, false));
  assert.equal(contents(model), '1a 2a');
});

test('a new model waits once, not for its configuration and then for its files', () => {
  const settling = new Settling(100);
  const look = (nowMs: number): string => {
    const isSettled = (what: string, content: string): boolean =>
      settling.isSettled(what, content, nowMs);
    const now = found('1a', { config: { ...NO_CONFIG, revision: 'c' } });
    const { model } = takeModel(now, undefined, { isSettled, takesChanges: () => true });
    settling.endLook();
    return contents(model);
  };
  assert.deepEqual([look(0), look(60), look(100)], ['nothing', 'nothing', '1a']);
});

test('applies nothing of a scan before its configuration has settled', () => {
  const config = { ...NO_CONFIG, revision: 'new' };
  const previous = found('1a');
  const changed = found('1a 2b', { config });
  const onlyVersions: TakeRules = {
    isSettled: (what) => what !== '["m"]',
    takesChanges: () => true,
  };
  const waits = takeModel(changed, previous, onlyVersions);
  assert.equal(waits.model, previous);
  assert.equal(waits.unsettled, true);
  assert.equal(takeModel(changed, undefined, onlyVersions).model, undefined);
  const taken = takeModel(changed, previous, rules(true));
  assert.equal(taken.model?.config, config);
  assert.equal(contents(taken.model), '1a 2b');
});

test('a model that cannot be read keeps what it had and shows why', () => {
  const gone = found('', { readable: false, problems: ['cannot read /m: EACCES'] });
  const { model, unsettled } = takeModel(gone, found('1a'), rules(true));
  assert.equal(contents(model), '1a');
  assert.equal(model?.readable, true);
  assert.deepEqual([model?.problems, unsettled], [['cannot read /m: EACCES'], false]);
  assert.equal(takeModel(gone, undefined, rules(true)).model, gone);
});

test('returns the same object if nothing changed', () => {
  const previous = found('1a 2b', { problems: ['p'], labels: { l: '1' } });
  const same = found('1a 2b', { problems: ['p'], labels: { l: '1' } });
  assert.equal(takeModel(same, previous, rules(false)).model, previous);
  for (const other of [
    found('1a 2b', { problems: ['q'], labels: { l: '1' } }),
    found('1a 2b', { problems: ['p'], labels: { l: '2' } }),
    found('1a', { problems: ['p'], labels: { l: '1' } }),
  ])
    assert.notEqual(takeModel(other, previous, rules(true)).model, previous);
});
