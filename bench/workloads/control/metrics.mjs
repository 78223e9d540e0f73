// What recording metrics costs: requests a second with them and without, many short rounds, because
// one per cent is little.
import { wrkLoad } from '../../load/wrk.mjs';
import { planV1, planV2 } from '../json-small.mjs';
import { openServalHttp } from '../sides.mjs';

const MODEL = 'half_plus_three';
const CONNECTIONS = 64;
const ROUNDS_TIMES = 3;

function pair(id, title, plan) {
  const open = (context, root, args) =>
    openServalHttp(context, root, {
      model: MODEL,
      plan,
      load: (...load) => wrkLoad(...load, CONNECTIONS),
      args,
    });
  return {
    id,
    title,
    reference: '--allow-metrics=false',
    metric: 'rate',
    target: { relation: '>=', limit: 0.99 },
    roundsTimes: ROUNDS_TIMES,
    openServal: (context, root) => open(context, root, []),
    openReference: (context) => open(context, context.root, ['--allow-metrics=false']),
  };
}

export const metrics = [
  pair('metrics-v1', 'metrics on, V1 JSON, 64 connections', planV1),
  pair('metrics-v2', 'metrics on, V2 JSON, 64 connections', planV2),
];
