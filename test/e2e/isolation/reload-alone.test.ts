// A model of a group whose files went while its process was down: it alone stays down, with the
// reason, and comes back when they do.
import assert from 'node:assert/strict';
import { appendFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { infer, metric, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer } from '../support/serval-process.js';
import { isolated, linesOf, oneProcess } from './support.js';

const [GONE, STAYS] = ['half_plus_three', 'versions'] as const;
const AGAIN = 'an isolated model was not loaded again';

describe('a model that its process cannot load again', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('alone', [GONE, STAYS]);
    for (const name of [GONE, STAYS]) {
      appendFileSync(join(models, name, 'config.pbtxt'), `\n${isolated('together')}`);
    }
  });
  after(() => folders.remove());

  it('is down alone, says why, and is tried again', async (context) => {
    const server = await startServer([models, '--log-format', 'json']);
    context.after(() => server.stop());
    const ask = (model: string) => infer(server, model, v2Body('x', [1, 2]));
    const [was, other] = [v2Values(await ask(GONE)), v2Values(await ask(STAYS))];
    const file = join(models, GONE, '123', 'model.onnx');
    renameSync(file, `${file}.away`);
    process.kill(await oneProcess(server), 'SIGKILL');
    const line = await until(
      'its line in the log',
      () => linesOf(server, AGAIN).at(0),
      () => server.stderr,
    );
    assert.equal(line['model'], GONE);
    assert.match(String(line['reason']), /^it could not be reloaded: /);
    await until(
      'the other one to be loaded',
      async () => (await metric(server, 'serval_isolated_up')) === 1,
    );
    const pid = await oneProcess(server);
    // While it is tried again and again, the other one has the process to itself.
    await until('three tries', async () => {
      assert.deepEqual(v2Values(await ask(STAYS)), other);
      return linesOf(server, AGAIN).length >= 3;
    });
    const refused = await ask(GONE);
    assert.equal(refused.status, 503);
    assert.match(refused.body.toString(), /'half_plus_three': it could not be reloaded: /);
    const ready = (model: string) => exchange(server.httpPort, 'GET', `/v2/models/${model}/ready`);
    assert.equal((await ready(GONE)).status, 400);
    assert.equal((await ready(STAYS)).status, 200);
    renameSync(`${file}.away`, file);
    await until('it to be back', async () => (await ask(GONE)).status === 200);
    assert.deepEqual(v2Values(await ask(GONE)), was);
    assert.equal(await oneProcess(server), pid);
    assert.equal(linesOf(server, 'the process of models ended').length, 1);
  });
});
