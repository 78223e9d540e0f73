// The restore op: which tensor of the checkpoint, or which part of one, a variable gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseShapeAndSlice } from '../../../../../ts/importers/tensorflow/prepare/kernels/restore.js';
import type { Checkpoint, NodeDef, Tensor } from '../../../../../ts/importers/tensorflow/types.js';
import { ProtobufWriter } from '../../../../../ts/protobuf/writer.js';
import { invalid } from '../messages.js';
import {
  arg,
  checkpoint,
  constant,
  floats,
  fun,
  graph,
  int,
  int64s,
  loaded,
  node,
  prepared,
  shape,
  strings,
  text,
  type,
  types,
  values,
  variable,
  variablesOf,
} from './graphs.js';

const FLOAT = { T: type('float') };
const FILE = node('file', 'Placeholder', [], { dtype: type('string') });

/** RestoreV2 of "name" or "name|slices" as floats. */
function restoreV2(...wanted: readonly string[]): NodeDef[] {
  const parts = wanted.map((one) => one.split('|'));
  return [
    FILE,
    constant(
      'names',
      strings(
        parts.map(([name = '']) => name),
        [wanted.length],
      ),
    ),
    constant(
      'slices',
      strings(
        parts.map(([, slice = '']) => slice),
        [wanted.length],
      ),
    ),
    node('read', 'RestoreV2', ['file', 'names', 'slices'], {
      dtypes: types(...wanted.map((): 'float' => 'float')),
    }),
  ];
}

const set = (name: string, of: string, value: string): NodeDef =>
  node(name, 'AssignVariableOp', [of, value], { dtype: type('float') });
const restoreAll = (...names: readonly string[]): NodeDef =>
  node(
    'restore',
    'NoOp',
    names.map((name) => `^${name}`),
  );
const reading = (...names: readonly string[]): NodeDef[] =>
  names.map((name) => node(`${name}/read`, 'ReadVariableOp', [name], { dtype: type('float') }));

function run(nodes: readonly NodeDef[], stored: Checkpoint | undefined, ...served: string[]) {
  const all = [...nodes, ...reading(...served)];
  return prepared(
    loaded(
      graph(all),
      served.map((name) => `${name}/read`),
    ),
    stored,
  );
}

test('names need not be those of the variables (moving averages)', () => {
  const reads: string[] = [];
  const stored = checkpoint({ w: floats([1]), 'w/Average': floats([2]), u: floats([3]) }, reads);
  const model = run(
    [
      variable('w'),
      variable('u'),
      ...restoreV2('u', 'w/Average'),
      set('s1', 'w', 'read:1'),
      set('s2', 'u', 'read'),
      restoreAll('s1', 's2'),
    ],
    stored,
    'w',
  );
  assert.deepEqual(variablesOf(model), { u: [3], w: [2] });
  assert.deepEqual(reads, ['w/Average', 'u'], 'what no signature needs is read when asked for');
});

test('partitions: one name, another part for each variable', () => {
  const stored = checkpoint({ emb: floats([0, 1, 2, 3, 4, 5], [3, 2]) });
  const model = run(
    [
      variable('p0', 'float', [2, 2]),
      variable('p1', 'float', [1, 2]),
      ...restoreV2('emb|3 2 0,2:0,2', 'emb|3 2 2,1:-'),
      set('s1', 'p0', 'read:0'),
      set('s2', 'p1', 'read:1'),
      restoreAll('s1', 's2'),
    ],
    stored,
    'p0',
  );
  assert.deepEqual(variablesOf(model), { p0: [0, 1, 2, 3], p1: [4, 5] });
  assert.deepEqual(model.state.variables.get('p1')?.shape, [1, 2]);
});

