// Operators around convolutions and pools: padding that is merged into them, normalization written
// as arithmetic, constants applied to fed values, averages of channels outside blocks. The goldens
// check that the results stay the same (test/conformance/tensorflow/added-models.test.ts).
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { NodeDef, Shape } from '../../../../../ts/importers/tensorflow/types.js';
import { Facts } from '../../../../../ts/importers/tensorflow/lower/facts.js';
import { constant, floats, int32s, list, node, shape, text, type } from '../prepare/graphs.js';
import { graphOf, lowered, modelOf, opsOf, signature } from '../lower/support.js';

const FLOAT = { T: type('float') };
const BY = list({ ints: [1n, 2n, 2n, 1n] });
const ONE = list({ ints: [1n, 1n, 1n, 1n] });

const fed = (dims: Shape = [undefined, 8, 8, 3]): NodeDef =>
  node('x', 'Placeholder', [], { dtype: type('float'), shape: shape(dims) });
const filled = (name: string, ...dims: number[]): NodeDef => {
  const count = dims.reduce((product, dim) => product * dim, 1);
  return constant(
    name,
    floats(
      Array.from({ length: count }, (_, i) => 1 + i),
      dims,
    ),
  );
};
const conv = (from: string, channels = 4): readonly NodeDef[] => [
  filled('filter', 3, 3, 3, channels),
  node('conv', 'Conv2D', [from, 'filter'], { ...FLOAT, strides: ONE, padding: text('SAME') }),
];
const padded = (from: string, rows: readonly number[]): readonly NodeDef[] => [
  constant('rows', int32s(rows, [4, 2])),
  node('padded', 'Pad', [from, 'rows'], { ...FLOAT, Tpaddings: type('int32') }),
];
const pool = (op: string, from: string, padding = 'VALID'): NodeDef =>
  node('y', op, [from], { ...FLOAT, ksize: BY, strides: BY, padding: text(padding) });
const relu = node('relu', 'Relu', ['conv'], FLOAT);

/** The operators of the graph that computes y. */
function opsFor(t: TestContext, ...nodes: readonly NodeDef[]): readonly string[] {
  const model = lowered(t, modelOf(nodes, { s: signature({ x: 'x:0' }, { y: 'y:0' }) }));
  return opsOf(graphOf(model, 's')).filter((op) => op !== 'Transpose' && op !== 'Identity');
}

describe('padding before a pool', () => {
  const SPATIAL = [0, 0, 1, 1, 0, 1, 0, 0];
  const after = (t: TestContext, op: string, from: string, rows = SPATIAL, padding?: string) =>
    opsFor(t, fed(), ...conv('x', 16), relu, ...padded(from, rows), pool(op, 'padded', padding));

  test('an average counts the zeros', (t) =>
    assert.deepEqual(after(t, 'AvgPool', 'conv'), ['Conv', 'AveragePool']));
  test('a maximum of what is not below 0 pads itself', (t) =>
    assert.deepEqual(after(t, 'MaxPool', 'relu'), ['Conv', 'Relu', 'WithoutNan', 'MaxPool']));
  test('a maximum of what may be below 0 does not', (t) =>
    assert.deepEqual(after(t, 'MaxPool', 'conv'), ['Conv', 'Pad', 'WithoutNan', 'MaxPool']));
  test('no pool pads more than its window has', (t) =>
    assert.deepEqual(after(t, 'AvgPool', 'conv', [0, 0, 2, 0, 0, 0, 0, 0]), [
      'Conv',
      'Pad',
      'AveragePool',
    ]));
  test('nor the channels', (t) =>
    assert.deepEqual(after(t, 'MaxPool', 'relu', [0, 0, 0, 0, 0, 0, 0, 1]), [
      'Conv',
      'Relu',
      'Pad',
      'WithoutNan',
      'MaxPool',
    ]));
  test('nor where it has padding of its own', (t) =>
    assert.deepEqual(after(t, 'AvgPool', 'conv', SPATIAL, 'SAME'), ['Conv', 'Pad', 'AveragePool']));
});

describe('normalization as arithmetic', () => {
  const affine = (
    from: string,
    scale: readonly number[],
    offset: readonly number[],
  ): readonly NodeDef[] => [
    filled('scale', ...scale),
    filled('offset', ...offset),
    node('product', 'Mul', [from, 'scale'], FLOAT),
    node('y', 'AddV2', ['product', 'offset'], FLOAT),
  ];
  const after = (t: TestContext, scale: readonly number[], offset: readonly number[]) =>
    opsFor(t, fed(), ...conv('x'), relu, ...affine('relu', scale, offset));
  const ARITHMETIC = ['Conv', 'Relu', 'Mul', 'Add'];

  test('by vectors of the channels', (t) =>
    assert.ok(after(t, [4], [1, 1, 1, 4]).includes('BatchNormalization')));
  test('the constants may be computed of constants, and stand first', (t) => {
    const ops = opsFor(
      t,
      fed(),
      ...conv('x'),
      filled('variance', 1, 1, 1, 4),
      node('scale', 'Rsqrt', ['variance'], FLOAT),
      node('offset', 'Neg', ['scale'], FLOAT),
      node('product', 'Mul', ['scale', 'conv'], FLOAT),
      node('y', 'AddV2', ['offset', 'product'], FLOAT),
    );
    assert.deepEqual(
      ops.filter((op) => /Conv|Batch|Add/.test(op)),
      ['Conv', 'BatchNormalization'],
    );
  });
  test('not by scalars', (t) => {
    assert.deepEqual(after(t, [], [4]), ARITHMETIC);
    assert.deepEqual(after(t, [4], []), ARITHMETIC);
  });
  test('not along two axes, or another than the channels', (t) => {
    assert.deepEqual(after(t, [4], [8, 1, 1]), ARITHMETIC);
    assert.deepEqual(after(t, [8, 4], [4]), ARITHMETIC);
    assert.deepEqual(after(t, [8, 1], [8, 1]), ARITHMETIC);
  });
  test('not where it makes more channels', (t) => {
    const one = [filled('filter', 3, 3, 3, 1), ...conv('x').slice(1)];
    assert.deepEqual(opsFor(t, fed(), ...one, relu, ...affine('relu', [4], [4])), ARITHMETIC);
  });
  test('not of what no convolution gives', (t) =>
    assert.deepEqual(opsFor(t, fed([undefined, 8, 8, 4]), ...affine('x', [4], [4])), [
      'Mul',
      'Add',
    ]));
});

