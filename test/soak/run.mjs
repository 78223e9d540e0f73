// The soak: one server, a mix of clients and an operator for minutes, and at the end no crash, no
// leak, every answer right. Ends with 1 and the first failure's details. Test time only.
//   node test/soak/run.mjs [--minutes N] [--seed N]
import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runLoads, runScrapes, runVersions, scrape } from './control.mjs';
import { Connections } from './http.mjs';
import { sumOf } from './metrics.mjs';
import { HELP, parseOptions, pause, Random } from './options.mjs';
import { Repository, STEADY } from './repository.mjs';
import { Server } from './server.mjs';

const WORKER = fileURLToPath(new URL('worker.mjs', import.meta.url));
const WORKERS = ['infers', 'infers', 'cancels', 'bad-requests'];
const MEMORY_WINDOW_MS = 10_000;
const MEMORY_GROWTH_MAX = 0.1;
const QUIET_MS = 3000;
const PROGRESS_MS = 30_000;
const STOP_MS = 120_000;

const print = (text) => process.stdout.write(`${text}\n`);
const mb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Forks a worker. {done: its counts, or a rejection with its failure; stop()}. */
function startWorker(kind, seed, ports) {
  const child = fork(WORKER, [kind, String(seed), String(ports.http), String(ports.grpc)]);
  const done = new Promise((resolve, reject) => {
    child.on('message', ({ counts, failure }) => {
      if (failure === undefined) resolve(counts);
      else reject(new Error(`${kind}: ${failure}`));
    });
    child.on('exit', (code, signal) => {
      reject(new Error(`${kind}: the worker ended with ${code ?? signal}`));
    });
  });
  const stop = () => {
    if (child.connected) child.send('stop');
  };
  return { done, stop, kill: () => child.kill('SIGKILL') };
}

/** Everything that runs at the same time. Resolves to the counts, when `minutes` are over. */
async function mix(server, repository, connections, { minutes, seed }) {
  let stop = false;
  const workers = WORKERS.map((kind, index) => startWorker(kind, seed + index, server.ports));
  const operator = (run, index) =>
    run({
      connections,
      repository,
      random: new Random(seed + 100 + index),
      stopping: () => stop,
    });
  const all = Promise.all([
    ...workers.map(({ done }) => done),
    ...[runLoads, runVersions, runScrapes].map(operator),
  ]);
  const crashed = server.ended.then(({ code, signal }) => {
    if (!server.expectedEnd) throw new Error(`the server ended with ${code ?? signal}`);
  });
  const progress = setInterval(() => {
    print(`  resident ${mb(server.memory.at(-1)?.bytes ?? 0)}`);
  }, PROGRESS_MS);
  const over = setTimeout(() => {
    stop = true;
    for (const worker of workers) worker.stop();
  }, minutes * 60_000);
  const late = setTimeout(
    () => {
      for (const worker of workers) worker.kill();
    },
    minutes * 60_000 + STOP_MS,
  );
  try {
    return await Promise.race([all, crashed.then(() => all)]);
  } finally {
    stop = true;
    clearInterval(progress);
    clearTimeout(over);
    clearTimeout(late);
    for (const worker of workers) worker.kill();
  }
}

function totals(counts) {
  const sum = {};
  const served = {};
  for (const { served: models = {}, ...rest } of counts) {
    for (const [name, count] of Object.entries(rest)) sum[name] = (sum[name] ?? 0) + count;
    for (const [name, count] of Object.entries(models)) served[name] = (served[name] ?? 0) + count;
  }
  return { ...sum, served };
}

/** The counters say what the clients saw, and nothing is left open. */
async function checkCounters(connections, served) {
  const metrics = await scrape(connections);
  for (const model of STEADY) {
    const counted = sumOf(metrics, 'nv_inference_request_success', { model });
    if (counted !== (served[model] ?? 0)) {
      throw new Error(`${model}: ${counted} requests in /metrics, clients got ${served[model]}`);
    }
    const {
      model_stats: [stats],
    } = await connections.json(`/v2/models/${model}/stats`);
    if (stats.inference_stats.success.count !== counted) {
      throw new Error(
        `${model}: ${counted} requests in /metrics, ${
          stats.inference_stats.success.count
        } in the statistics`,
      );
    }
  }
  const open = [...metrics.samples.values()].filter(({ name }) =>
    /pending_request_count$|tickets_open$|bodies_open$/.test(name),
  );
  if (open.length === 0) throw new Error('no nv_inference_pending_request_count in /metrics');
  const left = open.filter(({ value }) => value !== 0);
  if (left.length > 0) {
    throw new Error(`left open: ${left.map(({ key, value }) => `${key} ${value}`).join(', ')}`);
  }
}

/** Memory at half-time against the end: heaps of three threads and buffers of thousands of requests
 * grow to their size within two minutes, a leak grows on. */
function checkMemory(server, startedMs, endedMs) {
  const warmMs = (endedMs - startedMs) / 2;
  const windowMs = Math.min(MEMORY_WINDOW_MS, (endedMs - startedMs) / 6);
  const from = startedMs + warmMs;
  const before = server.memoryBetween(from, from + windowMs);
  const after = server.memoryBetween(endedMs - windowMs, endedMs + QUIET_MS);
  const growth = after / before - 1;
  print(
    `  resident ${mb(before)} after ${(warmMs / 1000).toFixed(0)} s, ${mb(after)} at the end: ${(
      growth * 100
    ).toFixed(1)} %`,
  );
  if (growth > MEMORY_GROWTH_MAX) {
    throw new Error(
      `resident memory grew by ${(growth * 100).toFixed(1)} %, at most ${
        MEMORY_GROWTH_MAX * 100
      } %`,
    );
  }
}

async function soak(server, repository, options) {
  const connections = new Connections(server.ports);
  try {
    const startedMs = performance.now();
    const { served, ...counts } = totals(await mix(server, repository, connections, options));
    const endedMs = performance.now();
    await pause(QUIET_MS);
    print(`  served ${JSON.stringify(served)}; ${JSON.stringify(counts)}`);
    await checkCounters(connections, served);
    checkMemory(server, startedMs, endedMs);
  } finally {
    connections.close();
  }
  const { code, signal } = await server.terminate();
  if (code !== 0) throw new Error(`SIGTERM: ended with ${code ?? signal}, expected 0`);
}

async function main() {
  const options = parseOptions(process.argv.slice(2), randomInt(2 ** 31));
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  print(`soak: ${options.minutes} minutes, --seed ${options.seed}`);
  const folder = mkdtempSync(join(tmpdir(), 'serval-soak-'));
  let server;
  try {
    const repository = await Repository.make(folder);
    server = await Server.start(repository.args, options.verbose);
    await soak(server, repository, options);
    print('soak: no crash, no leak, every answer right');
    return 0;
  } catch (error) {
    print(`soak: FAILED with --seed ${options.seed}: ${error.stack}`);
    if (server !== undefined) print(`the server's last lines:\n${server.stderr.slice(-4000)}`);
    return 1;
  } finally {
    if (server?.running === true) server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit(await main());