test('shapes and slices as the saver writes them', () => {
  assert.equal(parseShapeAndSlice(''), undefined);
  assert.deepEqual(parseShapeAndSlice('10 4 4,3:0,4'), {
    shape: [10, 4],
    slice: [
      { start: 4, length: 3 },
      { start: 0, length: 4 },
    ],
  });
  assert.deepEqual(parseShapeAndSlice('3 -'), {
    shape: [3],
    slice: [{ start: 0, length: undefined }],
  });
  assert.deepEqual(parseShapeAndSlice(' '), { shape: [], slice: [] });
  for (const bad of [
    '10',
    '10 4 4,3',
    '10 a',
    '10 1',
    '10 1,',
    'x 0,1',
    '-1 0,1',
    '4 0,1:0,1',
    '1e3 0,1',
    '99999999999999999999 0,1',
  ]) {
    assert.match(
      invalid(() => parseShapeAndSlice(bad)),
      /shape and slice/,
      bad,
    );
  }
});

test('values go through reshapes and casts; names are put together by other ops', () => {
  const stored = checkpoint({ 'a/b': floats([1, 2.7, -3.2, 4], [4]) });
  const model = run(
    [
      FILE,
      variable('v', 'int32', [2, 2]),
      variable('w', 'float', [1, 4]),
      constant('a', strings(['a'], [])),
      constant('b', strings(['b'], [])),
      node('joined', 'StringJoin', ['a', 'b'], { N: int(2), separator: text('/') }),
      node('names', 'Pack', ['joined'], { N: int(1), T: type('string') }),
      constant('slices', strings([''], [1])),
      node('read', 'RestoreV2', ['file', 'names', 'slices'], { dtypes: types('float') }),
      constant('square', int64s([2, -1], [2])),
      node('shaped', 'Reshape', ['read', 'square'], FLOAT),
      node('cast', 'Cast', ['shaped'], { SrcT: type('float'), DstT: type('int32') }),
      node('same', 'Identity', ['cast'], { T: type('int32') }),
      set('s1', 'v', 'same'),
      constant('zero', int64s([0], [])),
      node('row', 'ExpandDims', ['read', 'zero'], FLOAT),
      set('s2', 'w', 'row'),
      restoreAll('s1', 's2'),
    ],
    stored,
    'v',
    'w',
  );
  assert.deepEqual(values(model.state.variables.get('v')), [1, 2, -3, 4]);
  assert.deepEqual(model.state.variables.get('v')?.shape, [2, 2]);
  assert.deepEqual(model.state.variables.get('w')?.shape, [1, 4]);
});

test('reference variables, RestoreSlice and Restore', () => {
  const stored = checkpoint({ a: floats([1]), b: floats([1, 2], [2]) });
  const old = (name: string, dims: readonly number[]): NodeDef =>
    node(name, 'Variable', [], { dtype: type('float'), shape: shape(dims) });
  const model = prepared(
    loaded(
      graph([
        FILE,
        old('a', []),
        old('b', [1]),
        old('c', []),
        constant('na', strings(['a'], [])),
        constant('nb', strings(['b'], [])),
        constant('part', strings(['2 1,1'], [])),
        constant('no', floats([0])),
        node('ra', 'Restore', ['file', 'na'], { dt: type('float') }),
        node('rb', 'RestoreSlice', ['file', 'nb', 'part'], { dt: type('float') }),
        constant('true', {
          dtype: 'bool',
          shape: [],
          data: { kind: 'bytes', bytes: new Uint8Array([1]) },
        }),
        node('sw', 'RefSwitch', ['a', 'true'], FLOAT),
        node('s1', 'Assign', ['sw:1', 'ra'], FLOAT),
        node('s2', 'Assign', ['b', 'rb'], FLOAT),
        node('s3', 'Assign', ['sw:0', 'no'], FLOAT),
        restoreAll('s1', 's2'),
        node('y', 'Add', ['a', 'b'], FLOAT),
      ]),
      ['y'],
    ),
    stored,
  );
  assert.deepEqual(variablesOf(model), { a: [1], b: [2] });
});

