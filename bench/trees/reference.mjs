// Libraries of trees, and Serval's own C library, as sides: call_trees.py in a separate process on
// the server's core. Skipped, with the reason, if they can't be installed. Control plane.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { doublesOf } from '../bodies.mjs';
import { runToEnd } from '../children.mjs';
import { startCalled } from '../contenders/called.mjs';
import { madeModels } from '../contenders/made-models.mjs';
import { Skipped } from '../runner.mjs';

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const CALL_TREES = pathOf('call_trees.py');
const PYTHON_TIMEOUT_MS = 900_000;
// The exit status of environment.sh if something is not available here.
const NOT_HERE = 77;

async function treesPython({ cores }) {
  try {
    const script = pathOf('environment.sh');
    const folder = await runToEnd('bash', [script], cores.all, PYTHON_TIMEOUT_MS);
    return join(folder.trim(), 'bin', 'python');
  } catch (error) {
    if (error.code === NOT_HERE) throw new Skipped(error.stderr.trim().split('\n').at(-1));
    throw error;
  }
}

/** The folder with the files of make_trees.py. */
export function treeModels(context) {
  const [script, lock] = [pathOf('make_trees.py'), pathOf('requirements.txt')];
  return madeModels(context, { prefix: 'tree-bench-models', script, lock, python: treesPython });
}

/**
 * A library's calls with the first `count` rows of treeModels(), `kind` as in call_trees.py.
 * `model` is absolute, or one of those models; `more` are further arguments. Resolves to a side
 * with `answer`, its doubles.
 */
export async function startTrees(context, kind, model, count, ...more) {
  const python = await treesPython(context);
  const folder = await treeModels(context);
  const answer = join(context.tempDir, `trees-${context.nextId()}.answer`);
  const rows = join(folder, 'rows.floats');
  const args = ['-B', CALL_TREES, kind, resolve(folder, model), rows, `${count}`, answer, ...more];
  const read = () => ({ answer: doublesOf(readFileSync(answer)) });
  return startCalled(context, 'call_trees.py', python, args, read);
}
