// Triton's generate extension: requests whose response is one server-sent event, one after the
// other, against an echo that sends the body as an event.
import { startUwsEcho } from '../../contenders/echoes.mjs';
import { expectBytes, expectFloats, sendOnce } from '../../check.mjs';
import { wrkLoad } from '../../load/wrk.mjs';
import { ANSWERS, FLOATS } from '../json-small.mjs';
import { openServalHttp, orStop } from '../sides.mjs';

const MODEL = 'half_plus_three';
const EVENT = /^data: (\{.*\})\n\n$/;

/** x -> x / 2 + 3 as an event. */
function plan({ input, output }) {
  const request = {
    method: 'POST',
    path: `/v2/models/${MODEL}/generate_stream`,
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from(JSON.stringify({ [input.name]: FLOATS })),
  };
  const check = ({ body }) => {
    const [, text] = EVENT.exec(body.toString()) ?? [];
    if (text === undefined) throw new Error(`expected one event, got ${body}`);
    expectFloats(output.name, JSON.parse(text)[output.name], ANSWERS);
  };
  return { request, check };
}

const load = (context, server, request) => wrkLoad(context, server, request, 1);

async function openEventEcho(context, { request }) {
  return orStop(await startUwsEcho(context), async (echo) => {
    const { body } = await sendOnce(echo, request);
    const event = Buffer.concat([Buffer.from('data: '), request.body, Buffer.from('\n\n')]);
    expectBytes('echo', body, event);
    return { measure: load(context, echo, request), ended: echo.ended, close: echo.stop };
  });
}

export const generate = [
  {
    id: 'generate-stream',
    title: 'generate_stream, 4 floats, one event a request, 1 connection, p50 over echo',
    reference: 'uWS echo of an event',
    metric: 'p50',
    target: { relation: '<=', limit: 50 },
    openServal: (context, root) => openServalHttp(context, root, { model: MODEL, plan, load }),
    openReference: openEventEcho,
  },
];
