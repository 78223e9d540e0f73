// TensorFlow itself as a side: call_model.py in a process of its own on the server's core. Control
// plane.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { floatsOf } from '../bodies.mjs';
import { start, stop } from '../children.mjs';
import { tensorFlowPython } from './environment.mjs';

const CALL_MODEL = fileURLToPath(new URL('call_model.py', import.meta.url));
const LINE_TIMEOUT_MS = 120_000;

/** Lines of a child's stdout, one promise each. Rejects when it ends or is silent too long. */
function lineReader({ child, tail }) {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`call_model.py: silent: ${tail()}`)),
        LINE_TIMEOUT_MS,
      );
    });
    const { value, done } = await Promise.race([lines.next(), late]);
    clearTimeout(timer);
    if (done) throw new Error(`call_model.py: ended: ${tail()}`);
    return JSON.parse(value);
  };
}

/**
 * The signature of the model folder `model` called with one thread. `request`: {alias, shape,
 * values} of floats or {alias, strings}. Resolves to a side with `answer`, the output's floats.
 */
export async function startTensorFlow(context, model, { alias, shape, values, strings }) {
  const python = await tensorFlowPython(context);
  const stem = join(context.tempDir, `tensorflow-${context.nextId()}`);
  const request =
    strings === undefined
      ? { alias, shape, floats: `${stem}.floats` }
      : { alias, strings: strings.map((bytes) => bytes.toString('base64')) };
  if (values !== undefined) writeFileSync(`${stem}.floats`, values);
  writeFileSync(`${stem}.json`, JSON.stringify(request));
  const args = ['-B', CALL_MODEL, join(model, '1'), `${stem}.json`, `${stem}.answer`, '1'];
  const started = start(python, args, context.cores.server);
  const nextLine = lineReader(started);
  try {
    await nextLine();
    const answer = floatsOf(readFileSync(`${stem}.answer`));
    const measure = (seconds) => {
      started.child.stdin.write(`${seconds}\n`);
      return nextLine();
    };
    return { measure, answer, close: () => stop(started.child) };
  } catch (error) {
    await stop(started.child);
    throw error;
  }
}
