// The operator table: arguments by attributes, defaults, functions and the model's own operators.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpTable } from '../../../../../ts/importers/tensorflow/proto/op-defs.js';
import type {
  Attribute,
  Attributes,
  Dtype,
  OpDef,
} from '../../../../../ts/importers/tensorflow/types.js';
import { invalid, utf8 } from '../messages.js';

const table = new OpTable();
const attributes = (values: Readonly<Record<string, Attribute>>): Attributes =>
  new Map(Object.entries(values));
const type = (value: Dtype): Attribute => ({ kind: 'type', value });
const int = (value: bigint): Attribute => ({ kind: 'int', value });
const types = (...values: readonly Dtype[]): Attribute => ({
  kind: 'list',
  value: {
    bytes: [],
    ints: [],
    floats: [],
    bools: [],
    types: values,
    shapes: [],
    tensors: [],
    functions: [],
  },
});

test('every operator of the importer is there', () => {
  const names = `Const Placeholder PlaceholderV2 PlaceholderWithDefault Identity IdentityN NoOp
    Variable VariableV2 VarHandleOp ReadVariableOp ResourceGather Assign AssignVariableOp Restore
    RestoreSlice RestoreV2 PartitionedCall StatefulPartitionedCall AddV2 Inv BatchMatMulV3 Einsum
    Conv2D DepthwiseConv2dNative FusedBatchNormV3 BatchNormWithGlobalNormalization Concat ConcatV2
    StridedSlice TopKV2 ResizeBilinear NonMaxSuppressionV5 If StatelessIf Case While StatelessWhile
    TensorListReserve TensorListFromTensor Switch RefSwitch Merge Enter Exit NextIteration LoopCond
    TensorArrayV3 TensorArrayReadV3 BlockLSTM GRUBlockCell CudnnRNNV3 ParseExample ParseExampleV2
    ParseSingleExample ParseSequenceExampleV2 HashTable HashTableV2 LookupTableFind
    LookupTableFindV2 InitializeTableFromTextFileV2 StringToHashBucketFast SparseCross
    SparseCrossHashed SparseFillEmptyRows SparseSegmentMeanWithNumSegments RaggedTensorToTensor
    UnsortedSegmentJoin DynamicStitch ParallelDynamicStitch TensorScatterUpdate StringSplitV2
    StringNGrams StaticRegexReplace UnicodeTranscode DecodeJpeg DecodeImage DecodeBase64 Bitcast
    BoostedTreesPredict FakeQuantWithMinMaxVars QuantizeV2 RandomUniform StatelessRandomUniformV2
    LRN Bucketize XlaCallModule`.split(/\s+/);
  for (const name of names) assert.ok(table.find(name) !== undefined, name);
  assert.equal(table.find('Nonsense'), undefined);
});

test('outputs by type, number and list attributes', () => {
  const plain = (name: string, dtype: Dtype, count = 1): object => ({
    name,
    count,
    dtype,
    dtypes: undefined,
  });
  assert.deepEqual(table.outputs('TopKV2', attributes({ T: type('half') })), [
    plain('values', 'half'),
    plain('indices', 'int32'),
  ]);
  assert.deepEqual(table.outputs('Split', attributes({ T: type('int8'), num_split: int(3n) })), [
    plain('output', 'int8', 3),
  ]);
  assert.deepEqual(table.outputs('IdentityN', attributes({ T: types('float', 'string') })), [
    { name: 'output', count: 2, dtype: undefined, dtypes: ['float', 'string'] },
  ]);
  assert.deepEqual(table.outputs('NoOp', new Map()), []);
  assert.deepEqual(
    table
      .inputs('ConcatV2', attributes({ N: int(2n), T: type('float') }))
      .map(({ name, count, dtype }) => [name, count, dtype]),
    [
      ['values', 2, 'float'],
      ['axis', 1, 'int32'],
    ],
  );
  assert.deepEqual(table.inputNames('MatMul'), ['a', 'b']);
});

