// Models of TensorFlow Serving's models.config, isolated by name: the file has no field for it and
// stays valid for TensorFlow Serving.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { join } from 'node:path';
import { ModelFolders } from '../support/model-folders.js';
import { metric, put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer } from '../support/serval-process.js';
import { isolated, oneProcess } from './support.js';

const NAME = 'half_plus_three';
const ROWS = '{"instances":[1.0,2.0]}';

describe('a model of a models.config', () => {
  const folders = new ModelFolders();
  let models = '';
  let file = '';
  before(() => {
    models = folders.repository('listed', [NAME]);
    file = join(folders.folder, 'models.config');
    const entry = (name: string): string =>
      `config { name: "${name}" base_path: "${join(models, NAME)}" model_platform: "onnx" }`;
    put(file, `model_config_list { ${entry('one')} ${entry('two')} }`);
  });
  after(() => folders.remove());

  it('is isolated by its name, which the other is not', async (context) => {
    const server = await startServer([`--model_config_file=${file}`, '--isolate=two']);
    context.after(() => server.stop());
    const answer = async (model: string): Promise<number> => {
      const response = await exchange(server.httpPort, 'POST', `/v1/models/${model}:predict`, ROWS);
      if (response.status === 200) {
        assert.deepEqual(JSON.parse(response.body.toString()), { predictions: [3.5, 4] });
      }
      return response.status;
    };
    for (const model of ['one', 'two']) assert.equal(await answer(model), 200);
    const pid = await oneProcess(server);
    assert.equal(await metric(server, 'serval_isolated_pid', 'models="two"'), pid);
    process.kill(pid, 'SIGKILL');
    await until('its death to be counted', async () => {
      assert.equal(await answer('one'), 200);
      return (await metric(server, 'serval_isolated_deaths_total', 'model="two"')) === 1;
    });
    await until('it to answer again', async () => (await answer('two')) === 200);
  });

  it('has no config.pbtxt: one in its base path counts for nothing, and is warned of', async (context) => {
    put(join(models, NAME, 'config.pbtxt'), isolated());
    const server = await startServer([`--model_config_file=${file}`, '--isolate=two']);
    context.after(() => server.stop());
    const pid = await oneProcess(server);
    assert.equal(await metric(server, 'serval_isolated_pid', 'models="one"'), 0);
    assert.equal(await metric(server, 'serval_isolated_pid', 'models="two"'), pid);
    assert.match(server.stderr, /config\.pbtxt is ignored: models of a base path/);
  });
});
