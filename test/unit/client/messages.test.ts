// JSON, V2's bodies and gRPC's frames: what is sent, and what is read.
import assert from 'node:assert/strict';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import protobuf from 'protobufjs';
import { packageRoot } from '../../../ts/base/package-files.js';
import { jsonText, parseJson } from '../../../ts/client/core/json.js';
import { ClientError } from '../../../ts/client/core/errors.js';
import { tensorsOf } from '../../../ts/client/core/tensors.js';
import { FrameReader, frameOf } from '../../../ts/client/grpc/frames.js';
import { inferRequest, inferResult } from '../../../ts/client/grpc/infer-message.js';
import { predictResult } from '../../../ts/client/grpc/serving.js';
import { V2RestClient } from '../../../ts/client/rest/v2.js';
import type { HttpRequest, Send } from '../../../ts/client/rest/http.js';
import { v2Body, v2Result } from '../../../ts/client/rest/v2-message.js';
import { WireReader } from '../../../ts/protobuf/reader.js';
import { ProtobufWriter } from '../../../ts/protobuf/writer.js';

test('reads numbers of JSON without loss', () => {
  const text =
    '{"a":[9007199254740993,-9223372036854775808,NaN,-Infinity,-0,1.5e3,0.12345678901234567],' +
    '"12345678901234567":"NaN 12345678901234567 \\" Infinity"}';
  const read = parseJson('t', text) as Record<string, unknown>;
  const numbers = [9007199254740993n, -(2n ** 63n), NaN, -Infinity, -0, 1500, 0.12345678901234567];
  assert.deepEqual(read['a'], numbers);
  assert.equal(read['12345678901234567'], 'NaN 12345678901234567 " Infinity');
  assert.deepEqual(parseJson('t', '[1234567890123456]'), [1234567890123456]);
  for (const bad of ['', '[NaN', 'NaNNaN', '{"a":}', '[1,,2]', '[NaN,]']) {
    assert.throws(() => parseJson('t', bad), { code: 'INTERNAL' }, bad);
  }
});

test('writes numbers of JSON without loss', () => {
  const value = { a: [-0, NaN, -Infinity, 2n ** 64n], b: BigInt64Array.of(-1n), c: undefined };
  assert.equal(jsonText(value), '{"a":[-0.0,NaN,-Infinity,18446744073709551616],"b":[-1]}');
  const bytes = jsonText([Uint8Array.of(1), 'é"'], (one) => ({ b64: String(one) }));
  assert.equal(bytes, '[{"b64":"1"},"é\\""]');
});

test('sends tensors as bytes, or as lists to servers without the extension', () => {
  const tensors = tensorsOf({ x: { data: [1, 2], datatype: 'INT16' }, t: ['é'] }, []);
  const { body, jsonBytes = 0 } = v2Body(tensors, { id: '7', outputs: ['y'] }, true);
  const bytes = body as Uint8Array;
  assert.deepEqual(JSON.parse(Buffer.from(bytes.subarray(0, jsonBytes)).toString()), {
    id: '7',
    inputs: [
      { name: 'x', datatype: 'INT16', shape: [2], parameters: { binary_data_size: 4 } },
      { name: 't', datatype: 'BYTES', shape: [1], parameters: { binary_data_size: 6 } },
    ],
    outputs: [{ name: 'y', parameters: { binary_data: true } }],
  });
  assert.deepEqual([...bytes.subarray(jsonBytes)], [1, 0, 2, 0, 2, 0, 0, 0, 195, 169]);
  const options = {
    sequence: { id: 5, start: true },
    priority: 2,
    queueTimeoutUs: 9,
    parameters: { own: 1.5 },
    classification: 3,
    outputs: ['y', { name: 'z', classification: 1 }],
  };
  const plain = v2Body(tensors, options, false);
  assert.equal(plain.jsonBytes, undefined);
  assert.deepEqual(JSON.parse(plain.body as string), {
    parameters: {
      own: 1.5,
      sequence_id: 5,
      sequence_start: true,
      sequence_end: false,
      priority: 2,
      timeout: 9,
    },
    inputs: [
      { name: 'x', datatype: 'INT16', shape: [2], data: [1, 2] },
      { name: 't', datatype: 'BYTES', shape: [1], data: ['é'] },
    ],
    outputs: [
      { name: 'y', parameters: { classification: 3 } },
      { name: 'z', parameters: { classification: 1 } },
    ],
  });
  const bad = tensorsOf({ t: { data: [Uint8Array.of(0xff)], datatype: 'BYTES' } }, []);
  assert.throws(
    () => v2Body(bad, {}, false),
    /element 0: expected UTF-8 for a request without binary/,
  );
});

