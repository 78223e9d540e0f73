// 2,000 small idle models: processor time and wall time until all are ready, threads, memory of
// each, and the size of the metrics page.
import { readFileSync } from 'node:fs';
import { startServal } from '../../contenders/serval.mjs';
import { residentBytes } from '../../machine.mjs';
import { judgeFigures, median } from '../../statistics.mjs';
import { manyModels } from '../repositories.mjs';

const MODEL = 'half_plus_three';
const MODELS = 2000;
const STARTS = 3;
const READY_MS_MAX = 120_000;
const SETTLE_MS = 1000;
// USER_HZ: the kernel's unit of time for programs, on every architecture that we build for.
const TICKS_PER_SECOND = 100;
const CPU = { relation: '<=', limit: 6 };
const THREADS = { relation: '<', limit: 60 };
const PAGE = { relation: '<=', limit: 3 };

/** User and system time of the process in seconds, including threads that have ended. */
function cpuSecondsOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function threadsOf(pid) {
  return Number(/^Threads:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

/** Starts once with `count` models; memory is read a second later, when nothing runs. */
async function startOnce(context, count) {
  const { folder } = await manyModels(context, MODEL, count);
  const args = ['--log-level', 'warn'];
  const server = await startServal(context, context.root, ['--model-repository', folder], {
    args,
    cores: context.cores.all,
    readyMsMax: READY_MS_MAX,
  });
  try {
    const cpuSeconds = cpuSecondsOf(server.pid);
    await new Promise((resolve) => {
      setTimeout(resolve, SETTLE_MS);
    });
    const resident = residentBytes(server.pid);
    const threads = threadsOf(server.pid);
    const { host, port } = server.http;
    const page = await (await fetch(`http://${host}:${port}/metrics`)).text();
    const ready = page.split('\n').filter((line) => /^serval_model_ready\{.*\} 1$/.test(line));
    if (ready.length !== count) throw new Error(`${ready.length} of ${count} models are ready`);
    return {
      cpuSeconds,
      wallSeconds: server.readyMs / 1000,
      resident,
      threads,
      pageMb: page.length / 1e6,
    };
  } finally {
    await server.stop();
  }
}

function row(id, title, form, target, rounds, value, extra) {
  const note = 'the models are hard links to one file';
  return {
    ...judgeFigures({ id, title, form, target, note }, rounds.map(value)),
    sides: { serval: { extra } },
  };
}

async function run(context) {
  // At least one model, because an empty repository is not accepted.
  const few = await startOnce(context, 1);
  const rounds = [];
  for (let round = 0; round < STARTS; round += 1) rounds.push(await startOnce(context, MODELS));
  const wall = median(rounds.map(({ wallSeconds }) => wallSeconds));
  const resident = median(rounds.map((one) => one.resident));
  const kbEach = (one) => (one.resident - few.resident) / (MODELS - 1) / 1000;
  return [
    row(
      'many-models-cpu',
      `${MODELS} small models: CPU time until ready`,
      's',
      CPU,
      rounds,
      ({ cpuSeconds }) => cpuSeconds,
      `wall ${wall.toFixed(1)} s; one model: ${few.cpuSeconds.toFixed(2)} s`,
    ),
    row(
      'many-models-threads',
      'the same, idle: threads',
      'count',
      THREADS,
      rounds,
      ({ threads }) => threads,
      `one model: ${few.threads}`,
    ),
    row(
      'many-models-memory',
      'the same, idle: kB of each model',
      'count',
      null,
      rounds,
      kbEach,
      `${(resident / 1e6).toFixed(0)} MB; one model: ${(few.resident / 1e6).toFixed(0)} MB`,
    ),
    row(
      'many-models-page',
      'the same, idle: size of /metrics',
      'MB',
      PAGE,
      rounds,
      ({ pageMb }) => pageMb,
      '',
    ),
  ];
}

export const idleModels = [{ id: 'many-models', title: `${MODELS} idle models`, run }];
