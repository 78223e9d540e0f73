// Complex tensors as two real ones: operators, constants, and signatures with a complex input or
// output.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeDef, Tensor } from '../../../../../ts/importers/tensorflow/types.js';
import { bool, constant, node, shape, type } from '../prepare/graphs.js';
import { graphOf, lowered, modelOf, onnxText, signature } from './support.js';

const C64 = { T: type('complex64') };
const placeholder = (name: string): NodeDef =>
  node(name, 'Placeholder', [], { dtype: type('float'), shape: shape([undefined]) });
const Z: readonly NodeDef[] = [
  placeholder('a'),
  placeholder('b'),
  node('z', 'Complex', ['a', 'b'], { T: type('float'), Tout: type('complex64') }),
];
const REAL = { T: type('complex64'), Tout: type('float') };

const opsOf = (nodes: readonly NodeDef[], t: Parameters<typeof lowered>[0]): string[] => {
  const model = lowered(
    t,
    modelOf(nodes, { serving_default: signature({ a: 'a:0', b: 'b:0' }, { out: 'out:0' }) }),
  );
  const { nodes: lines } = onnxText(graphOf(model, 'serving_default').onnx);
  return lines.map((line) => line.replace(/\(.*/, ''));
};

/** The reason why the signature is not served. */
const reasonOf = (
  nodes: readonly NodeDef[],
  made: ReturnType<typeof signature>,
  t: Parameters<typeof lowered>[0],
): string => {
  const { blocked } = lowered(t, modelOf(nodes, { serving_default: made }));
  return blocked.flatMap((one) => one.problems.map(({ reason }) => reason)).join('; ');
};

test('a product is four real ones, of which only the wanted part stays', (t) => {
  const ops = opsOf([...Z, node('p', 'Mul', ['z', 'z'], C64), node('out', 'Real', ['p'], REAL)], t);
  assert.deepEqual(
    ops.filter((op) => op === 'Mul' || op === 'Sub' || op === 'Add'),
    ['Mul', 'Mul', 'Sub'],
  );
});

test('runs operators that move elements on each part', (t) => {
  const ops = opsOf(
    [
      ...Z,
      constant('axes', {
        dtype: 'int32',
        shape: [1],
        data: { kind: 'bytes', bytes: new Uint8Array([0, 0, 0, 0]) },
      }),
      node('r', 'ReverseV2', ['z', 'axes'], { ...C64, Tidx: type('int32') }),
      node('out', 'ComplexAbs', ['r'], REAL),
    ],
    t,
  );
  assert.equal(ops.filter((op) => op === 'Slice').length, 2);
  assert.ok(ops.some((op) => op.endsWith('ComplexAbs')));
});

test('splits a constant', (t) => {
  const bytes = new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer);
  const pairs: Tensor = { dtype: 'complex64', shape: [2], data: { kind: 'bytes', bytes } };
  const model = lowered(
    t,
    modelOf(
      [
        constant('c', pairs),
        node('re', 'Real', ['c'], REAL),
        node('im', 'Imag', ['c'], REAL),
        placeholder('a'),
        node('x', 'AddV2', ['re', 'a'], { T: type('float') }),
        node('y', 'AddV2', ['im', 'a'], { T: type('float') }),
      ],
      { serving_default: signature({ a: 'a:0' }, { x: 'x:0', y: 'y:0' }) },
    ),
  );
  const { initializers } = onnxText(graphOf(model, 'serving_default').onnx);
  assert.equal(initializers.length, 2);
});

test('a signature with a complex input or output is refused by its name', (t) => {
  const output = reasonOf(Z, signature({ a: 'a:0', b: 'b:0' }, { spectrum: 'z:0' }), t);
  assert.match(output, /output 'spectrum' is complex64, which no protocol carries/);
  const fed = node('w', 'Placeholder', [], { dtype: type('complex64'), shape: shape([2]) });
  const input = reasonOf(
    [fed, node('out', 'Real', ['w'], REAL)],
    signature({ wave: 'w:0' }, { out: 'out:0' }),
    t,
  );
  assert.match(input, /input 'wave' is complex64, which no protocol carries/);
});

test('an operator without a complex form says so', (t) => {
  const made = signature({ a: 'a:0', b: 'b:0' }, { out: 'out:0' });
  const reason = reasonOf(
    [...Z, node('s', 'Sin', ['z'], C64), node('out', 'Real', ['s'], REAL)],
    made,
    t,
  );
  assert.match(reason, /of complex64 tensors is not supported/);
  const real = reasonOf([...Z, node('out', 'Conj', ['a'], { ...C64 })], made, t);
  assert.match(real, /its input must be complex/);
});

test('adj_x conjugates', (t) => {
  const matrix = (name: string): NodeDef =>
    node(name, 'Placeholder', [], {
      dtype: type('float'),
      shape: shape([undefined, undefined, undefined]),
    });
  const ops = opsOf(
    [
      matrix('a'),
      matrix('b'),
      ...Z.slice(2),
      node('p', 'BatchMatMulV2', ['z', 'z'], { ...C64, adj_x: bool(true), adj_y: bool(false) }),
      node('out', 'Real', ['p'], REAL),
    ],
    t,
  );
  assert.equal(ops.filter((op) => op === 'MatMul').length, 2);
  assert.ok(ops.includes('Add') && !ops.includes('Sub'));
});
