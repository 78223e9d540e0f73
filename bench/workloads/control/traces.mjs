// What tracing costs a request that is not traced: requests a second with tracing on and off, many
// short rounds, because one per cent is little. stats_bench has the nanoseconds of the decision.
import { wrkLoad } from '../../load/wrk.mjs';
import { planV2 } from '../json-small.mjs';
import { openServalHttp } from '../sides.mjs';

const MODEL = 'half_plus_three';
const CONNECTIONS = 64;
const ROUNDS_TIMES = 3;
const ONE_IN = 2_000_000_000;

function pair(id, title, args) {
  const open = (context, root, more) =>
    openServalHttp(context, root, {
      model: MODEL,
      plan: planV2,
      load: (...load) => wrkLoad(...load, CONNECTIONS),
      args: more,
    });
  return {
    id,
    title,
    reference: 'tracing off',
    metric: 'rate',
    target: { relation: '>=', limit: 0.99 },
    roundsTimes: ROUNDS_TIMES,
    openServal: (context, root) => open(context, root, args),
    openReference: (context) => open(context, context.root, []),
  };
}

export const traces = [
  // The counter alone.
  pair('trace-sampled', 'tracing one in 2e9 to a file, V2 JSON, 64 connections', [
    ...['--trace-file', '/dev/null', '--trace-level', 'TIMESTAMPS', '--trace-rate', `${ONE_IN}`],
  ]),
  // A look for each request's traceparent too.
  pair('trace-parents', 'tracing what callers trace, V2 JSON, 64 connections', [
    ...['--trace-otlp', 'http://127.0.0.1:1', '--trace-rate', '0'],
  ]),
];
