// SavedModel, MetaGraphDef, SignatureDef and the session bundle's manifest from bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  readAssetFile,
  readSignatures,
} from '../../../../../ts/importers/tensorflow/proto/manifest.js';
import {
  readMetaGraph,
  readSavedModel,
} from '../../../../../ts/importers/tensorflow/proto/meta-graph.js';
import {
  readSignatureDef,
  readTensorInfo,
} from '../../../../../ts/importers/tensorflow/proto/signature-def.js';
import {
  any,
  anyList,
  entry,
  graph,
  info,
  invalid,
  message,
  metaGraph,
  nodeList,
  readOf,
  savedModel,
} from '../messages.js';
import type { Fill } from '../messages.js';

const OP_LIST = 2;

test('a SavedModel reads the heads first and then the meta graph that is chosen', () => {
  const heads = readOf(
    readSavedModel,
    savedModel([
      { tags: ['serve'], graph: graph([{ name: 'a', op: 'A' }]) },
      { tags: ['serve', 'gpu'], graph: (writer) => writer.bytes(1, Uint8Array.of(0x0b)) },
    ]),
  );
  assert.deepEqual(
    heads.map(({ tags, tensorflowVersion }) => [tags, tensorflowVersion]),
    [
      [['serve'], '2.0.0'],
      [['serve', 'gpu'], '2.0.0'],
    ],
  );
  assert.equal(heads[0]?.read().graph.nodes[0]?.name, 'a');
  assert.match(
    invalid(() => heads[1]?.read()),
    /NodeDef: byte/,
  );
});

test('a meta graph: saver, collections, assets, object graph', () => {
  const found = readOf(readMetaGraph, (writer) => {
    metaGraph({
      tags: ['t'],
      saver: { filename: 'save/Const:0', restore: 'save/restore_all' },
      assets: [['c:0', 'v.txt']],
      collections: {
        ops: nodeList(['a', 'b']),
        files: anyList([any('tensorflow.AssetFileDef', () => undefined)]),
        numbers: (list) => list.message(3, (inner) => inner.varint(1, 5)),
      },
    })(writer);
    writer.message(7, (object) => object.message(1, () => undefined));
  });
  assert.deepEqual(found.saver, { filenameTensor: 'save/Const:0', restoreOp: 'save/restore_all' });
  assert.deepEqual(found.assets, [{ tensorName: 'c:0', fileName: 'v.txt' }]);
  assert.deepEqual(found.collections.get('ops'), { kind: 'nodes', values: ['a', 'b'] });
  assert.deepEqual(found.collections.get('numbers'), { kind: 'other' });
  const files = found.collections.get('files');
  assert.ok(files?.kind === 'any');
  assert.deepEqual(
    files.values.map(({ typeName }) => typeName),
    ['tensorflow.AssetFileDef'],
  );
  assert.equal(files.values[0]?.message().next(), false);
  assert.equal(found.objectGraph?.().next(), true);
  assert.equal(readOf(readMetaGraph, metaGraph({})).objectGraph, undefined);
});

test('operators that cannot be read count as none', () => {
  const ops = (fill: Fill): readonly string[] =>
    readOf(readMetaGraph, metaGraph({ info: fill })).ops.map(({ name }) => name);
  assert.deepEqual(
    ops((writer) =>
      writer.message(OP_LIST, (list) => list.message(1, (op) => op.string(1, 'Mine'))),
    ),
    ['Mine'],
  );
  assert.deepEqual(
    ops((writer) => writer.bytes(OP_LIST, Buffer.from('any bytes'))),
    [],
  );
});

