// Lists whose items have different shapes: which ones are found, and the counts when a signature is
// lowered again. Their results: test/conformance/tensorflow/models.test.ts.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { ImportedModel } from '../../../../../ts/importers/tensorflow/imported.js';
import type { NodeDef, Shape } from '../../../../../ts/importers/tensorflow/types.js';
import { constant, int, int32s, int64s, node, shape, type } from '../prepare/graphs.js';
import { graphOf, lowered, modelOf, opsOf, signature } from './support.js';

const ELEMENT = { element_dtype: type('float'), shape_type: type('int32') };

/** A list of two: item 0 is x, item 1 is x, concatenated with itself if `isLonger`; then `end`. */
function served(
  t: TestContext,
  x: Shape,
  declared: readonly number[],
  isLonger: boolean,
  end: readonly NodeDef[],
): ImportedModel {
  const nodes: NodeDef[] = [
    node('x', 'Placeholder', [], { dtype: type('float'), shape: shape(x) }),
    constant('zero', int32s([0], [])),
    constant('one', int32s([1], [])),
    constant('two', int32s([2], [])),
    constant('declared', int32s(declared, [declared.length])),
    constant('none', int64s([], [0])),
    node('longer', 'ConcatV2', ['x', 'x', 'zero'], {
      T: type('float'),
      Tidx: type('int32'),
      N: int(2),
    }),
    node('made', 'TensorListReserve', ['declared', 'two'], ELEMENT),
    node('first', 'TensorListSetItem', ['made', 'zero', 'x'], ELEMENT),
    node('list', 'TensorListSetItem', ['first', 'one', isLonger ? 'longer' : 'x'], ELEMENT),
    ...end,
  ];
  return lowered(t, modelOf(nodes, { s: signature({ x: 'x:0' }, { y: 'y:0' }) }));
}

const read = [node('y', 'TensorListGetItem', ['list', 'one', 'declared'], ELEMENT)];
const concat = [node('y', 'TensorListConcatV2', ['list', 'declared', 'none'], ELEMENT)];
const stack = [node('y', 'TensorListStack', ['list', 'declared'], ELEMENT)];

const isVaried = (model: ImportedModel): boolean =>
  opsOf(graphOf(model, 's')).includes('ReduceProd');

describe('a list that is written item by item', () => {
  test('is varied where its items may differ and one is read', (t) => {
    assert.equal(isVaried(served(t, [undefined], [-1], true, read)), true);
  });
  test('is varied where they are put together', (t) => {
    assert.equal(isVaried(served(t, [undefined], [-1], true, concat)), true);
  });
  test('is one tensor where all are of the shape that it declares', (t) => {
    assert.equal(isVaried(served(t, [3], [3], false, read)), false);
  });
  test('is one tensor where it is stacked: then all are of one shape', (t) => {
    assert.equal(isVaried(served(t, [undefined], [-1], false, stack)), false);
  });

  test('counts its operators once, however often it is lowered', (t) => {
    const model = served(t, [undefined], [-1], true, concat);
    const counts = Object.fromEntries(model.operators.map(({ op, count }) => [op, count]));
    assert.deepEqual([counts['TensorListSetItem'], counts['TensorListConcatV2']], [2, 1]);
    assert.deepEqual(model.blocked, []);
  });
});
