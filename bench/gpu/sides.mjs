// Opens the sides that are measured on a GPU: the runtime alone (gpu_direct.cc), and Serval's
// models over gRPC and REST. A side is {measure(seconds) -> sample, ended()}; its first response is
// compared with the runtime's. Control plane.
import { cpSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { floatsOf, v2BinaryAnswer, v2BinaryInputs } from '../bodies.mjs';
import { callOnce, expectFloats, sendOnce } from '../check.mjs';
import { startCalled } from '../contenders/called.mjs';
import { startServal } from '../contenders/serval.mjs';
import { closedLoopLoad } from '../load/closed-loop.mjs';
import { grpcLoad } from '../load/grpc-load.mjs';
import { wrkLoad } from '../load/wrk.mjs';
import { isOnPath } from '../machine.mjs';
import { modelInferRequest, rawOutputs } from '../wire.mjs';
import { GRPC_METHOD } from '../workloads/sides.mjs';
import { servedName } from './groups.mjs';
import { parallelLoad } from './parallel.mjs';
import { shareTensors } from './shared.mjs';

// CUDA's provider tries algorithms for each shape when it first sees it.
const FIRST_ANSWER_MS = 180_000;
const READY_MS = 300_000;
// Relative to the largest value: sums in another order, with 10 bits of fraction (TF32), through 50
// layers.
const CLOSE = 0.02;
const GRAPHS = 'optimization { cuda { graphs: true } }\n';
const POOL_LEAST = 256 << 20;
const GRPC_CONNECTIONS = 4;
// wrk drops the requests in flight at the end: a fraction of a percent if responses take less than
// this part of a round.
const SHORT = 0.01;

const bytesOfInputs = (inputs) => inputs.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** Throws unless all of `got` are within CLOSE of the largest of `expected`. */
export function expectClose(what, got, expected) {
  const largest = expected.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  expectFloats(what, got, expected, CLOSE * largest);
}

/** Returns the side with its figures by rows instead of runs of `rows` rows. */
function byRows(side, rows) {
  if (rows === 1) return side;
  const measure = async (seconds) => {
    const found = await side.measure(seconds);
    const { perSecond, usPerRequest } = found;
    return { ...found, perSecond: perSecond * rows, usPerRequest: usPerRequest / rows };
  };
  return { ...side, measure };
}

/**
 * Starts ONNX Runtime alone on the group's model file in `folder`: with as many threads as requests
 * in flight and their batch, or with the group's `direct`; then its figures are by the group's
 * requests. Returns a side with `answer`, the floats of the output of one request.
 */
export async function startDirect(context, group, folder) {
  const { model, shape } = group;
  const { batch, threads } = group.direct ?? { batch: group.batch, threads: group.inFlight };
  const inputs = batch === group.batch ? group.inputs : model.inputs(shape, batch);
  const stem = join(context.tempDir, `direct-${context.nextId()}`);
  writeFileSync(`${stem}.inputs`, Buffer.concat(inputs.map(({ bytes }) => bytes)));
  const args = [
    ...[join(folder, 'model.onnx'), '--library', context.machine.library],
    ...['--batch', String(batch), '--threads', String(threads)],
    ...['--inputs', `${stem}.inputs`, '--answer', `${stem}.answer`],
  ];
  const program = await context.program('gpu_direct');
  const rows = batch / group.batch;
  const read = () => {
    const answer = floatsOf(readFileSync(`${stem}.answer`));
    return { answer: answer.subarray(0, answer.length / rows) };
  };
  const what = `${model.title}, the runtime alone`;
  return byRows(await startCalled(context, what, program, args, read), rows);
}

/**
 * The text of config.pbtxt: no batching, because the runtime alone does none, and as many instances
 * as requests in flight; for dynamic batching two instances, one of which copies while the other
 * runs.
 */
export function configOf({ kind, inFlight, direct }) {
  const isBatching = kind === 'batching';
  return `max_batch_size: ${isBatching ? direct.batch : 0}
instance_group [ { kind: KIND_GPU gpus: [ 0 ] count: ${isBatching ? direct.threads : inFlight} } ]
${isBatching ? 'dynamic_batching { }\n' : ''}${kind === 'graphs' ? GRAPHS : ''}`;
}

/** Bytes to pin: the inputs of all instances twice, for inputs that are gathered during a run. */
export function poolBytes(groups) {
  const wanted = groups.map(({ inFlight, inputs }) => 2 * inFlight * bytesOfInputs(inputs));
  return POOL_LEAST + Math.max(...wanted);
}

function place(from, to) {
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to); // on another file system
  }
}