test('signatures: infos of every encoding, shapes, defaults', () => {
  const found = readOf(readSignatureDef, (writer) => {
    writer.message(1, entry('a b/c', info('x:0', 101, [2, -1])));
    writer.message(
      1,
      entry('free', (inner) =>
        inner
          .string(1, 'y:0')
          .varint(2, 7)
          .message(3, (unknown) => unknown.varint(3, 1)),
      ),
    );
    writer.message(
      1,
      entry('sparse', (inner) =>
        inner.varint(2, 9).message(4, (coo) => coo.string(1, 'v').string(2, 'i').string(3, 's')),
      ),
    );
    writer.message(
      1,
      entry('parts', (inner) =>
        inner.message(5, (composite) => composite.message(2, info('p:0', 1))),
      ),
    );
    writer.message(2, entry('out', info('z:0', 1)));
    writer.string(3, 'tensorflow/serving/predict');
    writer.message(
      4,
      entry('free', (inner) => inner.varint(1, 7).string(8, 'd')),
    );
    writer.message(
      4,
      entry('odd', (inner) => inner.varint(1, 99)),
    );
  });
  assert.equal(found.methodName, 'tensorflow/serving/predict');
  assert.deepEqual(
    found.inputs,
    new Map<string, unknown>([
      [
        'a b/c',
        {
          name: 'x:0',
          dtypeCode: 101,
          shape: {
            unknownRank: false,
            dims: [
              { size: '2', name: '' },
              { size: '-1', name: '' },
            ],
          },
        },
      ],
      ['free', { name: 'y:0', dtypeCode: 7, shape: { unknownRank: true, dims: [] } }],
      ['sparse', { cooSparse: { values: 'v', indices: 'i', shape: 's' }, dtypeCode: 9 }],
      ['parts', { composite: [{ name: 'p:0', dtypeCode: 1 }], dtypeCode: 0 }],
    ]),
  );
  assert.deepEqual(found.outputs, new Map([['out', { name: 'z:0', dtypeCode: 1 }]]));
  assert.deepEqual([...found.defaults.keys()], ['free']);
});

test('named dimensions and int64 sizes are kept', () => {
  const found = readOf(readTensorInfo, (writer) =>
    writer.message(3, (inner) =>
      inner.message(2, (dim) => dim.varint(1, 2n ** 62n).string(2, 'rows')),
    ),
  );
  assert.deepEqual(found.shape?.dims, [{ size: String(2n ** 62n), name: 'rows' }]);
});

test('composites may nest only so deep', () => {
  let bytes = message(info('x', 1));
  for (let level = 0; level < 40; level += 1) {
    const inner = bytes;
    bytes = message((writer) => writer.message(5, (composite) => composite.bytes(2, inner)));
  }
  assert.match(
    invalid(() => readOf(readTensorInfo, bytes)),
    /composites at most 32 deep/,
  );
});

const binding =
  (name: string): Fill =>
  (writer) =>
    writer.string(1, name);

test('a manifest with every kind of signature', () => {
  const found = readOf(readSignatures, (writer) => {
    writer.message(1, (signature) =>
      signature.message(1, (regression) =>
        regression.message(1, binding('x:0')).message(2, binding('y:0')),
      ),
    );
    writer.message(
      2,
      entry('c', (signature) =>
        signature.message(2, (classification) =>
          classification.message(1, binding('x:0')).message(3, binding('s:0')),
        ),
      ),
    );
    writer.message(
      2,
      entry('g', (signature) =>
        signature.message(3, (generic) => generic.message(1, entry('k', binding('z:0')))),
      ),
    );
    writer.message(
      2,
      entry('n', () => undefined),
    );
  });
  assert.deepEqual(found.defaultSignature, { kind: 'regression', input: 'x:0', output: 'y:0' });
  assert.deepEqual(
    found.named,
    new Map<string, unknown>([
      ['c', { kind: 'classification', input: 'x:0', classes: '', scores: 's:0' }],
      ['g', { kind: 'generic', tensors: new Map([['k', 'z:0']]) }],
      ['n', { kind: 'none' }],
    ]),
  );
  assert.deepEqual(
    readAssetFileOf((writer) => writer.message(1, binding('c:0')).string(2, 'v.txt')),
    { tensorName: 'c:0', fileName: 'v.txt' },
  );
});

function readAssetFileOf(fill: Fill): unknown {
  return readOf((reader) => readAssetFile(reader), fill);
}

test('wrong wire types are errors that name the message', () => {
  assert.match(
    invalid(() => readOf(readMetaGraph, (writer) => writer.varint(2, 1))),
    /field 2: expected wire type 2, got 0/,
  );
  assert.match(
    invalid(() => readOf(readSignatures, (writer) => writer.varint(1, 1))),
    /field 1/,
  );
  assert.match(
    invalid(() =>
      readOf(readSignatureDef, (writer) =>
        writer.message(1, (inner) => inner.string(1, 'x').message(2, (bad) => bad.string(2, 'y'))),
      ),
    ),
    /TensorInfo: byte/,
  );
});
