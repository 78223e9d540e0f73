// From signatures to ONNX graphs: cuts at fed tensors, names, sharing, and blocking errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedGraph, NodeDef } from '../../../../../ts/importers/tensorflow/types.js';
import { invalid } from '../messages.js';
import {
  arg,
  bool,
  constant,
  floats,
  func,
  int,
  node,
  shape,
  strings,
  type,
  types,
} from '../prepare/graphs.js';
import { graphOf, lowered, modelOf, onnxText, opsOf, signature } from './support.js';

const FLOAT = { T: type('float') };
const X = node('x', 'Placeholder', [], { dtype: type('float'), shape: shape([undefined]) });
const ADD_ONE: readonly NodeDef[] = [
  X,
  constant('one', floats([1])),
  node('y', 'AddV2', ['x', 'one'], FLOAT),
];

/** 300 floats: too large for the graph itself. */
const large = (seed: number, name: string): NodeDef =>
  constant(
    name,
    floats(
      Array.from({ length: 300 }, (_, i) => i * seed),
      [300],
    ),
  );

test('the plainest model', (t) => {
  const model = lowered(
    t,
    modelOf(
      ADD_ONE,
      {
        serving_default: signature({ in: 'x:0' }, { out: 'y:0' }),
      },
      { warnings: ['from the reader'] },
    ),
  );
  const graph = graphOf(model, 'serving_default');
  const { nodes, inputs, outputs } = onnxText(graph.onnx);
  assert.deepEqual([inputs, outputs], [['in'], ['out']]);
  assert.match(
    nodes.join('; '),
    /^Add\(in, constant_\d+\) -> Add_\d+; Identity\(Add_\d+\) -> out$/,
  );
  assert.deepEqual(
    graph.inputs.map(({ alias, graphName, dtype }) => [alias, graphName, dtype]),
    [['in', 'in', 'float']],
  );
  assert.deepEqual(model.operators, [
    { op: 'AddV2', count: 1, supported: true },
    { op: 'Const', count: 1, supported: true },
  ]);
  assert.deepEqual([model.blocked, model.states, model.weights], [[], [], []]);
  assert.deepEqual(model.warnings, ['from the reader']);
});

test('each signature is cut at what it feeds itself', (t) => {
  const nodes = [
    node('text', 'Placeholder', [], { dtype: type('string') }),
    node('parsed', 'NoSuchParser', ['text'], FLOAT),
    ...ADD_ONE.slice(1),
    node('x', 'Identity', ['parsed'], FLOAT),
  ];
  const model = lowered(t, {
    ...modelOf(nodes, {
      inner: signature({ x: 'x:0' }, { y: 'y:0' }),
      whole: signature({ text: { name: 'text:0', dtypeCode: 7 } }, { y: 'y:0' }),
    }),
    opDefs: [
      {
        name: 'NoSuchParser',
        isStateful: false,
        defaults: new Map(),
        inputs: [arg('i', 'string')],
        outputs: [arg('o:T')],
      },
    ],
  });
  assert.deepEqual(opsOf(graphOf(model, 'inner')), ['Add', 'Identity']);
  assert.deepEqual(model.blocked, [
    {
      signature: 'whole',
      problems: [
        { op: 'NoSuchParser', node: 'parsed', count: 1, reason: 'the operator is not supported' },
      ],
    },
  ]);
});

test('an output that is an input, a constant, and one tensor under two names', (t) => {
  const model = lowered(
    t,
    modelOf(ADD_ONE, {
      s: signature({ x: 'x:0' }, { again: 'x:0', one: 'one:0', p: 'y:0', q: 'y:0' }),
    }),
  );
  const { outputs, nodes } = onnxText(graphOf(model, 's').onnx);
  assert.deepEqual(outputs, ['again', 'one', 'p', 'q']);
  assert.equal(nodes.filter((one) => one.startsWith('Add(')).length, 1);
});

