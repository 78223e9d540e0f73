// Two models, one of them flooded, or two keys of one model, one of which floods it: the p99 of
// the other one's responses, over its p99 alone on the same server. The flood keeps 64 connections
// busy, each with a request at any time. Both clients are on the load core; they need little of it.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
const REFERENCE = 'the quiet one alone';

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

/** The same over V2 REST with binary tensors, with the key if there is one. */
async function restSide(context, server, { model, shape, key }) {
  const http = { ...server.http, pid: server.pid };
  const { input, output } = await describeModel(http, model);
  const tensor = { name: input.name, datatype: input.datatype, shape };
  const plain = v2BinaryRequest(model, tensor, output.name, bytesOf(valuesOf(shape)));
  const keyed = { ...plain.headers, Authorization: `Bearer ${key}` };
  const request = key === undefined ? plain : { ...plain, headers: keyed };
  await sendOnce(http, request);
  return (schedule) =>
    nativeLoad(context, http, request, { http2: false, schedule: scheduleOf(schedule) });
}

/** Writes a key file for the two keys, whose texts are their names. */
function keyFlags(folder, names) {
  const digest = (name) => createHash('sha256').update(name).digest('hex');
  const path = join(folder, '..', `keys-${process.pid}.txt`);
  writeFileSync(path, names.map((name) => `${name} sha256:${digest(name)} all\n`).join(''));
  return ['--api-key-file', path, '--open-groups', 'health,metrics,metadata'];
}

async function openSides(context, side, flooded, quietOne) {
  const names = [flooded.model, quietOne.model];
  const entries = Object.fromEntries(names.map((name) => [name, { model: name }]));
  const folder = await makeRepository(context, entries);
  const keys = flooded.key === undefined ? [] : keyFlags(folder, [flooded.key, quietOne.key]);
  const started = await startServal(context, context.root, [
    ...['--model-repository', folder],
    ...keys,
  ]);
  return orStop(started, async (server) => {
    const flood = { how: 'closed', connections: CONNECTIONS, count: CONNECTIONS };
    const quiet = { how: 'open', connections: 1, count: QUIET.rate, spins: false };
    return {
      flood: (await side(context, server, flooded))(flood),
      quiet: (await side(context, server, quietOne))(quiet),
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

function row(id, protocol, side, flooded, quietOne = QUIET) {
  const what = quietOne.key === undefined ? 'model' : 'key of a model';
  const workload = {
    id,
    title: `${protocol}: p99 of a quiet ${what} beside a flooding one (${flooded.title})`,
    reference: REFERENCE,
    metric: 'p99-times',
    target: TARGET,
    note: `${QUIET.rate}/s; the flood: ${CONNECTIONS} connections`,
    roundsTimes: 1,
  };
  const run = async (context) => {
    const { rounds, seconds } = optionsOf(workload, context.options);
    const sides = await openSides(context, side, flooded, quietOne);
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

function keyRow(id, flooded) {
  const [hot, quiet] = ['hot', 'quiet'].map((key) => ({ ...flooded, key }));
  return row(id, 'REST', restSide, hot, quiet);
}

export const flood = [
  row('flood-grpc', 'gRPC', grpcSide, FLOODED.queued),
  row('flood-rest', 'REST', restSide, FLOODED.queued),
  row('flood-grpc-inline', 'gRPC', grpcSide, FLOODED.inline),
  row('flood-rest-inline', 'REST', restSide, FLOODED.inline),
  keyRow('flood-key', FLOODED.queued),
  keyRow('flood-key-inline', FLOODED.inline),
];
