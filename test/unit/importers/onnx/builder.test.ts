// The ONNX builder's output, read by the runtime and by our own reader.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { encodeModel, floatBytes, int64Bytes } from '../../../../ts/importers/onnx/builder.js';
import type { OnnxModel } from '../../../../ts/importers/onnx/builder.js';
import { readOnnxHeader } from '../../../../ts/importers/onnx/reader.js';
import { filledFolder } from '../../temp-folder.js';

interface Runtime {
  readonly InferenceSession: typeof InferenceSession;
  readonly Tensor: typeof Tensor;
}

const runtime = createRequire(import.meta.url)('onnxruntime-node') as Runtime;

const MODEL: OnnxModel = {
  producerName: 'test',
  producerVersion: '1.2',
  domain: 'org.serval',
  modelVersion: 7n,
  doc: 'adds',
  metadata: { a: 'b', c: 'd' },
  opsets: { '': 17, 'com.microsoft': 1 },
  graph: {
    name: 'g',
    doc: 'graph doc',
    inputs: [{ name: 'x', type: 'float', shape: ['batch', undefined, 2] }],
    outputs: [{ name: 'y', type: 'float', shape: ['batch', undefined, 2] }],
    initializers: [{ name: 'c', type: 'float', dims: [2], data: floatBytes([10, 20]) }],
    nodes: [
      { op: 'Add', name: 'sum', inputs: ['x', 'c'], outputs: ['t'] },
      { op: 'LeakyRelu', inputs: ['t'], outputs: ['y'], attributes: { alpha: { float: 0.5 } } },
    ],
  },
};

async function sessionOf(model: OnnxModel): Promise<InferenceSession> {
  return runtime.InferenceSession.create(encodeModel(model), { logSeverityLevel: 4 });
}

test('the runtime reads what the builder writes', async () => {
  const session = await sessionOf(MODEL);
  const [input] = session.inputMetadata;
  assert.deepEqual(input, { name: 'x', isTensor: true, type: 'float32', shape: ['batch', '', 2] });
  const x = new runtime.Tensor('float32', Float32Array.from([1, 2, -30, -40]), [2, 1, 2]);
  const { y } = await session.run({ x });
  assert.deepEqual([...(y?.data as Float32Array)], [11, 22, -10, -10]);
});

test('the header comes back through the reader', async (t) => {
  const bytes = encodeModel(MODEL);
  const folder = filledFolder(t, { 'm.onnx': bytes });
  const { graphBytes, ...header } = await readOnnxHeader(join(folder, 'm.onnx'));
  assert.deepEqual(header, {
    irVersion: 8n,
    producerName: 'test',
    producerVersion: '1.2',
    domain: 'org.serval',
    modelVersion: 7n,
    docString: 'adds',
    fileBytes: bytes.byteLength,
    opsets: [
      { domain: '', version: 17n },
      { domain: 'com.microsoft', version: 1n },
    ],
    metadata: [
      ['a', 'b'],
      ['c', 'd'],
    ],
  });
  assert.ok(graphBytes > 100 && graphBytes < bytes.byteLength);
});

test('every kind of attribute and tensor', async () => {
  const branch = (name: string, value: number): OnnxModel['graph'] => ({
    name,
    inputs: [],
    outputs: [{ name, type: 'float', shape: [1] }],
    nodes: [
      {
        op: 'Constant',
        inputs: [],
        outputs: [name],
        attributes: { value_floats: { floats: [value] } },
      },
    ],
  });
  const session = await sessionOf({
    graph: {
      name: 'g',
      inputs: [{ name: 'flag', type: 'bool', shape: [] }],
      outputs: [
        { name: 'chosen', type: 'float' },
        { name: 'whole', type: 'int64', shape: [2] },
        { name: 'words', type: 'string', shape: [2] },
        { name: 'texts', type: 'string', shape: [2] },
        { name: 'word', type: 'string', shape: [] },
      ],
      initializers: [
        { name: 'texts0', type: 'string', dims: [2], data: ['é', ''] },
        { name: 'long', type: 'int64', dims: [2], data: int64Bytes([-(2n ** 63n), 5]) },
      ],
      nodes: [
        {
          op: 'If',
          inputs: ['flag'],
          outputs: ['chosen'],
          attributes: {
            then_branch: { graph: branch('yes', 1) },
            else_branch: { graph: branch('no', 2) },
          },
        },
        { op: 'Identity', inputs: ['long'], outputs: ['whole'] },
        {
          op: 'Constant',
          inputs: [],
          outputs: ['words'],
          attributes: { value_strings: { strings: ['a', 'b'] } },
        },
        {
          op: 'Constant',
          inputs: [],
          outputs: ['word'],
          attributes: { value_string: { string: 'w' } },
        },
        { op: 'Identity', inputs: ['texts0'], outputs: ['texts'] },
      ],
    },
  });
  const flag = new runtime.Tensor('bool', Uint8Array.of(0), []);
  const out = await session.run({ flag });
  assert.deepEqual([...(out['chosen']?.data as Float32Array)], [2]);
  assert.deepEqual([...(out['whole']?.data as BigInt64Array)], [-(2n ** 63n), 5n]);
  assert.deepEqual(out['words']?.data, ['a', 'b']);
  assert.deepEqual(out['texts']?.data, ['é', '']);
  assert.deepEqual(out['word']?.data, ['w']);
});

test('equal models give equal bytes, and the bytes do not drift', () => {
  const digest = (model: OnnxModel): string =>
    createHash('sha256').update(encodeModel(model)).digest('hex');
  assert.equal(digest(MODEL), digest(structuredClone(MODEL)));
  assert.equal(digest(MODEL), 'ba8e48fb489d63146a729aa90e6888a0cc505e5d782ddd1f676e25ca77d5b433');
});

test('data that does not fit its dims is refused by name', () => {
  const withTensor = (tensor: NonNullable<OnnxModel['graph']['initializers']>[number]) => () =>
    encodeModel({ graph: { ...MODEL.graph, initializers: [tensor] } });
  const refused = (message: RegExp): object => ({ code: ErrorCode.InvalidArgument, message });
  assert.throws(
    withTensor({ name: 'c', type: 'float', dims: [3], data: floatBytes([1, 2]) }),
    refused(/'c' of type float and dims \[3\]: expected 12 bytes, got 8 bytes/),
  );
  assert.throws(
    withTensor({ name: 'c', type: 'string', dims: [2], data: ['a'] }),
    refused(/expected 2 strings, got 1 strings/),
  );
  assert.throws(
    withTensor({ name: 'c', type: 'string', dims: [1], data: floatBytes([1]) }),
    refused(/expected 1 strings/),
  );
  assert.throws(withTensor({ name: 'c', type: 'int64', dims: [1], data: ['a'] }), refused(/bytes/));
  assert.throws(
    withTensor({ name: 'c', type: 'float', dims: [-1], data: floatBytes([]) }),
    refused(/dims \[-1\]/),
  );
});