test('aliases are kept as names, also odd ones; none meets a name that is made', (t) => {
  const model = lowered(
    t,
    modelOf(ADD_ONE, {
      'a b/c': signature({ Add_1: 'x:0' }, { Add_2: 'y:0', 'x y': 'y:0', n_Add_3: 'x:0' }),
      same: signature({ v: 'x:0' }, { v: 'y:0' }),
      made: signature({ constant_1: 'x:0' }, { weight0: 'y:0' }),
    }),
  );
  for (const graph of model.graphs) {
    const { nodes, inputs, outputs, initializers } = onnxText(graph.onnx);
    const made = nodes.flatMap((one) => one.slice(one.indexOf('-> ') + 3).split(', '));
    const all = [...inputs, ...initializers, ...made];
    assert.equal(new Set(all).size, all.length, `${graph.signature}: ${all.join()}`);
    assert.deepEqual(
      outputs,
      graph.outputs.map((one) => one.graphName),
    );
  }
  const same = graphOf(model, 'same');
  assert.deepEqual([same.inputs[0]?.graphName, same.outputs[0]?.graphName], ['v', 'v:1']);
  assert.deepEqual(
    graphOf(model, 'a b/c').outputs.map((one) => one.alias),
    ['Add_2', 'n_Add_3', 'x y'],
  );
});

test('keeps aliases apart from names of constants in files', (t) => {
  const nodes = [X, large(1, 'w'), node('y', 'AddV2', ['x', 'w'], FLOAT)];
  const model = lowered(
    t,
    modelOf(nodes, {
      s: signature({ weight0: 'x:0' }, { weight1: 'y:0' }),
    }),
  );
  const { inputs, initializers } = onnxText(graphOf(model, 's').onnx);
  assert.deepEqual(initializers, ['weight0']);
  assert.notEqual(inputs[0], 'weight0');
  assert.equal(graphOf(model, 's').inputs[0]?.alias, 'weight0');
});

test('serving_default comes first, then by name; another may be asked for', (t) => {
  const one = signature({ x: 'x:0' }, { y: 'y:0' });
  const source = modelOf(ADD_ONE, {
    b: one,
    serving_default: one,
    a: one,
    __saved_model_init_op: signature({}, { op: 'y:0' }),
  });
  const names = (model: { graphs: readonly { signature: string }[] }): string[] =>
    model.graphs.map((graph) => graph.signature);
  assert.deepEqual(names(lowered(t, source)), ['serving_default', 'a', 'b']);
  assert.deepEqual(names(lowered(t, source, undefined, { first: 'b' })), [
    'b',
    'a',
    'serving_default',
  ]);
  assert.deepEqual(names(lowered(t, source, undefined, { signatures: ['a'] })), ['a']);
  assert.deepEqual(names(lowered(t, source, undefined, { signatures: ['none'] })), []);
  assert.deepEqual(
    lowered(t, source).signatureDefs.map(([name]) => name),
    ['__saved_model_init_op', 'a', 'b', 'serving_default'],
  );
});

test('large constants are weights that signatures share; each lists only its own', (t) => {
  const nodes = [
    X,
    large(1, 'w'),
    large(2, 'v'),
    node('xw', 'AddV2', ['x', 'w'], FLOAT),
    node('xwv', 'AddV2', ['xw', 'v'], FLOAT),
  ];
  const model = lowered(
    t,
    modelOf(nodes, {
      both: signature({ x: 'x:0' }, { y: 'xwv:0' }),
      one: signature({ x: 'x:0' }, { y: 'xw:0' }),
    }),
  );
  assert.equal(model.weights.length, 2);
  const both = graphOf(model, 'both').weights;
  const one = graphOf(model, 'one').weights;
  assert.deepEqual([...both], [0, 1]);
  assert.equal(one.length, 1);
  assert.deepEqual(
    onnxText(graphOf(model, 'one').onnx).initializers,
    one.map((index) => model.weights[index]?.name),
  );
});

