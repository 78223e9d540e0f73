// The requests of a bench: rows, the forms of one request, URLs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadRequest, type RequestModel } from '../../../../ts/cli/bench/request/bodies.js';
import { requestPath, type RequestPlace } from '../../../../ts/cli/bench/request/place.js';
import { hasRows, shapedInfos } from '../../../../ts/cli/bench/request/rows.js';
import { benchUrl } from '../../../../ts/cli/bench/endpoint/url.js';
import { tensorAnswer } from '../../../../ts/library/tensor-request.js';
import type { InputInfo, Inputs } from '../../../../ts/library/types.js';
import type { BenchPath } from '../../../../ts/cli/bench/types.js';

const info = (name: string, datatype: InputInfo['datatype'], ...shape: number[]): InputInfo => ({
  name,
  datatype,
  shape,
  unknownRank: false,
});
const PLACE: RequestPlace = {
  host: 'localhost',
  port: 8000,
  isTls: false,
  prefix: '/p',
  model: 'a b',
  version: '3',
  label: '',
  signature: '',
  headers: { authorization: 'Bearer key' },
};
const modelOf = (inputs: readonly InputInfo[], isTable = false): RequestModel => ({
  inputs,
  isTable,
  rowsOut: true,
});
const MODEL = modelOf([info('x', 'FP32', -1, 2), info('t', 'BYTES', -1)]);
const VALUES: Inputs = {
  x: [
    [1, 2.5],
    [3, 4],
  ],
  t: ['a', 'bcd'],
} as unknown as Inputs;
const request = (path: BenchPath, batch: number, values = VALUES, model = MODEL) =>
  loadRequest(path, { model, values, batch, place: path === 'engine' ? undefined : PLACE });
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

test('rows are repeated or left out, text too', () => {
  for (const batch of [1, 2, 5]) {
    const { body } = request('rest-json', batch);
    const { inputs } = JSON.parse(textOf(body)) as {
      inputs: { shape: number[]; data: unknown[] }[];
    };
    const rows = Array.from({ length: batch }, (_, i) => i % 2);
    assert.deepEqual(inputs[0]?.shape, [batch, 2]);
    assert.deepEqual(
      inputs[0]?.data,
      rows.flatMap((i) => (i === 0 ? [1, 2.5] : [3, 4])),
    );
    assert.deepEqual(
      inputs[1]?.data,
      rows.map((i) => (i === 0 ? 'a' : 'bcd')),
    );
  }
  const empty = { x: { data: [], shape: [0, 2] }, t: ['a'] } as unknown as Inputs;
  assert.throws(() => request('engine', 2, empty), /input 'x': expected at least one row/);
});

test('a batch of 0 leaves a request as it is', () => {
  const { inputs } = JSON.parse(textOf(request('rest-json', 0).body)) as {
    inputs: { shape: number[] }[];
  };
  assert.deepEqual(
    inputs.map(({ shape }) => shape),
    [[2, 2], [2]],
  );
});

test('JSON has what tells one float from the next, and says what it has not', () => {
  const model = modelOf([info('x', 'FP32', -1), info('b', 'BOOL', -1)]);
  const values = { x: [0.1, 1e-30], b: [true, false] } as unknown as Inputs;
  const { body } = request('rest-json', 0, values, model);
  const text = textOf(body);
  assert.match(text, /"data":\[0\.100000001,1e-30\]/);
  assert.match(text, /"data":\[true,false\]/);
  const nan = { x: [NaN, 1], b: [true, false] } as unknown as Inputs;
  assert.throws(() => request('rest-json', 0, nan, model), /input 'x': JSON has no NaN/);
});

test('HTTP says the head of binary tensors and the headers', () => {
  const binary = request('rest-binary', 2);
  assert.equal(binary.path, '/p/v2/models/a%20b/versions/3/infer');
  assert.deepEqual(binary.fields, [
    ['content-type', 'application/octet-stream'],
    ['inference-header-content-length', String(binary.jsonBytes)],
    ['authorization', 'Bearer key'],
  ]);
  // A request is parsed like a response: tensors after their head.
  const json = Buffer.from(binary.body).toString('latin1').replace('"inputs":', '"outputs":');
  const jsonBytes = binary.jsonBytes + 1;
  const tensors = tensorAnswer(Buffer.from(json, 'latin1'), jsonBytes);
  assert.deepEqual([...(tensors['x']?.data as Float32Array)], [1, 2.5, 3, 4]);
  assert.deepEqual(tensors['t']?.data, ['a', 'bcd']);
  assert.equal(requestPath('rest-json', { ...PLACE, version: '' }), '/p/v2/models/a%20b/infer');
});

