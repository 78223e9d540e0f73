// Serval with the MLP and one-row requests for it, batched or not: shared by the rows of this
// folder. Control plane.
import { bytesOf, floatsOf, makeFloats, v2BinaryAnswer, v2BinaryRequest } from '../../bodies.mjs';
import { callOnce, describeModel, expectFloats, sendOnce } from '../../check.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { h2loadLoad } from '../../load/h2load.mjs';
import { wrkLoad } from '../../load/wrk.mjs';
import { modelInferRequest, rawOutputs } from '../../wire.mjs';
import { expectedOutput, modelFile } from '../mlp.mjs';
import { makeRepository } from '../repositories.mjs';
import { GRPC_METHOD, orStop } from '../sides.mjs';

const MODEL = 'mlp';
const SHAPE = [1, 784];
const TOLERANCE = 1e-4;
const CLIENTS = 4;
const STREAMS = 16;
const IN_FLIGHT = CLIENTS * STREAMS;

const TENSORS = `max_batch_size: ${IN_FLIGHT}
input { name: "input" data_type: TYPE_FP32 dims: [ 784 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ 10 ] }
`;
/** config.pbtxt with Triton's own defaults: no delay, no preferred sizes. */
export const BATCHED = `${TENSORS}dynamic_batching { }\n`;
export const UNBATCHED = TENSORS;

/**
 * Starts Serval of `root` with the MLP under `config`. `build(server, row)` makes the side; `row`
 * is {values, tensor, output, check(floats)}.
 */
async function openMlp(context, root, config, args, build) {
  const values = makeFloats(SHAPE[1]);
  const modelPath = await context.model(MODEL);
  const expected = await expectedOutput(modelFile(modelPath), values, SHAPE);
  const folder = await makeRepository(context, { [MODEL]: { model: MODEL, config } });
  const started = await startServal(context, root, ['--model-repository', folder], { args });
  return orStop(started, async (server) => {
    const { input, output } = await describeModel(server.http, MODEL);
    const row = {
      values,
      tensor: { name: input.name, shape: SHAPE, datatype: input.datatype },
      output: output.name,
      check: (floats) => expectFloats('output', floats, expected, TOLERANCE),
    };
    const { ended, stop } = server;
    return { ...(await build(server, row)), modelPath, ended, close: stop };
  });
}

/** 64 one-row requests in flight over gRPC. */
export function openGrpc(context, root, config, args = []) {
  return openMlp(context, root, config, args, async (server, { values, tensor, check }) => {
    const grpc = { ...server.grpc, pid: server.pid };
    const message = modelInferRequest(MODEL, [{ tensor, bytes: bytesOf(values) }]);
    const answer = await callOnce(grpc, GRPC_METHOD, message);
    check(floatsOf(rawOutputs(answer)[0] ?? Buffer.alloc(0)));
    const call = { path: GRPC_METHOD, message, answerBytes: answer.length };
    return { measure: batchedLoad(context, grpc, call), call };
  });
}

/** A load with 64 calls in flight. */
export function batchedLoad(context, server, call) {
  return h2loadLoad(context, server, { ...call, clients: CLIENTS, streams: STREAMS });
}

/** One-row requests over V2 REST with binary tensors. */
export function openRest(context, root, config, connections = IN_FLIGHT, args = []) {
  return openMlp(context, root, config, args, async (server, row) => {
    const http = { ...server.http, pid: server.pid };
    const request = v2BinaryRequest(MODEL, row.tensor, row.output, bytesOf(row.values));
    row.check(floatsOf(v2BinaryAnswer(await sendOnce(http, request))));
    return { measure: wrkLoad(context, http, request, connections), request };
  });
}

export function restLoad(context, server, request) {
  return wrkLoad(context, server, request, IN_FLIGHT);
}