test('TensorFlow 2: the restore op is a call whose body assigns its arguments', () => {
  const body = fun('restore_fn', {
    inputs: [arg('file', 'string'), arg('v', 'resource'), arg('w', 'resource')],
    nodes: [
      constant('names', strings(['0/.ATTRIBUTES/VARIABLE_VALUE', '1'], [2])),
      constant('slices', strings(['', ''], [2])),
      node('read', 'RestoreV2', ['file', 'names:output:0', 'slices:output:0'], {
        dtypes: types('float', 'float'),
      }),
      node('i', 'Identity', ['read:tensors:1'], FLOAT),
      node('j', 'Identity', ['read:tensors:0'], FLOAT),
      set('s1', 'v', 'i:output:0'),
      set('s2', 'w', 'j:output:0'),
      node('end', 'NoOp', ['^s1', '^s2']),
      node('out', 'Identity', ['file', '^end'], { T: type('string') }),
    ],
    returns: { r: 'out:output:0' },
    outputs: [arg('r', 'string')],
    control: { c: 'end' },
  });
  const source = graph(
    [
      FILE,
      variable('v'),
      variable('w'),
      ...reading('v', 'w'),
      node('restore', 'restore_fn', ['file', 'v', 'w']),
    ],
    body,
  );
  const model = prepared(
    loaded(source, ['v/read', 'w/read']),
    checkpoint({
      '0/.ATTRIBUTES/VARIABLE_VALUE': floats([5]),
      1: floats([6]),
    }),
  );
  assert.deepEqual(variablesOf(model), { v: [6], w: [5] });
});

test('mutable tables come from the checkpoint; of dense ones only the places in use', () => {
  const importing = (name: string): NodeDef[] => [
    node(`${name}/import`, 'LookupTableImportV2', [name, 'read', 'read:1'], {
      Tin: type('int64'),
      Tout: type('float'),
    }),
  ];
  const kinds = { key_dtype: type('int64'), value_dtype: type('float') };
  const stored = checkpoint({
    'k-keys': int64s([4, 0, 5, -7, 4], [5]),
    'k-values': floats([1, 2, 3, 4, 5], [5]),
  });
  const model = prepared(
    loaded(
      graph([
        FILE,
        constant('names', strings(['k-keys', 'k-values'], [2])),
        constant('slices', strings(['', ''], [2])),
        node('read', 'RestoreV2', ['file', 'names', 'slices'], { dtypes: types('int64', 'float') }),
        constant('none', int64s([0], [])),
        constant('gone', int64s([-7], [])),
        node('open', 'MutableHashTableV2', [], kinds),
        ...importing('open'),
        node('dense', 'MutableDenseHashTableV2', ['none', 'gone'], kinds),
        ...importing('dense'),
        restoreAll('open/import', 'dense/import'),
        node('y', 'LookupTableSizeV2', ['open']),
      ]),
      ['y'],
    ),
    stored,
  );
  const contents = [...model.state.tables].map(([name, { keys, values: found }]) => [
    name,
    values(keys),
    values(found),
  ]);
  assert.deepEqual(contents.sort(), [
    ['dense', [4, 5], [5, 3]],
    ['open', [4, 0, 5, -7], [5, 2, 3, 4]],
  ]);
});

test('fails for a variable that a signature needs, and warns for others', () => {
  const stored = checkpoint({ v: floats([1, 2], [2]), w: floats([1]) });
  const model = (wanted: string, of: NodeDef, served: string) =>
    run(
      [
        of,
        variable('w'),
        ...restoreV2(wanted, 'w'),
        set('s1', of.name, 'read'),
        set('s2', 'w', 'read:1'),
        restoreAll('s1', 's2'),
      ],
      stored,
      served,
    );
  const int8 = variable('v', 'int8', [2]);
  assert.match(
    invalid(() => model('v', int8, 'v')),
    /"v" by AssignVariableOp "s1": variable "v": expected int8, got float/,
  );
  assert.match(
    invalid(() => model('v', variable('v', 'float', [3]), 'v')),
    /expected shape \[3\], got \[2\]/,
  );
  assert.match(
    invalid(() => model('v|3 0,2', variable('v', 'float', [2]), 'v')),
    /RestoreV2 "read": tensor "v": expected shape \[3\], the checkpoint has \[2\]/,
  );
  assert.match(
    invalid(() => model('v|2 1,2', variable('v', 'float', [2]), 'v')),
    /1..3 is out of range for 2/,
  );
  const left = model('v', int8, 'w');
  assert.deepEqual(variablesOf(left), { w: [1] });
  assert.match(left.state.warnings.join(), /not run: AssignVariableOp "s1"/);
});

