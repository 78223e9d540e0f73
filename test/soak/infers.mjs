// Steady inference over every protocol: each response is compared with the expected one. Test time
// only.
import { bytesOf, floatsOf, v2BinaryRequest } from '../../bench/bodies.mjs';
import { predictOutput, predictRequest } from '../../bench/tensorflow/messages.mjs';
import { fieldsOf, modelInferRequest, rawOutputs } from '../../bench/wire.mjs';
import { INFER_METHOD, PREDICT_METHOD, STREAM_METHOD } from './http.mjs';
import { COMING, LAZY, MOVING } from './repository.mjs';

const WORDS = ['', 'plain', 'größer 漢字', 'quote " slash \\', 'line\nbreak'];
const NOT_SERVED = new Set([404, 503]);
const NOT_FOUND_GRPC = 5;
/** Those that are copies of half_plus_three. */
const HALVES = [COMING[0], COMING[2]];
const NOT_SERVED_GRPC = new Set([NOT_FOUND_GRPC, 14]);

/** A request for one model: {model, tensor, output, data, check(floats or texts, version)}. */
function plan(random) {
  const kind = random.int(0, 11);
  if (kind <= 3) return halfPlusThree(random, 'half_plus_three');
  if (kind <= 6) return batched(random);
  if (kind === 7) return text(random);
  if (kind === 8) return moving(random);
  if (kind === 9) return { ...halfPlusThree(random, random.pick(HALVES)), mayBeAway: true };
  return lazy(random);
}

// Quarters are exact in FP32 and in JSON.
function quarters(random, count) {
  return Array.from({ length: count }, () => random.int(-4000, 4000) / 4);
}

function halfPlusThree(random, model) {
  const data = quarters(random, random.int(1, 20));
  const expected = data.map((value) => Math.fround(value / 2 + 3));
  return floatPlan(model, ['x', 'y'], [data.length], data, (got) => sameList(got, expected));
}

function lazy(random) {
  const index = random.int(0, LAZY.length - 1);
  const data = quarters(random, 3);
  const expected = data.map((value) => value + index);
  return floatPlan(LAZY[index], ['x', 'y'], [3], data, (got) => sameList(got, expected));
}

function batched(random) {
  const shape = [random.int(1, 4), random.int(1, 3)];
  const data = quarters(random, shape[0] * shape[1]);
  return floatPlan('batched', ['input', 'output'], shape, data, (got) => sameList(got, data));
}

// Version n returns x + n, or x + n + 0.5 once it was replaced.
function moving(random) {
  const data = quarters(random, 3);
  const check = (got, version) => {
    const offset = got[0] - data[0];
    const allowed =
      version === undefined
        ? offset >= 1 && Number.isInteger(offset * 2)
        : offset === version || offset === version + 0.5;
    const wrong = sameList(
      got,
      data.map((value) => value + offset),
    );
    return allowed ? wrong : `x + ${offset} from version ${version ?? '?'}`;
  };
  return { ...floatPlan(MOVING, ['x', 'y'], [3], data, check), mayBeAway: true };
}

function text(random) {
  const data = [random.pick(WORDS), random.pick(WORDS)];
  return {
    model: 'text',
    tensor: { name: 'input', shape: [1, 2], datatype: 'BYTES' },
    output: 'output',
    data,
    check: (got) => sameList(got, data),
  };
}

function floatPlan(model, [name, output], shape, data, check) {
  return { model, tensor: { name, shape, datatype: 'FP32' }, output, data, check };
}

function sameList(got, expected) {
  const same = got.length === expected.length && expected.every((value, i) => value === got[i]);
  return same ? '' : `expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`;
}

function nest(data, [rows, ...inner]) {
  if (inner.length === 0) return data;
  const size = data.length / rows;
  return Array.from({ length: rows }, (_, i) => data.slice(i * size, (i + 1) * size));
}

async function overV1(connections, { model, data, tensor }) {
  const body = JSON.stringify({ instances: nest(data, tensor.shape) });
  const answer = await connections.send(`/v1/models/${model}:predict`, body);
  return { ...answer, read: () => JSON.parse(answer.body.toString()).predictions.flat() };
}

