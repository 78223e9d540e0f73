// The time from spawn to the ready line with one small model, and the memory of the idle process.
import { sendOnce } from '../check.mjs';
import { startServal } from '../contenders/serval.mjs';
import { ownBytes, residentBytes } from '../machine.mjs';
import { judgeFigures } from '../statistics.mjs';
import { planV1 } from './json-small.mjs';

const MODEL = 'half_plus_three';
const REFERENCE = 'Triton: 0.2 s / 76 MB';
const STARTS = 5;
const SETTLE_MS = 500;
const READY = {
  id: 'start-ready',
  title: 'ready after start, 1 small model',
  reference: REFERENCE,
  form: 's',
  target: { relation: '<', limit: 0.2 },
};
const MEMORY = {
  id: 'start-memory',
  title: 'resident memory, idle',
  reference: REFERENCE,
  form: 'MB',
  target: { relation: '<', limit: 60 },
};
const OWN = {
  id: 'start-own',
  title: 'the same, without pages of files',
  form: 'MB',
  target: null,
};

/** Starts once. The response is checked; memory is read half a second later, when nothing runs. */
async function startOnce(context) {
  const server = await startServal(context, context.root, [await context.model(MODEL)]);
  try {
    const { request, check } = planV1();
    check(await sendOnce(server.http, request));
    await new Promise((resolve) => {
      setTimeout(resolve, SETTLE_MS);
    });
    return {
      readySeconds: server.readyMs / 1000,
      residentMb: residentBytes(server.pid) / 1e6,
      ownMb: ownBytes(server.pid) / 1e6,
    };
  } finally {
    await server.stop();
  }
}

async function run(context) {
  const starts = [];
  for (let index = 0; index < STARTS; index += 1) starts.push(await startOnce(context));
  const ready = starts.map((start) => start.readySeconds);
  const memory = starts.map((start) => start.residentMb);
  const own = starts.map((start) => start.ownMb);
  return [judgeFigures(READY, ready), judgeFigures(MEMORY, memory), judgeFigures(OWN, own)];
}

export const startup = [{ id: 'start', group: 'grpc-start', title: 'start and idle memory', run }];
