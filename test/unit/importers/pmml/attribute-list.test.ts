// Attributes of a tag: found by name, refilled, and copied for callers that keep them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AttributeList } from '../../../../ts/importers/pmml/xml/attribute-list.js';

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

test('does not keep the document in memory through kept attributes', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const list = new AttributeList();
  const kept: object[] = [];
  collect();
  const used = () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  for (let i = 0; i < 40; i += 1) {
    const piece = Buffer.alloc(1 << 20, 0x61 + (i % 26)).toString('latin1');
    list.clear();
    list.add('functionName', piece.slice(100, 130));
    kept.push(list.toObject());
  }
  collect();
  const grown = used() - before;
  assert.ok(grown < 24 << 20, `${grown} bytes for ${kept.length} attributes`);
});
