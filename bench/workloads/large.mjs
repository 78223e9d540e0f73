// One image of 150,528 floats in and out of an identity model: as JSON against Node's own
// JSON.parse and JSON.stringify, as binary data against the echo; also 10,000 doubles as JSON in
// the response only. One connection, closed loop.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  bytesOf,
  floatsOf,
  floatTexts,
  makeFloats,
  v1Request,
  v2BinaryAnswer,
  v2BinaryInputs,
  v2BinaryRequest,
  v2JsonRequest,
} from '../bodies.mjs';
import { expectBytes, expectFloats } from '../check.mjs';
import { runToEnd } from '../children.mjs';
import { closedLoopLoad } from '../load/closed-loop.mjs';
import { openServalHttp, openUwsEcho } from './sides.mjs';

const MODEL = 'image_identity';
const SHAPE = [1, 224, 224, 3];
const ELEMENTS = 150_528;
const DOUBLES_MODEL = 'identity_fp64';
const DOUBLES = 10_000;
const JSON_TEXT = fileURLToPath(new URL('../contenders/json-text.mjs', import.meta.url));
const SPARE_MS = 60_000;

function planV1() {
  const values = makeFloats(ELEMENTS);
  const check = (answer) => {
    const { predictions } = JSON.parse(answer.body.toString());
    expectFloats('predictions', Float32Array.from(predictions.flat(Infinity)), values);
  };
  return { request: v1Request(MODEL, floatTexts(values), SHAPE), check };
}

function planV2({ input }) {
  const values = makeFloats(ELEMENTS);
  const tensor = { name: input.name, shape: SHAPE, datatype: input.datatype };
  const check = (answer) => {
    const { data } = JSON.parse(answer.body.toString()).outputs[0];
    expectFloats('data', Float32Array.from(data.flat(Infinity)), values);
  };
  return { request: v2JsonRequest(MODEL, [{ tensor, texts: floatTexts(values) }]), check };
}

function planBinary({ input, output }) {
  const bytes = bytesOf(makeFloats(ELEMENTS));
  const tensor = { name: input.name, shape: SHAPE, datatype: input.datatype };
  const check = (answer) => {
    const got = v2BinaryAnswer(answer);
    expectFloats('output', floatsOf(got), floatsOf(bytes));
    expectBytes('output', got, bytes);
  };
  return { request: v2BinaryRequest(MODEL, tensor, output.name, bytes), check };
}

/** Binary in, JSON out. Each double has 16 or 17 digits. */
function planDoubles({ input, output }) {
  const values = Float64Array.from(
    makeFloats(DOUBLES),
    (value, index) => value * 1.1 ** (index % 8),
  );
  const tensor = { name: input.name, shape: [1, DOUBLES], datatype: input.datatype };
  const check = (answer) => {
    const { data } = JSON.parse(answer.body.toString()).outputs[0];
    expectBytes('data', bytesOf(Float64Array.from(data)), bytesOf(values));
  };
  const inputs = [{ tensor, bytes: bytesOf(values) }];
  return { request: v2BinaryInputs(DOUBLES_MODEL, inputs, output.name, false), check };
}

/** Node's JSON with the same bodies that Serval reads and writes. `parsed`: the request's JSON. */
function openJsonText(context, { request, answer }, parsed = request.body) {
  const stem = join(context.tempDir, `json-text-${context.nextId()}`);
  writeFileSync(`${stem}.request`, parsed);
  writeFileSync(`${stem}.answer`, answer.body);
  const measure = async (seconds) => {
    const args = [JSON_TEXT, `${stem}.request`, `${stem}.answer`, String(seconds)];
    const timeoutMs = seconds * 1000 + SPARE_MS;
    const output = await runToEnd(process.execPath, args, context.cores.server, timeoutMs);
    const { usPerRequest, perSecond, cpuUs } = JSON.parse(output);
    return { usPerRequest, perSecond, cpuUs };
  };
  return { measure, close: async () => {} };
}

const serval =
  (plan, model = MODEL) =>
  (context, root) =>
    openServalHttp(context, root, {
      model,
      plan,
      load: closedLoopLoad,
    });
const json = {
  reference: 'Node JSON.parse + stringify',
  metric: 'time',
  target: { relation: '<=', limit: 0.2 },
  openReference: openJsonText,
};

export const large = [
  {
    id: 'v1-json-large',
    title: 'V1 JSON, 150,528 floats in and out',
    ...json,
    openServal: serval(planV1),
  },
  {
    id: 'v2-json-large',
    title: 'V2 JSON, 150,528 floats in and out',
    ...json,
    openServal: serval(planV2),
  },
  {
    id: 'v2-json-doubles',
    title: 'V2, 10,000 doubles: binary in, JSON out',
    ...json,
    reference: 'Node JSON.stringify',
    openServal: serval(planDoubles, DOUBLES_MODEL),
    openReference: (context, side) => openJsonText(context, side, '{}'),
  },
  {
    id: 'v2-binary-large',
    title: 'V2 binary, 602 KB in and out',
    reference: 'uWS echo',
    metric: 'time',
    target: { relation: '<=', limit: 1 },
    openServal: serval(planBinary),
    openReference: (context, side) => openUwsEcho(context, side.request, closedLoopLoad),
  },
];
