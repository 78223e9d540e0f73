// Restore and init: their order, shared names, and the state after a failure. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeDef } from '../../../../../ts/importers/tensorflow/types.js';
import { invalid } from '../messages.js';
import {
  bool,
  checkpoint,
  constant,
  floats,
  graph,
  int64s,
  loaded,
  node,
  prepared,
  strings,
  tensor,
  text,
  type,
  types,
  variable,
  variablesOf,
} from './graphs.js';
import { FLOAT, reading, run, set } from './init-graphs.js';

test('init runs after the restore and sees what it restored', () => {
  const stored = checkpoint({ v: floats([10]), w: floats([1]) });
  const source = graph([
    node('file', 'Placeholder', [], { dtype: type('string') }),
    constant('names', strings(['v', 'w'], [2])),
    constant('slices', strings(['', ''], [2])),
    node('read', 'RestoreV2', ['file', 'names', 'slices'], { dtypes: types('float', 'float') }),
    variable('v'),
    variable('w'),
    set('s1', 'v', 'read'),
    set('s2', 'w', 'read:1'),
    node('restore', 'NoOp', ['^s1', '^s2']),
    constant('one', floats([1])),
    node('more', 'AssignAddVariableOp', ['v', 'one'], { dtype: type('float') }),
    node('old', 'ReadVariableOp', ['v', '^more'], { dtype: type('float') }),
    set('copy', 'w', 'old'),
    ...reading('v', 'w'),
  ]);
  const model = (initOp: string | undefined) =>
    variablesOf(prepared(loaded(source, ['v/read', 'w/read'], { initOp }), stored));
  assert.deepEqual(model(undefined), { v: [10], w: [1] });
  assert.deepEqual(model('copy'), { v: [11], w: [11] });
});

test('control edges decide the order in which state changes', () => {
  const nodes = [
    constant('a', floats([1])),
    constant('b', floats([2])),
    variable('v'),
    set('first', 'v', 'a'),
    set('second', 'v', 'b', '^first'),
    set('third', 'v', 'a', '^second'),
  ];
  assert.deepEqual(variablesOf(run(nodes, ['second', 'first'], ['v'])), { v: [2] });
  assert.deepEqual(variablesOf(run(nodes, ['third'], ['v'])), { v: [1] });
});

test('nodes of one shared name are one variable', () => {
  const shared = (name: string, of: string): NodeDef =>
    node(name, 'VarHandleOp', [], {
      dtype: type('float'),
      shared_name: text(of),
    });
  const anonymous = 'cd2c89b7-88b7-44c8-ad83-06c2a9158347';
  const nodes = [
    shared('a', 'x'),
    shared('b', 'x'),
    shared('c', ''),
    shared('d', ''),
    shared('e', anonymous),
    shared('f', anonymous),
    constant('k', floats([4])),
    set('s1', 'a', 'k'),
    set('s2', 'c', 'k'),
    set('s3', 'e', 'k'),
  ];
  assert.deepEqual(variablesOf(run(nodes, ['s1', 's2', 's3'], ['b', 'd', 'f'])), {
    a: [4],
    b: [4],
    c: [4],
    e: [4],
  });
});

test('fails or warns for operators that cannot run; never uses an old value', () => {
  const nodes = [
    variable('v'),
    variable('w'),
    variable('u'),
    constant('k', floats([1])),
    node('odd', 'Cholesky', ['k'], FLOAT),
    node('then', 'Neg', ['odd'], FLOAT),
    set('s0', 'v', 'k'),
    set('s1', 'v', 'then', '^s0'),
    set('s2', 'w', 'k'),
    node('also', 'NoOp', ['^odd', '^s2']),
  ];
  const bad =
    /^could not be initialised: "v" by Cholesky "odd": the operator is not supported while/;
  assert.match(
    invalid(() => run(nodes, ['s1', 'also'], ['v'])),
    bad,
  );
  const fine = run(nodes, ['s1', 'also'], ['w', 'u']);
  assert.deepEqual(variablesOf(fine), { w: [1] });
  assert.deepEqual(fine.state.warnings, [
    'not run: Cholesky "odd": the operator is not supported while loading',
  ]);
  assert.deepEqual(
    variablesOf(run([...nodes, set('s3', 'v', 'k', '^s1')], ['s3'], ['v'])),
    { v: [1] },
    'a later assignment that works makes up for it',
  );
});

test('several failures are all named; unread variables without value are left out', () => {
  const names = Array.from({ length: 12 }, (_, at) => `v${at}`);
  const nodes = names.flatMap((name) => [
    variable(name),
    node(`${name}/x`, 'Placeholder', [], {
      dtype: type('float'),
    }),
    set(`${name}/set`, name, `${name}/x`),
  ]);
  const message = invalid(() =>
    run(
      nodes,
      names.map((name) => `${name}/set`),
      names,
    ),
  );
  assert.match(message, /"v0" by Placeholder "v0\/x": it is not fed.*; and 4 more$/);
  assert.deepEqual(variablesOf(run(nodes, [], names)), {});
  const one = [
    node('x', 'Placeholder', [], { dtype: type('float') }),
    variable('v'),
    variable('w'),
    set('s', 'v', 'x'),
    set('t', 'w', 'x'),
  ];
  assert.match(
    invalid(() => run(one, ['s', 't'], ['v', 'w'])),
    /^could not be initialised: "v", "w" by Placeholder "x": it is not fed/,
  );
});

test('an unread update does not count; an update of what has no value does', () => {
  const nodes = [
    variable('v'),
    constant('k', floats([1])),
    node('add', 'AssignAddVariableOp', ['v', 'k'], { dtype: type('float') }),
  ];
  assert.match(
    invalid(() => run(nodes, ['add'], ['v'])),
    /variable "v" has no value/,
  );
});

test('serialised trees are kept by their handle', () => {
  const nodes = [
    node('trees', 'BoostedTreesEnsembleResourceHandleOp'),
    constant('stamp', int64s([0], [])),
    constant('bytes', strings(['\u0001abc'], [])),
    node('make', 'BoostedTreesCreateEnsemble', ['trees', 'stamp', 'bytes']),
  ];
  const model = run(nodes, ['make'], []);
  assert.deepEqual(
    [...model.state.blobs].map(([name, blob]) => [name, Buffer.from(blob)]),
    [['trees', Buffer.from('\u0001abc')]],
  );
});

test('does not serve tensors that the init signature names', () => {
  const nodes = [
    variable('v'),
    node('x', 'Placeholder', [], { dtype: type('float') }),
    set('s', 'v', 'x'),
    node('init', 'NoOp', ['^s']),
    node('y', 'Const', [], {
      value: tensor(floats([1])),
      unused: bool(true),
    }),
  ];
  const source = loaded(graph(nodes), ['y'], { saver: undefined, initOp: 'init' });
  const [[, signature] = []] = source.signatures;
  assert.ok(signature !== undefined);
  const withInit = {
    ...source,
    signatures: new Map([
      ...source.signatures,
      [
        '__saved_model_init_op',
        { ...signature, outputs: new Map([['op', { name: 'init', dtypeCode: 1 }]]) },
      ],
    ]),
  };
  assert.match(prepared(withInit).state.warnings.join(), /Placeholder "x": it is not fed/);
  const many = new Map(Array.from({ length: 70 }, (_, at) => [`s${at}`, signature]));
  assert.deepEqual(variablesOf(prepared({ ...withInit, signatures: many })), {});
});
