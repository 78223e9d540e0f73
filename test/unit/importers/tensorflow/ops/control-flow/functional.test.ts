// If, Case, While and lists in whole graphs: the result, refusals and limits.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { FunctionDef, NodeDef } from '../../../../../../ts/importers/tensorflow/types.js';
import { graphOf, lowered, modelOf, opsOf, signature } from '../../lower/support.js';
import {
  arg,
  constant,
  floats,
  fun,
  func,
  graph,
  int32s,
  list,
  node,
  ref,
  shape,
  type,
  types,
  variable,
} from '../../prepare/graphs.js';

const FLOAT = { T: type('float') };
const X = node('x', 'Placeholder', [], { dtype: type('float'), shape: shape([undefined, 3]) });
const P = node('p', 'Placeholder', [], { dtype: type('bool'), shape: shape([]) });
const N = node('n', 'Placeholder', [], { dtype: type('int32'), shape: shape([]) });

const unary = (name: string, op: string): FunctionDef =>
  fun(name, {
    inputs: ['v'],
    nodes: [node('r', op, ['v'], FLOAT)],
    returns: { out: 'r:y:0' },
  });
const DOUBLE = fun('double', {
  inputs: ['v'],
  nodes: [node('r', 'AddV2', ['v', 'v'], FLOAT)],
  returns: { out: 'r:z:0' },
});
const NEGATIVE = unary('negative', 'Neg');
const STRANGE = fun('strange', {
  inputs: ['v'],
  nodes: [node('r', 'Bucketise', ['v'], FLOAT)],
  returns: { out: 'v' },
});

const ifNode = (condition: string, yes: string, no: string): NodeDef =>
  node('y', 'StatelessIf', [condition, 'x'], {
    then_branch: func(yes),
    else_branch: func(no),
    Tcond: type('bool'),
    Tin: types('float'),
    Tout: types('float'),
  });

function outcome(
  t: TestContext,
  nodes: readonly NodeDef[],
  functions: readonly FunctionDef[],
  inputs: Record<string, string> = { x: 'x:0' },
): { ops: string[]; problem: string } {
  const source = modelOf(nodes, { serving_default: signature(inputs, { y: 'y:0' }) });
  const model = lowered(t, { ...source, graph: graph(nodes, ...functions) });
  const [blocked] = model.blocked;
  if (blocked === undefined) return { ops: opsOf(graphOf(model, 'serving_default')), problem: '' };
  const problem = blocked.problems.map(({ op, reason }) => `${op}: ${reason}`).join('|');
  return { ops: [], problem };
}

test('a condition that is fed is an If', (t) => {
  const { ops } = outcome(t, [X, P, ifNode('p', 'double', 'negative')], [DOUBLE, NEGATIVE], {
    x: 'x:0',
    p: 'p:0',
  });
  assert.deepEqual(ops, ['Reshape', 'If', 'Identity']);
});

test('a known condition leaves no If, and nothing of the other branch', (t) => {
  const on = constant('p', {
    dtype: 'bool',
    shape: [],
    data: { kind: 'bytes', bytes: new Uint8Array([1]) },
  });
  const made = outcome(t, [X, on, ifNode('p', 'double', 'strange')], [DOUBLE, STRANGE]);
  assert.deepEqual(made.ops, ['Add', 'Identity']);
});

test('an index that is known takes its branch, out of range the last', (t) => {
  const caseOf = (index: number): readonly NodeDef[] => [
    X,
    constant('i', int32s([index], [])),
    node('y', 'StatelessCase', ['i', 'x'], {
      branches: list({ functions: [ref('double'), ref('negative')] }),
      Tin: types('float'),
      Tout: types('float'),
    }),
  ];
  const ops = (index: number): string[] => outcome(t, caseOf(index), [DOUBLE, NEGATIVE]).ops;
  assert.deepEqual(
    [0, 1, 2, -1].map((index) => ops(index)[0]),
    ['Add', 'Neg', 'Neg', 'Neg'],
  );
});

test('many branches nest by halves', (t) => {
  const many = Array.from({ length: 1000 }, (_, i) => ref(i % 2 === 0 ? 'double' : 'negative'));
  const made = outcome(
    t,
    [
      X,
      N,
      node('y', 'StatelessCase', ['n', 'x'], {
        branches: list({ functions: many }),
        Tin: types('float'),
        Tout: types('float'),
      }),
    ],
    [DOUBLE, NEGATIVE],
    { x: 'x:0', n: 'n:0' },
  );
  assert.equal(made.problem, '');
  assert.equal(made.ops.filter((op) => op === 'If').length, 1);
});

