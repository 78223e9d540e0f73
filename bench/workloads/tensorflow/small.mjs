// half_plus_two, a SavedModel, against a similar ONNX model: importing costs nothing per request.
import { v1Request } from '../../bodies.mjs';
import { expectFloats } from '../../check.mjs';
import { wrkLoad } from '../../load/wrk.mjs';
import { tensorFlowModel } from '../../tensorflow/environment.mjs';
import { FLOATS, planV1 } from '../json-small.mjs';
import { openServalHttp } from '../sides.mjs';

const MODEL = 'tf_half_plus_two';
const ONNX_MODEL = 'half_plus_three';
const ANSWERS = [2.5, 3, 4.5, 7];
const CONNECTIONS = 64;
// The differences are a few percent.
const ROUNDS_TIMES = 2;

const load = (...args) => wrkLoad(...args, CONNECTIONS);

/** x -> x / 2 + 2 over V1, row form. */
function plan() {
  const texts = FLOATS.map((value) => value.toFixed(1));
  const check = (answer) => {
    expectFloats('predictions', JSON.parse(answer.body.toString()).predictions, ANSWERS);
  };
  return { request: v1Request(MODEL, texts, [FLOATS.length]), check };
}

export const small = [
  {
    id: 'tf-v1-json-64',
    title: `half_plus_two SavedModel, V1 JSON, ${CONNECTIONS} connections`,
    reference: 'ONNX half_plus_three',
    metric: 'rate',
    target: { relation: '>=', limit: 0.95 },
    roundsTimes: ROUNDS_TIMES,
    openServal: async (context, root) =>
      openServalHttp(context, root, {
        model: MODEL,
        path: await tensorFlowModel(context, MODEL),
        plan,
        load,
      }),
    openReference: (context) =>
      openServalHttp(context, context.root, {
        model: ONNX_MODEL,
        plan: planV1,
        load,
      }),
  },
];
