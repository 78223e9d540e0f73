// Invalid requests, each with the status that it must get. Test time only.
import { modelInferRequest } from '../../bench/wire.mjs';
import { INFER_METHOD } from './http.mjs';
import { pause } from './options.mjs';

const PREDICT = '/v1/models/half_plus_three:predict';
const INFER = '/v2/models/half_plus_three/infer';
const tensor = (changes) =>
  JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [2], data: [1, 2], ...changes }],
  });

// [path, body, status, headers, method]
const HTTP = [
  [PREDICT, '{"instances": [1.0', 400],
  [PREDICT, '', 400],
  [PREDICT, '{"instances": []}', 400],
  [PREDICT, '{"instances": ["text"]}', 400],
  [PREDICT, `{"instances": ${'['.repeat(100_000)}`, 400],
  ['/v1/models/nope:predict', '{"instances": [1.0]}', 404],
  ['/v1/models/half_plus_three/versions/9:predict', '{"instances": [1.0]}', 404],
  ['/v1/models/half_plus_three:explode', '{}', 400],
  [INFER, tensor({ datatype: 'FP64' }), 400],
  [INFER, tensor({ shape: [3] }), 400],
  [INFER, tensor({ shape: [-1] }), 400],
  [INFER, tensor({ data: ['a', 'b'] }), 400],
  [INFER, tensor({ name: 'z' }), 400],
  [INFER, '{"inputs":', 400],
  ['/v2/models/nope/infer', tensor({}), 404],
  ['/v2/nothing', '{}', 404],
  [INFER, tensor({}), 400, { 'Inference-Header-Content-Length': '99999' }],
  [INFER, tensor({}), 415, { 'Content-Encoding': 'br' }],
  [INFER, 'not gzip', 400, { 'Content-Encoding': 'gzip' }],
  [INFER, undefined, 405, {}, 'GET'],
  [
    '/v2/models/batched/infer',
    JSON.stringify({
      inputs: [{ name: 'input', datatype: 'FP32', shape: [17, 1], data: new Array(17).fill(1) }],
    }),
    400,
  ],
  ['/v2/repository/models/nope/load', '{}', 404],
  ['/v2/repository/models/half_plus_three/load', '{"parameters":{"config":"{"}}', 400],
];

const floatBytes = (model, name, shape) =>
  modelInferRequest(model, [{ tensor: { name, datatype: 'FP32', shape }, bytes: Buffer.alloc(4) }]);
// [method, message, code]
const GRPC = [
  [INFER_METHOD, Buffer.from([0xff, 0xff, 0xff]), 3],
  [INFER_METHOD, floatBytes('nope', 'x', [1]), 5],
  [INFER_METHOD, floatBytes('half_plus_three', 'z', [1]), 3],
  [INFER_METHOD, floatBytes('half_plus_three', 'x', [2]), 3],
  ['/inference.GRPCInferenceService/Nothing', Buffer.alloc(0), 12],
];

async function httpOnce(connections, [path, body, status, headers, method]) {
  const answer = await connections.send(path, body, headers, method);
  const text = answer.body.toString('utf8', 0, 500);
  const what = `${method ?? 'POST'} ${path} ${(body ?? '').slice(0, 80)}`;
  if (answer.status !== status) throw new Error(`${what}: ${answer.status} ${text}`);
  if (typeof JSON.parse(answer.body.toString()).error !== 'string') {
    throw new Error(`${what}: no error text: ${text}`);
  }
}

async function grpcOnce(connections, [method, message, code]) {
  const answer = await connections.call(method, message);
  if (answer.code === code && answer.details !== '') return;
  const hex = message.toString('hex').slice(0, 80);
  throw new Error(`${method} ${hex}: expected ${code}, got ${answer.code} ${answer.details}`);
}

/** Sends one after another until `stopping()`. Resolves to {refused}. */
export async function runBadRequests({ connections, random, stopping }) {
  let refused = 0;
  while (!stopping()) {
    if (random.int(0, 3) === 0) await grpcOnce(connections, random.pick(GRPC));
    else await httpOnce(connections, random.pick(HTTP));
    refused += 1;
    await pause(random.int(0, 10));
  }
  return { refused, served: {} };
}
