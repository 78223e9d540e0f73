// Flattening: resolved inputs, inlined calls, attributes, order of side effects, limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FunctionDef, NodeDef } from '../../../../../ts/importers/tensorflow/types.js';
import { invalid } from '../messages.js';
import {
  arg,
  attribute,
  call,
  constant,
  floats,
  fun,
  func,
  graph,
  int,
  loaded,
  node,
  nodesText,
  placeholder,
  prepared,
  ref,
  type,
  types,
  variable,
} from './graphs.js';

const ONE = constant('one', floats([1]));
const X = node('x', 'Placeholder', [], { dtype: type('float') });
const FLOAT = { T: type('float') };

function flat(nodes: readonly NodeDef[], outputs: readonly string[], ...of: FunctionDef[]) {
  return prepared(loaded(graph(nodes, ...of), outputs, { saver: undefined })).main.nodes;
}

test('spellings become node and output; only what is needed is there', () => {
  const nodes = [
    X,
    ONE,
    node('sp', 'Split', ['one', 'x'], { num_split: int(2), ...FLOAT }),
    node('sum', 'Add', ['sp:1', 'sp'], FLOAT),
    node('out', 'Identity', ['sum:0', '^side', '^side'], FLOAT),
    node('side', 'NoOp', ['^one']),
    node('unused', 'Add', ['gone', 'x:99'], FLOAT),
  ];
  assert.deepEqual(nodesText(flat(nodes, ['out:0'])), [
    'one = Const()',
    'out = Identity(sum:0) ^side',
    'side = NoOp() ^one',
    'sp = Split(one:0, x:0)',
    'sum = Add(sp:1, sp:0)',
    'x = Placeholder()',
  ]);
});

test('attributes get the defaults that the file leaves out', () => {
  const nodes = flat(
    [X, node('m', 'MatMul', ['x', 'x'], { ...FLOAT, transpose_a: { kind: 'bool', value: true } })],
    ['m'],
  );
  const { attributes } = nodes.get('m') ?? {};
  assert.equal(attribute(attributes, 'transpose_a'), true);
  assert.equal(attribute(attributes, 'transpose_b'), false);
});

const DOUBLE = fun('double', {
  inputs: ['a'],
  nodes: [node('add', 'AddV2', ['a', 'a'], FLOAT)],
  returns: { r: 'add:z:0' },
});

test('replaces a call by its body with a prefix, and an IdentityN', () => {
  const nodes = [
    X,
    call('c', 'double', ['x'], ['float']),
    node('d', 'PartitionedCall', ['c:0'], { f: func('double'), Tout: types('float') }),
    node('e', 'double', ['d']),
  ];
  const found = flat(nodes, ['e:0'], DOUBLE);
  assert.deepEqual(nodesText(found), [
    'c = IdentityN(c/add:0)',
    'c/add = AddV2(x:0, x:0)',
    'd = IdentityN(d/add:0)',
    'd/add = AddV2(c:0, c:0)',
    'e = IdentityN(e/add:0)',
    'e/add = AddV2(d:0, d:0)',
    'x = Placeholder()',
  ]);
  assert.deepEqual(
    attribute(found.get('e')?.attributes, 'T'),
    attribute(node('', '', [], { T: types('float') }).attributes, 'T'),
  );
});

test('a body may give an argument straight back, and calls nest', () => {
  const outer = fun('outer', {
    inputs: ['p', 'q'],
    nodes: [call('in', 'double', ['q'], ['float'])],
    returns: { same: 'p', twice: 'in:output:0' },
  });
  assert.deepEqual(
    nodesText(
      flat([X, ONE, call('c', 'outer', ['x', 'one'], ['float', 'float'])], ['c:1'], outer, DOUBLE),
    ),
    [
      'c = IdentityN(x:0, c/in:0)',
      'c/in = IdentityN(c/in/add:0)',
      'c/in/add = AddV2(one:0, one:0)',
      'one = Const()',
      'x = Placeholder()',
    ],
  );
});

