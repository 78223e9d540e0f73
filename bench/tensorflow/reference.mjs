// TensorFlow itself as a side: call_model.py in a separate process on the server's core. Control
// plane.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { floatsOf } from '../bodies.mjs';
import { startCalled } from '../contenders/called.mjs';
import { tensorFlowPython } from './environment.mjs';

const CALL_MODEL = fileURLToPath(new URL('call_model.py', import.meta.url));

/**
 * Calls the signature of the model folder `model` with one thread. `request`: {alias, shape,
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
  const read = () => ({ answer: floatsOf(readFileSync(`${stem}.answer`)) });
  return startCalled(context, 'call_model.py', python, args, read);
}