test("a gRPC message has its prefix, the model's name and raw tensors", () => {
  const { body, path, fields } = request('grpc', 1);
  assert.equal(body[0], 0);
  assert.equal(Buffer.from(body).readUInt32BE(1), body.length - 5);
  assert.deepEqual(textOf(body.subarray(5, 13)), '\n\x03a b\x12\x013');
  assert.equal(path, '/inference.GRPCInferenceService/ModelInfer');
  assert.deepEqual(fields, [['authorization', 'Bearer key']]);
  const tail = Buffer.from(body).subarray(-7);
  assert.deepEqual([...tail], [0x3a, 5, 1, 0, 0, 0, 0x61]);
});

test('repeats columns of a tabular model, without missing cells over gRPC', () => {
  const model = modelOf([info('a', 'FP64', -1), info('s', 'STRING', -1)], true);
  const values = { a: [1.5], s: ['u'] } as unknown as Inputs;
  const { inputs } = JSON.parse(textOf(request('rest-json', 3, values, model).body)) as {
    inputs: { data: unknown[] }[];
  };
  assert.deepEqual(
    inputs.map(({ data }) => data),
    [
      [1.5, 1.5, 1.5],
      ['u', 'u', 'u'],
    ],
  );
  assert.ok(textOf(request('grpc', 3, values, model).body).includes('STRING'));
  const missing = { a: [null], s: ['u'] } as unknown as Inputs;
  assert.throws(() => request('grpc', 1, missing, model), /input 'a': missing cells/);
  assert.throws(() => request('rest-binary', 1, values, model), /called with JSON or by gRPC/);
});

test('requests that are too large are refused before they are made', () => {
  assert.throws(
    () => request('rest-binary', 1_000_000_000),
    /--batch: expected at most 1073741824 b/,
  );
  assert.throws(() => request('rest-json', 10_000_000), /at most 16777216 JSON values/);
  const table = modelOf([info('a', 'FP64', -1)], true);
  const cells = { a: [1] } as unknown as Inputs;
  assert.throws(() => request('grpc', 20_000_000, cells, table), /at most 16777216 cells/);
});

test('free dimensions are given by --shape, pictures have a size', () => {
  const infos = [info('p', 'FP32', -1, 3, -1, -1), info('n', 'FP32', -1, -1)];
  const shaped = shapedInfos(infos, ['n=7']);
  assert.deepEqual(
    shaped.map(({ shape }) => shape),
    [
      [-1, 3, 224, 224],
      [-1, 7],
    ],
  );
  assert.deepEqual(shapedInfos(infos, ['n=2,9'])[1]?.shape, [2, 9]);
  assert.equal(hasRows(infos), true);
  assert.equal(hasRows([info('x', 'FP32', 2, 3)]), false);
  assert.equal(hasRows([]), false);
  assert.throws(() => shapedInfos(infos, ['p=4,5']), /'p' is \[\?,3,\?,\?\], got \[4,5\]/);
  assert.throws(() => shapedInfos(infos, ['q=4']), /no input "q"; the model has p, n/);
  assert.throws(() => shapedInfos(infos, ['n:4']), /expected NAME=N,N,\.\.\., got "n:4"/);
});

test('URLs say protocol, address, model and version', () => {
  const grpc = benchUrl('grpcs://[::1]:443/v2/models/m');
  assert.deepEqual(grpc, {
    kind: 'grpc',
    isTls: true,
    host: '::1',
    port: 443,
    protocol: 'v2',
    prefix: '',
    model: 'm',
    version: '',
    label: '',
  });
  const http = benchUrl('https://h/x/v2/models/a%20b/versions/2/infer');
  assert.deepEqual([http.port, http.prefix, http.model, http.version], [443, '/x', 'a b', '2']);
  assert.deepEqual(benchUrl('http://h:80/', 'm', '7').version, '7');
  assert.equal(benchUrl('http://h:8000/pre/v2', 'm').prefix, '/pre');
  for (const [text, expected] of [
    ['ftp://h/v2/models/m', /expected http:\/\/, https:\/\/, grpc:\/\/ or grpcs:/],
    ['http://h:8000', /\/v2\/models\/NAME or \/v1\/models\/NAME after the address, or --model/],
    ['http://h/v1/models/m:classify', /expected \/v1\/models\/NAME, .* and by :predict/],
    ['http://h/v1/models/m/versions/x', /expected \/v1\/models\/NAME, /],
    ['http://h/v1/models/%zz', /expected percent signs with two digits each/],
    ['http://h/v1', /\/v1\/models\/NAME after the address, or --model/],
    ['http://', /expected a URL/],
    ['grpc://h:8001/v2/models/%zz', /expected percent signs with two digits each/],
  ] as const) {
    assert.throws(() => benchUrl(text), expected);
  }
});
