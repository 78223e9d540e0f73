// ResNet50: the time from the start of the process to the ready line, without and with a cached
// import, and its memory relative to the size of its weights.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expectFloats, callOnce } from '../../check.mjs';
import { makeFloats } from '../../bodies.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { ownBytes, peakBytes } from '../../machine.mjs';
import { tensorFlowModel } from '../../tensorflow/environment.mjs';
import { predictOutput, predictRequest } from '../../tensorflow/messages.mjs';
import { judgeFigures } from '../../statistics.mjs';
import { orStop } from '../sides.mjs';

const MODEL = 'resnet50';
const IDLE_MODEL = 'half_plus_three';
const METHOD = '/tensorflow.serving.PredictionService/Predict';
const SHAPE = [1, 224, 224, 3];
const ELEMENTS = 150_528;
const STARTS = 3;
const SETTLE_MS = 1000;
const READY = { relation: '<=', limit: 1.5 };

/** Bytes of the checkpoint's data files. */
function weightBytes(folder) {
  const variables = join(folder, '1', 'variables');
  return readdirSync(variables)
    .filter((name) => name.includes('.data-'))
    .reduce((sum, name) => sum + statSync(join(variables, name)).size, 0);
}

/** Every core, because an import and the creation of a session use several. */
async function startOnce(context, folder, args, check) {
  const options = { args, cores: context.cores.all };
  const server = await startServal(context, context.root, [folder], options);
  try {
    await orStop(server, check);
    await new Promise((resolve) => {
      setTimeout(resolve, SETTLE_MS);
    });
    const { pid, readyMs } = server;
    return { readySeconds: readyMs / 1000, peak: peakBytes(pid), steady: ownBytes(pid) };
  } finally {
    await server.stop();
  }
}

/** Checks that these are probabilities; the rows for images compare them with TensorFlow's. */
async function checkAnswer({ grpc }) {
  const request = predictRequest(MODEL, 'image', SHAPE, makeFloats(ELEMENTS));
  const scores = predictOutput(await callOnce(grpc, METHOD, request));
  expectFloats('sum', [scores.reduce((sum, score) => sum + score, 0)], [1], 1e-3);
}

async function starts(context, folder, args, check) {
  const all = [];
  for (let index = 0; index < STARTS; index += 1) {
    all.push(await startOnce(context, folder, args, check));
  }
  return all;
}

const READY_ROW = { form: 's', target: READY };
const MEMORY_ROW = { form: 'ratio', target: null };

async function run(context) {
  const folder = await tensorFlowModel(context, MODEL);
  const bytes = weightBytes(folder);
  const cache = ['--model-cache', join(context.tempDir, `model-cache-${context.nextId()}`)];
  const idle = await startOnce(context, await context.model(IDLE_MODEL), [], async () => {});
  const fresh = await starts(context, folder, [], checkAnswer);
  // The start that fills the cache.
  await startOnce(context, folder, cache, checkAnswer);
  const cached = await starts(context, folder, cache, checkAnswer);
  const seconds = (all) => all.map(({ readySeconds }) => readySeconds);
  const note = `weights ${(bytes / 1e6).toFixed(1)} MB, idle server ${(idle.steady / 1e6).toFixed(
    1,
  )} MB of its own, peak ${(idle.peak / 1e6).toFixed(1)} MB; peak ${(fresh[0].peak / 1e6).toFixed(1)} MB`;
  const over = (key) => fresh.map((one) => (one[key] - idle[key]) / bytes);
  return [
    judgeFigures(
      { ...READY_ROW, id: 'tf-load-ready', title: 'ResNet50 SavedModel, ready after start' },
      seconds(fresh),
    ),
    judgeFigures(
      { ...READY_ROW, id: 'tf-load-cached', title: 'the same with a cached import' },
      seconds(cached),
    ),
    judgeFigures(
      {
        ...MEMORY_ROW,
        id: 'tf-load-peak',
        title: 'the same: (peak memory - idle server) / weights',
        note,
      },
      over('peak'),
    ),
    judgeFigures(
      {
        ...MEMORY_ROW,
        id: 'tf-load-steady',
        title: 'the same: (memory later - idle server) / weights',
        note,
      },
      over('steady'),
    ),
  ];
}

export const loading = [{ id: 'tf-load', title: 'ResNet50 SavedModel: start and memory', run }];
