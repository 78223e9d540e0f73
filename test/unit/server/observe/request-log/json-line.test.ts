// Lines of the request log: each protocol in words, truncated values, unchanged bytes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { Protocol, type LoggedRequest } from '../../../../../ts/base/generated/engine.js';
import { jsonForm } from '../../../../../ts/server/observe/request-log/json-line.js';
import { encode, messageTypes } from '../../../protocols/raw-client.js';
import { encodeMessage } from '../../../models/warmup/support.js';
import { logged } from './support.js';

const ALL = Number.POSITIVE_INFINITY;
const types = messageTypes();

interface Line {
  readonly request?: unknown;
  readonly response?: unknown;
}

function textOf(request: Partial<LoggedRequest>, max = ALL, isRaw = false): string {
  const form = jsonForm(isRaw, max)(logged(request));
  assert.equal(form.kind, 'record');
  const text = Buffer.from(form.bytes).toString('utf8');
  assert.equal(text.indexOf('\n'), text.length - 1, 'one line');
  return text;
}

const lineOf = (request: Partial<LoggedRequest>, max = ALL, isRaw = false): Line =>
  JSON.parse(textOf(request, max, isRaw)) as Line;

const floats = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => bytes.writeFloatLE(value, i * 4));
  return bytes;
};
const texts = (...values: readonly Uint8Array[]): Buffer =>
  Buffer.concat(
    values.flatMap((value) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(value.length);
      return [length, value];
    }),
  );

describe('a line of the request log', () => {
  it('says when, of what, by what, how it went and how long it took', () => {
    const request = Buffer.from('{"inputs":[]}');
    const line = lineOf({ id: 'i\n"1"', request, response: Buffer.from('{"outputs":[]}') });
    assert.deepEqual(line, {
      time: '2026-01-02T03:04:05.678Z',
      protocol: 'v2-rest',
      model: 'm',
      version: '3',
      id: 'i\n"1"',
      code: 'OK',
      total_us: 12,
      request: { inputs: [] },
      response: { outputs: [] },
    });
  });

  it('has the error in place of the answer', () => {
    const response = Buffer.from('####input "x" is missing\n');
    const code = ErrorCode.InvalidArgument;
    const line = lineOf({ code, response, responseJsonBytes: 4, request: Buffer.from('{}') });
    assert.deepEqual(
      { ...line },
      {
        ...lineOf({ code, response, responseJsonBytes: 4, request: Buffer.from('{}') }),
        code: 'INVALID_ARGUMENT',
        request: {},
        error: 'input "x" is missing\n',
      },
    );
    assert.equal(line.response, undefined);
  });

  it('has JSON as it is: numbers, texts and blanks', () => {
    const protocol = Protocol.V1Predict;
    const request = Buffer.from(
      '{\n "instances": [ 1.50,\r\n 12345678901234567890, "a\\nb", 1e400 ] }',
    );
    const text = textOf({ protocol, request, response: Buffer.from('{"predictions":[NaN]}') });
    assert.ok(text.includes('"request":{"instances":[1.50,12345678901234567890,"a\\nb",1e400]}'));
    assert.ok(text.includes('"response":{"predictions":[null]}'), text);
  });

  it('has what is no JSON as bytes', () => {
    const line = lineOf({ request: Buffer.from('{"inputs'), code: ErrorCode.MalformedBody });
    assert.equal((line as { request_base64: string }).request_base64, 'eyJpbnB1dHM=');
    const cut = lineOf({ request: Buffer.from('{"inputs'), code: ErrorCode.MalformedBody }, 5);
    assert.equal((cut as { request_bytes: number }).request_bytes, 8);
    assert.ok(!JSON.stringify(cut).includes('eyJ'), 'no values where few are wanted');
  });

  it('cuts values of V1, wherever they lie', () => {
    const protocol = Protocol.V1Predict;
    const request = Buffer.from('{"signature_name":"s","instances":[{"a":[1,2],"b":3},{"a":[4]}]}');
    const response = Buffer.from('{"predictions":[[1,2],[3,4]]}');
    assert.deepEqual(lineOf({ protocol, request, response }, 2).request, {
      signature_name: 's',
      instances: [{ a: [1, 2] }],
      values_left_out: 2,
    });
    assert.deepEqual(lineOf({ protocol, request, response }, 3).response, {
      predictions: [[1, 2], [3]],
      values_left_out: 1,
    });
    assert.deepEqual(lineOf({ protocol, request, response }, 0).request, { signature_name: 's' });
    assert.deepEqual(lineOf({ protocol, request, response }, 0).response, {});
  });

  it('cuts values of V2, and names and shapes stay', () => {
    const request = Buffer.from(
      '{"id":"7","inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2],[3,4]]}]}',
    );
    const response = Buffer.from('{"outputs":[]}');
    const head = { name: 'x', datatype: 'FP32', shape: [2, 2] };
    assert.deepEqual(lineOf({ request, response }, 3).request, {
      id: '7',
      inputs: [{ ...head, data: [[1, 2], [3]], values_left_out: 1 }],
    });
    assert.deepEqual(lineOf({ request, response }, 0).request, { id: '7', inputs: [head] });
  });

  it('has binary data in words', () => {
    const tensors = [
      { name: 'x', datatype: 'FP32', shape: [3], parameters: { binary_data_size: 12 } },
      { name: 'y', datatype: 'BYTES', shape: [2], parameters: { binary_data_size: 11 } },
      { name: 'z', datatype: 'INT64', shape: [1], data: [5] },
    ];
    const json = Buffer.from(JSON.stringify({ inputs: tensors }));
    const data = Buffer.concat([
      floats(0.5, Number.NaN, -Infinity),
      texts(Buffer.from('é'), Buffer.from([0xff])),
    ]);
    const request = Buffer.concat([json, data]);
    const response = Buffer.from('{"outputs":[]}');
    assert.deepEqual(lineOf({ request, jsonBytes: json.length, response }).request, {
      inputs: [
        { ...tensors[0], data: [0.5, 'NaN', '-Infinity'] },
        { ...tensors[1], data: ['é', { b64: '/w==' }] },
        tensors[2],
      ],
    });
    const cut = lineOf({ request, jsonBytes: json.length, response }, 1).request as object;
    assert.deepEqual(cut, {
      inputs: [
        { ...tensors[0], data: [0.5], values_left_out: 2 },
        { ...tensors[1], data: ['é'], values_left_out: 1 },
        tensors[2],
      ],
    });
  });

  it('has a body that is one tensor as bytes', () => {
    const line = lineOf({ request: floats(1), jsonBytes: 0, response: Buffer.from('{}') });
    assert.equal((line as { request_base64: string }).request_base64, 'AACAPw==');
  });
});