/**
 * Starts a server with the models of `groups`, whose only file is in `folder`; `mode`: one of
 * MODES.
 */
export async function startServer(context, groups, folder, mode) {
  const repository = join(context.tempDir, `gpu-models-${context.nextId()}`);
  for (const [name, group] of new Map(groups.map((one) => [servedName(one), one]))) {
    const version = join(repository, name, '1');
    mkdirSync(version, { recursive: true });
    writeFileSync(join(repository, name, 'config.pbtxt'), configOf(group));
    for (const file of readdirSync(folder)) place(join(folder, file), join(version, file));
  }
  const args = [
    ...['--onnxruntime-library', context.machine.library],
    ...['--pinned-memory-pool-byte-size', String(poolBytes(groups))],
    ...(mode === 'none' ? ['--isolate', 'none'] : []),
    ...(groups.some(({ kind }) => kind === 'shared') ? ['--allow-client-shm=true'] : []),
    ...context.options.servalArgs,
  ];
  const { server: cores } = context.cores;
  return startServal(context, context.root, [repository], { args, cores, readyMsMax: READY_MS });
}

/**
 * The load over REST: wrk, or for slow responses, and without wrk on PATH, a client that counts
 * every one of them.
 */
function restLoad(context, server, request, inFlight) {
  if (!isOnPath('wrk')) return closedLoopLoad(context, server, request, inFlight);
  const wrk = wrkLoad(context, server, request, inFlight);
  if (inFlight === 1) return wrk;
  const whole = closedLoopLoad(context, server, request, inFlight);
  let chosen;
  return async (seconds) => {
    if (chosen !== undefined) return chosen(seconds);
    const sample = await whole(seconds);
    chosen = sample.p50Us < SHORT * 1e6 * context.options.seconds ? wrk : whole;
    return sample;
  };
}

/** The load of `inFlight` requests by one process. */
function grpcPlan(inFlight) {
  if (inFlight === 1) return { how: 'awake', connections: 1, count: 1 };
  return { how: 'whole', connections: Math.min(GRPC_CONNECTIONS, inFlight), count: inFlight };
}

const OPEN = {
  async grpc(context, { grpc, pid }, group, answer) {
    const { inFlight, inputs, processes = 1 } = group;
    const message = modelInferRequest(servedName(group), inputs);
    const answered = await callOnce(grpc, GRPC_METHOD, message, FIRST_ANSWER_MS);
    expectClose('raw_output_contents[0]', floatsOf(rawOutputs(answered)[0]), answer);
    const call = { path: GRPC_METHOD, message, answerBytes: answered.length };
    const each = grpcPlan(inFlight / processes);
    const loads = Array.from({ length: processes }, () =>
      grpcLoad(context, { ...grpc, pid }, call, each),
    );
    return { measure: parallelLoad(loads) };
  },
  async shared(context, server, group, answer) {
    const name = servedName(group);
    const shared = await shareTensors(context, server, name, group, 4 * answer.length);
    try {
      const { answered, floats } = await shared.call(GRPC_METHOD, FIRST_ANSWER_MS);
      expectClose('the output in shared memory', floats, answer);
      const { message, close } = shared;
      const call = { path: GRPC_METHOD, message, answerBytes: answered.length };
      const { grpc, pid } = server;
      return {
        measure: grpcLoad(context, { ...grpc, pid }, call, grpcPlan(group.inFlight)),
        close,
      };
    } catch (error) {
      await shared.close();
      throw error;
    }
  },
  async rest(context, { http, pid }, group, answer) {
    const request = v2BinaryInputs(servedName(group), group.inputs, group.model.output);
    const answered = await sendOnce(http, request, FIRST_ANSWER_MS);
    expectClose('output', floatsOf(v2BinaryAnswer(answered)), answer);
    return { measure: restLoad(context, { ...http, pid }, request, group.inFlight) };
  },
};

/**
 * Opens the group's model of `server` on `path`; `answer`: the expected floats. The side's close(),
 * if it has one, releases what the load holds.
 */
export async function openSide(context, server, path, group, answer) {
  const how = group.kind === 'shared' ? 'shared' : path;
  return { ...(await OPEN[how](context, server, group, answer)), ended: server.ended };
}

/** Returns how many memory blocks a server could not pin so far, including its device's process. */
export async function pinnedFallbacks({ http }) {
  const { body } = await sendOnce(http, { method: 'GET', path: '/metrics' });
  const line = /^serval_pinned_memory_fallbacks_total(?:\{[^}]*\})? ([\d.e+]+)$/m;
  return Number(line.exec(body.toString())?.[1] ?? 0);
}
