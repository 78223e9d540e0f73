// gRPC ModelInfer of four raw floats, 4 connections of 16 streams, against the echo of the same
// message by @grpc/grpc-js.
import { bytesOf, floatsOf } from '../bodies.mjs';
import { callOnce, describeModel, expectBytes, expectFloats } from '../check.mjs';
import { startGrpcEcho } from '../contenders/echoes.mjs';
import { startServal } from '../contenders/serval.mjs';
import { h2loadLoad } from '../load/h2load.mjs';
import { modelInferRequest, rawOutputs } from '../wire.mjs';
import { ANSWERS, FLOATS } from './json-small.mjs';
import { orStop } from './sides.mjs';

const MODEL = 'half_plus_three';
const METHOD = '/inference.GRPCInferenceService/ModelInfer';
const CLIENTS = 4;
const STREAMS = 16;

function load(context, server, message, answer) {
  return h2loadLoad(context, server, {
    path: METHOD,
    message,
    answerBytes: answer.length,
    clients: CLIENTS,
    streams: STREAMS,
  });
}

async function openServal(context, root) {
  const path = await context.model(MODEL);
  return orStop(await startServal(context, root, [path]), async (server) => {
    const { input } = await describeModel(server.http, MODEL);
    const tensor = { name: input.name, datatype: input.datatype, shape: [FLOATS.length] };
    const message = modelInferRequest(MODEL, tensor, bytesOf(Float32Array.from(FLOATS)));
    const grpc = { ...server.grpc, pid: server.pid };
    const answer = await callOnce(grpc, METHOD, message);
    const outputs = rawOutputs(answer);
    expectFloats('raw_output_contents[0]', floatsOf(outputs[0] ?? Buffer.alloc(0)), ANSWERS);
    const { ended, stop } = server;
    return { measure: load(context, grpc, message, answer), ended, close: stop, message };
  });
}

async function openReference(context, { message }) {
  return orStop(await startGrpcEcho(context), async (echo) => {
    expectBytes('echo', await callOnce(echo, METHOD, message), message);
    const { ended, stop } = echo;
    return { measure: load(context, echo, message, message), ended, close: stop };
  });
}

export const grpcSmall = [
  {
    id: 'grpc-4x16',
    title: 'gRPC ModelInfer, 4 floats raw, 4x16',
    reference: 'grpc-js raw echo',
    metric: 'rate',
    target: { relation: '>=', limit: 0.85 },
    openServal,
    openReference,
  },
];
