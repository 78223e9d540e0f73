// The uWebSockets.js listener against the native one, with the same requests.
import { wrkLoad } from '../../load/wrk.mjs';
import { planV1, planV2 } from '../json-small.mjs';
import { openServalHttp } from '../sides.mjs';

const MODEL = 'half_plus_three';
const CONNECTIONS = 16;

const open = (context, root, plan, listener) =>
  openServalHttp(context, root, {
    model: MODEL,
    plan,
    load: (...side) => wrkLoad(...side, CONNECTIONS),
    args: ['--http-listener', listener],
  });

const row = (id, title, plan) => ({
  id,
  title: `${title} JSON, 4 floats, ${CONNECTIONS} connections, --http-listener uws`,
  reference: '--http-listener native',
  metric: 'rate',
  target: null,
  openServal: (context, root) => open(context, root, plan, 'uws'),
  openReference: (context) => open(context, context.root, plan, 'native'),
});

export const listeners = [
  row('http-listener-uws-v1', 'V1', planV1),
  row('http-listener-uws-v2', 'V2', planV2),
];