test('signatures of one content are one session: their graphs are the same bytes', (t) => {
  const nodes = [...ADD_ONE, node('z', 'AddV2', ['x', 'one'], FLOAT)];
  const model = lowered(
    t,
    modelOf(nodes, {
      serve: signature({ x: 'x:0' }, { y: 'z:0' }),
      serving_default: signature({ x: 'x:0' }, { y: 'y:0' }),
    }),
  );
  const [first, second] = model.graphs;
  assert.deepEqual(first?.onnx, second?.onnx);
});

test('gives the same result for a second import', (t) => {
  const source = modelOf([X, large(1, 'w'), node('y', 'AddV2', ['x', 'w'], FLOAT)], {
    s: signature({ x: 'x:0' }, { y: 'y:0' }),
  });
  assert.deepEqual(lowered(t, source).graphs, lowered(t, source).graphs);
});

test('everything that blocks is said at once, alike ones together', (t) => {
  const mystery = (name: string, op: string, input: string): NodeDef =>
    node(name, op, [input], FLOAT);
  const definition = (name: string): NonNullable<LoadedGraph['opDefs']>[number] => ({
    name,
    isStateful: false,
    defaults: new Map(),
    inputs: [arg('i:T')],
    outputs: [arg('o:T')],
  });
  const nodes = [
    X,
    mystery('a', 'Foo', 'x'),
    mystery('b', 'Foo', 'x'),
    mystery('c', 'Bar', 'x'),
    // A node that depends on one that cannot be lowered is not a separate problem.
    node('d', 'AddV2', ['a', 'b'], FLOAT),
    mystery('e', 'Bar', 'd'),
    node('y', 'AddV2', ['c', 'e'], FLOAT),
    node('fine', 'Neg', ['x'], FLOAT),
  ];
  const model = lowered(
    t,
    modelOf(
      nodes,
      {
        bad: signature({ x: 'x:0' }, { y: 'y:0' }),
        good: signature({ x: 'x:0' }, { y: 'fine:0' }),
      },
      { opDefs: [definition('Foo'), definition('Bar')] },
    ),
  );
  assert.deepEqual(
    model.graphs.map((graph) => graph.signature),
    ['good'],
  );
  const [blocked] = model.blocked;
  assert.equal(blocked?.signature, 'bad');
  const reason = 'the operator is not supported';
  const problems = blocked.problems.map(({ op, count, reason: why }) => [op, count, why]);
  assert.deepEqual(problems.sort(), [
    ['Bar', 1, reason],
    ['Foo', 2, reason],
  ]);
  assert.deepEqual(
    model.operators.filter((one) => !one.supported).map((one) => one.op),
    ['Bar', 'Foo'],
  );
});

test('blocks only the signature that names a missing node', (t) => {
  const model = lowered(
    t,
    modelOf(ADD_ONE, {
      good: signature({ x: 'x:0' }, { y: 'y:0' }),
      input: signature({ x: 'gone:0' }, { y: 'y:0' }),
      output: signature({ x: 'x:0' }, { y: 'gone:0' }),
      port: signature({ x: 'x:0' }, { y: 'y:3' }),
      sparse: signature(
        { x: { cooSparse: { values: 'x:0', indices: 'x:0', shape: 'x:0' }, dtypeCode: 1 } },
        { y: 'y:0' },
      ),
      composite: signature({ x: 'x:0' }, { y: { composite: [], dtypeCode: 1 } }),
      unfed: signature({}, { y: 'y:0' }),
    }),
  );
  assert.deepEqual(
    model.graphs.map((graph) => graph.signature),
    ['good'],
  );
  const reasons = Object.fromEntries(
    model.blocked.map(({ signature: name, problems }) => [
      name,
      problems.map((one) => one.reason).join(),
    ]),
  );
  assert.match(reasons['input'] ?? '', /input 'x': node 'gone' is not in the graph/);
  assert.match(reasons['output'] ?? '', /gone/);
  assert.match(reasons['port'] ?? '', /y/);
  assert.match(reasons['sparse'] ?? '', /input 'x' is a sparse tensor/);
  assert.match(reasons['composite'] ?? '', /output 'y' is a composite tensor/);
  assert.match(reasons['unfed'] ?? '', /./);
});

