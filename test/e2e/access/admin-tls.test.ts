// The admin address over TLS: HTTP's certificate, client certificates if they are required,
// reloaded files; and that plain text is refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent, request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { after, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { Certificates, type Pair } from '../support/certificates.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import {
  DEADLINE_MS,
  runServal,
  startServer,
  type ServalProcess,
} from '../support/serval-process.js';

const METRICS = '/metrics';

overListeners('the admin address over TLS', (flags, kind) => {
  const folders = new ModelFolders();
  const certificates = new Certificates();
  const { authority, client, stranger } = certificates;
  const models = folders.repository('admin-tls', ['half_plus_three']);
  const servers: ServalProcess[] = [];
  const files = (pair: Pair): readonly string[] => [
    ...['--tls-cert', pair.certificate, '--tls-key', pair.key],
  ];
  const start = async (...args: readonly string[]): Promise<ServalProcess> => {
    const server = await startServer([models, '--admin-address', '127.0.0.1:0', ...args]);
    servers.push(server);
    return server;
  };
  const portOf = (server: ServalProcess): number => server.ready?.admin?.port ?? 0;
  const asked = (
    port: number,
    options: RequestOptions = {},
  ): Promise<{ status: number; name: string }> =>
    new Promise((resolve, reject) => {
      const sent = request(
        {
          ...{ host: '127.0.0.1', port, path: METRICS, timeout: DEADLINE_MS, agent: false },
          ca: readFileSync(authority.certificate),
          ...options,
        },
        (response) => {
          const { CN = '' } = (response.socket as TLSSocket).getPeerCertificate().subject;
          response.resume();
          response.on('end', () => resolve({ status: response.statusCode ?? 0, name: String(CN) }));
        },
      );
      sent.on('error', reject);
      sent.end();
    });
  const showing = ({ certificate, key }: Pair): RequestOptions => ({
    cert: readFileSync(certificate),
    key: readFileSync(key),
  });
  after(async () => {
    await Promise.all(servers.map((one) => one.stop()));
    folders.remove();
    certificates.remove();
  });

  it('has the certificate of HTTP, also a new one, and answers nothing in plain text', async () => {
    const served = certificates.copied(certificates.server, 'served');
    const server = await start(...flags, ...files(served));
    const port = portOf(server);
    assert.deepEqual(await asked(port), { status: 200, name: 'server' });
    assert.equal((await asked(server.httpPort)).status, 403);
    await assert.rejects(exchange(port, 'GET', METRICS));
    certificates.replace(served, certificates.signed('second', authority));
    await until('the new certificate', async () => (await asked(port)).name === 'second');
  });

  it('asks for certificates of clients where HTTP does', async () => {
    const mutual = [...files(certificates.server), '--tls-client-ca', authority.certificate];
    // HTTP itself stays in plain text, on either listener.
    const server = await start(...flags, ...mutual, '--http-use-ssl=false');
    const port = portOf(server);
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/live')).status, 200);
    assert.equal((await asked(port, showing(client))).status, 200);
    await assert.rejects(asked(port));
    await assert.rejects(asked(port, showing(stranger)));
    await assert.rejects(exchange(port, 'GET', METRICS));
  });

  it('keeps connections of clients with certificates while its own changes', async () => {
    const served = certificates.copied(certificates.server, 'live');
    const mutual = [...files(served), '--tls-client-ca', authority.certificate];
    const server = await start(...flags, ...mutual, '--http-use-ssl=false');
    const port = portOf(server);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    after(() => agent.destroy());
    const held = { ...showing(client), agent };
    assert.deepEqual(await asked(port, held), { status: 200, name: 'server' });
    certificates.replace(served, certificates.signed('third', authority));
    const newName = async (): Promise<string> => (await asked(port, showing(client))).name;
    await until('the new certificate', async () => (await newName()) === 'third');
    assert.deepEqual(await asked(port, held), { status: 200, name: 'server' });
  });

  it('is in plain text if it is configured so, and on a unix socket', async () => {
    const plain = await start(...flags, ...files(certificates.server), '--admin-use-ssl=false');
    assert.equal((await exchange(portOf(plain), 'GET', METRICS)).status, 200);
    const path = join(folders.folder, `${kind}.sock`);
    const address = ['--admin-address', `unix:${path}`];
    const unix = await start(...flags, ...files(certificates.server), ...address);
    assert.equal(unix.ready?.admin?.host, `unix:${path}`);
  });

  it('does not start with an invalid certificate', async () => {
    const { key } = certificates.server;
    const bad = [
      '--tls-cert',
      key,
      '--tls-key',
      key,
      '--http-use-ssl=false',
      '--grpc-use-ssl=false',
    ];
    const ports = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
    const admin = ['--admin-address', '127.0.0.1:0'];
    const ended = await runServal(['serve', models, ...ports, ...admin, ...flags, ...bad]);
    assert.notEqual(ended.code, 0);
    assert.match(ended.stderr, /cannot use TLS: certificate file .*server\.key/);
  });
});
