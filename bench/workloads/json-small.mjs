// V1 predict and V2 infer of four floats as JSON, against the echo of the same body: requests a
// second at 16 and 64 connections, and the median latency of one connection.
import { expectFloats } from '../check.mjs';
import { v1Request, v2JsonRequest } from '../bodies.mjs';
import { wrkLoad } from '../load/wrk.mjs';
import { openServalHttp, openUwsEcho } from './sides.mjs';

const MODEL = 'half_plus_three';
export const FLOATS = [1, 2, 5, 10];
export const ANSWERS = [3.5, 4, 5.5, 8];
const TEXTS = FLOATS.map((value) => value.toFixed(1));

/** x -> x / 2 + 3 over V1, row form. */
export function planV1() {
  const check = (answer) => {
    expectFloats('predictions', JSON.parse(answer.body.toString()).predictions, ANSWERS);
  };
  return { request: v1Request(MODEL, TEXTS, [FLOATS.length]), check };
}

/** The same over V2. */
export function planV2({ input }) {
  const tensor = { name: input.name, shape: [FLOATS.length], datatype: input.datatype };
  const check = (answer) => {
    expectFloats('data', JSON.parse(answer.body.toString()).outputs[0].data, ANSWERS);
  };
  return { request: v2JsonRequest(MODEL, [{ tensor, texts: TEXTS }]), check };
}

function pair(id, title, connections, plan, judged) {
  const load = (context, server, request) => wrkLoad(context, server, request, connections);
  return {
    id,
    title,
    reference: 'uWS echo',
    ...judged,
    openServal: (context, root) => openServalHttp(context, root, { model: MODEL, plan, load }),
    openReference: (context, serval) => openUwsEcho(context, serval.request, load),
  };
}

const RATE = { metric: 'rate', target: { relation: '>=', limit: 0.85 } };
const P50 = { metric: 'p50', target: { relation: '<=', limit: 25 } };

export const jsonSmall = [
  pair('v1-json-16', 'V1 JSON, 4 floats, 16 connections', 16, planV1, RATE),
  pair('v1-json-64', 'V1 JSON, 4 floats, 64 connections', 64, planV1, RATE),
  pair('v2-json-16', 'V2 JSON, 4 floats, 16 connections', 16, planV2, RATE),
  pair('v2-json-64', 'V2 JSON, 4 floats, 64 connections', 64, planV2, RATE),
  pair('v1-json-p50', 'V1 JSON, 1 connection, p50 over echo', 1, planV1, P50),
  pair('v2-json-p50', 'V2 JSON, 1 connection, p50 over echo', 1, planV2, P50),
];