test('sends missing values of tabular models in JSON', () => {
  const tensors = tensorsOf({ a: { data: [1, null], datatype: 'FP64' }, v: [[1], [2]] }, [
    { name: 'a', datatype: 'FP64', shape: [-1] },
    { name: 'v', datatype: 'VECTOR', shape: [-1, 1] },
  ]);
  const { body, jsonBytes } = v2Body(tensors, {}, true);
  assert.equal(jsonBytes, undefined);
  const { inputs } = JSON.parse(body as string) as { inputs: { data: unknown }[] };
  assert.deepEqual(
    inputs.map((one) => one.data),
    [
      [1, null],
      [1, 2],
    ],
  );
});

test('rejects responses that are not V2', () => {
  const read = (text: string, jsonBytes?: number) => () => v2Result(Buffer.from(text), jsonBytes);
  assert.throws(read('[]'), /expected a list of outputs, got none/);
  assert.throws(read('nothing'), /expected JSON/);
  const output = '{"name":"y","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}';
  const short = `{"outputs":[${output}]}`;
  assert.throws(
    read(short, short.length),
    /output 'y': the response is invalid: expected 4 bytes, got 0/,
  );
});

/** A server that answers from a function, and the requests it has seen. */
function fake(answer: (request: HttpRequest) => unknown) {
  const seen: HttpRequest[] = [];
  const send: Send = (request) => {
    seen.push(request);
    const body = Buffer.from(JSON.stringify(answer(request)));
    return Promise.resolve({ status: 200, headers: { get: () => null }, body });
  };
  return { send, seen };
}

test('asks a server for its extensions and a model for its metadata once', async () => {
  const { send, seen } = fake(({ url, method }) => {
    if (method === 'POST')
      return { outputs: [{ name: 'y', datatype: 'FP32', shape: [1], data: [3] }] };
    if (url.endsWith('/v2')) return { name: 'old', extensions: [] };
    return { name: 'm', inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }] };
  });
  const options = { apiKey: 'secret', headers: { 'x-all': '1' } };
  const client = new V2RestClient('http://host/prefix/', options, send);
  for (let i = 0; i < 2; i += 1) {
    const { outputs } = await client.infer('a/b', { x: [1] }, { headers: { 'x-one': '2' } });
    assert.deepEqual(outputs['y']?.data, Float32Array.of(3));
  }
  assert.deepEqual(
    seen.map(({ method, url }) => `${method} ${url.slice(18)}`),
    [
      'GET /v2/models/a%2Fb',
      'GET /v2',
      'POST /v2/models/a%2Fb/infer',
      'POST /v2/models/a%2Fb/infer',
    ],
  );
  const { headers, body } = seen[3] as HttpRequest;
  assert.equal(headers['authorization'], 'Bearer secret');
  assert.equal(headers['x-all'] + (headers['x-one'] ?? ''), '12');
  assert.equal(body, '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}');
  assert.throws(() => new V2RestClient('host:80'), /expected a URL with http:/);
});

test('puts frames together from any pieces', () => {
  const messages = [new Uint8Array(0), Uint8Array.of(1, 2, 3), new Uint8Array(70_000).fill(7)];
  const bytes = Buffer.concat(messages.flatMap((one) => frameOf(one, 'none')));
  for (const size of [1, 4, 7, 70_000, bytes.length]) {
    const reader = new FrameReader('identity');
    const found: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...reader.push(bytes.subarray(at, at + size)));
    }
    assert.deepEqual(found, messages);
    assert.equal(reader.isInside, false);
  }
  const packed = Buffer.concat(frameOf(Uint8Array.of(1, 2), 'gzip') as Uint8Array[]);
  assert.deepEqual([...new FrameReader('gzip').push(packed)], [Uint8Array.of(1, 2)]);
  assert.throws(() => [...new FrameReader('zstd').push(packed)], /gzip or deflate, got zstd/);
});

