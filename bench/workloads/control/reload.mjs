// One model is loaded and unloaded 200 times while another one serves at a fixed rate: no request
// of the other fails, its p99 stays within 2x, and the memory is returned. The server may use every
// core: it decides where a model loads, and only the effect on the other model's clients counts.
import { describeModel, sendOnce } from '../../check.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { beginOpenLoop } from '../../load/open-loop.mjs';
import { ownBytes } from '../../machine.mjs';
import { judgeFigures } from '../../statistics.mjs';
import { planV2 } from '../json-small.mjs';
import { control, makeRepository } from '../repositories.mjs';
import { orStop } from '../sides.mjs';

const STEADY = 'half_plus_three';
const OTHER = 'mlp';
const CYCLES = 200;
// Allocators and thread stacks reach their working size in the first few cycles.
const FIRST_CYCLES = 10;
const RATE = 1000;
const NORMAL_SECONDS = 5;
const SECONDS_MAX = 600;
const SETTLE_MS = 1000;

const FAILED = { relation: '<=', limit: 0 };
const P99 = { relation: '<=', limit: 2 };
const MEMORY = { relation: '<=', limit: 1.1 };

async function loadAndUnload(http, count) {
  for (let cycle = 0; cycle < count; cycle += 1) {
    await control(http, `models/${OTHER}/load`);
    await sendOnce(http, { method: 'GET', path: `/v2/models/${OTHER}/ready` });
    await control(http, `models/${OTHER}/unload`);
  }
}

const settle = () =>
  new Promise((resolve) => {
    setTimeout(resolve, SETTLE_MS);
  });

/** The number of requests without status 200 and the first response's body. */
function failedOf({ sent, answers, different }) {
  return sent - (answers['200']?.count ?? 0) + different;
}

async function measure(context, server) {
  const http = { ...server.http, pid: server.pid };
  const { request, check } = planV2(await describeModel(http, STEADY));
  check(await sendOnce(http, request));
  await loadAndUnload(http, FIRST_CYCLES);
  const load = (seconds) => beginOpenLoop(context, http, request, { rate: RATE, seconds });
  const normal = await load(NORMAL_SECONDS).result();
  await settle();
  const beforeBytes = ownBytes(server.pid);
  const steady = load(SECONDS_MAX);
  const startedMs = performance.now();
  await loadAndUnload(http, CYCLES);
  const cycleMs = (performance.now() - startedMs) / CYCLES;
  const during = await steady.stop();
  await settle();
  check(await sendOnce(http, request));
  return { normal, during, cycleMs, beforeBytes, afterBytes: ownBytes(server.pid) };
}

function row(id, title, form, target, got, extra, reference) {
  return {
    ...judgeFigures({ id, title, reference, form, target }, [got]),
    sides: { serval: { extra } },
  };
}

async function run(context) {
  const folder = await makeRepository(context, {
    [STEADY]: { model: STEADY },
    [OTHER]: { model: OTHER },
  });
  const args = ['--model-control-mode', 'explicit', '--load-model', STEADY];
  const options = { args, cores: context.cores.all };
  const started = await startServal(context, context.root, ['--model-repository', folder], options);
  const result = await orStop(started, (server) => measure(context, server));
  await started.stop();
  const { normal, during, cycleMs, beforeBytes, afterBytes } = result;
  const [before, busy] = [normal.answers['200'], during.answers['200']];
  const us = ({ p50Us, p99Us, maxUs }) =>
    `p50 ${p50Us.toFixed(0)} us, p99 ${p99Us.toFixed(0)} us, worst ${maxUs.toFixed(0)} us`;
  const mb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  return [
    row(
      'reload-failed',
      `${CYCLES} loads and unloads: failed requests of another model`,
      'count',
      FAILED,
      failedOf(during) + failedOf(normal),
      `${during.sent} sent at ${RATE}/s, ${cycleMs.toFixed(1)} ms a cycle`,
      '',
    ),
    row(
      'reload-p99',
      'the same: p99 of the other model',
      'ratio',
      P99,
      busy.p99Us / before.p99Us,
      us(busy),
      `without: ${us(before)}`,
    ),
    row(
      'reload-memory',
      'the same: private memory afterwards',
      'ratio',
      MEMORY,
      afterBytes / beforeBytes,
      mb(afterBytes),
      `before: ${mb(beforeBytes)}`,
    ),
  ];
}

export const reload = [{ id: 'reload', title: `${CYCLES} loads and unloads under load`, run }];
