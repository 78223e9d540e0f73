// Tables and assets that init fills: fed values, a table's contents, and files that are not read.
// Test time only.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type {
  AssetDef,
  NodeDef,
  PreparedModel,
} from '../../../../../ts/importers/tensorflow/types.js';
import { filledFolder } from '../../../temp-folder.js';
import { invalid } from '../messages.js';
import {
  constant,
  graph,
  int,
  int64s,
  loaded,
  node,
  prepared,
  strings,
  text,
  type,
  values,
  variable,
  variablesOf,
} from './graphs.js';
import { run, set } from './init-graphs.js';

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
    [[fill('f', 'us')], /key "a" has two values: 3 and 1/],
    [[fill('f', 'two')], /keys \[3\] and values \[2\]/],
    [[fill('f', 'ks')], /values of int64, got string and string/],
    [[fill('f', 'vs', 'LookupTableInsertV2')], /accepts no single keys/],
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
    /already initialised with different contents/,
  );
});
