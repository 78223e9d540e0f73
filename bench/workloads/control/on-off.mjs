// The cost of a feature that can be switched off: requests per second with and without it, in many
// short rounds, because differences of one percent are small compared with noise.
import { wrkLoad } from '../../load/wrk.mjs';
import { openServalHttp } from '../sides.mjs';

const MODEL = 'half_plus_three';
const CONNECTIONS = 64;
const ROUNDS_TIMES = 3;

/**
 * A workload: `id`, `title`, `reference` as in other workloads, `plan` of the requests, and the
 * flags of a server that has the feature on and of one that has it off.
 */
export function onOff({ id, title, reference, plan, on = [], off = [] }) {
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
    reference,
    metric: 'rate',
    target: { relation: '>=', limit: 0.99 },
    roundsTimes: ROUNDS_TIMES,
    openServal: (context, root) => open(context, root, on),
    openReference: (context) => open(context, context.root, off),
  };
}
