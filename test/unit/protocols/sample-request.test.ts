// The requests that the server prints for copying.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Datatype, SignatureInfo, TensorInfo } from '../../../ts/model/snapshot.js';
import { sampleRequest } from '../../../ts/protocols/sample-request.js';

type Shape = readonly (number | string)[] | undefined;

function tensor(name: string, datatype: Datatype, shape: Shape): TensorInfo {
  const dims = shape ?? [];
  return {
    name,
    datatype,
    shape: dims.map((dim) => (typeof dim === 'number' ? dim : -1)),
    symbols: dims.map((dim) => (typeof dim === 'string' ? dim : '')),
    unknownRank: shape === undefined,
  };
}

function signature(inputs: TensorInfo[], outputs: TensorInfo[]): SignatureInfo {
  return { name: 'serving_default', inputs, outputs };
}

function sample(inputs: TensorInfo[], outputs: TensorInfo[]): ReturnType<typeof sampleRequest> {
  const request = sampleRequest(signature(inputs, outputs));
  if (request !== undefined) {
    JSON.parse(request.v1);
    JSON.parse(request.v2);
    if (request.grpc !== undefined) JSON.parse(`{${request.grpc}}`);
  }
  return request;
}

test('half_plus_three gets the sample of the documentation', () => {
  const request = sample([tensor('x', 'FP32', ['batch'])], [tensor('y', 'FP32', ['batch'])]);
  assert.deepEqual(request, {
    v1: '{"instances":[1.0,2.0,5.0]}',
    v2: '{"inputs":[{"name":"x","datatype":"FP32","shape":[3],"data":[1.0,2.0,5.0]}]}',
    grpc:
      '"inputs":[{"name":"x","datatype":"FP32","shape":[3],' +
      '"contents":{"fp32_contents":[1.0,2.0,5.0]}}]',
  });
});

test('several inputs are rows of objects', () => {
  const side = (name: string): TensorInfo => tensor(name, 'INT32', ['batch', 2]);
  const request = sample([side('a'), side('b')], [side('c'), side('d')]);
  assert.equal(request?.v1, '{"instances":[{"a":[1,2],"b":[1,2]}]}');
});

test('vectors of several inputs make three rows', () => {
  const request = sample(
    [tensor('a', 'BOOL', ['n']), tensor('b', 'BYTES', ['n'])],
    [tensor('c', 'FP32', ['n'])],
  );
  assert.deepEqual(JSON.parse(request?.v1 ?? ''), {
    instances: [
      { a: true, b: 'hello' },
      { a: false, b: 'world' },
      { a: true, b: 'hello' },
    ],
  });
  assert.match(request?.grpc ?? '', /"bytes_contents":\["aGVsbG8=","d29ybGQ=","aGVsbG8="\]/);
});

test('the column form where rows are not sure to work', () => {
  const scalar = sample([tensor('x', 'FP32', [])], [tensor('y', 'FP32', [])]);
  assert.equal(scalar?.v1, '{"inputs":1.0}');
  const unknown = sample([tensor('x', 'FP32', undefined)], [tensor('y', 'FP32', undefined)]);
  assert.equal(unknown?.v1, '{"inputs":[1.0,2.0,5.0]}');
  const sum = sample([tensor('x', 'FP32', ['n'])], [tensor('y', 'FP32', [])]);
  assert.equal(sum?.v1, '{"inputs":[1.0,2.0,5.0]}');
  const other = sample([tensor('x', 'FP32', ['n'])], [tensor('y', 'FP32', ['found'])]);
  assert.equal(other?.v1, '{"inputs":[1.0,2.0,5.0]}');
  const mixed = sample(
    [tensor('a', 'INT8', [2]), tensor('b', 'INT8', [3, 1])],
    [tensor('y', 'INT8', [2])],
  );
  assert.equal(mixed?.v1, '{"inputs":{"a":[1,2],"b":[[1],[2],[5]]}}');
});

test('fixed dimensions are kept, free ones inside become 1', () => {
  const request = sample([tensor('x', 'INT64', [-1, 2, 'k'])], [tensor('y', 'INT64', [-1])]);
  assert.equal(request?.v1, '{"instances":[[[1],[2]]]}');
  assert.match(request?.v2 ?? '', /"shape":\[1,2,1\],"data":\[1,2\]/);
});

