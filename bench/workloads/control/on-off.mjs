// What something costs that can be switched off: requests a second with it and without, many short
// rounds, because one per cent is little.
import { wrkLoad } from '../../load/wrk.mjs';
import { openServalHttp } from '../sides.mjs';

const MODEL = 'half_plus_three';
const CONNECTIONS = 64;
const ROUNDS_TIMES = 3;

/** A workload: `id`, `title`, `reference` as workloads have them, `plan` of the requests, and the
 * flags of a server that has it on and of one that has it off. */
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
