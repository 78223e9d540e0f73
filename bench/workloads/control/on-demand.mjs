// Models that load on demand. 10,000 small ones: time until ready, memory, first responses. 2,000
// with room for 100 of them, requested by Zipf's distribution: hits against an ideal LRU, failures,
// resident memory.
import { statSync } from 'node:fs';
import { bytesOf, makeFloats, v2BinaryRequest } from '../../bodies.mjs';
import { describeModel, sendOnce } from '../../check.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { residentBytes } from '../../machine.mjs';
import { judgeFigures, percentile } from '../../statistics.mjs';
import { modelFile } from '../mlp.mjs';
import { manyModels } from '../repositories.mjs';
import { idealHits, zipfDraws } from './zipf.mjs';

const READY_MS_MAX = 120_000;
const SMALL = 'half_plus_three';
const SMALL_MODELS = 10_000;
const FIRST_ONES = 200;
/** Until the heaps are compacted: docs/explanation/memory.md. */
const REST_MS = 4000;
const READY = { relation: '<', limit: 3 };
const SMALL_MB = { relation: '<', limit: 150 };
const FIRST_MS = { relation: '<', limit: 50 };

const LARGE = 'mlp';
const MLP_INPUTS = 784;
const LARGE_MODELS = 2000;
const ROOM = 100;
const REQUESTS = 4000;
const CLIENTS = 4;
const HITS = { relation: '>=', limit: 0.98 };
const FAILED = { relation: '<=', limit: 0 };
const RESIDENT = { relation: '<=', limit: 1.1 };

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const predictOf = (name) => ({
  method: 'POST',
  path: `/v1/models/${name}:predict`,
  headers: { 'Content-Type': 'application/json' },
  body: Buffer.from('{"instances":[1.0]}'),
});

function row(id, title, form, target, values, extra = '') {
  return { ...judgeFigures({ id, title, form, target }, values), sides: { serval: { extra } } };
}

const startLazy = (context, folder, ...more) =>
  startServal(context, context.root, ['--model-repository', folder], {
    args: ['--log-level', 'warn', '--model-load-mode', 'lazy', ...more],
    cores: context.cores.all,
    readyMsMax: READY_MS_MAX,
  });

async function small(context) {
  const { folder, names } = await manyModels(context, SMALL, SMALL_MODELS);
  const server = await startLazy(context, folder);
  try {
    await sleep(REST_MS);
    const resident = residentBytes(server.pid) / 1e6;
    const firstMs = [];
    for (const name of names.slice(0, FIRST_ONES)) {
      const beganMs = performance.now();
      await sendOnce(server.http, predictOf(name));
      firstMs.push(performance.now() - beganMs);
    }
    const half = `median ${percentile(firstMs, 50).toFixed(1)} ms of ${FIRST_ONES} models`;
    const title = `${SMALL_MODELS} lazy models`;
    return [
      row('on-demand-ready', `${title}: ready`, 's', READY, [server.readyMs / 1000]),
      row('on-demand-memory', `${title}: resident memory at rest`, 'MB', SMALL_MB, [resident]),
      row(
        'on-demand-first',
        `${title}: first responses, p99`,
        'ms',
        FIRST_MS,
        [percentile(firstMs, 99)],
        half,
      ),
    ];
  } finally {
    await server.stop();
  }
}

/** The value of a sample of the metrics page. */
async function sampleOf({ host, port }, name) {
  const page = await (await fetch(`http://${host}:${port}/metrics`)).text();
  const line = page.split('\n').find((one) => one.startsWith(`${name} `));
  if (line === undefined) throw new Error(`no sample ${name}`);
  return Number(line.slice(name.length + 1));
}

async function large(context) {
  const { folder, names } = await manyModels(context, LARGE, LARGE_MODELS);
  const bytes = statSync(modelFile(await context.model(LARGE))).size;
  const limit = ROOM * bytes;
  const server = await startLazy(context, folder, '--models-memory-limit', String(limit));
  try {
    const { input, output } = await describeModel(server.http, names[0]);
    const tensor = { name: input.name, shape: [1, MLP_INPUTS], datatype: input.datatype };
    const values = bytesOf(makeFloats(MLP_INPUTS));
    const inferOf = (name) => v2BinaryRequest(name, tensor, output.name, values);
    const draws = zipfDraws(LARGE_MODELS, REQUESTS);
    let [next, failed, most] = [0, 0, 0];
    const client = async () => {
      while (next < draws.length) {
        const name = names[draws[next]];
        next += 1;
        await sendOnce(server.http, inferOf(name)).catch(() => {
          failed += 1;
        });
        most = Math.max(most, residentBytes(server.pid));
      }
    };
    const before = residentBytes(server.pid);
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const loads = await sampleOf(server.http, 'serval_on_demand_loads_total{result="loaded"}');
    const ideal = idealHits(draws, ROOM);
    const hits = draws.length - loads;
    const extra = `${hits} of ${draws.length}; an ideal LRU: ${ideal}; ${loads} loads`;
    const title = `${LARGE_MODELS} lazy models of ${(bytes / 1e6).toFixed(1)} MB, room for ${ROOM}`;
    return [
      row('on-demand-hits', `${title}: hits / ideal LRU`, 'ratio', HITS, [hits / ideal], extra),
      row('on-demand-failed', `${title}: failed requests`, 'count', FAILED, [failed]),
      row(
        'on-demand-resident',
        `${title}: most memory over the start's / limit`,
        'ratio',
        RESIDENT,
        [(most - before) / limit],
      ),
    ];
  } finally {
    await server.stop();
  }
}

export const onDemand = [
  { id: 'on-demand-small', title: `${SMALL_MODELS} models on demand`, run: small },
  { id: 'on-demand-large', title: `${LARGE_MODELS} models, room for ${ROOM}`, run: large },
];
