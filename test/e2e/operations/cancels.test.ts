// Thousands of waiting requests that are cancelled at once, over HTTP and gRPC: the server keeps
// answering, the queue is empty, the model is free for the next one, every request is counted once.
// Source: v2-protocol.md 4.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ClientUnaryCall } from '@grpc/grpc-js';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, metric, putDelayModel, v2Body, v2Values } from '../support/operating.js';
import { SteadyLoad, until } from '../support/polling.js';
import { RawConnection, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const WAITING = 2000;
/** Longer than sending all of them takes. */
const DELAY_MS = 1200;
const MODEL = 'model="delaying"';
const GRPC_CANCELLED = 1;
const types = messageTypes();

describe('2,000 waiting requests that are cancelled at once', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const repository = folders.repository('cancels', ['half_plus_three']);
    putDelayModel(repository, 'delaying', DELAY_MS);
    server = await startServer([
      '--model-repository',
      repository,
      '--queue-requests-max',
      String(2 * WAITING),
    ]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const pending = () => metric(server, 'nv_inference_pending_request_count', MODEL);
  const cancelled = () =>
    metric(server, 'nv_inference_request_failure', MODEL, 'reason="CANCELED"');
  const succeeded = () => metric(server, 'nv_inference_request_success', MODEL);

  /**
   * `cancel` ends them all while another client uses another model; then one more request is
   * answered.
   */
  const checked = async (cancel: () => Promise<void>): Promise<void> => {
    const beforeCount = (await cancelled()) + (await succeeded());
    await until(
      'all of them wait',
      async () => {
        const count = (await pending()) + (await succeeded()) + (await cancelled()) - beforeCount;
        // One is running.
        return count >= WAITING - 1;
      },
      () => server.stderr,
    );
    assert.ok((await pending()) > WAITING / 2, 'most wait');
    const load = new SteadyLoad(
      server.httpPort,
      '/v1/models/half_plus_three:predict',
      '{"instances":[1.0]}',
    );
    await load.more(1);
    await cancel();
    await until('nothing waits', async () => (await pending()) === 0);
    const beganMs = performance.now();
    assert.deepEqual(v2Values(await infer(server, 'delaying', v2Body('x', [7]))), [7]);
    // The request that ran when the others were cancelled may have to end first.
    assert.ok(performance.now() - beganMs < 2 * DELAY_MS + 1000, 'it waited for cancelled ones');
    await load.more(1);
    await load.stop();
    assert.deepEqual(load.failures, []);
    await until(
      'each is counted once',
      async () => (await cancelled()) + (await succeeded()) - beforeCount === WAITING + 1,
    );
    assert.ok((await cancelled()) >= WAITING / 2);
  };

  it('HTTP connections that are destroyed', async () => {
    const request = requestBytes('POST', '/v2/models/delaying/infer', v2Body('x', [1]));
    const connections = await Promise.all(
      Array.from({ length: WAITING }, () => RawConnection.open(server.httpPort)),
    );
    await Promise.all(connections.map((connection) => connection.write(request)));
    await checked(async () => {
      for (const connection of connections) connection.close();
    });
  });

  it('gRPC calls that are cancelled', async (context) => {
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    const message = encode(types, 'inference.ModelInferRequest', {
      model_name: 'delaying',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [1] } }],
    });
    const calls: ClientUnaryCall[] = [];
    const outcomes = Array.from({ length: WAITING }, () =>
      client.unary('/inference.GRPCInferenceService/ModelInfer', message, {}, (call) =>
        calls.push(call),
      ),
    );
    await checked(async () => {
      for (const call of calls) call.cancel();
      const codes = (await Promise.all(outcomes)).map(({ code }) => code);
      assert.ok(codes.filter((code) => code === GRPC_CANCELLED).length > WAITING / 2);
      assert.deepEqual(
        codes.filter((code) => code !== GRPC_CANCELLED && code !== 0),
        [],
      );
    });
  });

  it('gRPC deadlines that pass while they wait', async (context) => {
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    const rejected = () =>
      metric(server, 'nv_inference_request_failure', MODEL, 'reason="REJECTED"');
    const beforeCount = (await rejected()) + (await cancelled()) + (await succeeded());
    const message = encode(types, 'inference.ModelInferRequest', {
      model_name: 'delaying',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [1] } }],
    });
    const deadline = Date.now() + DELAY_MS / 3;
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () =>
        client.unary('/inference.GRPCInferenceService/ModelInfer', message, { deadline }),
      ),
    );
    assert.ok(
      outcomes.every(({ code }) => code === 4),
      outcomes.map(({ code }) => code).join(),
    );
    await until('nothing waits', async () => (await pending()) === 0);
    await until(
      'each is counted once',
      async () =>
        (await rejected()) + (await cancelled()) + (await succeeded()) - beforeCount === 50,
    );
  });
});
