// grpc.health.v1 over a real socket. Source: the published gRPC health checking protocol.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { healthService } from '../../../../ts/protocols/grpc/health.js';
import type { RegistrySnapshot } from '../../../../ts/model/snapshot.js';
import { GrpcServer } from '../grpc-server.js';
import { RawClient, decode, encode, messageTypes, type RawStream } from '../raw-client.js';
import { model, registry, version } from '../snapshots.js';

const types = messageTypes();
const SERVICE = '/grpc.health.v1.Health/';
const ready = registry([model('m', [version('1')])]);

// A registry that the test changes.
async function started() {
  const listeners = new Set<() => void>();
  const state: { snapshot: RegistrySnapshot } = { snapshot: ready };
  const service = healthService({
    snapshot: () => state.snapshot,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    services: ['inference.GRPCInferenceService'],
  });
  const listener = new GrpcServer([service]);
  const client = new RawClient(await listener.start());
  const change = (snapshot: RegistrySnapshot): void => {
    state.snapshot = snapshot;
    for (const told of [...listeners]) told();
  };
  return { listener, client, change, listeners };
}

const request = (service: string) =>
  encode(types, 'grpc.health.v1.HealthCheckRequest', { service });
const statusOf = (message: Buffer) =>
  (decode(types, 'grpc.health.v1.HealthCheckResponse', message) as { status: string }).status;

describe('gRPC health', () => {
  let server: Awaited<ReturnType<typeof started>>;
  before(async () => {
    server = await started();
  });
  after(async () => {
    server.client.close();
    await server.listener.drain(5);
  });

  const check = async (service: string): Promise<string | number> => {
    const { code, message } = await server.client.unary(`${SERVICE}Check`, request(service));
    return message === undefined ? code : statusOf(message);
  };

  const watch = (service: string): RawStream => {
    const stream = server.client.stream(`${SERVICE}Watch`);
    stream.call.write(request(service));
    stream.call.end();
    return stream;
  };

  it('checks the server, its services and its models', async () => {
    const names = ['', 'inference.GRPCInferenceService', 'm', 'nope', 'toString'];
    const all = async () => Promise.all(names.map(check));
    assert.deepEqual(await all(), ['SERVING', 'SERVING', 'SERVING', 5, 5]);
    server.change(registry([model('m', [version('1')]), model('nope', [version('1', 'LOADING')])]));
    assert.deepEqual(await all(), ['NOT_SERVING', 'NOT_SERVING', 'SERVING', 'NOT_SERVING', 5]);
    server.change({ ...ready, draining: true });
    assert.deepEqual(await all(), ['NOT_SERVING', 'NOT_SERVING', 'NOT_SERVING', 5, 5]);
    server.change(ready);
  });

  it('says what a broken or unknown check was', async () => {
    const broken = await server.client.unary(`${SERVICE}Check`, Buffer.from('0a05', 'hex'));
    assert.deepEqual(
      [broken.code, broken.details],
      [3, 'HealthCheckRequest: byte 1: field 1: expected 5 bytes, but only 0 remain'],
    );
    const unknown = await server.client.unary(`${SERVICE}Check`, request('nope'));
    assert.equal(unknown.details, "health: 'nope' is neither a service nor a model of this server");
  });

  it('watches: the state at once, each change once, and no more after a cancel', async () => {
    const stream = watch('');
    assert.equal(statusOf(await stream.reply(0)), 'SERVING');
    server.change({ ...ready, epoch: 2 });
    server.change({ ...ready, ready: false });
    assert.equal(statusOf(await stream.reply(1)), 'NOT_SERVING');
    server.change(ready);
    assert.equal(statusOf(await stream.reply(2)), 'SERVING');
    assert.equal(stream.count, 3);
    assert.equal(server.listeners.size, 1);
    stream.call.cancel();
    assert.equal((await stream.ended).code, 1);
    while (server.listeners.size > 0) await check('');
  });

  it('watches what is not known yet', async () => {
    const stream = watch('later');
    assert.equal(statusOf(await stream.reply(0)), 'SERVICE_UNKNOWN');
    server.change(registry([model('later', [version('1', 'LOADING')])]));
    assert.equal(statusOf(await stream.reply(1)), 'NOT_SERVING');
    server.change(registry([model('later', [version('1')])]));
    assert.equal(statusOf(await stream.reply(2)), 'SERVING');
    server.change(ready);
    assert.equal(statusOf(await stream.reply(3)), 'SERVICE_UNKNOWN');
    stream.call.cancel();
  });

  it('refuses a Watch of no, two or broken requests', async () => {
    const none = server.client.stream(`${SERVICE}Watch`);
    none.call.end();
    const noneEnded = await none.ended;
    assert.deepEqual(
      [noneEnded.code, noneEnded.details],
      [3, 'Watch takes one HealthCheckRequest, got none'],
    );
    const two = server.client.stream(`${SERVICE}Watch`);
    two.call.write(request(''));
    two.call.write(request(''));
    assert.equal((await two.ended).details, 'Watch takes one HealthCheckRequest, got a second');
    const broken = server.client.stream(`${SERVICE}Watch`);
    broken.call.write(Buffer.from('0a05', 'hex'));
    assert.equal((await broken.ended).code, 3);
  });

  it('ends a Watch with NOT_SERVING and OK when the server drains', async () => {
    const { client, listener, listeners } = server;
    const stream = client.stream(`${SERVICE}Watch`);
    stream.call.write(request(''));
    assert.equal(statusOf(await stream.reply(0)), 'SERVING');
    const drained = listener.drain(60);
    assert.equal(statusOf(await stream.reply(1)), 'NOT_SERVING');
    assert.equal((await stream.ended).code, 0);
    assert.deepEqual(await drained, { requests: 0, models: {} });
    assert.equal(listeners.size, 0);
  });
});