test('avoids names in use', () => {
  const nodes = [X, node('c/add', 'Neg', ['x'], FLOAT), call('c', 'double', ['c/add'], ['float'])];
  assert.deepEqual(nodesText(flat(nodes, ['c'], DOUBLE)), [
    'c = IdentityN(c/add_1:0)',
    'c/add = Neg(x:0)',
    'c/add_1 = AddV2(c/add:0, c/add:0)',
    'x = Placeholder()',
  ]);
});

test('outputs of bodies are found by name, lists by their length', () => {
  const body = fun('f', {
    inputs: ['a'],
    nodes: [
      constant('axis', floats([0])),
      node('sp', 'Split', ['axis:output:0', 'a'], { num_split: int(3), ...FLOAT }),
      node('tk', 'TopKV2', ['sp:output:2', 'sp:output:1'], FLOAT),
      node('all', 'AddN', ['sp:output'], { N: int(3), ...FLOAT }),
      node('un', 'Unknown', ['a']),
    ],
    returns: { r: 'tk:indices:0', s: 'all:sum:0', t: 'un:whatever:1' },
  });
  const found = flat([X, call('c', 'f', ['x'], ['int32', 'float', 'float'])], ['c'], body);
  assert.deepEqual(
    nodesText(found).filter((line) => line.startsWith('c')),
    [
      'c = IdentityN(c/tk:1, c/all:0, c/un:1)',
      'c/all = AddN(c/sp:0, c/sp:1, c/sp:2)',
      'c/axis = Const()',
      'c/sp = Split(c/axis:0, x:0)',
      'c/tk = TopKV2(c/sp:2, c/sp:1)',
      'c/un = Unknown(x:0)',
    ],
  );
});

test('arguments that are lists, by number and by types', () => {
  const body = fun('f', {
    inputs: [arg('many*N'), arg('any+Ts'), arg('last')],
    nodes: [node('s', 'AddN', ['many'], { N: placeholder('N'), ...FLOAT })],
    returns: { r: 's:sum:0', t: 'any', u: 'many:1', l: 'last' },
    outputs: [arg('r'), arg('t+Ts'), arg('u'), arg('l')],
  });
  const nodes = [
    X,
    ONE,
    node('c', 'f', ['x', 'one', 'one', 'x', 'one'], {
      N: int(2),
      Ts: types('float', 'float'),
    }),
    node('o', 'Identity', ['c:4'], FLOAT),
  ];
  assert.deepEqual(nodesText(flat(nodes, ['o'], body)), [
    'c = IdentityN(c/s:0, one:0, x:0, one:0, one:0)',
    'c/s = AddN(x:0, one:0)',
    'o = Identity(c:4)',
    'one = Const()',
    'x = Placeholder()',
  ]);
});

test('placeholders take the attributes of the call, also inside functions passed on', () => {
  const body = fun('f', {
    inputs: [arg('a:T')],
    nodes: [
      node('i', 'Identity', ['a'], { T: placeholder('T') }),
      node('if', 'If', ['a', 'a'], {
        then_branch: func('g', { U: placeholder('T') }),
        else_branch: func('g'),
        Tin: types('float'),
        Tout: types('float'),
      }),
    ],
    returns: { r: 'i:output:0', s: 'if:output:0' },
    outputs: [arg('r:T'), arg('s:T')],
  });
  const found = flat(
    [
      X,
      call('c', 'f', ['x'], ['half', 'half'], {}, { T: type('half') }),
      node('d', 'f', ['x'], { T: type('double') }),
    ],
    ['c', 'd'],
    body,
  );
  assert.equal(attribute(found.get('c/i')?.attributes, 'T'), 'half');
  assert.equal(attribute(found.get('d/i')?.attributes, 'T'), 'double');
  assert.deepEqual(
    attribute(found.get('c/if')?.attributes, 'then_branch'),
    ref('g', { U: type('half') }),
  );
  assert.match(
    invalid(() => flat([X, call('c', 'f', ['x'], ['half', 'half'])], ['c'], body)),
    /attribute "T" of node "i" of function "f" refers to the caller's attribute "T"/,
  );
});

