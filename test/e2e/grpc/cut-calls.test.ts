// The server's report on gRPC calls that it had to cut after --drain-seconds: how many, and which
// models they waited for. The same over both listeners, whatever answered them.
import assert from 'node:assert/strict';
import { type TestContext, after, before, describe, it } from 'node:test';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders, endlessModel } from '../support/model-folders.js';
import { until } from '../support/polling.js';
import { RawConnection, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const INFER = '/inference.GRPCInferenceService/ModelInfer';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';
const LIVE = '/inference.GRPCInferenceService/ServerLive';
const PREDICT = '/tensorflow.serving.PredictionService/Predict';
const SESSION_RUN = '/tensorflow.serving.SessionService/SessionRun';
const WATCH = '/grpc.health.v1.Health/Watch';
/** No run of that many iterations ever ends. */
const FOREVER = Number.MAX_SAFE_INTEGER;
const UNAVAILABLE = 14;
const SHUTTING_DOWN = 'the server is shutting down';
const JSON_BODY = `{"inputs":[{"name":"trips","datatype":"INT64","shape":[1],"data":[${FOREVER}]}]}`;
const types = messageTypes();

const infer = (model: string): Buffer =>
  encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    inputs: [
      { name: 'trips', datatype: 'INT64', shape: [1], contents: { int64_contents: [FOREVER] } },
    ],
  });
const tensor = {
  dtype: 9,
  tensor_shape: { dim: [{ size: 1 }] },
  int64_val: [FOREVER],
};
const predict = (model: string): Buffer =>
  encode(types, 'tensorflow.serving.PredictRequest', {
    model_spec: { name: model },
    inputs: [{ key: 'trips', value: tensor }],
  });
const sessionRun = (model: string): Buffer =>
  encode(types, 'tensorflow.serving.SessionRunRequest', {
    model_spec: { name: model },
    feed: [{ name: 'trips:0', tensor }],
    fetch: ['y:0'],
  });

describe('calls that are cut', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('cut', []);
    for (const name of ['one', 'two', 'three', 'four']) folders.add(models, name, endlessModel());
  });
  after(() => folders.remove());

  const started = async (context: TestContext): Promise<[ServalProcess, RawClient]> => {
    const server = await startServer([models, '--drain-seconds', '1']);
    context.after(() => server.stop());
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    return [server, client];
  };
  /** Settles when all that `client` sent before has begun, because it is on one connection. */
  const begun = async (client: RawClient): Promise<void> => {
    assert.equal((await client.unary(LIVE, Buffer.alloc(0))).code, 0);
  };
  /** Settles when `count` requests of a model wait for the running one. */
  const waiting = (server: ServalProcess, model: string, count: number): Promise<boolean> => {
    const line = `^nv_inference_pending_request_count\\{model="${model}".*\\} ${count}$`;
    return until(`${count} requests wait for ${model}`, async () => {
      const response = await fetch(`http://127.0.0.1:${server.httpPort}/metrics`);
      return new RegExp(line, 'm').test(await response.text());
    });
  };
  /** The last log line of a server that is terminated. */
  const lastWords = async (server: ServalProcess): Promise<unknown> => {
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended, { code: 1, signal: null });
    const line = server.stderr.split('\n').find((one) => one.includes('stopped before'));
    assert.ok(line !== undefined, server.stderr);
    const {
      httpRequests,
      grpcRequests,
      models: names,
    } = JSON.parse(line) as {
      readonly httpRequests: number;
      readonly grpcRequests: number;
      readonly models: string;
    };
    return { httpRequests, grpcRequests, models: names.split(', ').sort() };
  };

  it('covers calls of the engine and of the shell, streams and HTTP', async (context) => {
    const [server, client] = await started(context);
    const calls = [
      client.unary(INFER, infer('one')),
      client.unary(INFER, infer('one')),
      client.unary(PREDICT, predict('two')),
      client.unary(SESSION_RUN, sessionRun('three')),
    ];
    const stream = client.stream(STREAM);
    stream.call.write(infer('four'));
    await begun(client);
    const http = await RawConnection.open(server.httpPort);
    await http.write(requestBytes('POST', '/v2/models/one/infer', JSON_BODY));
    await waiting(server, 'one', 2);
    assert.deepEqual(await lastWords(server), {
      httpRequests: 1,
      grpcRequests: 5,
      models: ['four: 1', 'one: 3', 'three: 1', 'two: 1'],
    });
    for (const { code } of await Promise.all(calls)) assert.notEqual(code, 0);
    assert.notEqual((await stream.ended).code, 0);
  });

  it('covers calls that only the shell handles', async (context) => {
    const [server, client] = await started(context);
    const call = client.unary(SESSION_RUN, sessionRun('three'));
    await begun(client);
    assert.deepEqual(await lastWords(server), {
      httpRequests: 0,
      grpcRequests: 1,
      models: ['three: 1'],
    });
    assert.notEqual((await call).code, 0);
  });

  it('with many requests in one stream, which is one call', async (context) => {
    const [server, client] = await started(context);
    const stream = client.stream(STREAM);
    for (let i = 0; i < 3; i += 1) stream.call.write(infer('four'));
    stream.call.end();
    await begun(client);
    await waiting(server, 'four', 2);
    assert.deepEqual(await lastWords(server), {
      httpRequests: 0,
      grpcRequests: 1,
      models: ['four: 3'],
    });
    assert.notEqual((await stream.ended).code, 0);
  });

  it('but not streams that wait for their clients', async (context) => {
    const [server, client] = await started(context);
    const stream = client.stream(STREAM);
    const watch = client.stream(WATCH);
    watch.call.write(encode(types, 'grpc.health.v1.HealthCheckRequest', {}));
    await watch.reply(0);
    await begun(client);
    server.signal('SIGTERM');
    const { code, details } = await stream.ended;
    assert.deepEqual([code, details], [UNAVAILABLE, SHUTTING_DOWN]);
    await watch.reply(1); // not serving
    assert.equal((await watch.ended).code, 0);
    assert.deepEqual(await server.ended, { code: 0, signal: null });
    assert.doesNotMatch(server.stderr, /stopped before/);
  });
});
