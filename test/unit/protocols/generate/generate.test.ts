// Triton's generate extension: requests and responses, URLs, errors. Source: Triton's
// docs/protocol/extension_generate.md; v2-protocol.md (generate).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import type { CompletionTarget, EngineLink } from '../../../../ts/engine/link.js';
import { UNCOUNTED } from '../../../../ts/listeners/http/listener.js';
import { generateAnswer } from '../../../../ts/protocols/generate/answer.js';
import { generateRequest } from '../../../../ts/protocols/generate/request.js';
import { generateRoute } from '../../../../ts/protocols/generate/route.js';
import { FakeControl } from '../../server/admin/fake-control.js';
import { ask, type Sent } from '../fake-http.js';
import { model, registry, version } from '../snapshots.js';

const tensor = (name: string, datatype: 'BYTES' | 'INT64' | 'FP32', shape: number[]) => ({
  name,
  datatype,
  shape,
  symbols: shape.map(() => ''),
  unknownRank: false,
});
const signature = {
  name: 'serving_default',
  inputs: [tensor('text_input', 'BYTES', [-1, 1]), tensor('max_tokens', 'INT64', [1])],
  outputs: [tensor('text_output', 'BYTES', [-1])],
  optionalInputs: [tensor('bias', 'FP32', [-1, -1, 2])],
};
const rewritten = (text: string): unknown => JSON.parse(generateRequest(text, signature));

test('members are the inputs of their names, others are parameters', () => {
  const text = `{"id": "a1", "text_input": "client input", "temperature": 0.5,
    "parameters": {"stream": false, "max_tokens": 9007199254740993}}`;
  assert.equal(
    generateRequest(text, signature),
    '{"id":"a1","parameters":{"temperature":0.5,"stream":false},"inputs":[' +
      '{"name":"text_input","datatype":"BYTES","shape":[1,1],"data":["client input"]},' +
      '{"name":"max_tokens","datatype":"INT64","shape":[1],"data":[9007199254740993]}]}',
  );
});

test('values fill the shape of the model from its end', () => {
  const shapeOf = (bias: string): unknown => {
    const { inputs } = rewritten(`{"bias": ${bias}}`) as { inputs: { shape: unknown }[] };
    return inputs[0]?.shape;
  };
  assert.deepEqual(shapeOf('[1, 2]'), [1, 1, 2]);
  assert.deepEqual(shapeOf('[1, 2, 3, 4, 5, 6]'), [1, 3, 2]);
  assert.deepEqual(shapeOf('[]'), [1, 0, 2]);
  assert.deepEqual(shapeOf('[[[1, 2], [3, 4]]]'), [1, 2, 2], 'nested lists have a shape');
});

test('what is wrong with a request', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['[1]', /expected a JSON object, got a list/],
    ['{"text_input": ', /JSON: expected a value/],
    [
      '{"bias": 1}',
      /input "bias": expected a multiple of 2 values for the shape \[-1, -1, 2\], got 1/,
    ],
    ['{"max_tokens": [1, 2]}', /input "max_tokens": expected 1 values for the shape \[1\], got 2/],
    ['{"bias": [[1, 2], [3]]}', /"bias": expected lists of equal shapes, got \[2\] and \[1\]/],
    ['{"bias": [[1, 2], 3]}', /"bias": expected lists of equal shapes, got \[2\] and \[\]/],
    ['{"bias": {"a": 1}}', /"bias": expected a value or a list, got an object/],
    [
      '{"txt": ["a"]}',
      /"txt": expected an input of the model \("text_input", .*\), or a parameter/,
    ],
    ['{"txt": null}', /got null/],
    ['{"x": NaN}', /got NaN/],
    ['{"max_tokens": 1, "parameters": {"max_tokens": 2}}', /expected "max_tokens" once/],
    ['{"binary_data_output": true}', /binary_data_output: responses are JSON here/],
  ];
  for (const [text, message] of cases) assert.throws(() => rewritten(text), message, text);
});

