// gRPC ModelInfer of four raw floats, 4 connections of 16 streams, against the echo of the same
// message by @grpc/grpc-js.
import { bytesOf, floatsOf } from '../bodies.mjs';
import { callOnce, expectBytes, expectFloats } from '../check.mjs';
import { startGrpcEcho } from '../contenders/echoes.mjs';
import { h2loadLoad } from '../load/h2load.mjs';
import { modelInferRequest, rawOutputs } from '../wire.mjs';
import { ANSWERS, FLOATS } from './json-small.mjs';
import { openServalGrpc, orStop } from './sides.mjs';

const MODEL = 'half_plus_three';

/** The load of small gRPC requests: 4 connections of 16 streams. */
export function smallGrpcLoad(context, server, call) {
  return h2loadLoad(context, server, { ...call, clients: 4, streams: 16 });
}

function plan({ input }) {
  const tensor = { name: input.name, datatype: input.datatype, shape: [FLOATS.length] };
  const bytes = bytesOf(Float32Array.from(FLOATS));
  const check = (answer) => {
    const [output = Buffer.alloc(0)] = rawOutputs(answer);
    expectFloats('raw_output_contents[0]', floatsOf(output), ANSWERS);
  };
  return { message: modelInferRequest(MODEL, [{ tensor, bytes }]), check };
}

/** Serval with half_plus_three under that load: a side. */
export function openHalfPlusThree(context, root) {
  return openServalGrpc(context, root, { model: MODEL, plan, load: smallGrpcLoad });
}

async function openReference(context, { call }) {
  return orStop(await startGrpcEcho(context), async (echo) => {
    expectBytes('echo', await callOnce(echo, call.path, call.message), call.message);
    const echoed = { ...call, answerBytes: call.message.length };
    const { ended, stop } = echo;
    return { measure: smallGrpcLoad(context, echo, echoed), ended, close: stop };
  });
}

export const grpcSmall = [
  {
    id: 'grpc-4x16',
    title: 'gRPC ModelInfer, 4 floats raw, 4x16',
    reference: 'grpc-js raw echo',
    metric: 'rate',
    target: { relation: '>=', limit: 0.85 },
    openServal: openHalfPlusThree,
    openReference,
  },
];
