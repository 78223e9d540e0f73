// Python with TensorFlow and the models of the TensorFlow rows: made when a row needs them, kept in
// the cache of test/env. Control plane.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../children.mjs';

const PYTHON_TIMEOUT_MS = 900_000;
const MODELS_TIMEOUT_MS = 600_000;
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

function cacheFolder(harnessRoot) {
  const cache = process.env['SERVAL_CACHE'] || join(homedir(), '.cache', 'serval');
  const hash = createHash('sha256').update(readFileSync(MAKE_MODELS));
  hash.update(readFileSync(join(harnessRoot, 'test', 'env', 'requirements-tensorflow.txt')));
  return { cache, key: `tf-bench-${hash.digest('hex').slice(0, 16)}` };
}

async function makeModels(context) {
  const { cache, key } = cacheFolder(context.harnessRoot);
  const folder = join(cache, key);
  if (existsSync(folder)) return folder;
  const python = await tensorFlowPython(context);
  mkdirSync(cache, { recursive: true });
  const building = mkdtempSync(join(cache, 'tf-bench-building-'));
  try {
    await runToEnd(python, ['-B', MAKE_MODELS, building], context.cores.all, MODELS_TIMEOUT_MS);
    renameSync(building, folder);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    // Another run may have been faster: then its folder is used.
    if (!existsSync(folder)) throw error;
  }
  return folder;
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
