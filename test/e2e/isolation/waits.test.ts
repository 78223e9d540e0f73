// Requests for an isolated model whose process is down: they wait for its return within their time
// limits, and those that were in flight run once more if the model's configuration allows it.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { control, infer, metric, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { RawConnection, requestBytes, type RawResponse } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { addWaiting, isolated, isThere, linesOf, oneProcess, slotsOf } from './support.js';

const BODY = v2Body('x', [1, 2]);
const ROW = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]}';
const GRPC_INFER = '/inference.GRPCInferenceService/ModelInfer';
const DEADLINE_EXCEEDED = 4;
/** After its channel exists, a request begins at once; one that has not begun is not lost. */
const BEGIN_MS = 100;
/** Longer than any test: such a request ends with its process. */
const FOREVER_US = 600_000_000;
/** Long enough to kill its process meanwhile. */
const SLOW_US = 400_000;
const RETRY = 'parameters { key: "serval.retry" value { string_value: "true" } }\n';
const types = messageTypes();
const MESSAGE = encode(types, 'inference.ModelInferRequest', {
  model_name: 'quick',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [2], contents: { fp32_contents: [1, 2] } }],
});

describe('requests while the process of their model is down', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('waits', []);
    const queue = (size: number): string =>
      `dynamic_batching { default_queue_policy { max_queue_size: ${size} } }\n`;
    addWaiting(models, 'quick', 1, isolated('one'));
    addWaiting(models, 'few', 1, isolated('one') + queue(4));
    addWaiting(models, 'slow', SLOW_US, isolated('one'));
    addWaiting(models, 'again', SLOW_US, isolated('one') + RETRY);
    addWaiting(
      models,
      'batched',
      SLOW_US,
      `max_batch_size: 8\n${queue(64)}${isolated('one')}${RETRY}`,
    );
    addWaiting(models, 'poison', FOREVER_US, isolated('one') + RETRY);
  });
  after(() => folders.remove());

  const started = async (context: TestContext, ...args: string[]): Promise<ServalProcess> => {
    const server = await startServer([models, ...args]);
    context.after(() => server.stop());
    return server;
  };
  const killed = async (pid: number): Promise<void> => {
    process.kill(pid, 'SIGKILL');
    await until('the process to be gone', () => !isThere(pid));
  };
  /** Kills the process several times, so that it is down for 1.6 s; settles when it is. */
  const downForLong = async (server: ServalProcess): Promise<void> => {
    const serves = async () => (await infer(server, 'quick', BODY)).status === 200;
    let pid = 0;
    for (let i = 0; i < 5; i += 1) {
      pid = await oneProcess(server, pid);
      await until('the model to serve', serves);
      await killed(pid);
    }
    await until(
      'the server to notice',
      async () => (await metric(server, 'serval_isolated_up')) === 0,
    );
  };
  const waited = (server: ServalProcess, model: string): Promise<number> =>
    metric(server, 'serval_isolated_waited_total', `model="${model}"`);
  const retried = (server: ServalProcess, model: string): Promise<number> =>
    metric(server, 'serval_isolated_retried_total', `model="${model}"`);
  const textOf = (response: RawResponse): string => response.body.toString();
  /** A request that runs in the process; settles when it has arrived there. */
  const inFlight = async (server: ServalProcess, pid: number, model: string, body = BODY) => {
    const others = slotsOf(pid);
    const answer = infer(server, model, body);
    await until('a request in the process', () => slotsOf(pid) > others);
    await sleep(BEGIN_MS);
    return { answer };
  };

  it('wait for its return over REST and gRPC and are counted and logged', async (context) => {
    const server = await started(context);
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    await downForLong(server);
    const overGrpc = Array.from({ length: 5 }, () => client.unary(GRPC_INFER, MESSAGE));
    const overRest = Array.from({ length: 5 }, () => infer(server, 'quick', BODY));
    for (const one of overRest) assert.deepEqual(v2Values(await one), [1, 2]);
    for (const one of overGrpc) assert.deepEqual((await one).code, 0, (await one).details);
    const count = await waited(server, 'quick');
    assert.ok(count >= 10, `${count}`);
    assert.equal(await retried(server, 'quick'), 0);
    // Requests of downForLong() may have waited, too.
    await until('the log line', () =>
      linesOf(server, 'requests of an isolated model waited').some(
        (line) => line['model'] === 'quick' && Number(line['waited']) >= 10,
      ),
    );
  });

  it('end at a deadline that is earlier', async (context) => {
    const server = await started(context);
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    await downForLong(server);
    const deadline = Date.now() + 150;
    const outcome = await client.unary(GRPC_INFER, MESSAGE, { deadline });
    assert.equal(outcome.code, DEADLINE_EXCEEDED, outcome.details);
    assert.equal(await metric(server, 'serval_isolated_up'), 0);
    await until('the waiting request to be gone', async () => {
      const name = 'nv_inference_pending_request_count';
      return (await metric(server, name, 'model="quick"')) === 0;
    });
    assert.equal((await client.unary(GRPC_INFER, MESSAGE)).code, 0);
  });

  it('wait at most --isolate-wait-ms, and not at all with 0', async (context) => {
    const server = await started(context, '--isolate-wait-ms=300');
    await downForLong(server);
    const response = await infer(server, 'quick', BODY);
    assert.equal(response.status, 503);
    assert.match(textOf(response), /model 'quick': its process ended by signal 9 \(SIGKILL\); it/);
    const none = await started(context, '--isolate-wait-ms=0');
    await downForLong(none);
    const refused = await infer(none, 'quick', BODY);
    assert.equal(refused.status, 503);
    assert.match(textOf(refused), /its process ended by signal 9 \(SIGKILL\)/);
    assert.equal(await waited(none, 'quick'), 0);
  });

  it('leave the queue when their client leaves', async (context) => {
    const server = await started(context);
    await downForLong(server);
    const connection = await RawConnection.open(server.httpPort);
    await connection.write(requestBytes('POST', '/v2/models/quick/infer', BODY));
    const pending = (): Promise<number> =>
      metric(server, 'nv_inference_pending_request_count', 'model="quick"');
    await until('it waits', async () => (await pending()) === 1);
    connection.close();
    await until('it is gone', async () => (await pending()) === 0);
    assert.equal(await metric(server, 'serval_isolated_up'), 0);
    assert.equal(await metric(server, 'nv_inference_request_failure', 'reason="CANCELED"'), 1);
  });

  it('count in the limit of the queue', async (context) => {
    const server = await started(context);
    await downForLong(server);
    const flood = await Promise.all(Array.from({ length: 30 }, () => infer(server, 'few', BODY)));
    const answered = flood.filter(({ status }) => status === 200).length;
    const full = flood.filter((response) => textOf(response).includes('queue is full')).length;
    assert.equal(answered + full, 30, flood.map(textOf).join('\n'));
    assert.ok(full > 0 && answered >= 4, `${answered} answered, ${full} refused`);
  });

  it('are answered before a server that is terminated ends', async (context) => {
    const server = await started(context);
    await downForLong(server);
    const waiting = Array.from({ length: 8 }, () => infer(server, 'quick', BODY));
    await until('they wait', async () => (await waited(server, 'quick')) >= 8);
    server.signal('SIGTERM');
    for (const one of waiting) assert.deepEqual(v2Values(await one), [1, 2]);
    assert.deepEqual(await server.ended, { code: 0, signal: null });
  });

  it('are answered before their model is unloaded', async (context) => {
    const server = await started(context, '--model-control-mode=explicit', '--load-model=*');
    await downForLong(server);
    const waiting = Array.from({ length: 8 }, () => infer(server, 'quick', BODY));
    await until('they wait', async () => (await waited(server, 'quick')) >= 8);
    await control(server, '/v2/repository/models/quick/unload', '{}');
    for (const one of waiting) assert.deepEqual(v2Values(await one), [1, 2]);
  });

  it('fail once it is known that the model cannot be reloaded', async (context) => {
    const own = folders.repository('waits-gone', ['half_plus_three']);
    writeFileSync(join(own, 'half_plus_three', 'config.pbtxt'), isolated());
    const server = await startServer([own, '--isolate-wait-ms=60000']);
    context.after(() => server.stop());
    const pid = await oneProcess(server);
    rmSync(join(own, 'half_plus_three', '123', 'model.onnx'));
    await killed(pid);
    const response = await infer(server, 'half_plus_three', BODY);
    assert.equal(response.status, 503);
    assert.match(textOf(response), /model 'half_plus_three': it could not be reloaded: /);
    const beganMs = performance.now();
    assert.equal((await infer(server, 'half_plus_three', BODY)).status, 503);
    assert.ok(performance.now() - beganMs < 2000);
  });

  it('that were in flight run once more if the configuration allows it', async (context) => {
    const server = await started(context);
    const pid = await oneProcess(server);
    const slow = await inFlight(server, pid, 'slow');
    const again = await inFlight(server, pid, 'again');
    const batched = await inFlight(server, pid, 'batched', ROW);
    process.kill(pid, 'SIGKILL');
    const lost = await slow.answer;
    assert.equal(lost.status, 503, textOf(lost));
    assert.match(textOf(lost), /model 'slow': its process ended by signal 9 \(SIGKILL\)/);
    assert.deepEqual(v2Values(await again.answer), [1, 2]);
    assert.deepEqual(v2Values(await batched.answer), [1, 2]);
    assert.equal(await retried(server, 'slow'), 0);
    assert.equal(await retried(server, 'again'), 1);
    assert.equal(await retried(server, 'batched'), 1);
  });

  it('end with the second process that ends while they run', async (context) => {
    const server = await started(context);
    let pid = await oneProcess(server);
    const poison = await inFlight(server, pid, 'poison');
    const again = await inFlight(server, pid, 'again');
    process.kill(pid, 'SIGKILL');
    pid = await oneProcess(server, pid);
    // A second run that does not end delays that of another request by a second.
    assert.deepEqual(v2Values(await again.answer), [1, 2]);
    await until('both second runs to have begun', () => slotsOf(pid) > 1);
    process.kill(pid, 'SIGKILL');
    const response = await poison.answer;
    assert.equal(response.status, 503);
    assert.match(textOf(response), /model 'poison': its process ended by signal 9 \(SIGKILL\)/);
    pid = await oneProcess(server, pid);
    assert.equal((await infer(server, 'quick', BODY)).status, 200);
    assert.equal(await retried(server, 'poison'), 1);
    const ends = (): number => linesOf(server, 'the process of models ended').length;
    await until('both ends to be logged', () => ends() >= 2);
    assert.equal(ends(), 2);
  });
});
