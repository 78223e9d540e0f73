// JPMML-Evaluator and MLeap's runtime as sides: References.java in a separate JVM on the server's
// core. Skipped, with the reason, if Java or its libraries are not available. Control plane.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../children.mjs';
import { startCalled } from '../contenders/called.mjs';
import { Skipped } from '../runner.mjs';

const REFERENCES = fileURLToPath(new URL('References.java', import.meta.url));
const JARS_TIMEOUT_MS = 900_000;
// The exit status of test/env scripts for something that is not available here.
const NOT_HERE = 77;

/** The classpath of the libraries; Maven downloads missing ones. */
async function classPath({ harnessRoot, cores }) {
  const script = join(harnessRoot, 'test', 'env', 'tabular-jars.sh');
  try {
    const folder = await runToEnd('bash', [script], cores.all, JARS_TIMEOUT_MS);
    return join(folder.trim(), '*');
  } catch (error) {
    if (error.code === NOT_HERE) throw new Skipped(error.stderr.trim().split('\n').at(-1));
    throw error;
  }
}

/**
 * Runs the model file `model` on the file `rows` repeatedly. `kind`: "pmml" or "mleap", as in
 * References.java. Resolves to a side with `answer`, the numbers of the column `output`.
 */
export async function startJava(context, kind, { model, rows, output }) {
  const path = await classPath(context);
  const answers = join(context.tempDir, `java-${context.nextId()}.answers`);
  const args = ['-cp', path, REFERENCES, kind, model, rows, answers, output];
  const read = () => ({ answer: readFileSync(answers, 'utf8').trim().split('\n').map(Number) });
  return startCalled(context, 'References.java', 'java', args, read);
}
