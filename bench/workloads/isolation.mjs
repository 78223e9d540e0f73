// The cost of a model's sessions in a separate process: the same server with and without --isolate.
// On one core the two processes wake each other; on several each may poll before it sleeps.
import { wrkLoad } from '../load/wrk.mjs';
import { planV2 } from './json-small.mjs';
import { openServalHttp } from './sides.mjs';

const MODEL = 'half_plus_three';

function row(id, title, connections, coresOf, judged) {
  const open = (context, root, args) =>
    openServalHttp(context, root, {
      model: MODEL,
      plan: planV2,
      load: (...load) => wrkLoad(...load, connections),
      cores: coresOf(context.cores),
      args,
    });
  return {
    id,
    title,
    reference: 'in the server',
    ...judged,
    openServal: (context, root) => open(context, root, ['--isolate', MODEL]),
    openReference: (context) => open(context, context.root, []),
  };
}

const P50 = { metric: 'p50', target: { relation: '<=', limit: 15 } };
const RATE = { metric: 'rate', target: null };
const ofServer = ({ server }) => server;
const ofAll = ({ all }) => all;

export const isolation = [
  row('isolation-p50', '--isolate, V2 JSON, 1 connection, p50', 1, ofServer, P50),
  row('isolation-p50-cores', '--isolate, the same on every core', 1, ofAll, P50),
  row('isolation-16', '--isolate, V2 JSON, 16 connections', 16, ofServer, RATE),
];