test('dimensions of size 0', () => {
  const request = sample([tensor('x', 'FP32', [2, 0, 3])], [tensor('y', 'FP32', [2])]);
  assert.equal(request?.v1, '{"instances":[[],[]]}');
  assert.match(request?.v2 ?? '', /"shape":\[2,0,3\],"data":\[\]/);
  const none = sample([tensor('x', 'FP32', [0])], [tensor('y', 'FP32', [0])]);
  assert.equal(none?.v1, '{"inputs":[]}');
});

test('a signature without inputs', () => {
  const request = sample([], [tensor('y', 'FP32', [3])]);
  assert.equal(request?.v1, '{"inputs":{}}');
  assert.equal(request?.v2, '{"inputs":[]}');
});

test('half types have no typed gRPC contents', () => {
  assert.equal(sample([tensor('x', 'FP16', [1])], [])?.grpc, undefined);
  assert.equal(sample([tensor('x', 'BF16', [1])], [])?.grpc, undefined);
});

test('inputs too large to print give nothing', () => {
  assert.equal(sample([tensor('x', 'FP32', [-1, 224, 224, 3])], []), undefined);
  const huge = Number.MAX_SAFE_INTEGER;
  assert.equal(sample([tensor('x', 'FP32', [huge, huge, huge])], []), undefined);
  assert.equal(sample([tensor('x', 'FP32', [huge, 0])], []), undefined);
  assert.notEqual(sample([tensor('x', 'FP32', [256])], []), undefined);
});

test('names are escaped', () => {
  const request = sample([tensor('a"\\\n', 'FP32', [])], []);
  const body = JSON.parse(request?.v2 ?? '') as { inputs: { name: string }[] };
  assert.equal(body.inputs[0]?.name, 'a"\\\n');
});

const NOTHING = { examples: {}, untyped: [] };

test('a model of columns: one row by name, and none where the words are not known', () => {
  const inputs = [tensor('a', 'FP64', [-1]), tensor('v', 'VECTOR', [-1, 2])];
  const outputs = [tensor('y', 'FP64', [-1])];
  const request = sampleRequest(signature(inputs, outputs), NOTHING);
  assert.deepEqual(request, {
    v1: '{"instances":[{"a":1.0,"v":[1.0,1.0]}]}',
    v2:
      '{"inputs":[{"name":"a","datatype":"FP64","shape":[1],"data":[1.0]},' +
      '{"name":"v","datatype":"VECTOR","shape":[1,2],"data":[1.0,1.0]}]}',
    grpc:
      '"inputs":[{"name":"a","datatype":"FP64","shape":[1],"contents":{"fp64_contents":[1.0]}},' +
      '{"name":"v","datatype":"VECTOR","shape":[1,2],"contents":{"fp64_contents":[1.0,1.0]}}]',
  });
  for (const datatype of ['STRING', 'BYTES'] as const) {
    const more = [...inputs, tensor('s', datatype, [-1])];
    assert.equal(sampleRequest(signature(more, outputs), NOTHING), undefined);
  }
  const ragged = [tensor('l', 'FP64', [-1, 1, -1])];
  assert.equal(sampleRequest(signature(ragged, outputs), NOTHING), undefined);
});

test('a model of columns: values that its fields are known to take, and days', () => {
  const inputs = [
    tensor('color', 'STRING', [-1]),
    tensor('age', 'INT32', [-1]),
    tensor('day', 'DATE', [-1]),
    tensor('at', 'TIMESTAMP', [-1]),
    tensor('free', 'FP64', [-1]),
  ];
  const examples = { color: '"dark \\"red\\""', age: '53' };
  const outputs = [tensor('y', 'FP64', [-1])];
  const table = { examples, untyped: ['age'] };
  const request = sampleRequest(signature(inputs, outputs), table);
  assert.equal(
    request?.v1,
    '{"instances":[{"color":"dark \\"red\\"","age":53,"day":"2024-02-29",' +
      '"at":"29/02/2024 23:15:00","free":1.0}]}',
  );
  const untyped = { examples, untyped: ['free'] };
  assert.equal(sampleRequest(signature(inputs, outputs), untyped), undefined);
});
