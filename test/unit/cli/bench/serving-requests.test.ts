// A bench's requests for TensorFlow Serving's APIs: V1's JSON, Predict's messages, and the model's
// description in both. Source: docs/reference/protocols/v1-rest.md;
// docs/reference/protocols/tf-grpc.md; docs/reference/tabular.md.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadRequest, type RequestModel } from '../../../../ts/cli/bench/request/bodies.js';
import { requestPath, type RequestPlace } from '../../../../ts/cli/bench/request/place.js';
import { benchUrl } from '../../../../ts/cli/bench/endpoint/url.js';
import type { BenchPath } from '../../../../ts/cli/bench/types.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import type { InputInfo, Inputs } from '../../../../ts/library/types.js';
import { metadataRequest } from '../../../../ts/cli/predict/grpc/predict-request.js';
import { v1Metadata } from '../../../../ts/cli/predict/v1-json.js';
import { decode, messageTypes } from '../../protocols/raw-client.js';

const info = (name: string, datatype: InputInfo['datatype'], ...shape: number[]): InputInfo => ({
  name,
  datatype,
  shape,
  unknownRank: false,
});
const PLACE: RequestPlace = {
  ...{ host: 'h', port: 8501, isTls: false, prefix: '', model: 'm', version: '' },
  ...{ label: '', signature: '', headers: { authorization: 'Bearer key' } },
};

interface Asked {
  readonly batch?: number;
  readonly isTable?: boolean;
  readonly rowsOut?: boolean;
  readonly place?: Partial<RequestPlace>;
}

function asked(path: BenchPath, inputs: readonly InputInfo[], values: unknown, more: Asked = {}) {
  const { batch = 0, isTable = false, rowsOut = true, place = {} } = more;
  const model: RequestModel = { inputs, isTable, rowsOut };
  const own = { ...PLACE, ...place };
  return loadRequest(path, { model, values: values as Inputs, batch, place: own });
}
const v1 = (inputs: readonly InputInfo[], values: unknown, more: Asked = {}): string =>
  Buffer.from(asked('v1-json', inputs, values, more).body).toString();

const X = info('x', 'FP32', -1, 2);
const ROWS = {
  x: [
    [1, 2.5],
    [3, 0.1],
  ],
};

test('rows of one input are its values, of several they are objects', () => {
  assert.equal(v1([X], ROWS, { batch: 2 }), '{"instances":[[1,2.5],[3,0.100000001]]}');
  assert.equal(v1([X], ROWS, { batch: 3 }), '{"instances":[[1,2.5],[3,0.100000001],[1,2.5]]}');
  assert.equal(v1([info('s', 'INT32', -1)], { s: [7] }, { batch: 2 }), '{"instances":[7,7]}');
  const two = [X, info('flag', 'BOOL', -1)];
  assert.deepEqual(JSON.parse(v1(two, { ...ROWS, flag: [true, false] }, { batch: 2 })), {
    instances: [
      { x: [1, 2.5], flag: true },
      { x: [3, 0.100000001], flag: false },
    ],
  });
});

test('a model without rows, in or out, is asked by columns', () => {
  const fixed = [info('a', 'INT64', 3), info('b', 'FP64')];
  const values = { a: [1n, 2n, 9_007_199_254_740_993n], b: 0.1 };
  assert.equal(v1(fixed, values), '{"inputs":{"a":[1,2,9007199254740993],"b":0.1}}');
  const scalarOut = v1([X], ROWS, { batch: 2, rowsOut: false });
  assert.equal(scalarOut, '{"inputs":{"x":[[1,2.5],[3,0.100000001]]}}');
  const empty = v1([info('e', 'FP32', 2, 0, 3)], { e: { data: [], shape: [2, 0, 3] } });
  assert.equal(empty, '{"inputs":{"e":[[],[]]}}');
});

test('bytes that are no text are b64, numbers that JSON has not are bare words', () => {
  const texts = [info('t', 'BYTES', -1)];
  const values = { t: ['a"ä', Uint8Array.of(0xff, 0)] };
  assert.equal(v1(texts, values, { batch: 2 }), '{"instances":["a\\"ä",{"b64":"/wA="}]}');
  const numbers = { f: [NaN, -Infinity] };
  assert.equal(v1([info('f', 'FP32', -1)], numbers, { batch: 2 }), '{"instances":[NaN,-Infinity]}');
});

