// Attributes of a tag: found by name, filled anew, copied for who keeps them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AttributeList } from '../../../ts/pmml/attribute-list.js';

test('attributes by name, until the next tag', () => {
  const list = AttributeList.of({ id: '1', score: '', none: undefined });
  assert.deepEqual([list.count, list.get('id'), list.get('score')], [2, '1', '']);
  assert.deepEqual(
    [list.has('score'), list.has('none'), list.has('toString')],
    [true, false, false],
  );
  const kept = list.toObject();
  list.clear();
  list.add('constructor', '2');
  assert.deepEqual([list.count, list.get('id'), list.get('constructor')], [1, undefined, '2']);
  assert.deepEqual({ ...kept }, { id: '1', score: '' });
  assert.equal(kept['constructor'], undefined);
  assert.deepEqual(Object.keys(list.toObject()), ['constructor']);
});
