// Python with TensorFlow and the models of the TensorFlow rows: made when a row needs them, kept in
// the cache of test/env. Control plane.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../children.mjs';
import { madeModels } from '../contenders/made-models.mjs';

const PYTHON_TIMEOUT_MS = 900_000;
const MAKE_MODELS = fileURLToPath(new URL('make_models.py', import.meta.url));

/** The interpreter's path: SERVAL_TF_PYTHON, or that of test/env/tensorflow-env.sh. */
export async function tensorFlowPython({ harnessRoot, cores }) {
  const given = process.env['SERVAL_TF_PYTHON'];
  if (given !== undefined && given !== '') return given;
  const environment = join(harnessRoot, 'test', 'env');
  const script = join(environment, 'tensorflow-env.sh');
  const folder = await runToEnd('bash', [script], cores.all, PYTHON_TIMEOUT_MS);
  return join(folder.trim(), 'bin', 'python');
}

function makeModels(context) {
  const lock = join(context.harnessRoot, 'test', 'env', 'requirements-tensorflow.txt');
  const made = { prefix: 'tf-bench', script: MAKE_MODELS, lock, python: tensorFlowPython };
  return madeModels(context, made);
}

const made = new WeakMap();

/** The folder of the model `name` of make_models.py, which contains its versions. */
export async function tensorFlowModel(context, name) {
  const making = made.get(context) ?? makeModels(context);
  made.set(context, making);
  const path = join(await making, name);
  if (!existsSync(path)) throw new Error(`make_models.py makes no '${name}'`);
  return path;
}