test('sends rows with every field to tabular models, including missing cells', () => {
  const columns = [info('a', 'FP64', -1), info('s', 'STRING', -1)];
  const two = v1(columns, { a: [1.5, null], s: ['u', 'w'] }, { batch: 3, isTable: true });
  const rows = [...['{"a":1.5,"s":"u"}', '{"a":null,"s":"w"}', '{"a":1.5,"s":"u"}']];
  assert.equal(two, `{"instances":[${rows.join(',')}]}`);
  // A single field is named too, and given rows are sent as rows unless "columns" is requested.
  const one = [info('v', 'VECTOR', -1, 2)];
  const vectors = { v: [[1, 2]] };
  assert.equal(v1(one, vectors, { batch: 1, isTable: true }), '{"instances":[{"v":[1,2]}]}');
  const given = v1(columns, [{ a: 2 }, { s: 'w' }], { batch: 2 });
  assert.equal(given, '{"instances":[{"a":2,"s":null},{"a":null,"s":"w"}]}');
  const said = { a: { data: [1], parameters: { precision: 2 } } };
  for (const path of ['v1-json', 'grpc-predict'] as const) {
    assert.throws(
      () => asked(path, columns, said, { batch: 1, isTable: true }),
      /input 'a': parameters \(precision\) can only be sent by V2/,
    );
  }
});

