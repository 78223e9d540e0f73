// gRPC ModelInfer of four floats at a fixed rate on 16 connections, against gRPC's own C++ echoing
// the same message at that rate: the latency that a client sees far below capacity.
import { grpcLoad } from '../../load/grpc-load.mjs';
import { runPair } from '../../runner.mjs';
import { judge } from '../../statistics.mjs';
import { overEcho } from './small.mjs';

const CONNECTIONS = 16;
const RATES = [2000, 8000, 20_000];
// The p99.9 at 2,000 a second needs more than a second of requests.
const ROUNDS_TIMES = 2;
const PERCENTILES = [
  { name: 'p50', metric: 'p50-times', target: null },
  { name: 'p99', metric: 'p99-times', target: { relation: '<=', limit: 1 } },
  { name: 'p99.9', metric: 'p999-times', target: null },
];

/** The rows of one rate, from the same rounds. Pure. */
export function percentileRows({ id, title, reference, note }, rounds) {
  return PERCENTILES.map(({ name, metric, target }) =>
    judge(
      { id: `${id}-${name}`, title: `${title}: ${name}`, reference, note, metric, target },
      rounds,
    ),
  );
}

function openLoop(rate) {
  const load = (context, server, call) =>
    grpcLoad(context, server, call, { how: 'open', connections: CONNECTIONS, count: rate });
  const workload = {
    id: `grpc-open-${rate}`,
    title: `gRPC ModelInfer at ${rate}/s, ${CONNECTIONS} connections`,
    metric: 'p99-times',
    target: PERCENTILES[1].target,
    roundsTimes: ROUNDS_TIMES,
    ...overEcho(load),
  };
  const run = async (context) => {
    const note = 'latencies from when a call was due';
    return percentileRows({ ...workload, note }, await runPair(context, workload));
  };
  return { ...workload, run };
}

export const openLoops = RATES.map(openLoop);
