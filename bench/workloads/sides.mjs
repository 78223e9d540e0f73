// Opens the sides of a pair: Serval with one model, or an echo of the same request. A side is
// {measure(seconds) -> sample, ended(), close(), ...}, handed out once its answer is checked.
// Control plane.
import { startCppGrpcEcho, startUwsEcho } from '../contenders/echoes.mjs';
import { startServal } from '../contenders/serval.mjs';
import { h2loadLoad } from '../load/h2load.mjs';
import { callOnce, describeModel, expectBytes, sendOnce } from '../check.mjs';

const EXIT_SEEN_MS = 100;
export const CPP_ECHO = 'C++ gRPC callback echo';
export const GRPC_METHOD = '/inference.GRPCInferenceService/ModelInfer';

/**
 * `build(server)`. When that fails, the server is stopped; had it ended by itself, the error also
 * says how.
 */
export async function orStop(server, build) {
  try {
    return await build(server);
  } catch (error) {
    await nextTurn();
    const ended = server.ended();
    await server.stop();
    throw ended === '' ? error : new Error(`${error.message}\n${ended}`);
  }
}

/** Lets the exit of a child process be seen before it is asked about. */
function nextTurn() {
  return new Promise((resolve) => {
    setTimeout(resolve, EXIT_SEEN_MS);
  });
}

/**
 * Serval of the checkout `root` over HTTP. `plan(described)` gives {request, check(answer)} from
 * the model's metadata; `load(context, server, request)` gives measure; `path` is the model's
 * folder where it is none of the context's, `seen` what its clients know of the server beside its
 * address: {ca, metadata}. Resolves to the side with the request sent, the server and the checked
 * answer.
 */
export async function openServalHttp(context, root, options) {
  const { model, plan, load, args, cores, seen } = options;
  const path = options.path ?? (await context.model(model));
  return orStop(await startServal(context, root, [path], { args, cores }), async (server) => {
    const http = { ...server.http, pid: server.pid, ...seen };
    const { request, check } = plan(await describeModel(http, model));
    const answer = await sendOnce(http, request);
    check(answer);
    const measure = load(context, http, request);
    const { ended, stop } = server;
    return { measure, ended, close: stop, request, answer, server, modelPath: path };
  });
}

/**
 * The same over gRPC. `plan(described)` gives {message, check(answer)}: a ModelInferRequest and
 * what its answer must be, or the message of another method: {path, once(server, path, message)},
 * which makes the call that is checked. `load(context, server, {path, message, answerBytes})` gives
 * measure.
 */
export async function openServalGrpc(context, root, options) {
  const { model, plan, load, args, cores, seen } = options;
  const folder = options.path ?? (await context.model(model));
  return orStop(await startServal(context, root, [folder], { args, cores }), async (server) => {
    const grpc = { ...server.grpc, pid: server.pid, ...seen };
    const planned = plan(await describeModel({ ...server.http, ...seen }, model));
    const { message, check, path = GRPC_METHOD, once = callOnce } = planned;
    const answer = await once(grpc, path, message);
    check(answer);
    const call = { path, message, answerBytes: answer.length };
    const { ended, stop } = server;
    return { measure: load(context, grpc, call), ended, close: stop, call, answer, server };
  });
}

/** gRPC's own C++ that echoes the message of `serval`, under the same load. */
export async function openGrpcEcho(context, { call }, load) {
  return orStop(await startCppGrpcEcho(context), async (echo) => {
    expectBytes('echo', await callOnce(echo, call.path, call.message), call.message);
    const echoed = { ...call, answerBytes: call.message.length };
    return { measure: load(context, echo, echoed), ended: echo.ended, close: echo.stop };
  });
}

/** Requests for `model` and nanoseconds of reading, running and writing them so far. */
async function engineTime(http, model) {
  const { body } = await sendOnce(http, { method: 'GET', path: `/v2/models/${model}/stats` });
  const stats = JSON.parse(body.toString()).model_stats[0].inference_stats;
  const parts = [stats.compute_input, stats.compute_infer, stats.compute_output];
  return { count: stats.success.count, ns: parts.reduce((sum, part) => sum + Number(part.ns), 0) };
}

/** gRPC on four connections of `streams` calls each: the server's core is kept busy, as a JVM's is
 * by calling without a pause. */
export const busyLoad = (streams) => (context, server, call) =>
  h2loadLoad(context, server, { ...call, clients: 4, streams });

/** A side that is timed by the engine, not by its client: what transport takes is left out. */
export function byEngine(side, http, model) {
  const measure = async (seconds) => {
    const before = await engineTime(http, model);
    await side.measure(seconds);
    const after = await engineTime(http, model);
    const usPerRequest = (after.ns - before.ns) / 1000 / (after.count - before.count);
    return { usPerRequest, perSecond: 1e6 / usPerRequest };
  };
  return { ...side, measure };
}

/** uWebSockets.js that echoes the body of `request`, under the same load. */
export async function openUwsEcho(context, request, load) {
  return orStop(await startUwsEcho(context), async (echo) => {
    const answer = await sendOnce(echo, request);
    expectBytes('echo', answer.body, request.body);
    return { measure: load(context, echo, request), ended: echo.ended, close: echo.stop };
  });
}
