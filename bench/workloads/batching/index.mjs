// Dynamic batching of 64 one-row requests in flight, with the server on one core: the cost of a row
// beyond the transport's echo, as a multiple of the row's cost in ONNX Runtime alone; and the time
// that a single client waits in a batching queue. Control plane.
import { sample } from '../../runner.mjs';
import { meets, median, medianSample, spread } from '../../statistics.mjs';
import { openModelAlone } from '../mlp.mjs';
import { openUwsEcho } from '../sides.mjs';
import { BATCHED, openGrpc, openRest, restLoad, UNBATCHED } from './mlp-server.mjs';

const WARM_SECONDS = 1;
const ALONE_SECONDS = 1;
const ROWS_ALONE = 32;
const TARGET = { relation: '<=', limit: 1.3 };
const REST_ALLOWED_US = 4;

/**
 * Returns (time - echo - allowed) / row alone: a served row's cost beyond the transport, as a
 * multiple of the row's cost in ONNX Runtime alone. Pure.
 */
export function rowCost({ serval, echo, alone }, allowedUs) {
  const aloneUs = alone.usPerRequest / ROWS_ALONE;
  return (serval.usPerRequest - echo.usPerRequest - allowedUs) / aloneUs;
}

/** The same by the servers' CPU time. Pure. */
export function rowCostByCpu({ serval, echo, alone }, allowedUs) {
  return (serval.cpuUs - echo.cpuUs - allowedUs) / (alone.usPerRequest / ROWS_ALONE);
}

/** Measures the echo, Serval and ONNX Runtime alone in turns, `rounds` times. */
async function measureThree({ rounds, seconds }, sides) {
  await sample(sides.echo, WARM_SECONDS);
  await sample(sides.serval, WARM_SECONDS);
  const samples = [];
  for (let round = 0; round < rounds; round += 1) {
    samples.push({
      echo: await sample(sides.echo, seconds),
      serval: await sample(sides.serval, seconds),
      alone: await sample(sides.alone, ALONE_SECONDS),
    });
  }
  return samples;
}

function judgeRows({ id, title, allowedUs }, rounds) {
  const values = rounds.map((round) => rowCost(round, allowedUs));
  const got = median(values);
  const [serval, echo, alone] = ['serval', 'echo', 'alone'].map((side) =>
    medianSample(rounds.map((round) => round[side])),
  );
  const aloneUs = alone.usPerRequest / ROWS_ALONE;
  const boundUs = echo.usPerRequest + TARGET.limit * aloneUs + allowedUs;
  return {
    id,
    title,
    form: 'ratio',
    target: TARGET,
    got,
    spread: spread(values),
    reference: `(row - echo${allowedUs > 0 ? ` - ${allowedUs} us` : ''}) / row alone`,
    gotByCpu: median(rounds.map((round) => rowCostByCpu(round, allowedUs))),
    ok: meets(TARGET, got),
    sides: {
      serval: {
        ...serval,
        extra: `a row ${serval.usPerRequest.toFixed(1)} us, bound ${boundUs.toFixed(1)} us`,
      },
      reference: {
        ...echo,
        extra: `echo ${echo.usPerRequest.toFixed(1)} us, row alone ${aloneUs.toFixed(2)} us`,
      },
    },
    rounds,
    note: `row alone: ONNX Runtime in C++ at batch ${ROWS_ALONE}, one thread`,
  };
}

function rows(id, title, allowedUs, open, openEcho) {
  const run = async (context) => {
    const serval = await open(context, context.root, BATCHED);
    try {
      const echo = await openEcho(context, serval);
      try {
        const alone = await openModelAlone(context, serval);
        const samples = await measureThree(context.options, { serval, echo, alone });
        return [judgeRows({ id, title, allowedUs }, samples)];
      } finally {
        await echo.close();
      }
    } finally {
      await serval.close();
    }
  };
  return {
    id,
    title,
    target: TARGET,
    metric: 'time',
    reference: 'echo, model alone',
    run,
    openServal: (context, root) => open(context, root, BATCHED),
  };
}

function unbatched(id, title, open) {
  return {
    id,
    title,
    reference: 'with batching',
    metric: 'rate',
    target: null,
    openServal: (context, root) => open(context, root, UNBATCHED),
    openReference: (context) => open(context, context.root, BATCHED),
  };
}

const one = (config) => (context, root) => openRest(context, root, config, 1);

export const batching = [
  rows(
    'batching-rest',
    'MLP, 64 one-row V2 binary requests, batching',
    REST_ALLOWED_US,
    openRest,
    (context, { request }) => openUwsEcho(context, request, restLoad),
  ),
  unbatched('batching-off-grpc', 'MLP, 64 one-row gRPC requests, no batching', openGrpc),
  unbatched('batching-off-rest', 'MLP, 64 one-row V2 binary requests, no batching', openRest),
  {
    id: 'batching-queue-p50',
    title: 'MLP, 1 V2 binary client, batching with delay 0, p50',
    reference: 'batching off',
    metric: 'p50',
    target: { relation: '<=', limit: 15 },
    openServal: (context, root) => one(BATCHED)(context, root),
    openReference: (context) => one(UNBATCHED)(context, context.root),
  },
];
