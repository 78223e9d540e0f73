// "Ready" on one transport means that infer works on every other, from the first response on: while
// a server starts, and while models are loaded.
import assert from 'node:assert/strict';
import { after, describe, it, type TestContext } from 'node:test';
import { RawClient, decode, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { freePort } from '../support/free-port.js';
import { ModelFolders, slowModel } from '../support/model-folders.js';
import { until } from '../support/polling.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { ServalProcess, startServer } from '../support/serval-process.js';

const SERVICE = '/inference.GRPCInferenceService';
const ONE = { name: 'input', datatype: 'FP32', shape: [1] };
const BODY = JSON.stringify({ inputs: [{ ...ONE, data: [7] }] });
const STARTS = 4;
const MODELS = 12;
const types = messageTypes();

interface Entry {
  readonly name: string;
  readonly state: string;
}

/** Checks on one transport whether a model is ready. */
type Ask = (model: string) => Promise<boolean>;

class Ports {
  readonly client: RawClient;

  constructor(
    readonly http: number,
    grpc: number,
    context: TestContext,
  ) {
    this.client = new RawClient(grpc);
    context.after(() => this.client.close());
  }

  readonly indexSays: Ask = async (model) => {
    const index = await exchange(this.http, 'POST', '/v2/repository/index', '');
    if (index.status !== 200) return false;
    return (jsonOf(index) as readonly Entry[]).some(
      (one) => one.name === model && one.state === 'READY',
    );
  };

  readonly grpcSays: Ask = async (model) => {
    const request = encode(types, 'inference.ModelReadyRequest', { name: model });
    const { code, message } = await this.client.unary(`${SERVICE}/ModelReady`, request);
    assert.equal(code, 0, 'ModelReady of a model that is not there yet is no error');
    return (
      decode(types, 'inference.ModelReadyResponse', message ?? Buffer.alloc(0)) as {
        ready: boolean;
      }
    ).ready;
  };

  readonly httpSays: Ask = async (model) =>
    (await exchange(this.http, 'GET', `/v2/models/${model}/ready`)).status === 200;

  readonly v1Says: Ask = async (model) => {
    const status = await exchange(this.http, 'GET', `/v1/models/${model}`);
    return status.body.toString('utf8').includes('AVAILABLE');
  };

  /**
   * Sends requests to the model on several connections, which use different threads, and over gRPC.
   */
  async infers(model: string, who: string): Promise<void> {
    const request = encode(types, 'inference.ModelInferRequest', {
      model_name: model,
      inputs: [{ ...ONE, contents: { fp32_contents: [7] } }],
    });
    const rest = Array.from(
      { length: 4 },
      async () => (await exchange(this.http, 'POST', `/v2/models/${model}/infer`, BODY)).status,
    );
    const [{ code }, ...statuses] = await Promise.all([
      this.client.unary(`${SERVICE}/ModelInfer`, request),
      ...rest,
    ]);
    assert.deepEqual([code, ...statuses], [0, 200, 200, 200, 200], `${who} says ${model} is ready`);
  }
}

describe('ready', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  it('is true while a server starts', async (context) => {
    const models = folders.repository('starts', []);
    for (let i = 0; i < 3; i += 1) folders.add(models, `m${i}`, slowModel(8, 1));
    for (let i = 0; i < STARTS; i += 1) {
      const [http, grpc] = [await freePort(), await freePort()];
      const server = new ServalProcess([
        'serve',
        models,
        '--host',
        '127.0.0.1',
        '--http-port',
        String(http),
        '--grpc-port',
        String(grpc),
        '--http-threads',
        '2',
      ]);
      context.after(() => server.stop());
      await until('it listens', () => exchange(http, 'GET', '/v2/health/live').catch(() => false));
      const ports = new Ports(http, grpc, context);
      await until(
        'm0 is ready',
        () => ports.indexSays('m0'),
        () => server.stderr,
      );
      await ports.infers('m0', `the index of start ${i}`);
      await server.stop();
    }
  });

  it('is true while models are loaded, whoever is asked', async (context) => {
    const models = folders.repository('loads', []);
    for (let i = 0; i < MODELS; i += 1) folders.add(models, `m${i}`, slowModel(8, 1));
    const server = await startServer([
      models,
      '--model-control-mode',
      'explicit',
      '--http-threads',
      '2',
    ]);
    context.after(() => server.stop());
    const ports = new Ports(server.httpPort, server.grpcPort, context);
    const asks = Object.entries({
      index: ports.indexSays,
      gRPC: ports.grpcSays,
      HTTP: ports.httpSays,
      V1: ports.v1Says,
    });
    for (let i = 0; i < MODELS; i += 1) {
      const model = `m${i}`;
      const [who, ask] = asks[i % asks.length] ?? ['', ports.httpSays];
      const load = exchange(server.httpPort, 'POST', `/v2/repository/models/${model}/load`, '');
      await until(
        `${who}: ${model}`,
        () => ask(model),
        () => server.stderr,
      );
      await ports.infers(model, who);
      assert.equal((await load).status, 200);
      for (const [, other] of asks) assert.ok(await other(model), 'a load that was answered');
      const path = `/v2/repository/models/${model}/unload`;
      assert.equal((await exchange(server.httpPort, 'POST', path, '')).status, 200);
      for (const [, other] of asks) assert.equal(await other(model), false);
    }
  });
});
