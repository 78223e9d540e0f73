// Models are loaded and unloaded one after the other while a small one serves 5,000 requests a
// second: its latencies over those without loads. The server has one core to itself, so that each
// load competes with the requests.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesOf, floatsOf, makeFloats } from '../../bodies.mjs';
import { callOnce, describeModel, expectFloats, sendOnce } from '../../check.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { grpcLoad } from '../../load/grpc-load.mjs';
import { nativeLoad, scheduleOf } from '../../load/native-load.mjs';
import { alternate } from '../../runner.mjs';
import { judge } from '../../statistics.mjs';
import { tensorFlowModel } from '../../tensorflow/environment.mjs';
import { modelInferRequest, rawOutputs } from '../../wire.mjs';
import { ANSWERS, FLOATS, planV2 } from '../json-small.mjs';
import { control, makeRepository } from '../repositories.mjs';
import { GRPC_METHOD, orStop } from '../sides.mjs';

const STEADY = 'half_plus_three';
const LARGE = 'large';
const SAVED = 'mobilenet_v2';
const RATE = 5000;
const CONNECTIONS = 16;
const LAYERS = 5;
const WIDTH = 2288; // five matrices of 20.9 MB
const OPEN_LOOP = { how: 'open', connections: CONNECTIONS, count: RATE };
const PERCENTILES = [
  { name: 'p99', metric: 'p99-times', target: { relation: '<=', limit: 1.2 } },
  { name: 'p99.9', metric: 'p999-times', target: { relation: '<=', limit: 2 } },
];

/** Writes an ONNX model with 105 MB of weights in its file. */
async function writeLarge(context, folder) {
  const { encodeModel } = await import(join(context.root, 'dist/importers/onnx/builder.js'));
  const shape = ['n', WIDTH];
  const nodes = [];
  const initializers = [];
  for (let layer = 0; layer < LAYERS; layer += 1) {
    const data = bytesOf(makeFloats(WIDTH * WIDTH, layer + 1));
    initializers.push({ name: `w${layer}`, type: 'float', dims: [WIDTH, WIDTH], data });
    const inputs = [layer === 0 ? 'x' : `y${layer}`, `w${layer}`];
    nodes.push({ op: 'MatMul', inputs, outputs: [`y${layer + 1}`] });
  }
  const tensor = (name) => ({ name, type: 'float', shape });
  const graph = { name: LARGE, inputs: [tensor('x')], outputs: [tensor(`y${LAYERS}`)] };
  mkdirSync(join(folder, LARGE, '1'), { recursive: true });
  const model = encodeModel({ graph: { ...graph, initializers, nodes } });
  writeFileSync(join(folder, LARGE, '1', 'model.onnx'), model);
}

async function makeModels(context) {
  const folder = await makeRepository(context, { [STEADY]: { model: STEADY } });
  await writeLarge(context, folder);
  const saved = join(folder, SAVED, '1', 'model.savedmodel');
  cpSync(join(await tensorFlowModel(context, SAVED), '1'), saved, { recursive: true });
  return folder;
}

/** Loads and unloads `model` until stop(), which resolves to the number of loads. */
function beginLoads(http, model) {
  let isStopped = false;
  const run = async () => {
    let loads = 0;
    while (!isStopped) {
      await control(http, `models/${model}/load`);
      await control(http, `models/${model}/unload`);
      loads += 1;
    }
    return loads;
  };
  const ended = run();
  return {
    stop: () => {
      isStopped = true;
      return ended;
    },
  };
}

/** The load of each protocol: {protocol: measure(seconds)}. */
async function openLoads(context, server) {
  const http = { ...server.http, pid: server.pid };
  const grpc = { ...server.grpc, pid: server.pid };
  const described = await describeModel(http, STEADY);
  const { request, check } = planV2(described);
  const answer = await sendOnce(http, request);
  check(answer);
  const { name, datatype } = described.input;
  const tensor = { name, datatype, shape: [FLOATS.length] };
  const bytes = bytesOf(Float32Array.from(FLOATS));
  const message = modelInferRequest(STEADY, [{ tensor, bytes }]);
  const reply = await callOnce(grpc, GRPC_METHOD, message);
  expectFloats('output', floatsOf(rawOutputs(reply)[0]), ANSWERS);
  const call = { path: GRPC_METHOD, message, answerBytes: reply.length };
  const rest = { ...request, responseBytes: answer.body.length };
  return {
    REST: nativeLoad(context, http, rest, { http2: false, schedule: scheduleOf(OPEN_LOOP) }),
    gRPC: grpcLoad(context, grpc, call, OPEN_LOOP),
  };
}

async function measurePair(context, http, measure, { protocol, model, title }) {
  let loads = 0;
  const withLoads = async (seconds) => {
    const loading = beginLoads(http, model);
    const sample = await measure(seconds);
    loads += await loading.stop();
    return sample;
  };
  const rounds = await alternate(context.options, { measure }, { measure: withLoads });
  return PERCENTILES.map(({ name, metric, target }) =>
    judge(
      {
        id: `quiet-loads-${model.replaceAll('_', '-')}-${protocol.toLowerCase()}-${name}`,
        title: `${protocol} at ${RATE}/s while ${title} is loaded and unloaded: ${name}`,
        reference: 'without loads',
        note: `${loads} loads`,
        metric,
        target,
      },
      rounds,
    ),
  );
}

async function run(context) {
  const folder = await makeModels(context);
  const args = ['--model-control-mode', 'explicit', '--load-model', STEADY];
  const started = await startServal(context, context.root, ['--model-repository', folder], {
    args,
  });
  const rows = await orStop(started, async (server) => {
    const loads = await openLoads(context, server);
    const http = server.http;
    const all = [];
    for (const [protocol, measure] of Object.entries(loads)) {
      for (const [model, title] of [
        [LARGE, 'a 105 MB ONNX model'],
        [SAVED, 'a MobileNetV2 SavedModel'],
      ]) {
        all.push(...(await measurePair(context, http, measure, { protocol, model, title })));
      }
    }
    return all;
  });
  await started.stop();
  return rows;
}

export const quietLoads = [
  { id: 'quiet-loads', title: 'latency while other models load and unload', run },
];