test('branches that do not fit each other are refused', (t) => {
  const two = fun('two', {
    inputs: ['v'],
    nodes: [],
    returns: { a: 'v', b: 'v' },
  });
  const whole = fun('whole', {
    inputs: ['v'],
    outputs: [arg('out', 'int32')],
    returns: { out: 'c:output:0' },
    nodes: [constant('c', int32s([1], []))],
  });
  const problem = (no: FunctionDef): string =>
    outcome(t, [X, P, ifNode('p', 'double', no.signature.name)], [DOUBLE, no], {
      x: 'x:0',
      p: 'p:0',
    }).problem;
  assert.match(
    problem(whole),
    /^StatelessIf: its branches return float and int32: expected one data type$/,
  );
  assert.equal(
    outcome(t, [X, P, ifNode('p', 'two', 'double')], [DOUBLE, two], { x: 'x:0', p: 'p:0' }).problem,
    'StatelessIf: its branches return different numbers of values',
  );
});

const BELOW = fun('below', {
  inputs: [arg('i', 'int32'), 'v'],
  outputs: [arg('out', 'bool')],
  nodes: [
    constant('ten', int32s([10], [])),
    node('less', 'Less', ['i', 'ten:output:0'], { T: type('int32') }),
  ],
  returns: { out: 'less:z:0' },
});

/** A body that counts and computes `made` (a node named v2) from v. */
const bodyOf = (name: string, made: NodeDef, ...more: readonly NodeDef[]): FunctionDef =>
  fun(name, {
    inputs: [arg('i', 'int32'), 'v'],
    outputs: [arg('i_out', 'int32'), arg('v_out')],
    nodes: [
      constant('one', int32s([1], [])),
      made,
      ...more,
      node('i2', 'AddV2', ['i', 'one:output:0'], { T: type('int32') }),
    ],
    returns: { i_out: 'i2:z:0', v_out: `v2:${made.op === 'AddV2' ? 'z' : 'output'}:0` },
  });

const loop = (body: string, condition = 'below'): readonly NodeDef[] => [
  X,
  constant('zero', int32s([0], [])),
  node('loop', 'StatelessWhile', ['zero', 'x'], {
    cond: func(condition),
    body: func(body),
    T: types('int32', 'float'),
  }),
  node('y', 'Identity', ['loop:1'], FLOAT),
];

test('a loop is a Loop', (t) => {
  const body = bodyOf('body', node('v2', 'AddV2', ['v', 'v'], FLOAT));
  const { ops, problem } = outcome(t, loop('body'), [BELOW, body]);
  assert.deepEqual([ops, problem], [['Loop', 'Identity'], '']);
});

test('a value that its body hands on needs no loop', (t) => {
  const body = bodyOf('body', node('v2', 'Identity', ['v'], FLOAT));
  assert.deepEqual(outcome(t, loop('body'), [BELOW, body]).ops, ['Identity']);
});

test('bodies that do not fit their loop are refused', (t) => {
  const cast = bodyOf(
    'body',
    node('v2', 'Cast', ['v'], { SrcT: type('float'), DstT: type('int32') }),
  );
  const fits = {
    ...cast,
    returns: new Map([
      ['i_out', 'i2:z:0'],
      ['v_out', 'v2:y:0'],
    ]),
  };
  assert.match(
    outcome(t, loop('body'), [BELOW, fits]).problem,
    /^StatelessWhile: value 1 is float before and int32 after an iteration$/,
  );
  const few = fun('few', {
    inputs: [arg('i', 'int32'), 'v'],
    outputs: [arg('i_out', 'int32')],
    nodes: [node('i2', 'AddV2', ['i', 'i'], { T: type('int32') })],
    returns: { i_out: 'i2:z:0' },
  });
  assert.match(outcome(t, loop('few'), [BELOW, few]).problem, /its body returns too few values/);
  const array = bodyOf(
    'body',
    node('v2', 'TensorListReserve', ['shape', 'i'], {
      element_dtype: type('float'),
      shape_type: type('int32'),
    }),
    constant('s', floats([1])),
  );
  const listed = {
    ...array,
    returns: new Map([
      ['i_out', 'i2:z:0'],
      ['v_out', 'v2:handle:0'],
    ]),
    nodes: array.nodes.map((one) =>
      one.name === 'v2' ? { ...one, inputs: ['one:output:0', 'i'] } : one,
    ),
  };
  assert.match(
    outcome(t, loop('body'), [BELOW, listed]).problem,
    /value 1 is a tensor before and a list after an iteration/,
  );
});

