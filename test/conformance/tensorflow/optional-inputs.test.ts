// config.pbtxt's `optional: true` with a SavedModel: requests may omit the inputs that have a
// default in the signature, over V2 too; an input without one keeps the model from loading.
// Source: tfserving.md 1.5 (SignatureDef.defaults); v2-protocol.md 3.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { errorOf, exchange, jsonOf } from '../../e2e/support/raw-http.js';
import { startServer, type ServalProcess } from '../../e2e/support/serval-process.js';
import { goldenFolder } from '../golden-folder.js';

const X = { name: 'x', datatype: 'FP32', shape: [1, 2], data: [1, 2] };

async function served(t: TestContext, saved: string): Promise<ServalProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'serval-optional-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, x] of [
    ['defaults', ''],
    ['needed', 'optional: true'],
  ] as const) {
    mkdirSync(join(folder, name, '1'), { recursive: true });
    cpSync(join(saved, '1'), join(folder, name, '1', 'model.savedmodel'), { recursive: true });
    const config = `
      platform: "tensorflow_savedmodel"
      input { name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] ${x} }
      input { name: "scale" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
      input { name: "name" data_type: TYPE_STRING dims: [ 1 ] optional: true }`;
    writeFileSync(join(folder, name, 'config.pbtxt'), config);
  }
  const server = await startServer([folder]);
  t.after(() => server.stop());
  return server;
}

it('uses the defaults of a signature for omitted optional inputs', async (t) => {
  const goldens = goldenFolder('tensorflow');
  if (goldens === undefined) {
    t.skip('no goldens of TensorFlow');
    return;
  }
  const server = await served(t, join(goldens, 'models', 'signature_defaults'));
  const infer = async (...inputs: readonly object[]): Promise<unknown> => {
    const body = JSON.stringify({ inputs });
    const answer = await exchange(server.httpPort, 'POST', '/v2/models/defaults/infer', body);
    const { outputs = [] } = jsonOf(answer) as { outputs?: { name: string; data: unknown }[] };
    if (answer.status !== 200) return errorOf(answer);
    return Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
  };
  const scale = { name: 'scale', datatype: 'FP32', shape: [1], data: [3] };
  const name = { name: 'name', datatype: 'BYTES', shape: [1], data: ['me'] };
  assert.deepEqual(await infer(X), { name: ['nobody!'], y: [2.5, 5] });
  assert.deepEqual(await infer(scale, X), { name: ['nobody!'], y: [3, 6] });
  assert.deepEqual(await infer(X, name), { name: ['me!'], y: [2.5, 5] });
  assert.equal(await infer(scale, name), "input 'x' is missing");
  assert.match(
    server.stderr,
    /input 'x': the configuration says optional: true, but the SavedModel's signature has no default/,
  );
});
