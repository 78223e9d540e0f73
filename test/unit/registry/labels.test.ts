// When labels apply.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyLabels } from '../../../ts/registry/labels.js';

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
