// The models that are measured on a GPU, in full size and scaled down for tests; their files, made
// once and kept in a folder outside the checkout; and the inputs of a request. Control plane.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { encodeModel } from '../../../dist/importers/onnx/builder.js';
import { bytesOf, makeFloats } from '../../bodies.mjs';
import { bert } from './bert.mjs';
import { mlp } from './mlp.mjs';
import { resnet } from './resnet.mjs';
import { WeightsFile } from './weights.mjs';

const SEED = 20_260_101;
const SOURCES = ['bert', 'index', 'mlp', 'nodes', 'resnet', 'weights'];

const floats = (name, shape) => ({
  tensor: { name, datatype: 'FP32', shape },
  bytes: bytesOf(makeFloats(shape.reduce((product, dim) => product * dim, 1))),
});

function integers(name, shape, of) {
  const values = makeFloats(shape[0] * shape[1]);
  const bytes = bytesOf(BigInt64Array.from(values, (part) => BigInt(of(part))));
  return { tensor: { name, datatype: 'INT64', shape }, bytes };
}

const inputsOf = {
  image: ({ size }, batch) => [floats('image', [batch, 3, size, size])],
  text: ({ tokens, vocabulary }, batch) => [
    integers('input_ids', [batch, tokens], (part) => Math.floor(part * vocabulary)),
    integers('attention_mask', [batch, tokens], () => 1),
  ],
  row: ({ width }, batch) => [floats('x', [batch, width])],
};

/** `shape`: the measured size; `tiny`: the same operators, for a run of milliseconds on a CPU. */
export const MODELS = [
  {
    name: 'resnet50',
    title: 'ResNet50',
    build: resnet,
    inputs: inputsOf.image,
    output: 'logits',
    shape: { size: 224, width: 64, blocks: [3, 4, 6, 3], classes: 1000 },
    tiny: { size: 32, width: 4, blocks: [1, 2, 1, 1], classes: 10 },
  },
  {
    name: 'bert-base',
    title: 'BERT-base',
    build: bert,
    inputs: inputsOf.text,
    output: 'pooled',
    shape: {
      ...{ layers: 12, hidden: 768, heads: 12, feedForward: 3072 },
      ...{ tokens: 128, vocabulary: 30_522 },
    },
    tiny: { layers: 2, hidden: 16, heads: 2, feedForward: 32, tokens: 8, vocabulary: 50 },
  },
  {
    name: 'mlp',
    title: 'MLP',
    build: mlp,
    inputs: inputsOf.row,
    output: 'y',
    shape: { width: 1024, layers: 3, classes: 10 },
    tiny: { width: 16, layers: 3, classes: 4 },
  },
];

/** The folder of models without --models-folder: the tests' cache. */
export function usualFolder() {
  const cache = process.env['SERVAL_CACHE'] || join(homedir(), '.cache', 'serval');
  return join(cache, 'gpu-bench-models');
}

// A key of everything that determines a model's bytes.
function keyOf(name, shape) {
  const hash = createHash('sha256').update(JSON.stringify([name, shape, SEED]));
  for (const source of SOURCES) {
    hash.update(readFileSync(fileURLToPath(new URL(`${source}.mjs`, import.meta.url))));
  }
  return `${name}-${hash.digest('hex').slice(0, 16)}`;
}

/** Writes model.onnx and weights.bin of `build` with `shape` into the existing folder `folder`. */
export function writeModel(folder, { build }, shape) {
  const weights = new WeightsFile(join(folder, 'weights.bin'), SEED);
  try {
    writeFileSync(join(folder, 'model.onnx'), encodeModel(build(weights, shape)));
  } finally {
    weights.close();
  }
}

/** Returns the folder below `parent` with the model's files; makes them if they are missing. */
export function modelFolder(parent, model, shape) {
  const folder = join(parent, keyOf(model.name, shape));
  if (existsSync(folder)) return folder;
  mkdirSync(parent, { recursive: true });
  const building = mkdtempSync(join(parent, 'building-'));
  try {
    writeModel(building, model, shape);
    renameSync(building, folder);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    // Another run may have been faster: then its folder is used.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