const COUNT = fun('count', {
  inputs: [arg('v', 'resource')],
  nodes: [
    constant('by', floats([1])),
    node('inc', 'AssignAddVariableOp', ['v', 'by:output:0'], { dtype: type('float') }),
    node('read', 'ReadVariableOp', ['v', '^inc'], { dtype: type('float') }),
    constant('lonely', floats([2])),
  ],
  returns: { r: 'read:value:0' },
});

test('side effects: after the call come those of its body; its reads come after its inputs', () => {
  const nodes = [
    variable('v'),
    call('first', 'count', ['v'], ['float']),
    call('second', 'count', ['v', '^first'], ['float']),
    call('third', 'double', ['second'], ['float']),
    node('fourth', 'count', ['v', '^third']),
    node('out', 'Identity', ['fourth', '^first'], FLOAT),
  ];
  const lines = nodesText(flat(nodes, ['out'], COUNT, DOUBLE)).filter((line) => line.includes('^'));
  assert.deepEqual(lines, [
    'first = IdentityN(first/read:0) ^first/inc',
    'first/read = ReadVariableOp(v:0) ^first/inc',
    'fourth = IdentityN(fourth/read:0) ^fourth/inc ^third',
    'fourth/inc = AssignAddVariableOp(v:0, fourth/by:0) ^third',
    'fourth/read = ReadVariableOp(v:0) ^fourth/inc ^third',
    'out = Identity(fourth:0) ^first',
    'second = IdentityN(second/read:0) ^first ^second/inc',
    'second/inc = AssignAddVariableOp(v:0, second/by:0) ^first',
    'second/read = ReadVariableOp(v:0) ^first ^second/inc',
  ]);
});

test('a call whose input comes after an assignment reads variables after it', () => {
  const reads = fun('reads', {
    inputs: [arg('v', 'resource'), 'x'],
    nodes: [node('read', 'ReadVariableOp', ['v'], { dtype: type('float') })],
    returns: { r: 'read:value:0' },
  });
  const nodes = [
    variable('v'),
    call('first', 'count', ['v'], ['float']),
    call('c', 'reads', ['v', 'first'], ['float']),
  ];
  const found = flat(nodes, ['c'], COUNT, reads);
  assert.deepEqual(found.get('c/read')?.control, ['first']);
});

test('orders nodes before a call before the calls inside it', () => {
  const outer = fun('outer', {
    inputs: [arg('v', 'resource')],
    nodes: [call('in', 'count', ['v'], ['float'])],
    returns: { r: 'in:output:0' },
  });
  const nodes = [
    variable('v'),
    call('first', 'count', ['v'], ['float']),
    call('c', 'outer', ['v', '^first'], ['float']),
  ];
  assert.deepEqual(flat(nodes, ['c'], COUNT, outer).get('c/in/inc')?.control, ['first']);
});

test('control results and effects are kept although nothing returns them', () => {
  const effect = fun('effect', {
    inputs: [arg('v', 'resource')],
    nodes: [
      constant('k', floats([3])),
      node('end', 'NoOp', ['^k']),
      node('inner', 'StatefulPartitionedCall', ['v'], { f: func('count'), Tout: types('float') }),
    ],
    control: { done: 'end' },
  });
  const found = flat(
    [variable('v'), call('c', 'effect', ['v'], []), node('o', 'NoOp', ['^c'])],
    ['o'],
    effect,
    COUNT,
  );
  assert.deepEqual(
    nodesText(found).filter((line) => /^(c|o|c\/inner) /.test(line)),
    [
      'c = NoOp() ^c/end ^c/inner',
      'c/inner = IdentityN(c/inner/read:0) ^c/inner/inc',
      'o = NoOp() ^c',
    ],
  );
});

