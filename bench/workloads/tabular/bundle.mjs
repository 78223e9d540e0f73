// MLeap's own example of a bundle, the linear regression of its airbnb demo, one row per request
// over gRPC, against transform() of MLeap's runtime in one thread. The bundle is beside the
// checkout.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesOf, doublesOf, rawTexts } from '../../bodies.mjs';
import { expectFloats } from '../../check.mjs';
import { Skipped } from '../../runner.mjs';
import { startJava } from '../../tabular/java.mjs';
import { modelInferRequest, rawOutputs } from '../../wire.mjs';
import { busyLoad, byEngine, openServalGrpc } from '../sides.mjs';

// The bundle's file name, which determines the model's name.
const MODEL = 'airbnb.model.lr';
const OUTPUT = 'price_prediction';
const TOLERANCE = 1e-9;
const FIELDS = {
  string: { datatype: 'STRING', encode: rawTexts },
  double: { datatype: 'FP64', encode: (values) => bytesOf(Float64Array.from(values)) },
};

/** Returns the path of one of the bundle's files in ../shared/models/mleap. */
function sample(context, ending) {
  const path = join(context.harnessRoot, '..', 'shared', 'models', 'mleap', MODEL + ending);
  if (existsSync(path)) return path;
  throw new Skipped('../shared/models/mleap does not exist');
}

/** Reduces a LeapFrame to its first row. Pure. */
export function firstRow({ schema, rows }) {
  return { schema, rows: rows.slice(0, 1) };
}

/** Converts a LeapFrame of scalars to V2 tensors: one for the fields of each type. Pure. */
export function tensorsOf({ schema, rows }) {
  return Object.entries(FIELDS).map(([type, { datatype, encode }]) => {
    const places = [...schema.fields.keys()].filter((at) => schema.fields[at].type === type);
    const features = places.map((at) => schema.fields[at].name).join(',');
    const values = rows.flatMap((row) => places.map((at) => row[at]));
    return {
      tensor: {
        name: type,
        datatype,
        shape: [rows.length, places.length],
        parameters: { features },
      },
      bytes: encode(values),
    };
  });
}

function readSample(context) {
  const read = (ending) => JSON.parse(readFileSync(sample(context, ending), 'utf8'));
  const frame = firstRow(read('.frame.json'));
  return { frame, expected: [read('.expected.json')[0][OUTPUT]] };
}

async function openServal(context, root) {
  const { frame, expected } = readSample(context);
  const side = await openServalGrpc(context, root, {
    model: MODEL,
    path: sample(context, '.zip'),
    plan: () => ({
      message: modelInferRequest(MODEL, tensorsOf(frame)),
      check: (answer) =>
        expectFloats(OUTPUT, doublesOf(rawOutputs(answer)[0]), expected, TOLERANCE),
    }),
    load: busyLoad(16),
  });
  return byEngine(side, side.server.http, MODEL);
}

async function openReference(context) {
  const { frame, expected } = readSample(context);
  const rows = join(context.tempDir, `frame-${context.nextId()}.json`);
  writeFileSync(rows, JSON.stringify(frame));
  const model = sample(context, '.zip');
  const side = await startJava(context, 'mleap', { model, rows, output: OUTPUT });
  expectFloats('mleap', side.answer, expected, TOLERANCE);
  return side;
}

export const bundle = [
  {
    id: 'tabular-airbnb-mleap',
    title: 'airbnb linear regression (MLeap), one row: read, run, write',
    reference: 'MLeap transform, one thread',
    metric: 'rate',
    target: { relation: '>=', limit: 3 },
    openServal,
    openReference,
  },
];
