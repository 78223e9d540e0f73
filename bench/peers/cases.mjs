// The questions to every server: the models, the bodies in each protocol, the checks of the
// responses, the loads and the floors. Control plane; pure but for the loads.
import {
  bytesOf,
  floatsOf,
  floatTexts,
  makeFloats,
  v1Request,
  v2BinaryAnswer,
  v2BinaryRequest,
  v2JsonRequest,
} from '../bodies.mjs';
import { callOnce, expectFloats, sendOnce } from '../check.mjs';
import { closedLoopLoad } from '../load/closed-loop.mjs';
import { grpcLoad } from '../load/grpc-load.mjs';
import { h2loadLoad } from '../load/h2load.mjs';
import { wrkLoad } from '../load/wrk.mjs';
import { fieldsOf, modelInferRequest, rawOutputs } from '../wire.mjs';
import { FLOATS } from '../workloads/json-small.mjs';
import { GRPC_METHOD } from '../workloads/sides.mjs';
import { MODELS } from './peers.mjs';

const TIMEOUT_MS = 60_000;
const TOLERANCE = 1e-3;
// ModelInferResponse.outputs, their contents, and the floats of these.
const OUTPUTS = 5;
const CONTENTS = 5;
const FP32_CONTENTS = 6;

export const PROTOCOLS = {
  v1: 'V1 JSON',
  v2: 'V2 JSON',
  'v2-binary': 'V2 binary',
  grpc: 'V2 gRPC',
};

/** The input of each model: its shape and values. */
export const INPUTS = {
  half_plus_three: { shape: [FLOATS.length], values: Float32Array.from(FLOATS), what: '4 floats' },
  mlp: { shape: [32, 784], values: makeFloats(32 * 784), what: '32 x 784 floats' },
  resnet: {
    shape: [1, 3, 224, 224],
    values: makeFloats(3 * 224 * 224),
    what: 'one image of 150,528 floats',
  },
};

const TITLES = { half_plus_three: 'x / 2 + 3', mlp: 'MLP 784-512-10', resnet: 'small ResNet' };

const SMALL = { http: 16, grpc: { clients: 4, streams: 16 } };
const LARGE = 4;

const PLAN = {
  half_plus_three: ['v1', 'v2', 'grpc'],
  mlp: ['v1', 'v2', 'v2-binary', 'grpc'],
  resnet: ['v1', 'v2-binary', 'grpc'],
};

function oneCase(model, protocol) {
  const small = model === 'half_plus_three';
  const { clients, streams } = SMALL.grpc;
  const smallLoad = protocol === 'grpc' ? `${clients} x ${streams} calls` : `${SMALL.http} clients`;
  const load = small ? smallLoad : `${LARGE} clients`;
  const floors = small ? ['echo'] : [];
  if (protocol === 'v2-binary') floors.push('onnxruntime');
  return {
    id: `${model.replaceAll('_', '-')}-${protocol}`,
    title: `${TITLES[model]}: ${PROTOCOLS[protocol]}, ${INPUTS[model].what}, ${load}`,
    model,
    protocol,
    small,
    floors,
  };
}

/** Every case, in the order of the tables. */
export const CASES = Object.entries(PLAN).flatMap(([model, protocols]) =>
  protocols.map((protocol) => oneCase(model, protocol)),
);

/** Whether `peer` can be asked `one`. */
export const speaks = (peer, { model, protocol }) =>
  peer.protocols.includes(protocol) && (peer.models === undefined || peer.models.includes(model));

const numbersOf = (value) => Float32Array.from([value].flat(Infinity));

/** The floats of a V1 response, or of BentoML's, whose JSON is the array itself. Pure. */
export function v1Floats({ body }) {
  const parsed = JSON.parse(body.toString());
  return numbersOf(Array.isArray(parsed) ? parsed : parsed.predictions);
}

/** The floats of a ModelInferResponse's only output, raw or as contents. Pure. */
export function grpcFloats(message) {
  const [raw] = rawOutputs(message);
  if (raw !== undefined) return floatsOf(raw);
  const [output = Buffer.alloc(0)] = fieldsOf(message, OUTPUTS);
  const [contents = Buffer.alloc(0)] = fieldsOf(output, CONTENTS);
  return floatsOf(Buffer.concat(fieldsOf(contents, FP32_CONTENTS)));
}

/** Returns a case as {request, read(response) -> floats}, or {message, read} for gRPC. Pure. */
export function requestOf({ model, protocol }) {
  const { shape, values } = INPUTS[model];
  const tensor = { name: MODELS[model].input, shape, datatype: 'FP32' };
  switch (protocol) {
    case 'v1':
      return { request: v1Request(model, floatTexts(values), shape), read: v1Floats };
    case 'v2': {
      const read = ({ body }) => numbersOf(JSON.parse(body.toString()).outputs[0].data);
      return { request: v2JsonRequest(model, [{ tensor, texts: floatTexts(values) }]), read };
    }
    case 'v2-binary':
      return {
        request: v2BinaryRequest(model, tensor, MODELS[model].output, bytesOf(values)),
        read: (answer) => floatsOf(v2BinaryAnswer(answer)),
      };
    case 'grpc':
      return {
        message: modelInferRequest(model, [{ tensor, bytes: bytesOf(values) }]),
        read: grpcFloats,
      };
    default:
      throw new RangeError(`unknown protocol '${protocol}'`);
  }
}

function httpLoad(context, { small }, server, request) {
  if (small) return wrkLoad(context, server, request, SMALL.http);
  return closedLoopLoad(context, server, request, LARGE);
}

function callLoad(context, { small }, server, call) {
  if (small) return h2loadLoad(context, server, { ...call, ...SMALL.grpc });
  return grpcLoad(context, server, call, { how: 'whole', connections: LARGE, count: LARGE });
}

/**
 * Asks `server` once and compares the response with `expected`. Resolves to a side: {measure,
 * ended, request or call}.
 */
export async function openCase(context, one, server, expected) {
  const { request, message, read } = requestOf(one);
  const wanted = expected.map((value) => value + (server.shift ?? 0));
  const what = `${server.title}, ${one.id}`;
  const { ended } = server;
  if (message === undefined) {
    const answer = await sendOnce(server.http, request, TIMEOUT_MS);
    expectFloats(what, read(answer), wanted, TOLERANCE);
    return { measure: httpLoad(context, one, server.http, request), ended, request };
  }
  const answer = await callOnce(server.grpc, GRPC_METHOD, message, TIMEOUT_MS);
  expectFloats(what, read(answer), wanted, TOLERANCE);
  const call = { path: GRPC_METHOD, message, answerBytes: answer.length };
  return { measure: callLoad(context, one, server.grpc, call), ended, call };
}

/** An echo of the same body under the same load, as a side: `start(context)` starts the server. */
export async function openEcho(context, one, server) {
  const { request, message } = requestOf(one);
  const { ended } = server;
  if (message === undefined) {
    await sendOnce(server, request);
    return { measure: httpLoad(context, one, server, request), ended };
  }
  await callOnce(server, GRPC_METHOD, message);
  const call = { path: GRPC_METHOD, message, answerBytes: message.length };
  return { measure: callLoad(context, one, server, call), ended };
}