test('the dtype and number of ports', () => {
  const parse = {
    op: 'ParseExampleV2',
    attributes: attributes({
      num_sparse: int(2n),
      sparse_types: types('int64', 'string'),
      Tdense: types('float'),
      ragged_value_types: types(),
      ragged_split_types: types(),
    }),
  };
  const dtypes = [0, 1, 2, 3, 4, 5, 6, 7].map((output) => table.outputDtype(parse, output));
  assert.deepEqual(dtypes, [
    'int64',
    'int64',
    'int64',
    'string',
    'int64',
    'int64',
    'float',
    undefined,
  ]);
  assert.equal(table.outputCount(parse), 7);
  assert.equal(table.outputCount({ op: 'Nonsense', attributes: new Map() }), undefined);
  assert.equal(table.outputDtype({ op: 'Nonsense', attributes: new Map() }, 0), undefined);
});

test('defaults fill what a node leaves out and nothing else', () => {
  const found = table.complete(
    'Conv2D',
    attributes({ data_format: { kind: 'bytes', value: utf8('NCHW') } }),
  );
  assert.deepEqual(found.get('data_format'), { kind: 'bytes', value: utf8('NCHW') });
  assert.deepEqual(found.get('use_cudnn_on_gpu'), { kind: 'bool', value: true });
  const dilations = found.get('dilations');
  assert.ok(dilations?.kind === 'list');
  assert.deepEqual(dilations.value.ints, [1n, 1n, 1n, 1n]);
  assert.deepEqual(table.defaults('Placeholder').get('shape'), { kind: 'shape', value: undefined });
  assert.deepEqual(table.defaults('LeakyRelu').get('alpha'), {
    kind: 'float',
    value: Math.fround(0.2),
  });
  assert.deepEqual(table.defaults('DebugNumericSummary').get('upper_bound'), {
    kind: 'float',
    value: Infinity,
  });
  assert.equal(table.defaults('Nonsense').size, 0);
});

test('statefulness and references', () => {
  assert.deepEqual(
    [table.isStateful('VarHandleOp'), table.isStateful('Add'), table.isStateful('Nonsense')],
    [true, false, false],
  );
  assert.equal(table.find('Variable')?.outputs[0]?.isRef, true);
});

test('functions come first, then the registry, then what the model says', () => {
  const op = (name: string, output: Dtype): OpDef => ({
    name,
    inputs: [],
    defaults: new Map(),
    isStateful: false,
    outputs: [
      { name: 'o', type: output, typeAttr: '', numberAttr: '', typeListAttr: '', isRef: false },
    ],
  });
  const body = { nodes: [], returns: new Map(), controlReturns: new Map(), attributes: new Map() };
  const functions = new Map([['Abs', { ...body, signature: op('Abs', 'string') }]]);
  const own = new OpTable([op('Abs', 'int8'), op('MyOp', 'int16'), op('Rank', 'bool')], functions);
  const dtype = (name: string): Dtype | undefined =>
    own.outputDtype({ op: name, attributes: new Map() }, 0);
  assert.deepEqual([dtype('Abs'), dtype('MyOp'), dtype('Rank')], ['string', 'int16', 'int32']);
});

test('wrong: unknown op, attributes missing, of another kind, too many', () => {
  assert.match(
    invalid(() => table.outputs('Nonsense', new Map())),
    /operator Nonsense: expected/,
  );
  assert.match(
    invalid(() => table.inputNames('Nonsense')),
    /operator Nonsense/,
  );
  assert.match(
    invalid(() => table.outputs('Split', new Map())),
    /attribute "num_split": expected a number from 0 to 1048576, got nothing/,
  );
  for (const value of [-1n, 2n ** 40n]) {
    assert.match(
      invalid(() => table.outputs('Split', attributes({ num_split: int(value) }))),
      new RegExp(`got ${value}`),
    );
  }
  assert.match(
    invalid(() => table.outputs('IdentityN', attributes({ T: type('float') }))),
    /attribute "T": expected a list of types, got type/,
  );
  const half = {
    num_sparse: int(600_000n),
    sparse_types: types(),
    Tdense: types(),
    ragged_value_types: types(),
    ragged_split_types: types(),
  };
  assert.match(
    invalid(() => table.outputs('ParseExampleV2', attributes(half))),
    /at most 1048576 outputs/,
  );
});
