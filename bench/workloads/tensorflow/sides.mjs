// Serval with a TensorFlow model over gRPC, and TensorFlow calling the same signature on the same
// core with the same input: the pair of the rows here. Control plane.
import { callOnce, expectFloats } from '../../check.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { oneAtATime } from '../../load/grpc-load.mjs';
import { tensorFlowModel } from '../../tensorflow/environment.mjs';
import { startTensorFlow } from '../../tensorflow/reference.mjs';
import { orStop } from '../sides.mjs';

// The same number of threads inside operators as call_model.py has.
const ARGS = ['--intra-op-threads', '1'];

/**
 * `request`: {path, message}; `read(answer)` returns the floats that the reference compares. `load`
 * defaults to one call at a time, for models that take milliseconds.
 */
export async function openServal(context, root, model, { path, message }, read, load = oneAtATime) {
  const folder = await tensorFlowModel(context, model);
  return orStop(await startServal(context, root, [folder], { args: ARGS }), async (server) => {
    const grpc = { ...server.grpc, pid: server.pid };
    const answer = await callOnce(grpc, path, message);
    const measure = load(context, grpc, { path, message, answerBytes: answer.length });
    const { ended, stop } = server;
    return { measure, ended, close: stop, floats: read(answer), http: server.http };
  });
}

/** TensorFlow's side; throws if Serval's response differs by more than `tolerance`. */
export async function openTensorFlow(context, serval, model, input, tolerance) {
  const folder = await tensorFlowModel(context, model);
  const reference = await startTensorFlow(context, folder, input);
  try {
    expectFloats(model, serval.floats, reference.answer, tolerance);
    return reference;
  } catch (error) {
    await reference.close();
    throw error;
  }
}