describe('a line of a gRPC message', () => {
  const input = (name: string, datatype: string, shape: number[], contents?: object): object => ({
    name,
    datatype,
    shape,
    ...(contents && { contents }),
  });

  it('of V2 has raw and typed contents, parameters and outputs in words', () => {
    const type = types.lookupType('inference.ModelInferRequest');
    // 64-bit values as text, which encode() refuses.
    const message = type.fromObject({
      model_name: 'm',
      parameters: [
        { key: 'sequence', value: { int64_param: 4 } },
        { key: 'last', value: { bool_param: true } },
      ],
      inputs: [
        input('a', 'FP32', [2]),
        input('b', 'INT8', [2], { int_contents: [-1, 2] }),
        input('c', 'UINT64', [1], { uint64_contents: ['18446744073709551615'] }),
        input('d', 'BYTES', [1], { bytes_contents: [Buffer.from('text')] }),
        input('e', 'FP64', [1], { fp64_contents: [0.1] }),
        input('f', 'BOOL', [2], { bool_contents: [true, false] }),
        input('g', 'FP16', [1]),
      ],
      outputs: [{ name: 'y', parameters: [{ key: 'classification', value: { int64_param: 2 } }] }],
      raw_input_contents: [floats(1, 2.5), Buffer.from([0, 0x3c])],
    });
    const request = Buffer.from(type.encode(message).finish());
    const response = encode(types, 'inference.ModelInferResponse', {
      model_name: 'm',
      outputs: [{ name: 'y', datatype: 'INT32', shape: [1] }],
      raw_output_contents: [Buffer.from([254, 255, 255, 255])],
    });
    const text = textOf({ protocol: Protocol.V2Grpc, request, response });
    assert.ok(text.includes('"data":[18446744073709551615]'), text);
    const line = JSON.parse(text) as Line;
    const shaped = (name: string, datatype: string, ...data: readonly unknown[]): object => ({
      name,
      datatype,
      shape: [data.length],
      data,
    });
    assert.deepEqual(line.request, {
      inputs: [
        shaped('a', 'FP32', 1, 2.5),
        shaped('b', 'INT8', -1, 2),
        shaped('c', 'UINT64', 18446744073709551615),
        shaped('d', 'BYTES', 'text'),
        shaped('e', 'FP64', 0.1),
        shaped('f', 'BOOL', true, false),
        shaped('g', 'FP16', 1),
      ],
      parameters: { sequence: 4, last: true },
      outputs: [{ name: 'y', parameters: { classification: 2 } }],
    });
    assert.deepEqual(line.response, { outputs: [shaped('y', 'INT32', -2)] });
    const stream = encode(types, 'inference.ModelStreamInferResponse', {
      infer_response: types.lookupType('inference.ModelInferResponse').decode(response),
    });
    const streamed = lineOf({ protocol: Protocol.V2GrpcStream, request, response: stream }, 1);
    assert.deepEqual(streamed.response, line.response);
    assert.deepEqual((streamed.request as { inputs: object[] }).inputs[1], {
      name: 'b',
      datatype: 'INT8',
      shape: [2],
      data: [-1],
      values_left_out: 1,
    });
  });

  it("of TensorFlow Serving's Predict has tensors in words", () => {
    const dim = [{ size: 2 }];
    const request = encodeMessage('PredictRequest', {
      model_spec: { name: 'm', signature_name: 's' },
      inputs: {
        x: { dtype: 1, tensor_shape: { dim }, float_val: [1, 2] },
        h: { dtype: 19, tensor_shape: { dim }, half_val: [0x3c00, 0xc000] },
        t: { dtype: 7, tensor_shape: { dim: [{ size: 1 }] }, string_val: [Buffer.from('a')] },
      },
      output_filter: ['y'],
    });
    const response = encodeMessage('PredictRequest', {});
    const line = lineOf({ protocol: Protocol.TfPredict, request, response });
    assert.deepEqual(line.request, {
      signature_name: 's',
      output_filter: ['y'],
      inputs: [
        { name: 'x', datatype: 'FP32', shape: [2], data: [1, 2] },
        { name: 'h', datatype: 'FP16', shape: [2], data: [1, -2] },
        { name: 't', datatype: 'BYTES', shape: [1], data: ['a'] },
      ],
    });
    const cut = lineOf({ protocol: Protocol.TfPredict, request, response }, 0);
    assert.ok(!JSON.stringify(cut).includes('"data"'), JSON.stringify(cut));
  });

  it('that is cut off is bytes', () => {
    const request = Buffer.from([0x0a, 0x7f]);
    const line = lineOf({ protocol: Protocol.V2Grpc, request, response: Buffer.alloc(0) });
    assert.equal((line as { request_base64: string }).request_base64, 'Cn8=');
  });

  it('of Examples is bytes, or none', () => {
    const request = Buffer.from('abc');
    const protocol = Protocol.TfClassify;
    const whole = lineOf({ protocol, request, response: Buffer.from('d') });
    assert.deepEqual(
      [whole].map((one) => {
        const { request_base64: asked, response_base64: answered } = one as Record<string, unknown>;
        return [asked, answered];
      }),
      [['YWJj', 'ZA==']],
    );
  });
});

describe('a raw line', () => {
  it('has the bytes of both, and where JSON ends', () => {
    const request = Buffer.from('{}abc');
    const response = Buffer.from('{"outputs":[]}');
    const line = lineOf({ request, jsonBytes: 2, response }, ALL, true) as Record<string, unknown>;
    assert.equal(line['request_base64'], request.toString('base64'));
    assert.equal(line['request_json_bytes'], 2);
    assert.equal(line['response_base64'], response.toString('base64'));
  });
});