test("the types are the graph's own, whatever the signature says", (t) => {
  const nodes = [
    node('x', 'Placeholder', [], { dtype: type('string') }),
    node('y', 'Identity', ['x'], { T: type('string') }),
  ];
  const model = lowered(t, modelOf(nodes, { s: signature({ x: 'x:0' }, { y: 'y:0' }) }));
  const graph = graphOf(model, 's');
  assert.deepEqual([graph.inputs[0]?.dtype, graph.outputs[0]?.dtype], ['string', 'string']);
});

test('declared shapes and defaults are handed on; the graph counts on neither', (t) => {
  const info = {
    name: 'x:0',
    dtypeCode: 1,
    shape: {
      unknownRank: false,
      dims: [
        { size: '-1', name: '' },
        { size: '3', name: '' },
      ],
    },
  };
  const value = floats([1, 2, 3], [1, 3]);
  const model = lowered(
    t,
    modelOf(ADD_ONE, {
      s: signature({ x: info }, { y: 'y:0' }, new Map([['x', value]])),
    }),
  );
  const [input] = graphOf(model, 's').inputs;
  assert.deepEqual([input?.shape, input?.defaultValue], [[undefined, 3], value]);
});

test('a branch that the request decides becomes a subgraph', (t) => {
  const nodes = [
    X,
    node('c', 'Placeholder', [], { dtype: type('bool'), shape: shape([]) }),
    node('p', 'Switch', ['x', 'c'], FLOAT),
    node('minus', 'Neg', ['p:1'], FLOAT),
    node('y', 'Merge', ['p:0', 'minus'], { ...FLOAT, N: int(2) }),
  ];
  const model = lowered(
    t,
    modelOf(nodes, {
      s: signature({ x: 'x:0', c: { name: 'c:0', dtypeCode: 10 } }, { y: 'y:0' }),
    }),
  );
  assert.equal(opsOf(graphOf(model, 's')).filter((op) => op === 'If').length, 1);
});

test('strings stay in the graph', (t) => {
  const model = lowered(
    t,
    modelOf([constant('words', strings(['a', '\u00ff'], [2]))], {
      s: signature({}, { words: 'words:0' }),
    }),
  );
  assert.deepEqual(opsOf(graphOf(model, 's')), ['Identity']);
  assert.equal(model.weights.length, 0);
});

test('a cycle outside a loop is an error of the model', (t) => {
  const nodes = [node('a', 'Neg', ['b'], FLOAT), node('b', 'Neg', ['a'], FLOAT)];
  assert.match(
    invalid(() => lowered(t, modelOf(nodes, { s: signature({}, { y: 'a:0' }) }))),
    /the graph has a cycle: "[ab]" needs/,
  );
});

test('refuses a condition without an equivalent function', (t) => {
  const nodes = [
    X,
    node('y', 'If', ['x', 'x'], {
      Tcond: type('float'),
      Tin: types('float'),
      Tout: types('float'),
      then_branch: func('gone'),
      else_branch: func('gone'),
      unused: bool(true),
    }),
  ];
  const model = lowered(t, modelOf(nodes, { s: signature({ x: 'x:0' }, { y: 'y:0' }) }));
  assert.equal(model.graphs.length, 0);
  assert.match(model.blocked[0]?.problems[0]?.reason ?? '', /the graph has no function "gone"/);
});

test('a StableHLO program is refused by name, with what to do instead', (t) => {
  const nodes = [X, node('y', 'XlaCallModule', ['x'], { Tout: types('float') })];
  const model = lowered(t, modelOf(nodes, { s: signature({ x: 'x:0' }, { y: 'y:0' }) }));
  const [problem] = model.blocked[0]?.problems ?? [];
  assert.deepEqual([problem?.op, problem?.node], ['XlaCallModule', 'y']);
  assert.match(problem?.reason ?? '', /StableHLO .* jax2tf's native_serialization=False/);
});
