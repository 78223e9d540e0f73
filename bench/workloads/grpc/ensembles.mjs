// Ensembles of three steps against one of their models: the cost of a step.
import { grpcLoad } from '../../load/grpc-load.mjs';
import { FLOATS } from '../json-small.mjs';
import { makeRepository } from '../repositories.mjs';
import { openServalGrpc } from '../sides.mjs';
import { IMAGES_IN_FLIGHT, IMAGE_MODEL, imageLoad, openImages, planImages } from './bodies.mjs';
import { h2load, openHalfPlusThree, planFloats } from './small.mjs';

const SMALL_MODEL = 'half_plus_three';
const STEPS = 3;
const afterSteps = (x) => Array.from({ length: STEPS }).reduce((y) => y / 2 + 3, x);

/** A config.pbtxt of STEPS times `model`, whose tensors are FP32 of `dims`. */
function chainConfig({ model, input, output, dims }) {
  const names = ['IN', ...Array.from({ length: STEPS - 1 }, (_, i) => `t${i}`), 'OUT'];
  const steps = Array.from(
    { length: STEPS },
    (_, i) => `step { model_name: "${model}" model_version: -1
  input_map { key: "${input}" value: "${names[i]}" }
  output_map { key: "${output}" value: "${names[i + 1]}" } }`,
  );
  return `platform: "ensemble"
input { name: "IN" data_type: TYPE_FP32 dims: [ ${dims} ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ ${dims} ] }
ensemble_scheduling { ${steps.join('\n')} }
`;
}

async function openChain(context, root, { step, plan, load }) {
  const path = await makeRepository(context, {
    [step.model]: { model: step.model },
    chain: { config: chainConfig(step) },
  });
  return openServalGrpc(context, root, { model: 'chain', path, plan, load });
}

const SMALL_STEP = { model: SMALL_MODEL, input: 'x', output: 'y', dims: '-1' };
const IMAGE_STEP = {
  model: IMAGE_MODEL,
  input: 'input',
  output: 'output',
  dims: '-1, 224, 224, 3',
};

const openSmallChain = (load) => (context, root) =>
  openChain(context, root, {
    step: SMALL_STEP,
    plan: (described) => planFloats(described, 'chain', FLOATS.map(afterSteps)),
    load,
  });

const overOne = (load) => ({
  reference: 'one of the models',
  openServal: openSmallChain(load),
  openReference: (context) => openHalfPlusThree(context, context.root, load),
});

const awake = (context, server, call) =>
  grpcLoad(context, server, call, { how: 'awake', connections: 1, count: 1 });

export const ensembles = [
  {
    id: 'ensemble-16',
    title: `Ensemble of ${STEPS} small models, gRPC, 4 floats raw, 1x16`,
    metric: 'rate',
    target: { relation: '>=', limit: 0.7 },
    ...overOne(h2load(1, 16)),
  },
  {
    id: 'ensemble-p50',
    title: `Ensemble of ${STEPS} small models, gRPC, 1 connection, 1 stream, p50`,
    metric: 'p50',
    target: { relation: '<=', limit: 15 },
    ...overOne(awake),
  },
  {
    id: 'ensemble-large',
    title: `Ensemble of ${STEPS} identities, 602 KB raw in and out, ${IMAGES_IN_FLIGHT} connections`,
    reference: 'one identity',
    metric: 'rate',
    target: { relation: '>=', limit: 0.8 },
    openServal: (context, root) =>
      openChain(context, root, {
        step: IMAGE_STEP,
        plan: (described) => planImages(described, 1, 'chain'),
        load: imageLoad,
      }),
    openReference: (context) => openImages(context, context.root),
  },
];
