// Files of a load request: a killed server leaves them, the next one removes them, and keeps those
// that other servers use.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { control, infer, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = 'half_plus_three';
const folders = new ModelFolders();
const temp = join(folders.folder, 'temp');
mkdirSync(temp);
const servers: ServalProcess[] = [];
after(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  folders.remove();
});

async function started(): Promise<ServalProcess> {
  const repository = folders.repository('uploads', [MODEL]);
  const explicit = ['--model-control-mode', 'explicit', '--load-model', MODEL];
  const server = await startServer([repository, ...explicit], { TMPDIR: temp });
  servers.push(server);
  return server;
}

/** Loads the model from files in the request. */
async function upload(server: ServalProcess): Promise<void> {
  const [version = ''] = readdirSync(join(folders.models, MODEL));
  const bytes = readFileSync(join(folders.models, MODEL, version, 'model.onnx'));
  const parameters = { config: '{}', 'file:1/model.onnx': bytes.toString('base64') };
  await control(server, `/v2/repository/models/${MODEL}/load`, JSON.stringify({ parameters }));
}

it('are removed by the next server, and only those of servers that are gone', async () => {
  const [killed, living] = [await started(), await started()];
  await upload(killed);
  await upload(living);
  assert.equal(readdirSync(temp).length, 2);
  killed.signal('SIGKILL');
  await killed.ended;
  assert.equal(readdirSync(temp).length, 2);
  const next = await started();
  await until('they are removed', () => readdirSync(temp).length === 1 || undefined);
  assert.equal((await infer(living, MODEL, v2Body('x', [1]))).status, 200);
  await upload(next);
  for (const server of [living, next]) {
    server.signal('SIGTERM');
    await server.ended;
  }
  assert.deepEqual(readdirSync(temp), []);
});
