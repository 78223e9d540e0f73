// Isolated TensorFlow models, and reloads beside a version that serves: a load that ends its
// process is a load error, and the previous version continues in its own process. Test time only.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { SteadyLoad, until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer } from '../support/serval-process.js';
import { HALF, model, post, started } from '../tensorflow/support.js';
import { isThere, oneProcess, processesOf } from './support.js';

const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,2]}]}';
const NAME = 'half_plus_three';
const PATH = `/v2/models/${NAME}/infer`;
/** The number of versions whose load should be interrupted. */
const TRIES = 8;

describe('a TensorFlow model that is isolated', () => {
  it('answers as in the server, and again after a death', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const args = ['--model_name=half', `--model_base_path=${path}`];
    const [plain, server] = await Promise.all([
      started(t, ...args),
      started(t, ...args, '--isolate=half'),
    ]);
    const calls: readonly (readonly [string, string])[] = [
      ['predict', '{"instances": [1.0, 2.0, 5.0]}'],
      ['predict', '{"signature_name": "serving_default", "inputs": {"x": [1.0, -2.0]}}'],
      ['regress', '{"signature_name": "regress_x_to_y", "examples": [{"x": 1.0}, {"x": [2.0]}]}'],
      ['predict', '{"instances": ["text"]}'],
    ];
    let pid = 0;
    for (let life = 0; life < 2; life += 1) {
      pid = await oneProcess(server, pid);
      await until(
        'an answer',
        async () =>
          (await post(server, '/v1/models/half:predict', '{"instances": [1.0]}')).status === 200,
      );
      for (const [verb, body] of calls) {
        const here = await post(plain, `/v1/models/half:${verb}`, body);
        const there = await post(server, `/v1/models/half:${verb}`, body);
        assert.equal(there.body.toString(), here.body.toString());
        assert.equal(there.status, here.status);
      }
      process.kill(pid, 'SIGKILL');
    }
  });
});

describe('a new version of an isolated model', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('loads', [NAME]);
  });
  after(() => folders.remove());

  it('is refused if its load ends its process, and the version before it continues', async (context) => {
    const server = await startServer([
      ...[models, '--isolate', NAME],
      ...['--model-control-mode=explicit', '--load-model=*'],
    ]);
    context.after(() => server.stop());
    const load = () =>
      exchange(server.httpPort, 'POST', `/v2/repository/models/${NAME}/load`, '{}');
    let steady = new SteadyLoad(server.httpPort, PATH, BODY);
    let first = await oneProcess(server);
    // A load may be faster than the interruption: then the version serves, and another one is
    // tried.
    let refused = '';
    for (let version = 200; refused === '' && version < 200 + TRIES; version += 1) {
      cpSync(join(models, NAME, '123'), join(models, NAME, `${version}`), { recursive: true });
      const loaded = load();
      const second = await until('a second process', () =>
        processesOf(server).find((pid) => pid !== first),
      );
      process.kill(second, 'SIGKILL');
      const answer = await loaded;
      if (answer.status !== 200) {
        refused = answer.body.toString();
        break;
      }
      await steady.stop();
      await until('the process of the new version', async () => {
        const pids = processesOf(server);
        first = pids[0] ?? 0;
        return (
          pids.length === 1 && (await exchange(server.httpPort, 'POST', PATH, BODY)).status === 200
        );
      });
      steady = new SteadyLoad(server.httpPort, PATH, BODY);
    }
    assert.match(refused, /its process ended by signal 9 \(SIGKILL\) while it loaded/);
    await steady.more(20);
    await until('one process', () => processesOf(server).length === 1);
    assert.deepEqual(processesOf(server), [first]);
    assert.ok(isThere(first));
    // After an undisturbed load, the new version serves in a new process, and the old one's is
    // gone.
    assert.equal((await load()).status, 200);
    await until('the old process to be gone', () => !isThere(first));
    await oneProcess(server, first);
    await steady.more(20);
    await steady.stop();
    assert.deepEqual(steady.failures, []);
  });
});
