// The listeners' worker threads as the main thread sees them: ports, failures, acknowledged
// snapshots, control calls, drain.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { OPEN_POLICY } from '../../ts/access/policy.js';
import { ErrorCode, ServalError } from '../../ts/base/errors.js';
import type { RegistrySnapshot } from '../../ts/model/snapshot.js';
import { GRPC_CONNECTION_DEFAULTS } from '../../ts/listeners/grpc/settings.js';
import {
  ListenerPool,
  reservePort,
  type ListenerPoolOptions,
} from '../../ts/server/workers/pool.js';
import { FakeControl } from '../unit/server/admin/fake-control.js';
import { RawClient, decode, encode, messageTypes } from '../unit/protocols/raw-client.js';
import { model, registry, version } from '../unit/protocols/snapshots.js';

const HOST = '127.0.0.1';
const SERVICE = '/inference.GRPCInferenceService/';
const CHECK = '/grpc.health.v1.Health/Check';
const WATCH = '/grpc.health.v1.Health/Watch';
const SERVING = Buffer.of(8, 1);
const NOT_SERVING = Buffer.of(8, 2);
const types = messageTypes();

const snapshotOf = (epoch: number, change: Partial<RegistrySnapshot> = {}): RegistrySnapshot => ({
  ...registry([model('m', [version('1', 'AVAILABLE', { configJson: '{"name":"m"}' })])]),
  epoch,
  ready: true,
  draining: false,
  ...change,
});

interface Started {
  readonly pool: ListenerPool;
  readonly httpPort: number;
  readonly lost: string[];
}

async function startPool(
  context: TestContext,
  grpcPort = 0,
  change: Partial<ListenerPoolOptions['grpc']> = {},
): Promise<Started> {
  const httpPort = await reservePort(HOST, 0);
  const lost: string[] = [];
  const settings = {
    host: HOST,
    serverVersion: '1',
    clientShm: false,
    engine: { bodyBytesMax: 1e6, intraOpThreads: 1, memoryLimitBytes: 1e9 },
    bodyBytesMax: 1e6,
    memoryLimitBytes: 1e9,
    logLevel: 'off',
    logFormat: 'json',
    logFile: undefined,
    metricsAllowed: true,
    idleMs: 60_000,
    nativeThreads: { threads: 1 },
    reusePort: false,
    connectionsMax: 1000,
    policy: OPEN_POLICY,
  } as const;
  const pool = new ListenerPool({
    http: {
      ...settings,
      port: httpPort,
      healthBody: 'json',
      allowedHosts: [],
      console: false,
      inflatedBytesMax: 1e6,
      monitoringPath: '',
      listener: 'native',
    },
    workers: 1,
    grpc: {
      ...settings,
      port: grpcPort,
      sharesPort: false,
      transport: {
        ...GRPC_CONNECTION_DEFAULTS,
        receiveBytesMax: 1e6,
        sendBytesMax: 1e6,
        unixPath: '',
        threads: 1,
        compressionLevel: 0,
      },
      ...change,
    },
    publicText: (text) => text,
    hidesReasons: false,
    lost: (thread, error) => lost.push(`${thread}: ${error.message}`),
  });
  context.after(() => pool.stop());
  return { pool, httpPort, lost };
}

function clientOf(context: TestContext, port: number | undefined): RawClient {
  assert.ok(port);
  const client = new RawClient(port);
  context.after(() => client.close());
  return client;
}

const isReady = async (httpPort: number): Promise<boolean> =>
  (await fetch(`http://${HOST}:${httpPort}/v2/models/m/ready`)).ok;