test('function(): arguments, results and effects of a body, one object per call', () => {
  const model = prepared(
    loaded(
      graph(
        [X],
        COUNT,
        DOUBLE,
        fun('poly', {
          inputs: [arg('a:T')],
          nodes: [],
          returns: { r: 'a' },
          outputs: [arg('r:T')],
        }),
      ),
      ['x'],
      { saver: undefined },
    ),
  );
  const count = model.function(ref('count'));
  assert.deepEqual(
    [count.args, count.returns, count.control],
    [['v'], [{ node: 'read', output: 0 }], ['inc']],
  );
  assert.deepEqual(nodesText(count.nodes), [
    'by = Const()',
    'inc = AssignAddVariableOp(v:0, by:0)',
    'read = ReadVariableOp(v:0) ^inc',
    'v = _Arg()',
  ]);
  assert.equal(attribute(count.nodes.get('v')?.attributes, 'index'), 0n);
  assert.equal(attribute(count.nodes.get('v')?.attributes, 'T'), 'resource');
  assert.equal(model.function(ref('count')), count);
  const half = model.function(ref('poly', { T: type('half') }));
  assert.notEqual(model.function(ref('poly', { T: type('float') })), half);
  assert.equal(model.function(ref('poly', { T: type('half') })), half);
  assert.deepEqual(half.returns, [{ node: 'a', output: 0 }]);
});

test('refuses invalid reached nodes', () => {
  const cases: readonly (readonly [nodes: readonly NodeDef[], expected: RegExp])[] = [
    [[node('o', 'Identity', ['gone'])], /node "o" refers to "gone", but no node has this name/],
    [[node('o', 'NoOp', ['^gone'])], /node "o" refers to "gone"/],
    [[X, X, node('o', 'Identity', ['x'])], /two nodes have this name/],
    [[X, node('o', 'Identity', ['x:1'])], /output 1 of node "x", but operator "Placeholder" has 1/],
    [[X, node('o', 'Identity', ['x:y'])], /refers to "x:y": expected an output number/],
    [[X, node('o', 'Identity', ['x:-1'])], /expected an output number/],
    [[X, node('o', 'Identity', ['x:9999999999'])], /expected an output number/],
    [[X, node('o', 'StatefulPartitionedCall', ['x'])], /has no attribute f: expected a function/],
    [[X, call('o', 'nothing', ['x'], [])], /calls function "nothing", which does not exist/],
    [[X, call('o', 'double', [], ['float'])], /got 0 arguments, expected 1/],
    [[X, call('o', 'double', ['x', 'x'], ['float'])], /got 2 arguments, expected 1/],
    [[X, call('o', 'double', ['x'], [])], /expects 0 results of function "double"; it returns 1/],
    [
      [node('o', 'Add', ['p', 'p'], FLOAT), node('p', 'Neg', ['o'], FLOAT)],
      /the graph has a cycle: "o" needs "p" needs "o"/,
    ],
    [[node('o', 'NoOp', ['^p']), node('p', 'NoOp', ['^o'])], /has a cycle/],
  ];
  for (const [nodes, expected] of cases) {
    assert.match(
      invalid(() => flat(nodes, ['o'], DOUBLE)),
      expected,
    );
  }
});

test('refuses invalid bodies', () => {
  const bodies: readonly (readonly [Parameters<typeof fun>[1], RegExp])[] = [
    [{ nodes: [], returns: { r: 'gone:z:0' } }, /function "f" refers to "gone"/],
    [{ nodes: [ONE], returns: { r: 'one:z:0' } }, /operator "Const" has no output "z"/],
    [{ nodes: [ONE], returns: { r: 'one:output:1' } }, /output "output" .* has 1 tensors/],
    [{ nodes: [ONE], returns: { r: 'one' } }, /expected "node:output:0"/],
    [{ nodes: [ONE], outputs: [arg('r')] }, /function "f" does not return "r"/],
    [{ nodes: [ONE, ONE], returns: { r: 'one:output:0' } }, /two nodes/],
    [{ nodes: [], control: { c: 'gone' }, returns: {} }, /refers to "gone"/],
    [{ inputs: ['a'], nodes: [], returns: { r: 'a:1' } }, /got 0 arguments|argument has 1/],
    [
      { nodes: [node('i', 'Identity', ['o:output:0'], FLOAT)], returns: { r: 'i:output:0' } },
      /node "i" of function "f" refers to "o"/,
    ],
  ];
  for (const [body, expected] of bodies) {
    const results: 'float'[] = body.returns?.['r'] === undefined && !body.outputs ? [] : ['float'];
    assert.match(
      invalid(() => flat([call('o', 'f', [], results)], ['o'], fun('f', body))),
      expected,
    );
  }
});

