// REST over HTTP/2: V1 JSON of four floats on few connections with many streams, against the same
// requests over HTTP/1.1 with as many in flight.
import { nativeLoad, scheduleOf } from '../../load/native-load.mjs';
import { planV1 } from '../json-small.mjs';
import { openServalHttp } from '../sides.mjs';

const MODEL = 'half_plus_three';
const CONNECTIONS = 4;
const STREAMS = 16;
const IN_FLIGHT = CONNECTIONS * STREAMS;

const open = (context, root, isHttp2) => {
  const connections = isHttp2 ? CONNECTIONS : IN_FLIGHT;
  const schedule = scheduleOf({ how: 'closed', connections, count: IN_FLIGHT });
  const load = (...side) => nativeLoad(...side, { http2: isHttp2, schedule });
  return openServalHttp(context, root, { model: MODEL, plan: planV1, load });
};

export const http2 = [
  {
    id: 'http2-json',
    title: `V1 JSON, 4 floats, HTTP/2, ${CONNECTIONS}x${STREAMS}`,
    reference: `HTTP/1.1, ${IN_FLIGHT} connections`,
    metric: 'rate',
    target: { relation: '>=', limit: 1.5 },
    openServal: (context, root) => open(context, root, true),
    openReference: (context) => open(context, context.root, false),
  },
];
