// Restore and init: their order, what is fed, tables, branches, and what a failure leaves behind.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type {
  AssetDef,
  LoadedGraph,
  NodeDef,
  PreparedModel,
} from '../../../../ts/tensorflow/types.js';
import { filledFolder } from '../../temp-folder.js';
import { invalid } from '../messages.js';
import {
  arg,
  bool,
  call,
  checkpoint,
  constant,
  floats,
  fun,
  func,
  graph,
  int,
  int64s,
  list,
  loaded,
  node,
  prepared,
  strings,
  tensor,
  text,
  type,
  types,
  values,
  variable,
  variablesOf,
} from './graphs.js';

const FLOAT = { T: type('float') };
const set = (name: string, of: string, value: string, ...after: string[]): NodeDef =>
  node(name, 'AssignVariableOp', [of, value, ...after], { dtype: type('float') });
const reading = (...names: readonly string[]): NodeDef[] =>
  names.map((name) => node(`${name}/read`, 'ReadVariableOp', [name], { dtype: type('float') }));
const yes = {
  dtype: 'bool' as const,
  shape: [],
  data: { kind: 'bytes' as const, bytes: new Uint8Array([1]) },
};

/** Runs "init", a NoOp after the given nodes; `served` variables are read by the signature. */
function run(
  nodes: readonly NodeDef[],
  after: readonly string[],
  served: readonly string[],
  more: Partial<LoadedGraph> = {},
): PreparedModel {
  const init = node(
    'init',
    'NoOp',
    after.map((name) => `^${name}`),
  );
  return prepared(
    loaded(
      graph([...nodes, init, ...reading(...served)]),
      served.map((name) => `${name}/read`),
      { saver: undefined, initOp: 'init', ...more },
    ),
  );
}

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

function assetOf(path: string, tensorName = 'asset:0'): AssetDef {
  return { tensorName, fileName: 'words.txt', path };
}

const words = (kind: 'string' | 'int64'): Readonly<Record<string, ReturnType<typeof type>>> => ({
  key_dtype: type(kind),
  value_dtype: type(kind === 'string' ? 'int64' : 'string'),
});

test('assets are fed while loading; at serving time the constant is its own again', (t) => {
  const path = join(filledFolder(t, { 'words.txt': 'a\nb\n' }), 'words.txt');
  const nodes = [
    constant('asset', strings(['/trainer/words.txt'], [])),
    node('v', 'VarHandleOp', [], { dtype: type('string') }),
    set('keep', 'v', 'asset'),
    node('table', 'HashTableV2', [], words('string')),
    node('back', 'HashTableV2', [], words('int64')),
    node('fill', 'InitializeTableFromTextFileV2', ['table', 'asset'], {
      key_index: int(-2),
      value_index: int(-1),
      delimiter: text('\t'),
    }),
    node('fill2', 'InitializeTableFromTextFileV2', ['back', 'asset'], {
      key_index: int(-1),
      value_index: int(-2),
      delimiter: text('\t'),
    }),
    node('bytes', 'ReadFile', ['asset']),
    node('w', 'VarHandleOp', [], { dtype: type('string') }),
    set('s2', 'w', 'bytes'),
  ];
  const model = run(nodes, ['keep', 'fill', 'fill2', 's2'], ['v'], { assets: [assetOf(path)] });
  assert.deepEqual(variablesOf(model), { v: [path], w: ['a\nb\n'] });
  const { table, back } = Object.fromEntries(model.state.tables);
  assert.deepEqual(
    [values(table?.keys), values(table?.values)],
    [
      ['a', 'b'],
      [0, 1],
    ],
  );
  assert.deepEqual(
    [values(back?.keys), values(back?.values)],
    [
      [0, 1],
      ['a', 'b'],
    ],
  );
  const own = model.main.nodes.get('asset')?.attributes.get('value');
  assert.deepEqual(own?.kind === 'tensor' ? values(own.value) : own, ['/trainer/words.txt']);
});

test('files that are not assets of the model are not read', () => {
  const init = (op: string, ...inputs: string[]): NodeDef[] => [
    constant('path', strings(['/etc/hostname'], [])),
    variable('v'),
    node('table', 'HashTableV2', [], words('string')),
    node('get', op, [...inputs, 'path']),
  ];
  const lookup = node('v/read', 'LookupTableSizeV2', ['table']);
  const model = (nodes: readonly NodeDef[], target: string) =>
    prepared(loaded(graph([...nodes, lookup]), ['v/read'], { saver: undefined, initOp: target }));
  assert.match(
    invalid(() => model(init('InitializeTableFromTextFileV2', 'table'), 'get')),
    /"table" by InitializeTableFromTextFileV2 "get": "\/etc\/hostname" is not an asset/,
  );
  const read = model([...init('ReadFile'), set('keep', 'v', 'get')], 'keep');
  assert.deepEqual([...read.state.variables], []);
  assert.match(read.state.warnings.join(), /ReadFile "get": "\/etc\/hostname" is not an asset/);
});

