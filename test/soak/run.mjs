// The soak: for each front door a server, a mix of clients and an operator for minutes, and at the
// end no crash, no leak, every response right. Exit status 1 with the first failure's details. Test
// time only.
//
//   node test/soak/run.mjs [--minutes N] [--seed N] [--door tls|plain|both]
import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runLoads, runScrapes, runVersions, scrape } from './control.mjs';
import { FrontDoor, runDoor } from './front-door.mjs';
import { Connections } from './http.mjs';
import { sumOf } from './metrics.mjs';
import { HELP, parseOptions, pause, Random } from './options.mjs';
import { Repository, STEADY } from './repository.mjs';
import { Server } from './server.mjs';

const WORKER = fileURLToPath(new URL('worker.mjs', import.meta.url));
const WORKERS = ['infers', 'infers', 'cancels', 'floods', 'bad-requests', 'shared-memory'];
const MEMORY_GROWTH_MAX = 0.1;
/** uWebSockets.js never frees an app with its TLS context after its certificate was replaced. */
const RENEWAL_BYTES = 131_072;
/** The number of clients' connections varies within this; a leak is one for each of thousands. */
const DESCRIPTORS_GROWTH_MAX = 32;
/** The server returns unused memory within a few seconds. */
const QUIET_MS = 8000;
/** More than one round needs. */
const ROUND_SEEDS = 1000;
const PROGRESS_MS = 30_000;
const STOP_MS = 120_000;
const END_SEEN_MS = 3000;

const print = (text) => process.stdout.write(`${text}\n`);
const mb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Forks a worker. Returns {done: its counts, or a rejection with its failure; stop()}. */
function startWorker(kind, seed, ports, entry) {
  const child = fork(WORKER, [kind, String(seed), JSON.stringify(ports), JSON.stringify(entry)]);
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

/** Runs everything at the same time. Resolves to the counts when `minutes` are over. */
async function mix(server, { repository, door, connections }, { minutes, seed }) {
  let stop = false;
  const workers = WORKERS.map((kind, index) =>
    startWorker(kind, seed + index, server.ports, door.entry),
  );
  const operator = (run, index) =>
    run({
      connections,
      repository,
      door,
      server,
      random: new Random(seed + 100 + index),
      stopping: () => stop,
    });
  const all = Promise.all([
    ...workers.map(({ done }) => done),
    ...[runLoads, runVersions, runScrapes, runDoor].map(operator),
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

/** The counters match what the clients saw, and nothing is left open. */
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
  for (const what of ['serval_on_demand_evictions_total', 'serval_on_demand_waits_total']) {
    const count = sumOf(metrics, what, {});
    print(`  ${what} ${count}`);
    if (count === 0) throw new Error(`${what}: expected some, got none`);
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

/** Without any requests: the minimum of resident memory, and open files. */
async function quiet(server) {
  const fromMs = performance.now();
  await pause(QUIET_MS);
  const bytes = server.memoryBetween(fromMs, performance.now());
  return { bytes, descriptors: server.descriptors() };
}

function checkDescriptors(before, after) {
  print(`  open files in quiet ${before} at half-time, ${after} at the end`);
  if (after > before + DESCRIPTORS_GROWTH_MAX) {
    throw new Error(`open files grew from ${before} to ${after}`);
  }
}

/**
 * Compares memory after half of the time with the end, both without requests: heaps of three
 * threads and buffers of thousands of requests reach their size within two minutes, while a leak
 * keeps growing. `renewals`: of certificates between the two.
 */
function checkMemory(before, after, renewals) {
  const known = renewals * RENEWAL_BYTES;
  const growth = after / before - 1;
  const percent = (growth * 100).toFixed(1);
  print(`  resident in quiet ${mb(before)} at half-time, ${mb(after)} at the end: ${percent} %`);
  if (after > before * (1 + MEMORY_GROWTH_MAX) + known) {
    const allowed = `${MEMORY_GROWTH_MAX * 100} % and ${mb(known)}`;
    throw new Error(`resident memory grew by ${percent} %, at most ${allowed}`);
  }
}

async function soak(server, { repository, door }, { minutes, seed }) {
  const connections = new Connections(server.ports, door.entry);
  try {
    const [counts, quiets, renewals] = [[], [], []];
    for (const round of [0, 1]) {
      const half = { minutes: minutes / 2, seed: seed + round * ROUND_SEEDS };
      counts.push(...(await mix(server, { repository, door, connections }, half)));
      quiets.push(await quiet(server));
      renewals.push(door.renewals);
    }
    const { served, ...others } = totals(counts);
    print(`  served ${JSON.stringify(served)}; ${JSON.stringify(others)}`);
    await checkCounters(connections, served);
    checkMemory(...quiets.map(({ bytes }) => bytes), renewals[1] - renewals[0]);
    checkDescriptors(...quiets.map(({ descriptors }) => descriptors));
  } finally {
    connections.close();
  }
  const { code, signal } = await server.terminate();
  if (code !== 0) throw new Error(`SIGTERM: ended with ${code ?? signal}, expected 0`);
  print(`  ${JSON.stringify(door.check())}`);
}

/** Runs one server with this front door. Resolves to true if all was well. */
async function soakOne(kind, options) {
  const { minutes, seed, verbose } = options;
  const place = `--seed ${seed} --door ${kind}`;
  print(`soak: ${minutes} minutes, ${place}`);
  const folder = mkdtempSync(join(tmpdir(), 'serval-soak-'));
  let server;
  try {
    const repository = await Repository.make(folder);
    const door = FrontDoor.make(folder, kind);
    const args = [...repository.args, ...door.args];
    server = await Server.start(args, verbose);
    await soak(server, { repository, door }, options);
    print('soak: no crash, no leak, every answer right');
    return true;
  } catch (error) {
    print(`soak: FAILED with ${place}: ${error.stack}`);
    // A client sees a crash before the exit is known.
    const end = await Promise.race([server?.ended, pause(END_SEEN_MS)]);
    if (end !== undefined) print(`the server ended with ${end.code ?? end.signal}`);
    if (server !== undefined) print(`the server's last lines:\n${server.stderr.slice(-4000)}`);
    return false;
  } finally {
    if (server?.running === true) server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main() {
  const options = parseOptions(process.argv.slice(2), randomInt(2 ** 31));
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  for (const kind of options.doors) if (!(await soakOne(kind, options))) return 1;
  return 0;
}

process.exit(await main());
