// V1 JSON of four floats at a fixed rate, against the uWS echo of the same body at that rate: the
// latency that a client sees below capacity.
import { nativeLoad, scheduleOf } from '../../load/native-load.mjs';
import { runPair } from '../../runner.mjs';
import { percentileRows } from '../grpc/open-loop.mjs';
import { planV1 } from '../json-small.mjs';
import { openServalHttp, openUwsEcho } from '../sides.mjs';

const MODEL = 'half_plus_three';
const RATES = [8000, 32_000];
/** Enough for the higher rate with responses of a millisecond. */
const CONNECTIONS = 64;
// p99.9 needs more than a second of requests.
const ROUNDS_TIMES = 2;

function openLoop(rate) {
  const schedule = scheduleOf({ how: 'open', connections: CONNECTIONS, count: rate });
  const load = (context, server, request) =>
    nativeLoad(context, server, request, { http2: false, schedule });
  const workload = {
    id: `http-open-${rate}`,
    title: `V1 JSON, 4 floats, at ${rate}/s, ${CONNECTIONS} connections`,
    reference: 'uWS echo',
    metric: 'p99-times',
    target: { relation: '<=', limit: 1 },
    roundsTimes: ROUNDS_TIMES,
    openServal: (context, root) =>
      openServalHttp(context, root, { model: MODEL, plan: planV1, load }),
    openReference: (context, serval) => openUwsEcho(context, serval.request, load),
  };
  const run = async (context) => {
    const note = 'latencies from when a request was due';
    return percentileRows({ ...workload, note }, await runPair(context, workload));
  };
  return { ...workload, run };
}

export const httpOpenLoops = RATES.map(openLoop);