test('an operator that is not supported is named with the function around it', (t) => {
  const body = bodyOf(
    'body',
    node('v2', 'Identity', ['r'], FLOAT),
    node('r', 'NoSuchOperator', ['v']),
  );
  const source = modelOf(loop('body'), { serving_default: signature({ x: 'x:0' }, { y: 'y:0' }) });
  const inside = {
    ...body,
    nodes: body.nodes.map((one) => (one.name === 'v2' ? { ...one, inputs: ['r:output:0'] } : one)),
  };
  const model = lowered(t, {
    ...source,
    graph: graph(loop('body'), BELOW, inside),
    opDefs: [
      {
        name: 'NoSuchOperator',
        inputs: [arg('input')],
        outputs: [arg('output')],
        defaults: new Map(),
        isStateful: false,
      },
    ],
  });
  assert.deepEqual(model.blocked[0]?.problems, [
    { op: 'NoSuchOperator', node: 'r', count: 1, reason: 'the operator is not supported' },
    {
      op: 'StatelessWhile',
      node: 'loop',
      count: 1,
      reason: "function 'body' cannot be lowered: NoSuchOperator 'r'",
    },
  ]);
});

/** Nested loops in which v's shape changes at each level: every body is lowered again. */
function nested(depth: number): readonly FunctionDef[] {
  return Array.from({ length: depth }, (_, level) =>
    bodyOf(
      `level${level}`,
      level === 0
        ? node('v2', 'ConcatV2', ['v', 'v', 'one'], FLOAT)
        : node('v2', 'Identity', ['inner'], FLOAT),
    ),
  ).map((body, level) => ({
    ...body,
    nodes: body.nodes.flatMap((one) => {
      if (one.name !== 'v2') return [one];
      if (level === 0) {
        return [{ ...one, inputs: ['v', 'v', 'zero:output:0'] }, constant('zero', int32s([0], []))];
      }
      return [
        { ...one, inputs: ['inner:output:1'] },
        node('inner', 'StatelessWhile', ['i', 'v'], {
          cond: func('below'),
          body: func(`level${level - 1}`),
          T: types('int32', 'float'),
        }),
      ];
    }),
  }));
}

test('loops inside each other end, however deep', (t) => {
  assert.equal(outcome(t, loop('level3'), [BELOW, ...nested(4)]).problem, '');
  assert.match(
    outcome(t, loop('level79'), [BELOW, ...nested(80)]).problem,
    /the graph is too large: (functions nest more than 64 deep|lowering its loops needs more than)/,
  );
});

test('a loop whose handles change places is refused', (t) => {
  const handles = (name: string, outs: readonly [string, string]): FunctionDef =>
    fun(name, {
      inputs: [arg('a', 'resource'), arg('b', 'resource')],
      outputs: [arg('p', 'resource'), arg('q', 'resource')],
      nodes: [],
      returns: { p: outs[0], q: outs[1] },
    });
  const condition = fun('never', {
    inputs: [arg('a', 'resource'), arg('b', 'resource')],
    outputs: [arg('out', 'bool')],
    nodes: [
      constant('off', {
        dtype: 'bool',
        shape: [],
        data: { kind: 'bytes', bytes: new Uint8Array([0]) },
      }),
    ],
    returns: { out: 'off:output:0' },
  });
  const nodes = [
    variable('v'),
    variable('w'),
    node('loop', 'StatelessWhile', ['v', 'w'], {
      cond: func('never'),
      body: func('swap'),
      T: types('resource', 'resource'),
    }),
    node('y', 'ReadVariableOp', ['loop:1'], { dtype: type('float') }),
  ];
  assert.match(
    outcome(t, nodes, [condition, handles('swap', ['b', 'a'])], {}).problem,
    /value 0 is a different variable after an iteration|no value|not be initialised/,
  );
});

test('pieces of different lengths can be read and put together, but not stacked', (t) => {
  const nodes = (last: NodeDef, lengths: readonly number[]): readonly NodeDef[] => [
    X,
    constant('lengths', int32s(lengths, [lengths.length])),
    constant('any', int32s([-1], [])),
    node('l', 'TensorListSplit', ['x', 'any', 'lengths'], {
      element_dtype: type('float'),
      shape_type: type('int32'),
    }),
    last,
  ];
  const stack = node('y', 'TensorListStack', ['l', 'any'], {
    element_dtype: type('float'),
    num_elements: { kind: 'int', value: -1n },
  });
  const read = node('y', 'TensorListGetItem', ['l', 'zero', 'any'], {
    element_dtype: type('float'),
  });
  const zero = constant('zero', int32s([0], []));
  assert.match(outcome(t, nodes(stack, [1, 2]), []).problem, /items may have different lengths/);
  assert.equal(outcome(t, nodes(stack, [2, 2]), []).problem, '');
  assert.equal(outcome(t, [...nodes(read, [1, 2]), zero], []).problem, '');
});