test('writes ModelInfer as the published schema reads it', async () => {
  const root = new protobuf.Root();
  root.resolvePath = (_, target) => join(packageRoot(), 'proto', 'wire', basename(target));
  const { inference } = (await root.load('inference.proto')).nested as unknown as {
    readonly inference: protobuf.Namespace;
  };
  const tensors = tensorsOf(
    { x: { data: [1, -2], datatype: 'INT16', parameters: { p: 0.5 } } },
    [],
  );
  const message = inferRequest('m', tensors, {
    version: 3,
    id: '7',
    outputs: ['y', { name: 'z', classification: 2 }],
    sequence: { id: 2n ** 63n, start: true },
    priority: -1,
    parameters: { text: 'é', half: 0.5 },
  });
  const type = inference.lookupType('ModelInferRequest');
  const options = { longs: String, bytes: Array };
  assert.deepEqual(type.toObject(type.decode(message), options), {
    modelName: 'm',
    modelVersion: '3',
    id: '7',
    parameters: {
      text: { stringParam: 'é' },
      half: { doubleParam: 0.5 },
      sequence_id: { uint64Param: String(2n ** 63n) },
      sequence_start: { boolParam: true },
      sequence_end: { boolParam: false },
      priority: { int64Param: '-1' },
    },
    inputs: [
      { name: 'x', datatype: 'INT16', shape: ['2'], parameters: { p: { doubleParam: 0.5 } } },
    ],
    outputs: [{ name: 'y' }, { name: 'z', parameters: { classification: { int64Param: '2' } } }],
    rawInputContents: [[1, 0, 254, 255]],
  });
});

test('reads typed contents of V2 over gRPC, as other servers send them', () => {
  const tensor = (datatype: string, fill: (contents: ProtobufWriter) => void) =>
    new ProtobufWriter()
      .message(5, (output) => {
        output.string(1, 'y').string(2, datatype).packed(3, 'varint', [2]);
        output.message(5, fill);
      })
      .concat();
  const read = (datatype: string, fill: (contents: ProtobufWriter) => void) =>
    inferResult(new WireReader(tensor(datatype, fill), 'm'), false).outputs['y']?.data;
  assert.deepEqual(
    read('FP32', (out) => out.packed(6, 'float', [1.5, -2])),
    Float32Array.of(1.5, -2),
  );
  assert.deepEqual(
    read('INT64', (out) => out.packed(3, 'varint', [-1n, 5n])),
    BigInt64Array.of(-1n, 5n),
  );
  const wide = [2n ** 64n - 1n, 0n];
  assert.deepEqual(
    read('UINT64', (out) => out.packed(5, 'varint', wide)),
    BigUint64Array.from(wide),
  );
  assert.deepEqual(
    read('BOOL', (out) => out.packed(1, 'varint', [1, 0])),
    Uint8Array.of(1, 0),
  );
  assert.deepEqual(
    read('BYTES', (out) => out.string(8, 'a').string(8, 'é')),
    ['a', 'é'],
  );
  assert.throws(
    () => read('FP32', (out) => out.packed(6, 'float', [1])),
    /expected 2 elements, got 1/,
  );
  assert.throws(() => inferResult(new WireReader(Uint8Array.of(0xff), 'm'), false));
});

test("reads TensorProto's short lists and halves", () => {
  const read = (type: number, fill: (tensor: ProtobufWriter) => void) => {
    const message = new ProtobufWriter().message(1, (entry) => {
      entry.string(1, 'y').message(2, (tensor) => {
        tensor.varint(1, type);
        tensor.message(2, (shape) => shape.message(2, (dim) => dim.varint(1, 3)));
        fill(tensor);
      });
    });
    return predictResult(new WireReader(message.concat(), 'm'), false).outputs['y']?.data;
  };
  assert.deepEqual(
    read(1, (out) => out.packed(5, 'float', [1, 2])),
    Float32Array.of(1, 2, 2),
  );
  assert.deepEqual(
    read(19, (out) => out.packed(13, 'varint', [0x3c00])),
    Float32Array.of(1, 1, 1),
  );
  assert.deepEqual(
    read(7, (out) => out.string(8, 'a')),
    ['a', 'a', 'a'],
  );
  assert.deepEqual(
    read(6, (out) => out.packed(7, 'varint', [-1n])),
    Int8Array.of(-1, -1, -1),
  );
  assert.throws(() => read(1, () => undefined), ClientError);
});