describe('averages', () => {
  const of = (t: TestContext, channels: number, padding: string, dims?: Shape) =>
    opsFor(t, fed(dims), ...conv('x', channels), pool('AvgPool', 'conv', padding));

  test('of whole blocks of channels are pools', (t) =>
    assert.deepEqual(of(t, 32, 'SAME'), ['Conv', 'AveragePool']));
  test('of others are convolutions, a channel each', (t) =>
    assert.deepEqual(of(t, 12, 'VALID'), ['Conv', 'Conv']));
  test('edges have fewer elements', (t) => {
    assert.deepEqual(of(t, 12, 'SAME', [undefined, 7, 7, 3]), ['Conv', 'Conv', 'Mul', 'Mul']);
    assert.deepEqual(of(t, 12, 'SAME'), ['Conv', 'Conv']);
  });
  test('of images of any size are pools', (t) =>
    assert.deepEqual(of(t, 12, 'SAME', [undefined, undefined, 8, 3]), ['Conv', 'AveragePool']));
  test('so are those of what no convolution gives', (t) =>
    assert.deepEqual(opsFor(t, fed(), pool('AvgPool', 'x')), ['AveragePool']));
});

test('signatures of one content stay one graph', (t) => {
  const count = 300; // one vector of which is a weight
  const one = signature({ x: 'x:0' }, { y: 'y:0' });
  const nodes = [
    fed([undefined, 255, 255, 3]),
    ...conv('x', count),
    filled('scale', count),
    node('product', 'Mul', ['conv', 'scale'], FLOAT),
    node('sum', 'AddV2', ['product', 'scale'], FLOAT),
    pool('AvgPool', 'sum', 'SAME'),
  ];
  const model = lowered(t, modelOf(nodes, { one, other: one }));
  const [first, second] = model.graphs;
  assert.ok(first !== undefined && second !== undefined);
  assert.ok(opsOf(first).includes('BatchNormalization') && !opsOf(first).includes('AveragePool'));
  assert.deepEqual(first.onnx, second.onnx);
});

describe('constants of what is fed', () => {
  const order = (t: TestContext, ...nodes: readonly NodeDef[]): readonly string[] => {
    const y = node('y', 'Relu', ['conv'], FLOAT);
    const model = lowered(
      t,
      modelOf([...nodes, ...conv('less'), y], { s: signature({ x: 'x:0' }, { y: 'y:0' }) }),
    );
    return opsOf(graphOf(model, 's'));
  };
  const sub = (name: string, ...dims: number[]) => [
    filled('means', ...dims),
    node('less', 'Sub', [name, 'means'], FLOAT),
  ];

  test('are applied with the channels first', (t) =>
    assert.deepEqual(order(t, fed(), ...sub('x', 1, 1, 1, 3)).slice(0, 4), [
      'Transpose',
      'Transpose',
      'Sub',
      'Conv',
    ]));
  test('but for those of other axes', (t) =>
    assert.deepEqual(order(t, fed(), ...sub('x', 8, 3)).slice(0, 4), [
      'Sub',
      'Transpose',
      'Transpose',
      'Conv',
    ]));
});

test('facts: what is fixed, of windows, not below 0', () => {
  const facts = new Facts();
  facts.noteConstant('c');
  facts.note('Sqrt', ['c'], ['root']);
  facts.note('Conv', ['x', 'root'], ['conv']);
  facts.note('Mul', ['conv', 'root'], ['scaled']);
  facts.note('Add', ['scaled', 'x'], ['mixed']);
  facts.note('Relu', ['mixed'], ['up']);
  facts.note('Concat', ['up', 'mixed'], ['both']);
  facts.note('RandomNormal', [], ['draw']);
  assert.deepEqual(
    ['c', 'root', 'scaled', 'draw'].map((name) => facts.isFixed(name)),
    [true, true, false, false],
  );
  assert.deepEqual(
    ['conv', 'scaled', 'mixed', 'x', 'root'].map((name) => facts.isOfWindows(name)),
    [true, true, false, false, false],
  );
  assert.deepEqual(
    ['up', 'both', 'mixed'].map((name) => facts.isNotNegative(name)),
    [true, false, false],
  );
});