async function overV2Json(connections, { model, data, tensor }) {
  const body = JSON.stringify({ inputs: [{ ...tensor, data }] });
  const answer = await connections.send(`/v2/models/${model}/infer`, body);
  const value = () => JSON.parse(answer.body.toString());
  return {
    ...answer,
    read: () => value().outputs[0].data,
    version: () => Number(value().model_version),
  };
}

async function overV2Binary(connections, { model, data, tensor, output }) {
  const bytes = bytesOf(Float32Array.from(data));
  const { path, headers, body } = v2BinaryRequest(model, tensor, output, bytes);
  const answer = await connections.send(path, body, headers);
  const head = () => Number(answer.headers['inference-header-content-length']);
  return {
    ...answer,
    read: () => [...floatsOf(answer.body.subarray(head()))],
    version: () => Number(JSON.parse(answer.body.toString('utf8', 0, head())).model_version),
  };
}

const inferMessage = ({ model, data, tensor }) =>
  modelInferRequest(model, [{ tensor, bytes: bytesOf(Float32Array.from(data)) }]);

async function overGrpc(connections, { model, data, tensor }) {
  const message = inferMessage({ model, data, tensor });
  const answer = await connections.call(INFER_METHOD, message);
  return {
    status: answer.code === 0 ? 200 : answer.code,
    grpc: true,
    body: Buffer.from(answer.details),
    read: () => [...floatsOf(rawOutputs(answer.message)[0])],
  };
}

// Sends the same request several times on one call. Replies arrive in the order of the requests.
async function overStream(connections, { check, ...request }, random) {
  const times = random.int(1, 4);
  const messages = new Array(times).fill(inferMessage(request));
  const answer = await connections.stream(STREAM_METHOD, messages);
  if (answer.code !== 0) {
    return { status: answer.code, grpc: true, body: Buffer.from(answer.details) };
  }
  const [errors, replies] = [1, 2].map((field) =>
    answer.messages.flatMap((message) => fieldsOf(message, field)),
  );
  const error = errors.find((text) => text.length > 0);
  if (error !== undefined) return { status: NOT_FOUND_GRPC, grpc: true, body: error };
  if (replies.length !== times) throw new Error(`${times} requests, ${replies.length} replies`);
  const floats = replies.map((reply) => [...floatsOf(rawOutputs(reply)[0])]);
  const wrong = floats.slice(1).find((values) => check(values) !== '');
  return { status: 200, times, read: () => wrong ?? floats[0] };
}

async function overPredict(connections, { model, data, tensor }) {
  const message = predictRequest(model, tensor.name, tensor.shape, Float32Array.from(data));
  const answer = await connections.call(PREDICT_METHOD, message);
  return {
    status: answer.code === 0 ? 200 : answer.code,
    grpc: true,
    body: Buffer.from(answer.details),
    read: () => [...predictOutput(answer.message)],
  };
}

/** Makes one request of a random kind. Throws what is wrong with the response. */
async function inferOnce(connections, random, served) {
  const request = plan(random);
  const ways = [overV1, overV2Json];
  if (request.tensor.datatype === 'FP32') {
    ways.push(overV2Binary, overGrpc, overStream, overPredict);
  }
  const way = random.pick(ways);
  const answer = await way(connections, request, random);
  const where = `${way.name} to ${request.model}`;
  if (answer.status !== 200) {
    const away = answer.grpc ? NOT_SERVED_GRPC : NOT_SERVED;
    if (request.mayBeAway && away.has(answer.status)) return;
    throw new Error(`${where}: ${answer.status} ${answer.body.toString('utf8', 0, 500)}`);
  }
  const wrong = request.check(answer.read(), answer.version?.());
  if (wrong !== '') throw new Error(`${where}: ${wrong}`);
  served[request.model] = (served[request.model] ?? 0) + (answer.times ?? 1);
}

/**
 * Runs loops of requests until `stopping()`. Resolves to {served: {model: responses with status
 * 200}}.
 */
export async function runInfers({ connections, random, stopping }, loops = 8) {
  const served = {};
  const loop = async () => {
    while (!stopping()) await inferOnce(connections, random, served);
  };
  await Promise.all(Array.from({ length: loops }, loop));
  return { served };
}
