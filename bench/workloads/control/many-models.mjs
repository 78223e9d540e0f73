// 1,000 registered models, 100 of them ready, against one model: the request rate, and the latency
// of one model's status.
import { describeModel, sendOnce } from '../../check.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { wrkLoad } from '../../load/wrk.mjs';
import { runPair } from '../../runner.mjs';
import { judge, judgeFigures } from '../../statistics.mjs';
import { planV2 } from '../json-small.mjs';
import { control, manyModels } from '../repositories.mjs';
import { orStop } from '../sides.mjs';

const MODEL = 'half_plus_three';
const REGISTERED = 1000;
const READY = 100;
const CONNECTIONS = 64;
const ROUNDS_TIMES = 2;
const STATUS_MS = { relation: '<', limit: 2 };
const RATE = { relation: '>=', limit: 0.97 };

/** The request for MODEL, addressed to `name` instead. */
function requestFor(name, described) {
  const { request, check } = planV2(described);
  return { request: { ...request, path: `/v2/models/${name}/infer` }, check };
}

async function openMany(context, root, registered, ready) {
  const { folder, names } = await manyModels(context, MODEL, registered);
  const wanted = names.filter((_, index) => index % (registered / ready) === 0);
  const args = [
    '--model-control-mode',
    'explicit',
    ...wanted.flatMap((name) => ['--load-model', name]),
  ];
  const started = await startServal(context, root, ['--model-repository', folder], { args });
  return orStop(started, async (server) => {
    const http = { ...server.http, pid: server.pid };
    const index = await control(http, 'index');
    const count = index.filter(({ state }) => state === 'READY').length;
    if (index.length !== registered || count !== ready) {
      throw new Error(
        `index: ${index.length} models, ${count} ready; expected ${registered} and ${ready}`,
      );
    }
    const name = wanted[Math.floor(ready / 2)];
    const { request, check } = requestFor(name, await describeModel(http, name));
    check(await sendOnce(http, request));
    const { ended, stop } = server;
    const measure = wrkLoad(context, http, request, CONNECTIONS);
    return { measure, ended, close: stop, http, name };
  });
}

/** The p99 of GET on one model's status, with one connection. */
async function statusRow(context, { http, name }, id, path) {
  const request = { method: 'GET', path: path(name) };
  await sendOnce(http, request);
  const sample = await wrkLoad(context, http, request, 1)(context.options.seconds);
  const title = `status of one model of ${REGISTERED}, p99: GET ${path('NAME')}`;
  const row = { id, title, form: 'ms', target: STATUS_MS };
  return {
    ...judgeFigures(row, [sample.p99Us / 1000]),
    sides: { serval: sample },
    rounds: [sample],
  };
}

async function run(context) {
  // Stays open after the pair: the status rows are measured on it.
  const many = await openMany(context, context.root, REGISTERED, READY);
  const workload = {
    id: 'models-1000-rate',
    reference: '1 model',
    metric: 'rate',
    target: RATE,
    title: `${REGISTERED} models registered, ${READY} ready, V2 JSON, 64 connections`,
    note: 'the models are hard links to one file',
    roundsTimes: ROUNDS_TIMES,
    openServal: async () => ({ ...many, close: async () => {} }),
    openReference: (inner) => openMany(inner, inner.root, 1, 1),
  };
  try {
    const rounds = await runPair(context, workload);
    return [
      judge(workload, rounds),
      await statusRow(context, many, 'models-1000-v1-status', (name) => `/v1/models/${name}`),
      await statusRow(context, many, 'models-1000-v2-ready', (name) => `/v2/models/${name}/ready`),
      await statusRow(context, many, 'models-1000-v2-stats', (name) => `/v2/models/${name}/stats`),
    ];
  } finally {
    await many.close();
  }
}

export const manyModelsRows = [
  {
    id: 'models-1000',
    title: `${REGISTERED} models, ${READY} ready`,
    run,
    roundsTimes: ROUNDS_TIMES,
  },
];
