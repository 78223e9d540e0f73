// Two models, one of them flooded: the p99 of the other one's responses, over its p99 alone on the
// same server. The flood keeps 64 connections busy, each with a request at any time. Both clients
// are on the load core; they need little of it.
import { bytesOf, makeFloats, v2BinaryRequest } from '../bodies.mjs';
import { callOnce, describeModel, sendOnce } from '../check.mjs';
import { startServal } from '../contenders/serval.mjs';
import { grpcLoad } from '../load/grpc-load.mjs';
import { nativeLoad, scheduleOf } from '../load/native-load.mjs';
import { optionsOf } from '../runner.mjs';
import { judge } from '../statistics.mjs';
import { modelInferRequest } from '../wire.mjs';
import { makeRepository } from './repositories.mjs';
import { GRPC_METHOD, orStop } from './sides.mjs';

const QUIET = { model: 'half_plus_three', shape: [4], rate: 200 };
const CONNECTIONS = 64;
// A p99 needs several hundred requests.
const SECONDS_TIMES = 3;
const TARGET = { relation: '<=', limit: 2 };
const LEAD_MS = 300;
const REFERENCE = 'the quiet model alone';

const FLOODED = {
  queued: { model: 'costly', shape: [4], title: 'runs of 1 ms, queued' },
  inline: { model: 'mlp', shape: [1, 784], title: 'runs of 25 us, inline' },
};

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const valuesOf = (shape) => makeFloats(shape.reduce((product, dim) => product * dim, 1));

/** Prepares the loads of a model over gRPC: `schedule` as in scheduleOf(). */
async function grpcSide(context, server, { model, shape }) {
  const grpc = { ...server.grpc, pid: server.pid };
  const { input } = await describeModel(server.http, model);
  const tensor = { name: input.name, datatype: input.datatype, shape };
  const message = modelInferRequest(model, [{ tensor, bytes: bytesOf(valuesOf(shape)) }]);
  const answer = await callOnce(grpc, GRPC_METHOD, message);
  const call = { path: GRPC_METHOD, message, answerBytes: answer.length };
  return (schedule) => grpcLoad(context, grpc, call, schedule);
}

/** The same over V2 REST with binary tensors. */
async function restSide(context, server, { model, shape }) {
  const http = { ...server.http, pid: server.pid };
  const { input, output } = await describeModel(http, model);
  const tensor = { name: input.name, datatype: input.datatype, shape };
  const request = v2BinaryRequest(model, tensor, output.name, bytesOf(valuesOf(shape)));
  await sendOnce(http, request);
  return (schedule) =>
    nativeLoad(context, http, request, { http2: false, schedule: scheduleOf(schedule) });
}

async function openSides(context, side, flooded) {
  const names = [flooded.model, QUIET.model];
  const entries = Object.fromEntries(names.map((name) => [name, { model: name }]));
  const folder = await makeRepository(context, entries);
  const started = await startServal(context, context.root, ['--model-repository', folder]);
  return orStop(started, async (server) => {
    const flood = { how: 'closed', connections: CONNECTIONS, count: CONNECTIONS };
    const quiet = { how: 'open', connections: 1, count: QUIET.rate, spins: false };
    return {
      flood: (await side(context, server, flooded))(flood),
      quiet: (await side(context, server, QUIET))(quiet),
      stop: server.stop,
    };
  });
}

/** One sample of the quiet model while the other one is flooded, with the flood's rate. */
async function underFlood({ flood, quiet }, seconds) {
  const flooding = flood(seconds + 1);
  flooding.catch(() => {});
  await sleep(LEAD_MS);
  const sample = await quiet(seconds);
  const { perSecond } = await flooding;
  return { ...sample, extra: `flood ${perSecond.toFixed(0)}/s` };
}

function row(id, protocol, side, flooded) {
  const workload = {
    id,
    title: `${protocol}: p99 of a quiet model beside a flooded one (${flooded.title})`,
    reference: REFERENCE,
    metric: 'p99-times',
    target: TARGET,
    note: `${QUIET.rate}/s; the flood: ${CONNECTIONS} connections`,
    roundsTimes: 1,
  };
  const run = async (context) => {
    const { rounds, seconds } = optionsOf(workload, context.options);
    const sides = await openSides(context, side, flooded);
    try {
      const samples = [];
      for (let round = 0; round < rounds; round += 1) {
        samples.push({
          reference: await sides.quiet(seconds * SECONDS_TIMES),
          serval: await underFlood(sides, seconds * SECONDS_TIMES),
        });
      }
      return [judge(workload, samples)];
    } finally {
      await sides.stop();
    }
  };
  return { ...workload, run };
}

export const flood = [
  row('flood-grpc', 'gRPC', grpcSide, FLOODED.queued),
  row('flood-rest', 'REST', restSide, FLOODED.queued),
  row('flood-grpc-inline', 'gRPC', grpcSide, FLOODED.inline),
  row('flood-rest-inline', 'REST', restSide, FLOODED.inline),
];
