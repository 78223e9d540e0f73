// One budget for the memory of requests and responses: clients that do not read, large bodies and
// bodies that decompress to much use at most --memory-limit, others are served meanwhile, and the
// memory is returned after the burst. Scaled down (test/attacks has them at full size): a limit of
// 96 MiB, responses of 10 MB.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  GRPC_INFER,
  GRPC_STREAM,
  framed,
  framedCall,
  inferMessage,
  wideModel,
} from '../../attacks/grpc-frames.js';
import { RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { metric } from '../support/operating.js';
import { SteadyLoad, until } from '../support/polling.js';
import { RawConnection, errorOf, exchange, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const MIB = 1 << 20;
const LIMIT = 96 * MIB;
/** The memory of V8, grpc-js and the allocator that is not counted in the budget. */
const BESIDE = 64 * MIB;
/** With less left of the limit, clients that read nothing are cut at the idle limit. */
const SHORT = 64 * MIB;
const BACK_MS = 10_000;
/** The factor of its earlier own memory that it may hold after an attack. */
const BACK_PART = 1.3;
const BACK_BESIDE = 24 * MIB;
/** Free slots keep two pages each. */
const KEPT = 8 * MIB;
const ELEMENTS = 2_600_000;
/** 60 KB, which is served while there is any memory. */
const NARROW_ELEMENTS = 15_000;
const CLIENTS = 40;
const TENSOR = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1,2],"data":[1.5,-2]}]}';
const WIDE = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[0.5]}]}';
const INFER = '/v2/models/identity_fp32/infer';
const RESOURCE_EXHAUSTED = '8';

