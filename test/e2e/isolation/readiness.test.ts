// The server's reports and behaviour while the process of isolated models is down or stopped: the
// model is not ready (and the server is), requests end at their deadline, and the process's output
// is in the server's log. Test time only.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import { RawClient, decode, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { SteadyLoad, until } from '../support/polling.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { addWaiting, isolated, linesOf, oneProcess } from './support.js';

const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,2]}]}';
const READY = '/inference.GRPCInferenceService/ModelReady';
const types = messageTypes();
const PATH = '/v2/models/quick/infer';

describe('while the process of an isolated model', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('readiness', ['half_plus_three']);
    addWaiting(models, 'quick', 1, isolated());
  });
  after(() => folders.remove());

  const started = async (context: TestContext, ...args: string[]): Promise<ServalProcess> => {
    const server = await startServer([models, ...args]);
    context.after(() => server.stop());
    return server;
  };
  const quick = async (server: ServalProcess): Promise<number> =>
    (await exchange(server.httpPort, 'POST', PATH, BODY)).status;
  const get = (server: ServalProcess, path: string) => exchange(server.httpPort, 'GET', path);

  it('is down, the model is not ready, and is again after', async (context) => {
    const server = await started(context);
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    const grpcReady = async (): Promise<boolean> => {
      const request = encode(types, 'inference.ModelReadyRequest', { name: 'quick' });
      const { code, message } = await client.unary(READY, request);
      assert.equal(code, 0);
      const bytes = message ?? Buffer.alloc(0);
      return (decode(types, 'inference.ModelReadyResponse', bytes) as { ready: boolean }).ready;
    };
    const restReady = () => get(server, '/v2/models/quick/ready');
    const ready = async (): Promise<boolean> =>
      (await restReady()).status === 200 && (await grpcReady());
    let pid = 0;
    // The last pause is 1.6 s.
    for (let deaths = 0; deaths < 5; deaths += 1) {
      pid = await oneProcess(server, pid);
      await until('the model to be ready', ready, () => server.stderr);
      assert.equal(await quick(server), 200);
      process.kill(pid, 'SIGKILL');
    }
    const reason = await until('the model not to be ready', async () => {
      const answer = await restReady();
      if (answer.status === 200 || (await grpcReady())) return false;
      return answer.status === 400 && (jsonOf(answer) as { error: string }).error;
    });
    assert.match(
      reason,
      /its process ended by signal 9 \(SIGKILL\); it (starts again in|is being)/,
    );
    // This affects the version, not the other models.
    assert.equal((await get(server, '/v2/health/ready')).status, 200);
    assert.equal((await get(server, '/v2/models/half_plus_three/ready')).status, 200);
    assert.match((await get(server, '/v1/models/quick')).body.toString(), /"AVAILABLE"/);
    await until('the model to be ready again', ready);
    assert.equal(await quick(server), 200);
  });

  it('stands still, requests end at their deadline and others are served', async (context) => {
    const server = await started(context, '--rest-api-timeout-in-ms=1500');
    const pid = await oneProcess(server);
    assert.equal(await quick(server), 200);
    process.kill(pid, 'SIGSTOP');
    const other = new SteadyLoad(server.httpPort, '/v2/models/half_plus_three/infer', BODY);
    let isAnswered = false;
    const stuck = exchange(server.httpPort, 'POST', PATH, BODY).finally(() => {
      isAnswered = true;
    });
    let meanwhile = 0;
    while (!isAnswered) {
      await other.more(1);
      meanwhile += 1;
    }
    assert.equal((await stuck).status, 504, (await stuck).body.toString());
    assert.ok(meanwhile > 1, `${meanwhile}`);
    process.kill(pid, 'SIGCONT');
    await until('an answer', async () => (await quick(server)) === 200);
    await other.stop();
    assert.deepEqual(other.failures, []);
    assert.equal(await oneProcess(server), pid);
    assert.deepEqual(linesOf(server, 'the process of models ended'), []);
  });

  it('writes something, it is in the log with the name of the model', async (context) => {
    const server = await started(context);
    const pid = await oneProcess(server);
    for (const fd of [1, 2]) writeFileSync(`/proc/${pid}/fd/${fd}`, `to ${fd}\nand more `);
    const says = (text: string): Promise<boolean> =>
      until(
        text,
        () => server.stderr.includes(text),
        () => server.stderr,
      );
    await says("model 'quick': to 1\n");
    await says("model 'quick': and more to 2\n");
    process.kill(pid, 'SIGKILL');
    await says("model 'quick': and more \n");
  });
});
