// Opens the sides of a pair: Serval with one model, or an echo of the same request. A side is
// {measure(seconds) -> sample, ended(), close(), ...}, returned once its response is checked.
// Control plane.
import { startCppGrpcEcho, startUwsEcho } from '../contenders/echoes.mjs';
import { startServal } from '../contenders/serval.mjs';
import { h2loadLoad } from '../load/h2load.mjs';
import { callOnce, describeModel, expectBytes, sendOnce } from '../check.mjs';

const EXIT_SEEN_MS = 100;
export const CPP_ECHO = 'C++ gRPC callback echo';
export const GRPC_METHOD = '/inference.GRPCInferenceService/ModelInfer';

/**
 * Calls `build(server)`. If that fails, the server is stopped; if it had ended by itself, the error
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

/** Lets Node process the exit of a child before it is checked. */
function nextTurn() {
  return new Promise((resolve) => {
    setTimeout(resolve, EXIT_SEEN_MS);
  });
}

/**
 * Opens Serval of the checkout `root` over HTTP. `plan(described)` returns {request, check(answer)}
 * from the model's metadata; `load(context, server, request)` returns measure; `path` is the
 * model's folder if it is not one of the context's; `seen` is what its clients know about the
 * server besides its address: {ca, metadata}. Resolves to the side with the request sent, the
 * server and the checked response.
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
 * The same over gRPC. `plan(described)` returns {message, check(answer)}: a ModelInferRequest and a
 * check of its response, or the message of another method: {path, once(server, path, message)},
 * which makes the call that is checked. `load(context, server, {path, message, answerBytes})`
 * returns measure.
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

/** Requests for `model` so far, and the nanoseconds spent reading, running and writing them. */
async function engineTime(http, model) {
  const { body } = await sendOnce(http, { method: 'GET', path: `/v2/models/${model}/stats` });
  const stats = JSON.parse(body.toString()).model_stats[0].inference_stats;
  const parts = [stats.compute_input, stats.compute_infer, stats.compute_output];
  return { count: stats.success.count, ns: parts.reduce((sum, part) => sum + Number(part.ns), 0) };
}

/**
 * gRPC on four connections of `streams` calls each: this keeps the server's core busy, as repeated
 * calls keep a JVM's.
 */
export const busyLoad = (streams) => (context, server, call) =>
  h2loadLoad(context, server, { ...call, clients: 4, streams });

/** A side that is timed by the engine, not by its client, which excludes the transport. */
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
