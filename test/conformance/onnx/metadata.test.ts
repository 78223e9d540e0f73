// Each protocol's metadata about a model's optional inputs and its classes' names, exactly, over
// every listener. V2's JSON has members for both; the messages and TensorFlow Serving's documents
// have none, and list only what every request needs. Source: docs/reference/onnx.md "Classifiers
// with ZipMap", "Inputs with a default"; v2-protocol.md 1.2; tfserving.md 1.9, 2.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { overListeners } from '../../e2e/support/http-listeners.js';
import { startServer, type ServalProcess } from '../../e2e/support/serval-process.js';
import { written } from '../../e2e/onnx/support.js';
import { RawClient, decode, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { restTests, type RestCase } from '../rest-case.js';

const LABELS = ['no', 'größer', '-7'];
/** scores = x + shift, zipped; shift defaults to [1, 2, 3]. */
const MODEL: OnnxModel = {
  opsets: { '': 17, 'ai.onnx.ml': 1 },
  graph: {
    name: 'ends',
    inputs: [
      { name: 'shift', type: 'float', shape: [3] },
      { name: 'x', type: 'float', shape: ['n', 3] },
    ],
    outputs: [
      { name: 'y', type: 'float', shape: ['n', 3] },
      { name: 'p', type: 'string', container: 'maps' },
    ],
    initializers: [{ name: 'shift', type: 'float', dims: [3], data: floatBytes([1, 2, 3]) }],
    nodes: [
      { op: 'Add', inputs: ['x', 'shift'], outputs: ['y'] },
      {
        op: 'ZipMap',
        domain: 'ai.onnx.ml',
        inputs: ['y'],
        outputs: ['p'],
        attributes: { classlabels_strings: { strings: LABELS } },
      },
    ],
  },
};

const X = { name: 'x', datatype: 'FP32', shape: [-1, 3] };
const Y = { ...X, name: 'y' };
const P = { ...X, name: 'p' };
const SHIFT = { name: 'shift', datatype: 'FP32', shape: [3] };
const HEAD = { name: 'ends', versions: ['1'], platform: 'onnxruntime_onnx' };
const V2_JSON = {
  ...HEAD,
  inputs: [X],
  optional_inputs: [SHIFT],
  outputs: [Y, { ...P, parameters: { labels: LABELS } }],
};
const dims = (...sizes: readonly (readonly [string, string])[]): object => ({
  dim: sizes.map(([size, name]) => ({ size, name })),
  unknown_rank: false,
});
const info = (name: string, shape: object): object => ({
  dtype: 'DT_FLOAT',
  tensor_shape: shape,
  name: `${name}:0`,
});
const ROWS = dims(['-1', 'n'], ['3', '']);
const V1_SIGNATURE = {
  inputs: { x: info('x', ROWS) },
  outputs: { y: info('y', ROWS), p: info('p', ROWS) },
  method_name: 'tensorflow/serving/predict',
  defaults: {},
};

const CASES: readonly RestCase[] = [
  ...['', '/versions/1'].map(
    (version): RestCase => ({
      name: `/v2/models/ends${version}`,
      source: 'docs/reference/onnx.md',
      path: `/v2/models/ends${version}`,
      answer: V2_JSON,
    }),
  ),
  ...['', '/versions/1'].map(
    (version): RestCase => ({
      name: `/v1/models/ends${version}/metadata`,
      source: '1.9',
      path: `/v1/models/ends${version}/metadata`,
      answer: {
        model_spec: { name: 'ends', signature_name: '', version: '1' },
        metadata: { signature_def: { signature_def: { serving_default: V1_SIGNATURE } } },
      },
    }),
  ),
];

/** Starts a server with the model for the tests of the block. */
function serving(flags: readonly string[]): () => ServalProcess {
  const folder = mkdtempSync(join(tmpdir(), 'serval-ends-'));
  let server: ServalProcess | undefined;
  before(async () => {
    server = await startServer([written(folder, 'ends.onnx', MODEL), ...flags]);
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => {
    assert.ok(server);
    return server;
  };
}

overListeners('metadata of a model with labels and an input with a default', (flags) => {
  const server = serving(flags);
  describe('documents', () => restTests(() => server().httpPort, CASES));
});

describe('metadata of a model with labels and an input with a default', () => {
  const server = serving([]);
  const types = messageTypes();
  const answer = async (method: string, name: string, message: object): Promise<object> => {
    const [service = ''] = method.split('/');
    const of = service.slice(0, service.lastIndexOf('.'));
    const client = new RawClient(server().grpcPort);
    const call = await client.unary(`/${method}`, encode(types, `${of}.${name}Request`, message));
    client.close();
    assert.equal(call.code, 0, call.details);
    return decode(types, `${of}.${name}Response`, call.message ?? Buffer.alloc(0));
  };

  it('V2', async () => {
    const method = 'inference.GRPCInferenceService/ModelMetadata';
    const wire = (tensor: typeof X): object => ({ ...tensor, shape: tensor.shape.map(String) });
    const said = await answer(method, 'ModelMetadata', { name: 'ends' });
    const expected = { ...HEAD, inputs: [wire(X)], outputs: [wire(Y), wire(P)] };
    assert.deepEqual(JSON.parse(JSON.stringify({ ...said, properties: undefined })), expected);
  });

  it('TensorFlow Serving', async () => {
    const method = 'tensorflow.serving.PredictionService/GetModelMetadata';
    const request = { model_spec: { name: 'ends' }, metadata_field: ['signature_def'] };
    const said = (await answer(method, 'GetModelMetadata', request)) as {
      metadata: readonly { readonly key: string; readonly value: { readonly value: Buffer } }[];
    };
    const [field] = said.metadata;
    assert.ok(field);
    const map = decode(types, 'tensorflow.serving.SignatureDefMap', field.value.value) as {
      signature_def: readonly { readonly key: string; readonly value: Signature }[];
    };
    const [only, ...others] = map.signature_def;
    assert.deepEqual([only?.key, others], ['serving_default', []]);
    assert.deepEqual(only && namesOf(only.value.inputs), ['x']);
    assert.deepEqual(only && namesOf(only.value.outputs).sort(), ['p', 'y']);
  });
});

interface Signature {
  readonly inputs: readonly { readonly key: string }[];
  readonly outputs: readonly { readonly key: string }[];
}

const namesOf = (entries: readonly { readonly key: string }[]): string[] =>
  entries.map(({ key }) => key);
