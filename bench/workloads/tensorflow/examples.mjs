// Classify of 100 serialized Examples of 20 floats each, a linear model after ParseExample, against
// TensorFlow's own call of the signature in Python.
import { makeFloats } from '../../bodies.mjs';
import { h2loadLoad } from '../../load/h2load.mjs';
import { classifyRequest, classifyScores, exampleOf } from '../../tensorflow/messages.mjs';
import { byEngine } from '../sides.mjs';
import { openServal, openTensorFlow } from './sides.mjs';

const METHOD = '/tensorflow.serving.PredictionService/Classify';
const MODEL = 'tf_classifier';
const EXAMPLES = 100;
const FEATURES = 20;
const TOLERANCE = 1e-5;
// Keeps the server's core busy, as repeated calls keep TensorFlow's.
const CLIENTS = 4;
const STREAMS = 4;

const load = (context, server, call) =>
  h2loadLoad(context, server, { ...call, clients: CLIENTS, streams: STREAMS });

function makeExamples() {
  const values = makeFloats(EXAMPLES * FEATURES);
  return Array.from({ length: EXAMPLES }, (_, row) =>
    exampleOf(
      Object.fromEntries(
        Array.from({ length: FEATURES }, (__, column) => [
          `f${String(column).padStart(2, '0')}`,
          values[row * FEATURES + column],
        ]),
      ),
    ),
  );
}

const request = () => ({ path: METHOD, message: classifyRequest(MODEL, makeExamples()) });

/** One call at a time; the engine's part is timed, because TensorFlow's call has no transport. */
async function openEngine(context, root) {
  const side = await openServal(context, root, MODEL, request(), classifyScores);
  return byEngine(side, side.http, MODEL);
}

function row(id, title, open) {
  return {
    id,
    group: 'grpc-classify',
    title,
    reference: 'TensorFlow in Python',
    metric: 'rate',
    target: { relation: '>=', limit: 2 },
    openServal: open,
    openReference: (context, serval) =>
      openTensorFlow(
        context,
        serval,
        MODEL,
        { alias: 'inputs', strings: makeExamples() },
        TOLERANCE,
      ),
  };
}

export const examples = [
  row(
    'tf-classify',
    `Classify, ${EXAMPLES} Examples of ${FEATURES} floats, gRPC ${CLIENTS}x${STREAMS}`,
    (context, root) => openServal(context, root, MODEL, request(), classifyScores, load),
  ),
  row('tf-classify-engine', 'the same without transport: read, run, write', openEngine),
];
