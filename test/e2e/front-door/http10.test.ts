// Requests that are right and that HTTP libraries refuse or hold up: HTTP/1.0, as proxies and
// health checks send it, first lines in pieces, Expect in any case; and how long an idle connection
// stays. Source: RFC 9110 10.1.1, RFC 9112 3, 9.3; nginx's proxy_pass, HAProxy's httpchk, ab.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { RawConnection, jsonOf, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const PREDICT = '/v1/models/half_plus_three:predict';
const ROWS = '{"instances":[1.0,2.0,5.0]}';
const PREDICTIONS = { predictions: [3.5, 4, 5.5] };
const IDLE_SECONDS = 2;

function post10(headers: readonly string[]): string {
  const lines = [`POST ${PREDICT} HTTP/1.0`, `Content-Length: ${ROWS.length}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n${ROWS}`;
}

overListeners('the front door', (flags, kind) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const models = folders.repository('http10', ['half_plus_three']);
    const idle = ['--http-idle-seconds', String(IDLE_SECONDS)];
    server = await startServer([models, ...idle, ...flags]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const opened = (): Promise<RawConnection> => RawConnection.open(server.httpPort);

  // uWebSockets.js does none of this (docs/reference/protocols/v2-rest.md).
  if (kind === 'native') {
    it('answers HTTP/1.0 and ends the connection', async () => {
      const health = await opened();
      await health.write('GET /v2/health/ready HTTP/1.0\r\n\r\n');
      assert.match(await health.rest(), /^HTTP\/1\.[01] 200 /);
      for (const headers of [[], ['Host: test', 'Connection: close']]) {
        const connection = await opened();
        await connection.write(post10(headers));
        const response = await connection.response();
        assert.deepEqual([response.status, jsonOf(response)], [200, PREDICTIONS]);
        assert.equal(await connection.rest(), '');
      }
    });

    it('keeps an HTTP/1.0 connection whose client asks for it', async () => {
      const connection = await opened();
      for (let i = 0; i < 3; i += 1) {
        await connection.write(post10(['Connection: Keep-Alive', 'Host: test']));
        const response = await connection.response();
        assert.deepEqual([response.status, jsonOf(response)], [200, PREDICTIONS]);
        assert.match(String(response.headers.get('connection')), /^keep-alive$/i);
      }
      connection.close();
    });

    it('refuses a Transfer-Encoding in an HTTP/1.0 request', async () => {
      const connection = await opened();
      const head = `POST ${PREDICT} HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n`;
      await connection.write(`${head}1b\r\n${ROWS}\r\n0\r\n\r\n`);
      assert.match(await connection.rest(), /^HTTP\/1\.[01] 400 /);
    });

    it('takes the first request of a connection cut anywhere, and byte by byte', async () => {
      const bytes = requestBytes('POST', PREDICT, ROWS);
      for (let cut = 1; cut < bytes.length; cut += 1) {
        const connection = await opened();
        await connection.writePieces([bytes.subarray(0, cut), bytes.subarray(cut)]);
        const response = await connection.response();
        assert.deepEqual([response.status, jsonOf(response)], [200, PREDICTIONS], `cut at ${cut}`);
        connection.close();
      }
      const connection = await opened();
      await connection.writePieces([...bytes].map((byte) => Uint8Array.of(byte)));
      assert.deepEqual(jsonOf(await connection.response()), PREDICTIONS);
      connection.close();
    });

    for (const expect of ['100-continue', '100-Continue', '100-CONTINUE']) {
      it(`sends 100 Continue to who writes ${expect}`, async () => {
        const connection = await opened();
        const bytes = requestBytes('POST', PREDICT, ROWS, [`Expect: ${expect}`]);
        const body = bytes.length - ROWS.length;
        await connection.write(bytes.subarray(0, body));
        assert.equal((await connection.response()).status, 100);
        await connection.write(bytes.subarray(body));
        assert.deepEqual(jsonOf(await connection.response()), PREDICTIONS);
        connection.close();
      });
    }
  } else {
    it('refuses HTTP/1.0', async () => {
      const connection = await opened();
      await connection.write(post10(['Host: test']));
      assert.match(await connection.rest(), /^HTTP\/1\.1 505 /);
    });
  }

  it('ends a connection whose client lists close among its options', async () => {
    const connection = await opened();
    const head = 'GET /v2/health/live HTTP/1.1\r\nHost: test\r\nConnection: keep-alive, close';
    await connection.write(`${head}\r\n\r\n`);
    assert.equal((await connection.response()).status, 200);
    assert.equal(await connection.rest(), '');
  });

  it('closes connections that send nothing', async () => {
    const connection = await opened();
    const begun = performance.now();
    assert.equal(await connection.rest(), '');
    assert.ok(performance.now() - begun >= (IDLE_SECONDS - 1) * 1000);
  });

  // uWebSockets.js has a limit of 10 s for what is between requests and for pauses of a body.
  it('waits for a body that pauses, and closes what is idle after its answer', {
    skip: kind === 'uws' && 'uWebSockets.js has limits of its own',
  }, async () => {
    const connection = await opened();
    const bytes = requestBytes('POST', PREDICT, ROWS);
    await connection.write(bytes.subarray(0, bytes.length - 5));
    await sleep(2.5 * IDLE_SECONDS * 1000);
    await connection.write(bytes.subarray(bytes.length - 5));
    assert.deepEqual(jsonOf(await connection.response()), PREDICTIONS);
    assert.equal(await connection.rest(), '');
  });
});
