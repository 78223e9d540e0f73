// The separate metrics port over real sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../ts/base/errors.js';
import { createEngine, type Engine } from '../../ts/engine/engine.js';
import {
  startMetricsServer,
  type MetricsServer,
} from '../../ts/server/observe/metrics/metrics-server.js';

const report = (error: unknown): never => assert.fail(String(error));

describe('metrics server', () => {
  let engine: Engine;
  let server: MetricsServer;
  let text: () => Promise<string | Uint8Array> = () => Promise.resolve('');
  before(async () => {
    engine = await createEngine({ intraOpThreads: 1 });
    server = await start(0);
  });
  after(async () => {
    await server?.close();
    engine?.close();
  });
  const start = (port: number): Promise<MetricsServer> =>
    startMetricsServer({ host: '127.0.0.1', port, text: () => text(), link: engine.link, report });

  const ask = (path: string, method = 'GET', body?: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { method, ...(body ? { body } : {}) });

  it('answers with the text of now, as text or bytes, whatever the query', async () => {
    let count = 0;
    text = () => {
      count += 1;
      return Promise.resolve(count % 2 === 0 ? Buffer.from(`µ ${count}\n`) : `µ ${count}\n`);
    };
    for (const [path, expected] of [
      ['/metrics', 'µ 1\n'],
      ['/metrics?a=b', 'µ 2\n'],
    ] as const) {
      const response = await ask(path);
      assert.equal(response.status, 200);
      assert.equal(
        response.headers.get('content-type'),
        'text/plain; version=0.0.4; charset=utf-8',
      );
      assert.equal(await response.text(), expected);
    }
  });

  it('has no other path and no other method', async () => {
    text = () => assert.fail('was asked');
    for (const path of ['/', '/metrics/', '/v2', '/v2/health/ready']) {
      const response = await ask(path);
      assert.deepEqual(
        [response.status, await response.json()],
        [404, { error: `no such endpoint: GET ${path}` }],
      );
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await ask('/metrics', method, method === 'POST' ? 'body' : undefined);
      assert.deepEqual(
        [response.status, response.headers.get('allow'), await response.json()],
        [405, 'GET', { error: `method ${method} is not allowed here, expected GET` }],
      );
    }
    assert.equal((await ask('/metrics', 'HEAD')).status, 405);
  });

  it('answers 500 when the text cannot be made, and goes on', async () => {
    text = () => Promise.reject(new ServalError(ErrorCode.Internal, 'out of memory'));
    const response = await ask('/metrics');
    assert.deepEqual([response.status, await response.json()], [500, { error: 'out of memory' }]);
    text = () => Promise.resolve('a 1\n');
    assert.equal(await (await ask('/metrics')).text(), 'a 1\n');
  });

  it('says why it cannot listen', async (context) => {
    const { port } = server;
    await server.close();
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    context.after(() => other.close());
    await assert.rejects(start(port), (error: unknown) => {
      assert.ok(error instanceof ServalError);
      assert.deepEqual(
        [error.code, error.message],
        [
          ErrorCode.InvalidArgument,
          `metrics cannot listen on 127.0.0.1 port ${port}: the port is in use by another ` +
            'process; choose another, or 0 for a free one',
        ],
      );
      return true;
    });
    server = await start(0);
  });

  it('closes with connections open', async () => {
    const { port } = server;
    const response = await ask('/metrics');
    await response.text(); // fetch keeps the connection
    await server.close();
    await assert.rejects(fetch(`http://127.0.0.1:${port}/metrics`));
    server = await start(0);
  });
});
