// The load client's connections: TLS with verified certificates, ALPN, unix sockets; and its time
// limit. Against Node's own servers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { NativeClient } from '../../../../ts/cli/bench/load/native-client.js';
import type { LoadSchedule, ServerTarget } from '../../../../ts/cli/bench/load/sender.js';
import { Certificates } from '../../../e2e/support/certificates.js';
import { listening, requestOf, runSchedule, targetOf } from './loads.js';

const BODY = Buffer.alloc(300_000, 'abc');

const echoing: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => response.end(Buffer.concat(chunks)));
};

async function run(target: ServerTarget, schedule: Partial<LoadSchedule>) {
  const client = new NativeClient(target);
  try {
    return await runSchedule(client, requestOf(BODY), schedule);
  } finally {
    await client.close();
  }
}

describe('the load client over TLS', () => {
  const certificates = new Certificates();
  after(() => rmSync(certificates.folder, { recursive: true, force: true }));
  const ca = readFileSync(certificates.authority.certificate, 'utf8');
  const files = (pair = certificates.server) => ({
    cert: readFileSync(pair.certificate),
    key: readFileSync(pair.key),
  });
  const secured = async (
    kind: 'http' | 'http2',
    more: Partial<ServerTarget> = {},
    own = files(),
  ) => {
    const server: Server =
      kind === 'http'
        ? createTlsServer(own, echoing)
        : createSecureServer(own).on('request', echoing as never);
    server.on('tlsClientError', () => undefined);
    const port = await listening(server);
    const target = targetOf(kind, port, { tlsCa: ca, host: 'localhost', ...more });
    try {
      return await run(target, { concurrency: 3, requests: 20 });
    } finally {
      server.close();
    }
  };

  test('sends HTTP/1.1 and HTTP/2, each agreed on by ALPN', async () => {
    for (const kind of ['http', 'http2'] as const) {
      const { answered, failed, responseBytes } = await secured(kind);
      assert.deepEqual([answered, failed, responseBytes], [20, 0, BODY.length], kind);
    }
  });

  test('accepts the certificate of an address', async () => {
    assert.equal((await secured('http', { host: '127.0.0.1' })).answered, 20);
  });

  test('refuses certificates of strangers and of other hosts', async () => {
    const unknown = /no connection: TLS: .*(certificate|verif)/;
    await assert.rejects(secured('http', {}, files(certificates.stranger)), unknown);
    await assert.rejects(secured('http', { tlsCa: '' }), unknown);
    const elsewhere = secured('http', { host: 'ip6-localhost' }).catch((error: unknown) => {
      throw new Error(String(error));
    });
    await assert.rejects(elsewhere, /no connection/);
    await assert.rejects(
      secured('http', { tlsCa: 'no PEM' }),
      /root certificates in PEM are expected/,
    );
  });

  test('says that a server does not speak HTTP/2', async () => {
    const server = createTlsServer(files(), echoing);
    const target = targetOf('http2', await listening(server), { tlsCa: ca, host: 'localhost' });
    await assert.rejects(
      run(target, { requests: 1 }),
      /no connection: .*(h2|no application protocol)/,
    );
    server.close();
  });
});

test('sends to a unix socket', async () => {
  const certificates = new Certificates();
  const unixPath = join(certificates.folder, 'socket');
  const server = createServer(echoing).listen(unixPath);
  await once(server, 'listening');
  const { answered } = await run(targetOf('http', 0, { unixPath }), {
    concurrency: 2,
    requests: 10,
  });
  assert.equal(answered, 10);
  server.close();
  rmSync(certificates.folder, { recursive: true, force: true });
});

for (const kind of ['http', 'http2'] as const) {
  test(`fails requests that take longer than the limit, over ${kind}`, async () => {
    let count = 0;
    const handler: RequestListener = (request, response) => {
      count += 1;
      if (count === 2) request.resume();
      else echoing(request, response);
    };
    const { createServer: createHttp2 } = await import('node:http2');
    const server: Server =
      kind === 'http' ? createServer(handler) : createHttp2().on('request', handler as never);
    const target = targetOf(kind, await listening(server));
    const { answered, failed, firstError, failures } = await run(target, {
      requests: 4,
      timeoutMs: 300,
    });
    assert.deepEqual([answered, failed, failures.late], [3, 1, 1]);
    assert.equal(firstError, 'no response within 0.3 s');
    server.close();
  });
}
