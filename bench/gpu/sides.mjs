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
import { modelInferRequest, rawOutputs } from '../wire.mjs';
import { GRPC_METHOD } from '../workloads/sides.mjs';
import { servedName } from './groups.mjs';

// CUDA's provider tries algorithms for each shape when it first sees it.
const FIRST_ANSWER_MS = 180_000;
const READY_MS = 300_000;
// Relative to the largest value: sums in another order, with 10 bits of fraction (TF32), through 50
// layers.
const CLOSE = 0.02;
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

/**
 * Starts ONNX Runtime alone on the group's model file in `folder`, with as many threads as requests
 * in flight. Returns a side with `answer`, the floats of its output.
 */
export async function startDirect(context, { model, batch, inFlight, inputs }, folder) {
  const stem = join(context.tempDir, `direct-${context.nextId()}`);
  writeFileSync(`${stem}.inputs`, Buffer.concat(inputs.map(({ bytes }) => bytes)));
  const args = [
    ...[join(folder, 'model.onnx'), '--library', context.machine.library],
    ...['--batch', String(batch), '--threads', String(inFlight)],
    ...['--inputs', `${stem}.inputs`, '--answer', `${stem}.answer`],
  ];
  const program = await context.program('gpu_direct');
  const read = () => ({ answer: floatsOf(readFileSync(`${stem}.answer`)) });
  return startCalled(context, `${model.title}, the runtime alone`, program, args, read);
}

/**
 * The text of config.pbtxt: no batching, because the runtime alone does none, and as many instances
 * as requests in flight.
 */
export function configOf({ inFlight }) {
  return `max_batch_size: 0
instance_group [ { kind: KIND_GPU gpus: [ 0 ] count: ${inFlight} } ]
`;
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
    ...context.options.servalArgs,
  ];
  const { server: cores } = context.cores;
  return startServal(context, context.root, [repository], { args, cores, readyMsMax: READY_MS });
}

/** The load over REST: wrk, or for slow responses a client that counts every one of them. */
function restLoad(context, server, request, inFlight) {
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

const OPEN = {
  async grpc(context, { grpc, pid }, group, answer) {
    const { inFlight, inputs } = group;
    const message = modelInferRequest(servedName(group), inputs);
    const answered = await callOnce(grpc, GRPC_METHOD, message, FIRST_ANSWER_MS);
    expectClose('raw_output_contents[0]', floatsOf(rawOutputs(answered)[0]), answer);
    const call = { path: GRPC_METHOD, message, answerBytes: answered.length };
    const plan =
      inFlight === 1
        ? { how: 'awake', connections: 1, count: 1 }
        : { how: 'whole', connections: Math.min(GRPC_CONNECTIONS, inFlight), count: inFlight };
    return grpcLoad(context, { ...grpc, pid }, call, plan);
  },
  async rest(context, { http, pid }, group, answer) {
    const request = v2BinaryInputs(servedName(group), group.inputs, group.model.output);
    const answered = await sendOnce(http, request, FIRST_ANSWER_MS);
    expectClose('output', floatsOf(v2BinaryAnswer(answered)), answer);
    return restLoad(context, { ...http, pid }, request, group.inFlight);
  },
};

/** Opens the group's model of `server` on `path`; `answer`: the expected floats. */
export async function openSide(context, server, path, group, answer) {
  const measure = await OPEN[path](context, server, group, answer);
  return { measure, ended: server.ended };
}

/** Returns how many memory blocks a server could not pin so far, including its device's process. */
export async function pinnedFallbacks({ http }) {
  const { body } = await sendOnce(http, { method: 'GET', path: '/metrics' });
  const line = /^serval_pinned_memory_fallbacks_total(?:\{[^}]*\})? ([\d.e+]+)$/m;
  return Number(line.exec(body.toString())?.[1] ?? 0);
}