function tableModel(fills: readonly NodeDef[], kinds = words('string'), op = 'HashTableV2') {
  const nodes = [
    constant('ks', strings(['a', 'b', 'a'], [3])),
    constant('vs', int64s([1, 2, 1], [3])),
    constant('us', int64s([1, 2, 3], [3])),
    constant('two', int64s([1, 2], [2])),
    node('table', op, [], kinds),
    ...fills,
  ];
  const init = node(
    'init',
    'NoOp',
    fills.map(({ name }) => `^${name}`),
  );
  return prepared(
    loaded(graph([...nodes, init, node('y', 'LookupTableSizeV2', ['table'])]), ['y'], {
      saver: undefined,
      initOp: 'init',
    }),
  );
}

test('tables from constants: the first place of a key, and what static ones refuse', () => {
  const fill = (name: string, by: string, op = 'LookupTableImportV2', ...after: string[]) =>
    node(name, op, ['table', 'ks', by, ...after]);
  const contents = (model: PreparedModel): unknown => {
    const { table } = Object.fromEntries(model.state.tables);
    return [values(table?.keys), values(table?.values)];
  };
  assert.deepEqual(contents(tableModel([fill('f', 'vs')])), [
    ['a', 'b'],
    [1, 2],
  ]);
  assert.deepEqual(contents(tableModel([fill('f', 'vs', 'InitializeTableV2')])), [
    ['a', 'b'],
    [1, 2],
  ]);
  assert.deepEqual(contents(tableModel([fill('f', 'vs'), fill('g', 'vs')])), [
    ['a', 'b'],
    [1, 2],
  ]);
  const mutable = (fills: readonly NodeDef[]) =>
    contents(tableModel(fills, words('string'), 'MutableHashTableV2'));
  assert.deepEqual(mutable([fill('f', 'us')]), [
    ['a', 'b'],
    [3, 2],
  ]);
  assert.deepEqual(mutable([fill('f', 'us'), fill('g', 'vs', 'LookupTableInsertV2', '^f')]), [
    ['a', 'b'],
    [1, 2],
  ]);
  const cases: readonly (readonly [readonly NodeDef[], RegExp])[] = [
    [[fill('f', 'us')], /key "a" has value 3 and, before, 1/],
    [[fill('f', 'two')], /keys \[3\] and values \[2\]/],
    [[fill('f', 'ks')], /values of int64, got string and string/],
    [[fill('f', 'vs', 'LookupTableInsertV2')], /takes no single keys/],
    [[node('f', 'LookupTableImportV2', ['ks', 'ks', 'vs']), fill('g', 'us')], /key "a"/],
  ];
  for (const [fills, expected] of cases)
    assert.match(
      invalid(() => tableModel(fills)),
      expected,
    );
});

test('a static table that is filled twice with different contents', () => {
  const nodes = [
    constant('k1', strings(['a'], [1])),
    constant('k2', strings(['b'], [1])),
    constant('v', int64s([1], [1])),
    node('table', 'HashTableV2', [], words('string')),
    node('f', 'LookupTableImportV2', ['table', 'k1', 'v']),
    node('g', 'LookupTableImportV2', ['table', 'k2', 'v', '^f']),
  ];
  assert.match(
    invalid(() =>
      prepared(
        loaded(graph([...nodes, node('y', 'LookupTableSizeV2', ['table'])]), ['y'], {
          saver: undefined,
          initOp: 'g',
        }),
      ),
    ),
    /already initialised with other contents/,
  );
});

test('what cannot be run: an error where it is needed, else a warning; never an old value', () => {
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
  const bad = /^could not be initialised: "v" by Cholesky "odd": the operator is not run while/;
  assert.match(
    invalid(() => run(nodes, ['s1', 'also'], ['v'])),
    bad,
  );
  const fine = run(nodes, ['s1', 'also'], ['w', 'u']);
  assert.deepEqual(variablesOf(fine), { w: [1] });
  assert.deepEqual(fine.state.warnings, [
    'not run: Cholesky "odd": the operator is not run while loading',
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

test('what the init signature itself names is not served', () => {
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