test('the head says model, version or label; the body a signature that was asked for', () => {
  const { path, fields, body } = asked('v1-json', [X], ROWS, {
    batch: 1,
    place: { prefix: '/p', model: 'a b', version: '3', signature: 'other' },
  });
  assert.equal(path, '/p/v1/models/a%20b/versions/3:predict');
  assert.deepEqual(fields, [
    ['content-type', 'application/json'],
    ['authorization', 'Bearer key'],
  ]);
  assert.match(Buffer.from(body).toString(), /^\{"signature_name":"other","instances":\[/);
  const labelled = requestPath('v1-json', { ...PLACE, label: 'st/able' });
  assert.equal(labelled, '/v1/models/m/labels/st%2Fable:predict');
  assert.equal(requestPath('v1-json', { ...PLACE, version: 'x' }), '/v1/models/m/labels/x:predict');
  assert.equal(requestPath('v1-json', PLACE), '/v1/models/m:predict');
});

interface Predict {
  readonly model_spec: {
    readonly name: string;
    readonly version?: { readonly value: string };
    readonly version_label?: string;
    readonly signature_name: string;
  };
  readonly inputs: readonly { readonly key: string; readonly value: Proto }[];
}

interface Proto {
  readonly dtype: string;
  readonly tensor_shape: { readonly dim: readonly { readonly size: string }[] };
  readonly tensor_content: Buffer;
  readonly string_val: readonly Buffer[];
}

const TYPES = messageTypes();
const inputOf = ({ inputs }: Predict, name: string): Proto => {
  const found = inputs.find(({ key }) => key === name)?.value;
  assert.ok(found, name);
  return found;
};
const sizesOf = ({ tensor_shape: { dim } }: Proto): readonly number[] =>
  dim.map(({ size }) => Number(size));

const predictOf = (inputs: readonly InputInfo[], values: unknown, more: Asked = {}): Predict => {
  const { body } = asked('grpc-predict', inputs, values, more);
  const bytes = Buffer.from(body);
  assert.deepEqual([bytes[0], bytes.readUInt32BE(1)], [0, bytes.length - 5]);
  return decode(TYPES, 'tensorflow.serving.PredictRequest', bytes.subarray(5)) as Predict;
};

test('Predict has numbers as tensor_content and texts as string_val', () => {
  const inputs = [X, info('t', 'BYTES', -1)];
  const message = predictOf(inputs, { ...ROWS, t: ['a', 'bcd'] }, { batch: 2 });
  const x = inputOf(message, 'x');
  const t = inputOf(message, 't');
  assert.deepEqual([x.dtype, sizesOf(x)], ['DT_FLOAT', [2, 2]]);
  const floats = Float32Array.of(1, 2.5, 3, 0.1);
  assert.deepEqual(x.tensor_content, Buffer.from(floats.buffer));
  assert.deepEqual([t.dtype, sizesOf(t)], ['DT_STRING', [2]]);
  assert.deepEqual(t.string_val.map(String), ['a', 'bcd']);
  assert.equal(t.tensor_content.length, 0);
  const { path, fields } = asked('grpc-predict', inputs, { ...ROWS, t: ['a', 'b'] });
  assert.equal(path, '/tensorflow.serving.PredictionService/Predict');
  assert.deepEqual(fields, [['authorization', 'Bearer key']]);
});

test('Predict names the model, a version or a label, and a signature', () => {
  const specOf = (place: Partial<RequestPlace>) => predictOf([X], ROWS, { place }).model_spec;
  const plain = specOf({});
  assert.deepEqual([plain.name, plain.version, plain.version_label], ['m', undefined, undefined]);
  const numbered = specOf({ version: '12', signature: 'other' });
  assert.equal(String(numbered.version?.value), '12');
  assert.equal(numbered.signature_name, 'other');
  for (const place of [{ label: 'stable' }, { version: 'stable' }]) {
    const { version, version_label: label } = specOf(place);
    assert.deepEqual([version, label], [undefined, 'stable']);
  }
  const wanted = metadataRequest({ model: 'm', version: '', label: '7' });
  const told = decode(TYPES, 'tensorflow.serving.GetModelMetadataRequest', wanted) as Predict & {
    readonly metadata_field: readonly string[];
  };
  assert.deepEqual([told.model_spec.version_label, told.metadata_field], ['7', ['signature_def']]);
});

test('Predict has fields of models of columns, and no missing cells', () => {
  const columns = [info('a', 'FP64', -1), info('s', 'STRING', -1), info('v', 'VECTOR', -1, 2)];
  const values = { a: [1.5], s: ['u'], v: [[1, 2]] };
  const message = predictOf(columns, values, { batch: 2, isTable: true });
  const [a, s, v] = [inputOf(message, 'a'), inputOf(message, 's'), inputOf(message, 'v')];
  assert.deepEqual([a.dtype, s.dtype, v.dtype], ['DT_DOUBLE', 'DT_STRING', 'DT_DOUBLE']);
  assert.deepEqual([sizesOf(a), sizesOf(s), sizesOf(v)], [[2], [2], [2, 2]]);
  assert.deepEqual(s.string_val.map(String), ['u', 'u']);
  const missing = { ...values, a: [null] };
  assert.throws(
    () => asked('grpc-predict', columns, missing, { batch: 1, isTable: true }),
    /input 'a': missing cells or lists of different lengths can only be sent as JSON/,
  );
});

const tensor = (dtype: string, ...sizes: string[]) => ({
  dtype,
  tensor_shape: { dim: sizes.map((size) => ({ size, name: '' })), unknown_rank: false },
  name: 'x:0',
});
const DOCUMENT = {
  model_spec: { name: 'm', signature_name: '', version: '123' },
  metadata: {
    signature_def: {
      signature_def: {
        serving_default: {
          inputs: {
            x: tensor('DT_FLOAT', '-1', '2'),
            r: tensor('DT_INT64_REF', '-1'),
            u: { dtype: 'DT_STRING', tensor_shape: { dim: [], unknown_rank: true }, name: 'u:0' },
          },
          outputs: { y: tensor('DT_FLOAT', '-1'), n: tensor('DT_INT32') },
        },
        odd: { inputs: { c: tensor('DT_COMPLEX64', '-1') }, outputs: {} },
      },
    },
  },
};

test('metadata of V1 says inputs by signature', () => {
  const { version, inputs, outputShapes } = v1Metadata(DOCUMENT, 'serving_default', 'h');
  assert.deepEqual([version, outputShapes], ['123', [[-1], []]]);
  assert.deepEqual(inputs, [
    info('x', 'FP32', -1, 2),
    info('r', 'INT64', -1),
    { ...info('u', 'BYTES'), unknownRank: true },
  ]);
  const refused = (
    signature: string,
    code: ErrorCode,
    text: RegExp,
    document: unknown = DOCUMENT,
  ) =>
    assert.throws(
      () => v1Metadata(document, signature, 'h:1/m'),
      (error) => error instanceof ServalError && error.code === code && text.test(error.message),
    );
  const known = /h:1\/m: no signature "no"; the model has "serving_default", "odd"/;
  refused('no', ErrorCode.SignatureNotFound, known);
  refused('constructor', ErrorCode.SignatureNotFound, /no signature/);
  refused('odd', ErrorCode.Unimplemented, /input 'c': data type "DT_COMPLEX64" cannot be sent/);
  for (const document of [null, 3, {}, { metadata: {} }]) {
    refused('a', ErrorCode.SignatureNotFound, /the model has none/, document);
  }
});

test('URLs of V1 say model, version or label; an address alone says none', () => {
  const told = (text: string, model?: string, version?: string) => {
    const {
      protocol,
      prefix,
      model: name,
      version: number,
      label,
    } = benchUrl(text, model, version);
    return [protocol, prefix, name, number, label];
  };
  const base = 'http://h:8501';
  assert.deepEqual(told(`${base}/v1/models/m`), ['v1', '', 'm', '', '']);
  assert.deepEqual(told(`${base}/v1/models/a%20b:predict`), ['v1', '', 'a b', '', '']);
  assert.deepEqual(told(`${base}/p/v1/models/m/versions/2:predict`), ['v1', '/p', 'm', '2', '']);
  assert.deepEqual(told(`${base}/v1/models/m/labels/new/`), ['v1', '', 'm', '', 'new']);
  assert.deepEqual(told(`${base}/v1/models/m/labels/new`, undefined, '4'), [
    'v1',
    '',
    'm',
    '4',
    '',
  ]);
  assert.deepEqual(told(`${base}/v1`, 'm'), ['v1', '', 'm', '', '']);
  assert.deepEqual(told('grpc://h:8500', 'm'), ['any', '', 'm', '', '']);
  assert.deepEqual(told('grpc://h:8500/v1/models/m'), ['v1', '', 'm', '', '']);
});
