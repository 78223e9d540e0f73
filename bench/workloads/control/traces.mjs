// The cost of tracing for a request that is not traced. stats_bench has the nanoseconds of the
// decision.
import { planV2 } from '../json-small.mjs';
import { onOff } from './on-off.mjs';

const ONE_IN = 2_000_000_000;
const pair = (id, title, on) => onOff({ id, title, reference: 'tracing off', plan: planV2, on });

export const traces = [
  // Only the counter.
  pair('trace-sampled', 'tracing one in 2e9 to a file, V2 JSON, 64 connections', [
    ...['--trace-file', '/dev/null', '--trace-level', 'TIMESTAMPS', '--trace-rate', `${ONE_IN}`],
  ]),
  // Each request's traceparent is checked as well.
  pair('trace-parents', 'tracing only what callers trace, V2 JSON, 64 connections', [
    ...['--trace-otlp', 'http://127.0.0.1:1', '--trace-rate', '0'],
  ]),
];
