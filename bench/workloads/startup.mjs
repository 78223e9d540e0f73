// From spawn to the ready line with one small model, and the memory of the idle process.
import { sendOnce } from '../check.mjs';
import { startServal } from '../contenders/serval.mjs';
import { residentBytes } from '../machine.mjs';
import { meets, median, spread } from '../statistics.mjs';
import { planV1 } from './json-small.mjs';

const MODEL = 'half_plus_three';
const STARTS = 5;
const SETTLE_MS = 500;
const READY = { relation: '<', limit: 0.3 };
const MEMORY = { relation: '<', limit: 100 };

/** One start. The answer is checked; memory is read half a second later, when nothing runs. */
async function startOnce(context) {
  const server = await startServal(context, context.root, [await context.model(MODEL)]);
  try {
    const { request, check } = planV1();
    check(await sendOnce(server.http, request));
    await new Promise((resolve) => {
      setTimeout(resolve, SETTLE_MS);
    });
    return { readySeconds: server.readyMs / 1000, residentMb: residentBytes(server.pid) / 1e6 };
  } finally {
    await server.stop();
  }
}

function row(id, title, form, target, values) {
  const got = median(values);
  return {
    id,
    title,
    reference: 'Triton: 0.2 s / 76 MB',
    form,
    target,
    got,
    spread: spread(values),
    ok: meets(target, got),
    sides: {},
    rounds: values,
    note: '',
  };
}

async function run(context) {
  const starts = [];
  for (let index = 0; index < STARTS; index += 1) starts.push(await startOnce(context));
  const ready = starts.map((start) => start.readySeconds);
  const memory = starts.map((start) => start.residentMb);
  return [
    row('start-ready', 'ready after start, 1 small model', 's', READY, ready),
    row('start-memory', 'resident memory, idle', 'MB', MEMORY, memory),
  ];
}

export const startup = [{ id: 'start', title: 'start and idle memory', run }];