test("only the model's own checkpoint is read", () => {
  const stored = checkpoint({ w: floats([1]) });
  const nodes = (file: NodeDef) => [
    file,
    variable('w'),
    ...restoreV2('w').slice(1),
    set('s', 'w', 'read'),
  ];
  const bad = /"\/other" is not the model's checkpoint/;
  const restoring = [...nodes(constant('file', strings(['/other'], []))), restoreAll('s')];
  assert.match(
    invalid(() =>
      prepared(
        loaded(graph([...restoring, ...reading('w')]), ['w/read'], {
          saver: { filenameTensor: 'else:0', restoreOp: 'restore' },
        }),
        stored,
      ),
    ),
    bad,
  );
  const init = [...nodes(constant('file', strings(['/other'], []))), ...reading('w')];
  assert.match(
    invalid(() =>
      prepared(loaded(graph(init), ['w/read'], { saver: undefined, initOp: 's' }), undefined),
    ),
    bad,
  );
});

test('damage to a tensor that is needed shows when the model is prepared', () => {
  const stored: Checkpoint = {
    ...checkpoint({ w: floats([1]) }),
    read: () => {
      throw new TypeError('damaged');
    },
  };
  const nodes = [variable('w'), ...restoreV2('w'), set('s', 'w', 'read'), restoreAll('s')];
  assert.throws(() => run(nodes, stored, 'w'), /damaged/);
  assert.doesNotThrow(() => run(nodes, stored));
});

/** TrackableObjectGraph with (full name, key) pairs. */
function objectGraph(...pairs: readonly (readonly [string, string])[]): Tensor {
  const writer = new ProtobufWriter();
  for (const [name, key] of pairs) {
    writer.message(1, (object) => {
      object.message(2, (one) => {
        one.string(1, 'VARIABLE_VALUE').string(2, name).string(3, key);
      });
    });
  }
  return { dtype: 'string', shape: [], data: { kind: 'strings', values: [writer.concat()] } };
}

test('without a restore op: the object graph, then names, and a warning', () => {
  const stored = checkpoint({
    'x/1': floats([1]),
    w: floats([2]),
    'u/.ATTRIBUTES/VARIABLE_VALUE': floats([3]),
    t: floats([4, 5], [2]),
    _CHECKPOINTABLE_OBJECT_GRAPH: objectGraph(['v', 'x/1'], ['', 'w']),
  });
  const nodes = ['v', 'w', 'u', 't', 's'].map((name) => variable(name));
  const model = prepared(
    loaded(graph([...nodes, ...reading('v', 'w', 'u', 't', 's')]), [
      'v/read',
      'w/read',
      'u/read',
      't/read',
      's/read',
    ]),
    stored,
  );
  assert.deepEqual(variablesOf(model), { u: [3], v: [1], w: [2] });
  assert.match(model.state.warnings.join(), /no restore op.*by name; not found: "\w"; "\w"$/);
  const damaged = {
    ...objectGraph(),
    data: { kind: 'strings' as const, values: [new Uint8Array([10, 99])] },
  };
  assert.match(
    invalid(() =>
      prepared(
        loaded(graph([variable('v'), ...reading('v')]), ['v/read']),
        checkpoint({ _CHECKPOINTABLE_OBJECT_GRAPH: damaged }),
      ),
    ),
    /TrackableObjectGraph/,
  );
});

test('no checkpoint: nothing is restored, variables are left out', () => {
  const nodes = [variable('w'), ...restoreV2('w'), set('s', 'w', 'read'), restoreAll('s')];
  const model = run(nodes, undefined, 'w');
  assert.deepEqual(variablesOf(model), {});
  assert.deepEqual(model.state.warnings, []);
});