test('an output of one value is that value', () => {
  const v2 =
    '{"model_name":"m","model_version":"1","id":"a1","outputs":[' +
    '{"name":"text_output","datatype":"BYTES","shape":[1],"data":["model output"]},' +
    '{"name":"count","datatype":"INT64","shape":[1,1],"data":[9007199254740993]},' +
    '{"name":"scores","datatype":"FP32","shape":[2],"data":[0.5,NaN]},' +
    '{"name":"none","datatype":"FP32","shape":[0],"data":[]}]}';
  assert.equal(
    generateAnswer(v2),
    '{"id":"a1","model_name":"m","model_version":"1","text_output":"model output",' +
      '"count":9007199254740993,"scores":[0.5,NaN],"none":[]}',
  );
});

const snapshot = registry([
  model('m', [version('2', 'AVAILABLE', { signatures: [signature] })]),
  model('loading', [version('1', 'LOADING')]),
]);

function engine(bodies: string[], code: ErrorCode): EngineLink {
  const infer = (
    _protocol: number,
    handle: number,
    bytes: ArrayBuffer,
    _jsonBytes: number,
    target: CompletionTarget,
  ): void => {
    bodies.push(`${handle} ${Buffer.from(bytes).toString()}`);
    const data = ['out'];
    const outputs = [{ name: 'text_output', datatype: 'BYTES', shape: [1], data }];
    const answer = JSON.stringify({ model_name: 'm', model_version: '2', outputs });
    target.complete(code, Buffer.from(code === ErrorCode.Ok ? answer : 'it failed'), 0);
  };
  return { infer } as unknown as EngineLink;
}

function asked(
  path: string,
  { body = '{"text_input":"a"}', code = ErrorCode.Ok, method = 'POST' } = {},
  bodies: string[] = [],
): Promise<Sent> {
  const context = {
    link: engine(bodies, code),
    bodyBytesMax: 1000,
    inflatedBytesMax: 1000,
    held: UNCOUNTED,
    control: new FakeControl(),
  };
  const route = generateRoute(context, { snapshot, shown: snapshot }, method, path);
  assert.ok(route !== undefined, path);
  return ask(route, { method, path, body: [body] });
}

test('a response, and one server-sent event', async () => {
  const bodies: string[] = [];
  const answer = '{"model_name":"m","model_version":"2","text_output":"out"}';
  const one = await asked('/v2/models/m/generate', {}, bodies);
  assert.deepEqual([one.status, one.contentType, one.body], [200, 'application/json', answer]);
  const streamed = await asked('/v2/models/m/versions/2/generate_stream', {}, bodies);
  assert.deepEqual([streamed.status, streamed.body], [200, `data: ${answer}\n\n`]);
  assert.equal(streamed.contentType, 'text/event-stream; charset=utf-8');
  const request =
    '{"inputs":[{"name":"text_input","datatype":"BYTES","shape":[1,1],"data":["a"]}]}';
  assert.deepEqual(bodies, [`2 ${request}`, `2 ${request}`]);
});

test('errors are JSON with a status, of a stream too', async () => {
  const cases: readonly (readonly [Promise<Sent>, number, RegExp])[] = [
    [asked('/v2/models/m/generate', { body: '{' }), 400, /JSON: expected/],
    [asked('/v2/models/m/generate_stream', { body: '{"a":null}' }), 400, /expected an input/],
    [asked('/v2/models/m/generate_stream', { code: ErrorCode.BackendFailed }), 500, /it failed/],
    [asked('/v2/models/m/generate', { body: 'x'.repeat(1001) }), 413, /1000/],
    [asked('/v2/models/none/generate'), 404, /none/],
    [asked('/v2/models/loading/generate'), 503, /LOADING/],
    [asked('/v2/models/m/generate', { method: 'GET' }), 405, /POST/],
  ];
  for (const [sending, status, message] of cases) {
    const sent = await sending;
    assert.equal(sent.status, status, sent.body);
    assert.equal(sent.contentType, 'application/json');
    assert.match((JSON.parse(sent.body) as { error: string }).error, message);
  }
});
