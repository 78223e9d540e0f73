// Branches and calls in initialization: the branch that runs, the depth of nesting, and loops,
// which are not run. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalid } from '../messages.js';
import {
  arg,
  call,
  constant,
  floats,
  fun,
  func,
  graph,
  int,
  list,
  loaded,
  node,
  prepared,
  type,
  types,
  variable,
  variablesOf,
} from './graphs.js';
import { FLOAT, reading, run, set } from './init-graphs.js';

const yes = {
  dtype: 'bool' as const,
  shape: [],
  data: { kind: 'bytes' as const, bytes: new Uint8Array([1]) },
};

test('branches of TensorFlow 1 by a known condition', () => {
  const nodes = [
    variable('v'),
    variable('w'),
    constant('a', floats([1])),
    constant('b', floats([2])),
    node('is', 'VarIsInitializedOp', ['v', '^s0']),
    set('s0', 'v', 'a'),
    node('sw', 'Switch', ['is', 'is'], { T: type('bool') }),
    node('on', 'Identity', ['sw:1'], { T: type('bool') }),
    node('off', 'Identity', ['sw:0'], { T: type('bool') }),
    constant('x', floats([3]), ['^on']),
    constant('y', floats([4]), ['^off']),
    set('never', 'v', 'y'),
    node('m', 'Merge', ['y', 'x'], { N: int(2), ...FLOAT }),
    set('s1', 'w', 'm'),
  ];
  assert.deepEqual(variablesOf(run(nodes, ['s1', 's0'], ['v', 'w'])), { v: [1], w: [3] });
  const dead = run([...nodes, node('end', 'NoOp', ['^never'])], ['end', 's1'], ['v', 'w']);
  assert.deepEqual(variablesOf(dead), { v: [1], w: [3] });
});

test('If, Case and calls run with their effects', () => {
  const then = fun('then', {
    inputs: [arg('v', 'resource')],
    nodes: [constant('k', floats([7])), set('s', 'v', 'k:output:0')],
    returns: { r: 'k:output:0' },
  });
  const otherwise = fun('otherwise', {
    inputs: [arg('v', 'resource')],
    nodes: [
      constant('k', floats([8])),
      node('bad', 'Cholesky', ['k:output:0'], FLOAT),
      set('s', 'v', 'bad:output:0'),
    ],
    returns: { r: 'k:output:0' },
  });
  const outer = fun('outer', {
    inputs: [arg('c', 'bool'), arg('v', 'resource')],
    nodes: [
      node('if', 'If', ['c', 'v'], {
        then_branch: func('then'),
        else_branch: func('otherwise'),
        Tin: types('resource'),
        Tout: types('float'),
      }),
    ],
    returns: { r: 'if:output:0' },
  });
  const model = (value: number, initOp = 'c') =>
    prepared(
      loaded(
        graph(
          [
            variable('v'),
            variable('w'),
            constant('yes', { ...yes, data: { kind: 'bytes', bytes: new Uint8Array([value]) } }),
            constant('index', floats([5])),
            call('c', 'outer', ['yes', 'v'], ['float']),
            node('case', 'Case', ['index', 'v'], {
              branches: list({
                functions: [
                  { name: 'otherwise', attributes: new Map() },
                  { name: 'then', attributes: new Map() },
                ],
              }),
              Tin: types('resource'),
              Tout: types('float'),
            }),
            set('s', 'w', 'c'),
            node('init', 'NoOp', ['^s']),
            ...reading('v', 'w'),
          ],
          then,
          otherwise,
          outer,
        ),
        ['v/read'],
        { saver: undefined, initOp },
      ),
    );
  assert.deepEqual(variablesOf(model(1, 'init')), { v: [7], w: [7] });
  assert.deepEqual(variablesOf(model(0, 'case')), { v: [7] });
  assert.match(
    invalid(() => model(0, 'init')),
    /"v" by Cholesky "bad"/,
  );
});

test('branches within branches are limited, in depth and in number', () => {
  const count = 80;
  const functions = Array.from({ length: count }, (_, at) =>
    fun(`f${at}`, {
      inputs: [arg('c', 'bool')],
      returns: { r: at + 1 === count ? 'c' : 'i:output:0' },
      outputs: [arg('r', 'bool')],
      nodes:
        at + 1 === count
          ? []
          : [
              node('i', 'If', ['c', 'c'], {
                then_branch: func(`f${at + 1}`),
                else_branch: func(`f${at + 1}`),
                Tin: types('bool'),
                Tout: types('bool'),
              }),
            ],
    }),
  );
  const nodes = [
    node('v', 'VarHandleOp', [], { dtype: type('bool') }),
    constant('yes', yes),
    node('i', 'If', ['yes', 'yes'], {
      then_branch: func('f0'),
      else_branch: func('f0'),
      Tin: types('bool'),
      Tout: types('bool'),
    }),
    set('init', 'v', 'i'),
    ...reading('v'),
  ];
  const model = prepared(
    loaded(graph(nodes, ...functions), [], { saver: undefined, initOp: 'init' }),
  );
  assert.match(model.state.warnings.join(), /functions are nested more than 64 deep/);
});

test('loops in what initialises are not run', () => {
  const nodes = [
    variable('v'),
    constant('k', floats([1])),
    node('m', 'Merge', ['k', 'n'], { N: int(2), ...FLOAT }),
    node('n', 'NextIteration', ['m'], FLOAT),
    set('s', 'v', 'n'),
  ];
  assert.match(
    invalid(() => run(nodes, ['s'], ['v'])),
    /it is part of a loop/,
  );
});
