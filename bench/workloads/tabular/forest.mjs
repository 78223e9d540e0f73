// A forest of 100 trees of depth 8, 1,000 rows per request over gRPC, as PMML: against
// JPMML-Evaluator scoring the same rows in one thread, and against the same trees as ONNX Runtime's
// TreeEnsembleRegressor in double on the same server.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bytesOf, doublesOf, floatsOf, makeFloats } from '../../bodies.mjs';
import { expectFloats } from '../../check.mjs';
import { oneAtATime } from '../../load/grpc-load.mjs';
import { drawForest, onnxForest, sumOfForest } from '../../tabular/forest.mjs';
import { startJava } from '../../tabular/java.mjs';
import { fieldNames, writeForestPmml } from '../../tabular/make_forest_pmml.mjs';
import { modelInferRequest, rawOutputs } from '../../wire.mjs';
import { newModelFolder } from '../repositories.mjs';
import { busyLoad, byEngine, openServalGrpc } from '../sides.mjs';

const MODEL = 'forest';
const OUTPUT = 'y';
const SHAPE = { trees: 100, depth: 8, features: 20 };
const ROWS = 1000;
// The same number of threads inside operators as the references have.
const ARGS = ['--intra-op-threads', '1'];
const TOLERANCE = 1e-9;
// TreeEnsembleRegressor adds doubles and returns float32: sums of a hundred leaves below pi.
const FLOAT_TOLERANCE = 2e-5;

/** The rows, flat, and the forest's results for them. */
function makeRows() {
  const values = Float64Array.from(makeFloats(ROWS * SHAPE.features));
  const forest = drawForest(SHAPE);
  const rows = Array.from({ length: ROWS }, (_, at) =>
    values.subarray(at * SHAPE.features, (at + 1) * SHAPE.features),
  );
  return { values, rows, forest, expected: rows.map((row) => sumOfForest(forest, row)) };
}

function pmmlModel(context) {
  const folder = newModelFolder(context, MODEL);
  writeForestPmml(join(folder, '1', 'model.pmml'), SHAPE);
  return folder;
}

async function onnxModel(context, forest) {
  const folder = newModelFolder(context, MODEL);
  const builder = join(context.harnessRoot, 'dist', 'importers', 'onnx', 'builder.js');
  const { encodeModel } = await import(pathToFileURL(builder).href);
  const bytes = encodeModel(onnxForest(forest, SHAPE.features));
  writeFileSync(join(folder, '1', 'model.onnx'), bytes);
  return folder;
}

function plan({ values, expected }, tensor, read, tolerance) {
  const inputs = [
    {
      tensor: { ...tensor, datatype: 'FP64', shape: [ROWS, SHAPE.features] },
      bytes: bytesOf(values),
    },
  ];
  const check = (answer) => {
    const [output = Buffer.alloc(0)] = rawOutputs(answer);
    expectFloats(OUTPUT, read(output), expected, tolerance);
  };
  return () => ({ message: modelInferRequest(MODEL, inputs), check });
}

function openPmml(context, root, load) {
  const features = fieldNames(SHAPE.features).join(',');
  return openServalGrpc(context, root, {
    model: MODEL,
    path: pmmlModel(context),
    plan: plan(makeRows(), { name: 'rows', parameters: { features } }, doublesOf, TOLERANCE),
    load,
    args: ARGS,
  });
}

async function openPmmlByEngine(context, root) {
  const side = await openPmml(context, root, oneAtATime);
  return byEngine(side, side.server.http, MODEL);
}

async function openOnnxByEngine(context) {
  const made = makeRows();
  const side = await openServalGrpc(context, context.root, {
    model: MODEL,
    path: await onnxModel(context, made.forest),
    plan: plan(made, { name: 'x' }, floatsOf, FLOAT_TOLERANCE),
    load: oneAtATime,
    args: ARGS,
  });
  return byEngine(side, side.server.http, MODEL);
}

async function openJpmml(context) {
  const { rows, expected } = makeRows();
  const file = join(context.tempDir, `forest-${context.nextId()}.rows`);
  const lines = [fieldNames(SHAPE.features), ...rows].map((cells) => `${cells.join('\t')}\n`);
  writeFileSync(file, lines.join(''));
  const model = join(pmmlModel(context), '1', 'model.pmml');
  const side = await startJava(context, 'pmml', { model, rows: file, output: OUTPUT });
  expectFloats('jpmml-evaluator', side.answer, expected, TOLERANCE);
  return side;
}

const FOREST = `forest of ${SHAPE.trees} trees, depth ${SHAPE.depth} (PMML), ${ROWS} rows`;
const AGAINST_JPMML = {
  reference: 'jpmml-evaluator, one thread',
  metric: 'rate',
  target: { relation: '>=', limit: 20 },
  openReference: openJpmml,
};

export const forest = [
  {
    id: 'tabular-forest-jpmml',
    title: `${FOREST}, gRPC raw, 4x1`,
    ...AGAINST_JPMML,
    openServal: (context, root) => openPmml(context, root, busyLoad(1)),
  },
  {
    id: 'tabular-forest-jpmml-engine',
    title: 'the same without transport: read, run, write',
    ...AGAINST_JPMML,
    openServal: openPmmlByEngine,
  },
  {
    id: 'tabular-forest-ort',
    title: 'the same without transport, the trees in ONNX',
    reference: 'ORT TreeEnsemble in double, same server',
    metric: 'rate',
    target: { relation: '>=', limit: 0.8 },
    openServal: openPmmlByEngine,
    openReference: openOnnxByEngine,
  },
];
