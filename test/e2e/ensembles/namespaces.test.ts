// Models of equal names in two repositories (--model-namespacing): an ensemble runs the models of
// its repository; requests must name one. Source: Triton's core, model_repository_manager.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { index, infer, plusModel, put, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { errorOf, exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const folders = new ModelFolders();
after(() => folders.remove());

function putChain(repository: string, name: string): void {
  put(join(repository, name, '1', '.keep'), '');
  put(
    join(repository, name, 'config.pbtxt'),
    `platform: "ensemble"
input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling { step { model_name: "plus" model_version: -1
  input_map { key: "x" value: "IN" } output_map { key: "y" value: "OUT" } } }`,
  );
}

describe('models of equal names', () => {
  let server: ServalProcess;
  let one: string;
  let two: string;
  before(async () => {
    [one, two] = [folders.repository('one', []), folders.repository('two', [])];
    put(join(one, 'plus', '1', 'model.onnx'), plusModel(1));
    put(join(two, 'plus', '1', 'model.onnx'), plusModel(10));
    putChain(one, 'chain_one');
    putChain(two, 'chain_two');
    const repositories = [one, two].flatMap((path) => ['--model-repository', path]);
    server = await startServer([
      ...repositories,
      ...['--model-namespacing=true', '--model-control-mode=poll', '--settle-ms=0'],
      '--repository-poll-secs=1',
    ]);
  });
  after(() => server.stop());

  const sum = async (model: string, input = 'IN'): Promise<readonly number[]> =>
    v2Values(await infer(server, encodeURIComponent(model), v2Body(input, [1])));

  it('serve ensembles of their own repository as steps', async () => {
    assert.deepEqual(await sum('chain_one'), [2]);
    assert.deepEqual(await sum('chain_two'), [11]);
  });

  it('are refused by the plain name, and served by the whole one', async () => {
    const answer = await infer(server, 'plus', v2Body('x', [1]));
    assert.equal(answer.status, 503);
    assert.equal(
      errorOf(answer),
      "model 'plus' has no ready version: the name is that of several models: expected one of " +
        'one::plus, two::plus',
    );
    assert.deepEqual(await sum('one::plus', 'x'), [2]);
    assert.deepEqual(await sum('two::plus', 'x'), [11]);
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/ready')).status, 200);
  });

  it('are listed by their whole names', async () => {
    const names = (await index(server)).map(({ name, state }) => `${name} ${state}`);
    assert.deepEqual(names.sort(), [
      ...['chain_one READY', 'chain_two READY', 'one::plus READY'],
      ...['plus UNAVAILABLE', 'two::plus READY'],
    ]);
  });

  it('have the plain name again when only one is left', async () => {
    for (const name of ['chain_one', 'plus']) rmSync(join(one, name), { recursive: true });
    await until('the only plus', async () => {
      const answer = await infer(server, 'plus', v2Body('x', [1]));
      return answer.status === 200 ? true : undefined;
    });
    // The ensemble is bound again to the step's new name.
    await until('the chain', async () => {
      const answer = await infer(server, 'chain_two', v2Body('IN', [1]));
      return answer.status === 200 ? true : undefined;
    });
    assert.deepEqual(await sum('chain_two'), [11]);
  });
});
