// A forest of 100 MB as PMML: the time from the start of the process to the ready line, and the
// process's peak memory, relative to the size of the document.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { bytesOf, doublesOf, makeFloats } from '../../bodies.mjs';
import { callOnce, expectFloats } from '../../check.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { peakBytes } from '../../machine.mjs';
import { judgeFigures } from '../../statistics.mjs';
import { drawForest, sumOfForest } from '../../tabular/forest.mjs';
import { fieldNames, writeForestPmml } from '../../tabular/make_forest_pmml.mjs';
import { modelInferRequest, rawOutputs } from '../../wire.mjs';
import { newModelFolder } from '../repositories.mjs';
import { GRPC_METHOD, orStop } from '../sides.mjs';

const MODEL = 'big_forest';
const MEGABYTES = 100;
const SHAPE = { depth: 8, features: 20 };
const STARTS = 3;
const READY_MS_MAX = 120_000;
// Sums of thousands of leaves.
const TOLERANCE = 1e-6;
const READY = {
  id: 'tabular-load-ready',
  title: `forest of ${MEGABYTES} MB (PMML), ready after start`,
  form: 's',
  target: { relation: '<', limit: 5 },
};
const PEAK = {
  id: 'tabular-load-peak',
  title: 'the same: peak memory / file',
  form: 'ratio',
  target: { relation: '<', limit: 6 },
};

/** Requests one row of the loaded model and compares the sum with our own. */
async function checkAnswer({ grpc }, trees) {
  const row = Float64Array.from(makeFloats(SHAPE.features));
  const features = fieldNames(SHAPE.features).join(',');
  const tensor = {
    name: 'row',
    datatype: 'FP64',
    shape: [1, row.length],
    parameters: { features },
  };
  const message = modelInferRequest(MODEL, [{ tensor, bytes: bytesOf(row) }]);
  const answer = await callOnce(grpc, GRPC_METHOD, message);
  const expected = sumOfForest(drawForest({ ...SHAPE, trees }), row);
  expectFloats('y', doublesOf(rawOutputs(answer)[0]), [expected], TOLERANCE);
}

/** Every core, because the reader has its own thread. */
async function startOnce(context, folder, trees) {
  const options = { cores: context.cores.all, readyMsMax: READY_MS_MAX };
  const server = await startServal(context, context.root, [folder], options);
  return orStop(server, async () => {
    await checkAnswer(server, trees);
    const one = { readySeconds: server.readyMs / 1000, peak: peakBytes(server.pid) };
    await server.stop();
    return one;
  });
}

async function run(context) {
  const folder = newModelFolder(context, MODEL);
  const file = join(folder, '1', 'model.pmml');
  const { trees } = writeForestPmml(file, { ...SHAPE, megabytes: MEGABYTES });
  const { size } = statSync(file);
  const starts = [];
  for (let index = 0; index < STARTS; index += 1) {
    starts.push(await startOnce(context, folder, trees));
  }
  const note = `${trees} trees, ${(size / 1e6).toFixed(1)} MB`;
  return [
    judgeFigures(
      { ...READY, note },
      starts.map(({ readySeconds }) => readySeconds),
    ),
    judgeFigures(
      { ...PEAK, note },
      starts.map(({ peak }) => peak / size),
    ),
  ];
}

export const loading = [{ id: 'tabular-load', title: 'load of a large PMML document', run }];
