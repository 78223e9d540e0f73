// Twice the load that a model can serve, in an open loop: the served rate stays near the capacity,
// and other requests are refused at once. The model is the null backend with a fixed delay, so that
// the queue determines the capacity and not the processor.
import { describeModel, expectFloats, sendOnce } from '../../check.mjs';
import { v2JsonRequest } from '../../bodies.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { beginOpenLoop } from '../../load/open-loop.mjs';
import { wrkLoad } from '../../load/wrk.mjs';
import { judgeFigures, median } from '../../statistics.mjs';
import { makeRepository } from '../repositories.mjs';
import { orStop } from '../sides.mjs';

const MODEL = 'delayed';
const DELAY_US = 2000;
const QUEUE_REQUESTS = 8;
// Keeps the queue neither empty nor overflowing.
const CAPACITY_CONNECTIONS = 4;
const OVERLOAD = 2;
const GOODPUT = { relation: '>=', limit: 0.9 };
const REJECTED_MS = { relation: '<', limit: 5 };
const VALUES = [1, 2, 5, 10];

const CONFIG = `backend: "serval_null"
max_batch_size: 0
input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }
parameters { key: "mode" value { string_value: "delay" } }
parameters { key: "delay_us" value { string_value: "${DELAY_US}" } }
instance_group { count: 1 kind: KIND_CPU }
dynamic_batching { default_queue_policy { max_queue_size: ${QUEUE_REQUESTS} } }
`;

async function oneRound(context, http, request) {
  const { seconds } = context.options;
  const capacity = await wrkLoad(context, http, request, CAPACITY_CONNECTIONS)(seconds);
  const rate = Math.round(capacity.perSecond * OVERLOAD);
  const result = await beginOpenLoop(context, http, request, { rate, seconds }).result();
  const { answers, failures, different, skipped } = result;
  const others = Object.keys(answers).filter((status) => status !== '200' && status !== '503');
  if (failures + different + skipped + others.length > 0 || answers['503'] === undefined) {
    throw new Error(
      `overload at ${rate}/s: expected answers of 200 and 503 only, got ${JSON.stringify(result)}`,
    );
  }
  return { capacity: capacity.perSecond, rate, served: answers['200'], refused: answers['503'] };
}

async function measure(context, server) {
  const http = { ...server.http, pid: server.pid };
  const { input } = await describeModel(http, MODEL);
  const tensor = { name: input.name, shape: [VALUES.length], datatype: input.datatype };
  const request = v2JsonRequest(MODEL, [{ tensor, texts: VALUES.map(String) }]);
  const answer = await sendOnce(http, request);
  expectFloats('y', JSON.parse(answer.body.toString()).outputs[0].data, VALUES);
  const rounds = [];
  for (let round = 0; round < context.options.rounds; round += 1) {
    rounds.push(await oneRound(context, http, request));
  }
  return rounds;
}

function row(id, title, form, target, rounds, value, extra) {
  const reference = `capacity ${median(rounds.map((r) => r.capacity)).toFixed(0)}/s`;
  return {
    ...judgeFigures({ id, title, reference, form, target }, rounds.map(value)),
    sides: { serval: { extra: extra(rounds.at(-1)) } },
    rounds,
  };
}

async function run(context) {
  const folder = await makeRepository(context, { [MODEL]: { config: CONFIG } });
  const started = await startServal(context, context.root, ['--model-repository', folder]);
  const rounds = await orStop(started, (server) => measure(context, server));
  await started.stop();
  return [
    row(
      'overload-goodput',
      `${OVERLOAD}x the capacity offered: served / capacity`,
      'ratio',
      GOODPUT,
      rounds,
      ({ served, capacity }) => served.perSecond / capacity,
      ({ rate, served }) =>
        `${served.perSecond.toFixed(0)}/s of ${rate}/s, p99 ${(served.p99Us / 1000).toFixed(1)} ms`,
    ),
    row(
      'overload-refused',
      'the same: p99 of refused requests',
      'ms',
      REJECTED_MS,
      rounds,
      ({ refused }) => refused.p99Us / 1000,
      ({ refused }) =>
        `${refused.perSecond.toFixed(0)}/s refused, p50 ${refused.p50Us.toFixed(
          0,
        )} us, worst ${(refused.maxUs / 1000).toFixed(1)} ms`,
    ),
  ];
}

export const overload = [
  {
    id: 'overload',
    title: `${OVERLOAD}x the capacity of a model, open loop`,
    run,
  },
];