describe('the memory budget', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let load: SteadyLoad;
  let beforeBytes = 0;
  const status = (key: string): number => {
    const text = readFileSync(`/proc/${server.ready?.pid ?? 0}/status`, 'utf8');
    return Number(new RegExp(`^${key}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
  };
  const used = (): Promise<number> => metric(server, 'serval_memory_used_bytes');

  before(async () => {
    const repository = folders.repository('budget', ['half_plus_three', 'identity_fp32']);
    folders.add(repository, 'wide', wideModel('wide', ELEMENTS));
    folders.add(repository, 'narrow', wideModel('narrow', NARROW_ELEMENTS));
    const limits = ['--memory-limit', '96M', '--http-idle-seconds', '10'];
    server = await startServer([repository, ...limits, '--log-level', 'warn']);
    // Warm-up: each path has run once and allocated the memory that it keeps.
    for (let i = 0; i < 3; i += 1) {
      const response = await exchange(server.httpPort, 'POST', '/v2/models/wide/infer', WIDE);
      assert.equal(response.status, 200);
      assert.equal((await exchange(server.httpPort, 'POST', INFER, TENSOR)).status, 200);
    }
    const session = connect(`http://127.0.0.1:${server.grpcPort}`);
    const one = framedCall(session, wideMessage());
    one.stream.resume();
    assert.equal(await one.status, '0');
    session.destroy();
    await exchange(server.httpPort, 'GET', '/metrics');
    // Its own memory, because its pages of code vary with the functions that are called.
    beforeBytes = status('RssAnon');
    load = new SteadyLoad(
      server.httpPort,
      '/v1/models/half_plus_three:predict',
      '{"instances":[1.0,2.0,5.0]}',
    );
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const wideMessage = (model = 'wide'): Buffer => framed(inferMessage(model, 'x', [0.5], [1]));

  /**
   * Memory that the previous test freed is returned within half-second steps, and does not belong
   * to this attack.
   */
  const goneBack = (): Promise<unknown> =>
    until(
      'memory to go back',
      () => status('RssAnon') <= beforeBytes * BACK_PART + BACK_BESIDE,
      () => `${beforeBytes} before, ${status('RssAnon')} now`,
      BACK_MS,
    );

  /** Runs an attack and checks the peak of resident memory, and the memory afterwards. */
  const holds = async (attack: () => Promise<() => void>): Promise<void> => {
    await goneBack();
    writeFileSync(`/proc/${server.ready?.pid ?? 0}/clear_refs`, '5');
    const end = await attack();
    await load.more(20);
    const grown = status('VmHWM') - status('RssFile') - beforeBytes;
    assert.ok(grown <= LIMIT * 1.2 + BESIDE, `${grown} bytes more were resident`);
    assert.deepEqual(load.failures, []);
    end();
    await goneBack();
    await until('all to be given back', async () => (await used()) < KEPT);
  };

  it('holds when clients do not read their answers', () =>
    holds(async () => {
      const clients = await Promise.all(
        Array.from({ length: CLIENTS }, () => RawConnection.open(server.httpPort)),
      );
      for (const client of clients) {
        client.socket.pause();
        await client.write(requestBytes('POST', '/v2/models/wide/infer', WIDE));
      }
      await until('answers to fill the budget', async () => (await used()) > LIMIT / 2);
      await until(
        'something to be refused',
        async () => (await metric(server, 'serval_memory_refused_total')) > 0,
      );
      return () => {
        for (const client of clients) client.close();
      };
    }));

  it('closes clients that do not read their responses while memory is short', async () => {
    const clients: RawConnection[] = [];
    for (let i = 0; i < 6; i += 1) {
      const client = await RawConnection.open(server.httpPort);
      client.socket.pause();
      await client.write(requestBytes('POST', '/v2/models/wide/infer', WIDE));
      clients.push(client);
    }
    await until('their answers to be held', async () => (await used()) > LIMIT - SHORT + 16 * MIB);
    await until('some to be closed', async () => (await used()) < LIMIT - SHORT + 8 * MIB);
    for (const client of clients) client.close();
    await until('all to be given back', async () => (await used()) < KEPT);
  });

  it('holds when a gRPC connection has its window closed', () =>
    holds(async () => {
      const session = connect(`http://127.0.0.1:${server.grpcPort}`, {
        settings: { initialWindowSize: 0 },
      });
      const calls = Array.from({ length: CLIENTS }, () => framedCall(session, wideMessage()));
      await until('answers to fill the budget', async () => (await used()) > LIMIT / 2);
      const refused = await Promise.race(calls.map((one) => one.status));
      assert.equal(refused, RESOURCE_EXHAUSTED);
      const other = new RawClient(server.grpcPort);
      const answer = await other.unary(
        GRPC_INFER,
        inferMessage('identity_fp32', 'input', [1, 2], [1, 2]),
      );
      assert.equal(answer.code, 0, answer.details);
      other.close();
      return () => session.destroy();
    }));

  for (const [what, model, streams, connections] of [
    ['large replies', 'wide', 10, 1],
    ['small replies', 'narrow', 20, 4],
  ] as const) {
    it(`holds when gRPC streams leave ${what} unread`, () =>
      holds(async () => {
        const sessions = Array.from({ length: connections }, () =>
          connect(`http://127.0.0.1:${server.grpcPort}`, { settings: { initialWindowSize: 0 } }),
        );
        const requests = Buffer.concat(Array.from({ length: 64 }, () => wideMessage(model)));
        for (const session of sessions) {
          session.on('error', () => undefined);
          for (let i = 0; i < streams; i += 1) framedCall(session, requests, { path: GRPC_STREAM });
        }
        await until('replies to fill the budget', async () => (await used()) > LIMIT / 2);
        await until(
          'all to be answered',
          async () => (await metric(server, 'nv_inference_pending_request_count')) === 0,
        );
        return () => {
          for (const session of sessions) session.destroy();
        };
      }));
  }

  it('closes a gRPC connection that reads nothing while memory is short', async () => {
    const session = connect(`http://127.0.0.1:${server.grpcPort}`, {
      settings: { initialWindowSize: 0 },
    });
    session.on('error', () => undefined);
    for (let i = 0; i < 8; i += 1) framedCall(session, wideMessage());
    await until('answers to be short of memory', async () => (await used()) > LIMIT / 2);
    await until('it to be closed', () => session.closed);
    await until('all to be given back', async () => (await used()) < KEPT);
  });

  it('holds when gRPC messages decompress to more than the budget', () =>
    holds(async () => {
      const bomb = framed(gzipSync(Buffer.alloc(300 * MIB), { level: 1 }), true);
      const session = connect(`http://127.0.0.1:${server.grpcPort}`);
      const calls = Array.from({ length: 4 }, () =>
        framedCall(session, bomb, { headers: { 'grpc-encoding': 'gzip' } }),
      );
      for (const { status: ended } of calls) assert.equal(await ended, RESOURCE_EXHAUSTED);
      return () => session.destroy();
    }));

  it('refuses a gRPC message that has no room when its length is known', async () => {
    const session = connect(`http://127.0.0.1:${server.grpcPort}`);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(120 * MIB, 1);
    const one = framedCall(session, Buffer.concat([head, Buffer.alloc(1000)]));
    assert.equal(await one.status, RESOURCE_EXHAUSTED);
    session.destroy();
  });

  it('admits large bodies as far as it goes, and refuses others before they come', () =>
    holds(async () => {
      const clients = await Promise.all(
        Array.from({ length: 10 }, () => RawConnection.open(server.httpPort)),
      );
      const head = requestBytes('POST', INFER, '', [`Content-Length: ${20 * MIB}`]);
      for (const client of clients) {
        await client.write(head);
        await exchange(server.httpPort, 'GET', '/v2/health/live');
      }
      const isRefused = (client: RawConnection): boolean => client.unread > 0;
      await until('six to be refused', () => clients.filter(isRefused).length >= 6);
      const refused = clients.filter(isRefused);
      assert.equal(refused.length, 6);
      for (const client of refused) {
        const response = await client.response();
        assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '1']);
        assert.match(errorOf(response), /^no memory for a request body of 20971520 bytes: /);
      }
      const rest = Buffer.from(TENSOR + ' '.repeat(20 * MIB - TENSOR.length));
      const admitted = clients.filter((client) => !refused.includes(client));
      for (const client of admitted) await client.write(rest);
      for (const client of admitted) assert.equal((await client.response()).status, 200);
      return () => {
        for (const client of clients) client.close();
      };
    }));

  it('holds when REST bodies decompress to more than the budget', () =>
    holds(async () => {
      const bomb = gzipSync(Buffer.from(TENSOR + ' '.repeat(90 * MIB)), { level: 1 });
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          exchange(server.httpPort, 'POST', INFER, bomb, ['Content-Encoding: gzip']),
        ),
      );
      for (const answer of answers) assert.equal(answer.status, 503, answer.body.toString());
      return () => undefined;
    }));
});