test('functions that call themselves, straight or through others and branches', () => {
  const self = fun('self', {
    inputs: ['a'],
    nodes: [call('c', 'other', ['a'], ['float'])],
    returns: { r: 'c:output:0' },
  });
  const other = fun('other', {
    inputs: ['a'],
    nodes: [call('c', 'self', ['a'], ['float'])],
    returns: { r: 'c:output:0' },
  });
  const loop = fun('loop', {
    inputs: ['a'],
    nodes: [
      node('i', 'If', ['a', 'a'], {
        then_branch: func('loop'),
        else_branch: func('double'),
        Tout: types('float'),
        Tin: types('float'),
      }),
    ],
    returns: { r: 'i:output:0' },
  });
  assert.match(
    invalid(() => flat([X, call('o', 'self', ['x'], ['float'])], ['o'], self, other)),
    /function "self" calls itself/,
  );
  // A branch is not entered before it is needed.
  const model = prepared(
    loaded(graph([X], self, other, loop, DOUBLE), ['x'], { saver: undefined }),
  );
  assert.match(
    invalid(() => model.function(ref('other'))),
    /calls itself/,
  );
  assert.match(
    invalid(() => model.function(ref('loop'))),
    /function "loop" calls itself/,
  );
  assert.match(
    invalid(() => model.function(ref('gone'))),
    /no function "gone"/,
  );
  assert.match(
    invalid(() => model.function(ref('double', { a: placeholder('b') }))),
    /a caller/,
  );
});

test('depth and size are limited', () => {
  const chain = (count: number, twice: boolean): FunctionDef[] =>
    Array.from({ length: count }, (_, at) =>
      fun(`f${at}`, {
        inputs: ['a'],
        nodes:
          at + 1 === count
            ? [node('n', 'Neg', ['a'], FLOAT)]
            : [
                call('n', `f${at + 1}`, ['a'], ['float']),
                ...(twice ? [call('m', `f${at + 1}`, ['n:output:0'], ['float'])] : []),
              ],
        returns: { r: at + 1 === count ? 'n:y:0' : twice ? 'm:output:0' : 'n:output:0' },
      }),
    );
  const roots = [X, call('o', 'f0', ['x'], ['float'])];
  assert.equal(flat(roots, ['o'], ...chain(200, false)).size, 202);
  assert.match(
    invalid(() => flat(roots, ['o'], ...chain(300, false))),
    /nested more than 256/,
  );
  assert.match(
    invalid(() => flat(roots, ['o'], ...chain(40, true))),
    /more than 300000 nodes/,
  );
  const long = fun('long', {
    nodes: [constant('n'.repeat(2 ** 20), floats([1]))],
    control: {
      c: 'n'.repeat(2 ** 20),
    },
  });
  const many = Array.from({ length: 300 }, (_, at) => call(`c${at}`, 'long', [], []));
  assert.match(
    invalid(() =>
      flat(
        many,
        many.map(({ name }) => name),
        long,
      ),
    ),
    /more than 268435456 name characters/,
  );
});

test('long chains of nodes do not overflow the stack', () => {
  const count = 50_000;
  const nodes = [
    X,
    ...Array.from({ length: count }, (_, at) =>
      node(`n${at}`, 'Neg', [at === 0 ? 'x' : `n${at - 1}`], FLOAT),
    ),
  ];
  assert.equal(flat(nodes, [`n${count - 1}`]).size, count + 1);
});

test('a frozen graph without signatures is kept whole; tensors that are not there are left', () => {
  const source = graph([X, ONE]);
  const frozen = { format: 'frozen-graph' as const, signatures: new Map(), saver: undefined };
  assert.equal(prepared(loaded(source, [], frozen)).main.nodes.size, 2);
  assert.equal(prepared(loaded(source, ['gone:0', 'x'], { saver: undefined })).main.nodes.size, 1);
});
