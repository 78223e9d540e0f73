// Variables that signatures assign while they are served: state as inputs and outputs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  Checkpoint,
  LoadedGraph,
  NodeDef,
  SignatureDef,
} from '../../../../../ts/importers/tensorflow/types.js';
import { checkpoint, constant, floats, node, shape, strings, type } from '../prepare/graphs.js';
import { graphOf, lowered, modelOf, onnxText, signature } from './support.js';

const FLOAT = { T: type('float') };
const DTYPE = { dtype: type('float') };
const REF: readonly NodeDef[] = [
  node('v', 'VariableV2', [], { ...DTYPE, shape: shape([]) }),
  node('w', 'VariableV2', [], { ...DTYPE, shape: shape([]) }),
  constant('file', strings(['f'], [])),
  constant('names', strings(['v', 'w'], [2])),
  constant('slices', strings(['', ''], [2])),
  node('read', 'RestoreV2', ['file', 'names', 'slices'], {
    dtypes: {
      kind: 'list',
      value: {
        bytes: [],
        ints: [],
        floats: [],
        bools: [],
        types: ['float', 'float'],
        shapes: [],
        tensors: [],
        functions: [],
      },
    },
  }),
  node('assign_v', 'Assign', ['v', 'read:0'], FLOAT),
  node('assign_w', 'Assign', ['w', 'read:1'], FLOAT),
  node('restore', 'NoOp', ['^assign_v', '^assign_w']),
  constant('one', floats([1])),
  node('v_now', 'Identity', ['v'], FLOAT),
  node('w_now', 'Identity', ['w'], FLOAT),
  node('more', 'AssignAdd', ['v', 'one'], FLOAT),
  node('zero', 'Const', [], { ...DTYPE, value: { kind: 'tensor', value: floats([0]) } }),
  node('reset', 'Assign', ['v', 'zero'], FLOAT),
  node('after', 'Identity', ['v', '^more'], FLOAT),
];
const STORED: Checkpoint = checkpoint({ v: floats([5]), w: floats([7]) });

const model = (signatures: Readonly<Record<string, SignatureDef>>): LoadedGraph =>
  modelOf(REF, signatures, {
    saver: { filenameTensor: 'file:0', restoreOp: 'restore' },
    checkpoint: { version: 2, prefix: '/none' },
  });

test('without an assignment a variable is a constant', (t) => {
  const got = lowered(t, model({ s: signature({}, { v: 'v_now:0', w: 'w_now:0' }) }), STORED);
  assert.deepEqual([got.states, graphOf(got, 's').states], [[], []]);
  assert.deepEqual(onnxText(graphOf(got, 's').onnx).inputs, []);
});

test('one that some signature assigns is state for all of them; others stay constants', (t) => {
  const got = lowered(
    t,
    model({
      get: signature({}, { v: 'v_now:0', w: 'w_now:0' }),
      more: signature({}, { v: 'more:0' }),
      reset: signature({}, { v: 'reset:0' }),
      other: signature({}, { w: 'w_now:0' }),
    }),
    STORED,
  );
  assert.deepEqual(
    got.states.map((one) => one.name),
    ['v'],
  );
  const [state] = got.states;
  const weight = got.weights[state?.weight ?? -1];
  assert.deepEqual([weight?.dtype, weight?.shape, weight?.byteLength], ['float', [], 4]);

  const uses = (name: string) => graphOf(got, name).states;
  assert.deepEqual(
    uses('get').map((one) => [one.state, one.outputName]),
    [[0, '']],
  );
  assert.equal(uses('more')[0]?.state, 0);
  assert.notEqual(uses('more')[0]?.outputName, '');
  assert.notEqual(uses('reset')[0]?.outputName, '');
  assert.deepEqual(uses('other'), []);

  const { inputs, outputs, nodes } = onnxText(graphOf(got, 'more').onnx);
  assert.deepEqual(inputs, [uses('more')[0]?.inputName]);
  assert.deepEqual(outputs, ['v', uses('more')[0]?.outputName]);
  assert.equal(nodes.filter((one) => one.startsWith('Add(')).length, 1, 'added once');
});

test('reads the new value after an assignment, and the old one before it', (t) => {
  const got = lowered(t, model({ s: signature({}, { after: 'after:0' }) }), STORED);
  const { nodes } = onnxText(graphOf(got, 's').onnx);
  const sum = /-> (Add_\d+)/.exec(nodes.find((one) => one.startsWith('Add(')) ?? '')?.[1];
  assert.ok(sum !== undefined);
  assert.ok(nodes.includes(`Identity(${sum}) -> after`), nodes.join('; '));
});

test("a signature that is fed the assignment's result does not assign", (t) => {
  const got = lowered(t, model({ s: signature({ given: 'more:0' }, { v: 'more:0' }) }), STORED);
  assert.deepEqual(graphOf(got, 's').states, []);
});

test('assignments that no output needs are not made', (t) => {
  const nodes = [...REF, node('y', 'Neg', ['one', '^restore'], FLOAT)];
  const got = lowered(
    t,
    {
      ...model({ s: signature({}, { v: 'v_now:0' }) }),
      graph: { nodes, functions: new Map(), producer: 0 },
    },
    STORED,
  );
  assert.deepEqual(got.states, []);
});

test("resource variables, assigned for a control edge's sake", (t) => {
  const nodes: NodeDef[] = [
    node('h', 'VarHandleOp', [], {
      ...DTYPE,
      shape: shape([]),
      shared_name: { kind: 'bytes', value: Buffer.from('h') },
    }),
    constant('init', floats([3])),
    constant('one', floats([1])),
    node('set', 'AssignVariableOp', ['h', 'init'], DTYPE),
    node('start', 'NoOp', ['^set']),
    node('add', 'AssignAddVariableOp', ['h', 'one'], DTYPE),
    node('now', 'ReadVariableOp', ['h', '^add'], DTYPE),
    node('before', 'ReadVariableOp', ['h'], DTYPE),
  ];
  const source = modelOf(
    nodes,
    {
      count: signature({}, { n: 'now:0' }),
      get: signature({}, { n: 'before:0' }),
    },
    { initOp: 'start' },
  );
  const got = lowered(t, source);
  assert.deepEqual(got.blocked, []);
  assert.equal(got.states.length, 1);
  assert.notEqual(graphOf(got, 'count').states[0]?.outputName, '');
  assert.equal(graphOf(got, 'get').states[0]?.outputName, '');
});

test('a variable that nothing gives a value is refused by name', (t) => {
  const nodes = [
    node('lost', 'VariableV2', [], { ...DTYPE, shape: shape([]) }),
    node('y', 'Identity', ['lost'], FLOAT),
  ];
  let text = '';
  try {
    const got = lowered(t, modelOf(nodes, { s: signature({}, { y: 'y:0' }) }));
    assert.deepEqual(got.graphs, []);
    text = JSON.stringify(got.blocked);
  } catch (error) {
    text = (error as Error).message;
  }
  assert.match(text, /lost/);
});
