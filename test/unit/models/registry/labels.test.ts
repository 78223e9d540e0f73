// When labels apply.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyLabels, takeLabels } from '../../../../ts/models/registry/labels.js';

test('a label applies to an available version', () => {
  assert.deepEqual(applyLabels({ stable: '1', canary: '2' }, new Set(['1']), {}), { stable: '1' });
});

test('a moved label stays where it was until the new version is available', () => {
  const before = { stable: '1' };
  assert.deepEqual(applyLabels({ stable: '2' }, new Set(['1']), before), { stable: '1' });
  assert.deepEqual(applyLabels({ stable: '2' }, new Set(['1', '2']), before), { stable: '2' });
  assert.deepEqual(applyLabels({ stable: '2' }, new Set(), before), {});
});

test('a label that is no longer wanted goes; inherited names are no labels', () => {
  assert.deepEqual(applyLabels({}, new Set(['1']), { stable: '1' }), {});
  assert.deepEqual(applyLabels({ constructor: '2' }, new Set(['1']), {}), {});
});

test('labels to versions that are not there nor asked for are refused, others taken', () => {
  const present = new Set(['1', '2']);
  const first = takeLabels('m', { stable: '1', canary: '7' }, present, undefined);
  assert.deepEqual(first.labels, { stable: '1' });
  assert.deepEqual(first.problems, [
    'Request to assign label to version 7 of model m, which is ' +
      "not currently available for inference (label 'canary')",
  ]);
  const again = takeLabels('m', { canary: '7', stable: '1' }, new Set(['7']), first);
  assert.equal(again, first, 'the same labels keep their first answer');
  const moved = takeLabels('m', { stable: '9', canary: '2' }, present, first);
  assert.deepEqual(moved.labels, { stable: '1', canary: '2' }, 'a refused one stays where it was');
  assert.equal(moved.problems.length, 1);
  const good = takeLabels('m', { stable: '2' }, present, moved);
  assert.deepEqual([good.labels, good.problems], [{ stable: '2' }, []]);
});

test("names of Object's own members are labels like others", () => {
  const asked = Object.fromEntries([
    ['constructor', '1'],
    ['__proto__', '2'],
  ]);
  const { labels, problems } = takeLabels('m', asked, new Set(['1']), undefined);
  assert.deepEqual([labels, problems.length], [{ constructor: '1' }, 1]);
});
