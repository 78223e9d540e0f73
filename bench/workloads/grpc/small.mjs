// gRPC of four raw floats: ModelInfer against gRPC's own C++ echoing the same message, TensorFlow
// Serving's Predict and ModelStreamInfer against ModelInfer.
import { bytesOf, floatsOf } from '../../bodies.mjs';
import { expectFloats, streamOnce } from '../../check.mjs';
import { grpcLoad } from '../../load/grpc-load.mjs';
import { h2loadLoad } from '../../load/h2load.mjs';
import { predictOutput, predictRequest } from '../../tensorflow/messages.mjs';
import { fieldsOf, modelInferRequest, rawOutputs } from '../../wire.mjs';
import { ANSWERS, FLOATS } from '../json-small.mjs';
import { CPP_ECHO, openGrpcEcho, openServalGrpc } from '../sides.mjs';

const MODEL = 'half_plus_three';
const PREDICT = '/tensorflow.serving.PredictionService/Predict';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';
const INFER_RESPONSE = 2; // of ModelStreamInferResponse
// The differences are a few percent.
const ROUNDS_TIMES = 2;

export const h2load = (clients, streams) => (context, server, call) =>
  h2loadLoad(context, server, { ...call, clients, streams });

/** The load of small gRPC requests: 4 connections of 16 streams. */
export const smallGrpcLoad = h2load(4, 16);

function checkInfer(answer, expected = ANSWERS) {
  const [output = Buffer.alloc(0)] = rawOutputs(answer);
  expectFloats('raw_output_contents[0]', floatsOf(output), expected);
}

/** A plan of four floats for a model whose response is `expected`. */
export function planFloats({ input }, model, expected) {
  const tensor = { name: input.name, datatype: input.datatype, shape: [FLOATS.length] };
  const bytes = bytesOf(Float32Array.from(FLOATS));
  const check = (answer) => checkInfer(answer, expected);
  return { message: modelInferRequest(model, [{ tensor, bytes }]), check };
}

const plan = (described) => planFloats(described, MODEL, ANSWERS);

function planStream(described) {
  const check = (answer) => checkInfer(fieldsOf(answer, INFER_RESPONSE)[0] ?? Buffer.alloc(0));
  return { ...plan(described), check, path: STREAM, once: streamOnce };
}

function planPredict({ input }) {
  const message = predictRequest(MODEL, input.name, [FLOATS.length], Float32Array.from(FLOATS));
  const check = (answer) => expectFloats('output', predictOutput(answer), ANSWERS);
  return { message, check, path: PREDICT };
}

/** Opens Serval with half_plus_three under `load`, as a side. */
export function openHalfPlusThree(context, root, load = smallGrpcLoad, more = {}) {
  return openServalGrpc(context, root, { model: MODEL, plan, load, ...more });
}

/** ModelInfer of four floats under `load`, and the C++ echo of its message under the same. */
export function overEcho(load) {
  return {
    reference: CPP_ECHO,
    openServal: (context, root) => openHalfPlusThree(context, root, load),
    openReference: (context, serval) => openGrpcEcho(context, serval, load),
  };
}

/** Compares another method under `load` with ModelInfer under `inferLoad`. */
function overInfer(planned, load, inferLoad) {
  return {
    reference: 'ModelInfer',
    metric: 'rate',
    roundsTimes: ROUNDS_TIMES,
    openServal: (context, root) => openHalfPlusThree(context, root, load, { plan: planned }),
    openReference: (context) => openHalfPlusThree(context, context.root, inferLoad),
  };
}

function rateRow(clients, streams) {
  return {
    id: `grpc-${clients}x${streams}`,
    title: `gRPC ModelInfer, 4 floats raw, ${clients}x${streams}`,
    metric: 'rate',
    target: { relation: '>=', limit: 1.5 },
    ...overEcho(h2load(clients, streams)),
  };
}

function streamRow(connections, streams) {
  const load = (how) => (context, server, call) =>
    grpcLoad(context, server, call, { how, connections, count: streams });
  return {
    id: `grpc-stream-${streams}`,
    title: `gRPC ModelStreamInfer, ${streams} streams on ${connections} connections`,
    target: { relation: '>=', limit: 1 },
    ...overInfer(planStream, load('streams'), load('closed')),
  };
}

export const small = [
  rateRow(4, 16),
  rateRow(16, 16),
  {
    id: 'grpc-p50',
    title: 'gRPC ModelInfer, 1 connection, 1 stream, p50 over echo',
    metric: 'p50',
    target: { relation: '<=', limit: 5 },
    ...overEcho((context, server, call) =>
      grpcLoad(context, server, call, { how: 'awake', connections: 1, count: 1 }),
    ),
  },
  {
    id: 'grpc-predict',
    title: 'gRPC Predict (TensorFlow Serving), 4 floats, 4x16',
    target: { relation: '>=', limit: 0.95 },
    ...overInfer(planPredict, smallGrpcLoad, smallGrpcLoad),
  },
  streamRow(4, 16),
  streamRow(4, 64),
];