describe('listener threads', () => {
  it('hand every snapshot to HTTP and gRPC before they acknowledge it', async (context) => {
    const { pool, httpPort, lost } = await startPool(context);
    const client = clientOf(context, await pool.listening());
    const service = Buffer.from('\n\u0001m');
    assert.equal((await client.unary(CHECK, service)).code, 5);
    assert.equal(await isReady(httpPort), false);
    await pool.publish(snapshotOf(1));
    assert.deepEqual((await client.unary(CHECK, service)).message, SERVING);
    assert.equal(await isReady(httpPort), true);
    await pool.publish(snapshotOf(2, { models: {} }));
    assert.equal((await client.unary(CHECK, service)).code, 5);
    assert.equal(await isReady(httpPort), false);
    assert.deepEqual(lost, []);
  });

  it('tell a health watch what changes, and that the server drains', async (context) => {
    const { pool } = await startPool(context);
    const client = clientOf(context, await pool.listening());
    const watch = client.stream(WATCH);
    watch.call.write(Buffer.alloc(0));
    assert.deepEqual(await watch.reply(0), NOT_SERVING);
    await pool.publish(snapshotOf(1));
    assert.deepEqual(await watch.reply(1), SERVING);
    await pool.publish(snapshotOf(2, { draining: true }));
    assert.deepEqual(await watch.reply(2), NOT_SERVING);
    await pool.drain(5);
    assert.equal((await watch.ended).code, 0);
  });

  it('run control calls on this thread, answered when every listener has caught up', async (context) => {
    const { pool, httpPort } = await startPool(context);
    const client = clientOf(context, await pool.listening());
    const load = encode(types, 'inference.RepositoryModelLoadRequest', { model_name: 'm' });
    const early = await client.unary(`${SERVICE}RepositoryModelLoad`, load);
    assert.deepEqual(
      [early.code, early.details],
      [14, 'the server is starting: it does not accept control requests yet'],
    );
    const control = new FakeControl();
    let caughtUp = false;
    control.gate = () => {
      void pool.publish(snapshotOf(1)).then(() => {
        caughtUp = true;
      });
      return Promise.resolve();
    };
    pool.attachControl(control);
    assert.equal((await client.unary(`${SERVICE}RepositoryModelLoad`, load)).code, 0);
    assert.ok(caughtUp);
    assert.equal(await isReady(httpPort), true);
    assert.deepEqual(control.calls, [['load', 'm', undefined, []]]);
    control.error = new ServalError(ErrorCode.ModelNotFound, 'no m here');
    const failed = await client.unary(`${SERVICE}RepositoryModelLoad`, load);
    assert.deepEqual([failed.code, failed.details], [5, 'no m here']);
  });

  it('answer a configuration in its protobuf form', async (context) => {
    const { pool } = await startPool(context);
    const client = clientOf(context, await pool.listening());
    await pool.publish(snapshotOf(1));
    const ask = encode(types, 'inference.ModelConfigRequest', { name: 'm' });
    const { message } = await client.unary(`${SERVICE}ModelConfig`, ask);
    const { config } = decode(
      types,
      'inference.ModelConfigResponse',
      message ?? Buffer.alloc(0),
    ) as { config: { name: string } };
    assert.equal(config.name, 'm');
    const none = encode(types, 'inference.ModelConfigRequest', { name: 'nope' });
    assert.equal((await client.unary(`${SERVICE}ModelConfig`, none)).code, 5);
  });

  it('say why they cannot listen, and end', async (context) => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, HOST, () => resolve());
    });
    context.after(() => {
      other.close();
    });
    const { port } = other.address() as { port: number };
    const { pool, httpPort, lost } = await startPool(context, port);
    await assert.rejects(pool.listening(), {
      name: 'ServalError',
      code: ErrorCode.InvalidArgument,
      message:
        `gRPC cannot listen on ${HOST} port ${port}: the port is in use by another process; ` +
        'choose another, or 0 for a free one',
    });
    await pool.stop();
    assert.equal(await reservePort(HOST, httpPort), httpPort);
    await pool.publish(snapshotOf(1)); // no thread is left to acknowledge it
    assert.deepEqual(lost, []);
  });

  it("say that an address is not this machine's", async (context) => {
    const { pool, lost } = await startPool(context, 0, { host: '192.0.2.1' });
    await assert.rejects(pool.listening(), {
      message:
        'gRPC cannot listen on 192.0.2.1 port 0: the address does not belong to this ' + 'machine',
    });
    assert.deepEqual(lost, []);
  });
});
