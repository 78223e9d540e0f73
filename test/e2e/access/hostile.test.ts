// Attacks on access control that must fail, by kind: guessed keys, uploads, keys of shared memory,
// changes from web pages and through proxies, host names, TLS handshakes, and responses that are
// searched for bytes of the server. Over both HTTP listeners.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { digestOf } from '../../../ts/access/keys.js';
import { Certificates } from '../support/certificates.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { RawConnection, type RawResponse } from '../support/raw-http.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = 'half_plus_three';
const LOAD = `/v2/repository/models/${MODEL}/load`;
const INDEX = '/v2/repository/index';
const METADATA = `/v2/models/${MODEL}`;
const SECRET = 'TOP-SECRET-LINE';
type Headers = Readonly<Record<string, string>>;

overListeners('tries at the locks', (flags) => {
  const folders = new ModelFolders();
  const certificates = new Certificates();
  const { folder } = folders;
  const models = folders.repository('hostile', [MODEL]);
  const keys = join(folder, 'keys');
  const explicit = [
    ...['--model-repository', models, '--model-control-mode', 'explicit'],
    ...['--load-model', MODEL, ...flags],
  ];
  let open: ServalProcess;
  let locked: ServalProcess;

  /** Sends one request on a new connection, with these headers. */
  async function asked(
    server: ServalProcess,
    method: string,
    path: string,
    headers: Headers = {},
    body = '',
  ): Promise<RawResponse> {
    const connection = await RawConnection.open(server.httpPort);
    try {
      const all = {
        host: 'localhost',
        'content-length': String(Buffer.byteLength(body)),
        ...headers,
      };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
      await connection.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
      return await connection.response();
    } finally {
      connection.close();
    }
  }
  const statusOf = async (...of: Parameters<typeof asked>): Promise<number> =>
    (await asked(...of)).status;

  before(async () => {
    writeFileSync(
      keys,
      `reader sha256:${digestOf('reader')} inference\nops sha256:${digestOf('ops')} all\n`,
    );
    put(join(models, 'broken', '1', 'model.onnx'), `${SECRET}\nmore`);
    open = await startServer([...explicit, '--allow-client-shm', '--allowed-hosts', 'own.example']);
    locked = await startServer([
      ...['--model-repository', models, '--strict-readiness', 'false', ...flags],
      ...['--api-key-file', keys],
    ]);
  });
  after(async () => {
    await Promise.all([open?.stop(), locked?.stop()]);
    folders.remove();
    certificates.remove();
  });

  it('keys: no other spelling, place or mixture of them opens', async () => {
    const tries: readonly Headers[] = [
      {},
      ...[
        '',
        'Bearer',
        'Bearer ',
        'ops',
        'Basic b3Bz',
        'Bearer ops x',
        'Bearer  ',
        'Bearer OPS',
      ].map((authorization) => ({ authorization })),
      ...[`Bearer ${digestOf('ops')}`, 'Bearer\tops', 'Bearer,ops', 'Bearer "ops"'].map(
        (authorization) => ({ authorization }),
      ),
      { 'x-authorization': 'Bearer ops' },
      { 'proxy-authorization': 'Bearer ops' },
      { 'x-api-key': 'ops' },
      { cookie: 'authorization=Bearer ops' },
      { 'x-forwarded-for': '127.0.0.1', host: 'localhost' },
    ];
    for (const headers of tries) {
      for (const [method, path] of [
        ['GET', METADATA],
        ['GET', `${METADATA}?key=ops`],
        ['GET', '/V1/models/x'],
        ['GET', `//v2/models/${MODEL}`],
        ['POST', LOAD],
        ['POST', INDEX],
        ['GET', '/v2/logging'],
      ] as const) {
        const status = await statusOf(locked, method, path, headers);
        assert.ok(status === 401 || status === 403, `${method} ${path} ${JSON.stringify(headers)}`);
      }
    }
    assert.equal(await statusOf(locked, 'POST', LOAD, { authorization: 'Bearer reader' }), 403);
    assert.equal(await statusOf(locked, 'GET', METADATA, { authorization: 'Bearer ops' }), 200);
  });

  it('uploads: files stay in the version folders of their own model', async () => {
    const before = readdirSync(models).sort();
    for (const name of [
      ...['../x', '/x', '1/../../x', '1/../x', '1/', '1', '..', '.', '', '1//x', '1/./x', '-1/x'],
      ...['1/..', '1/a/../../../x', '1/x\0y', '\\x', '1\\..\\x', '99999999999999999999/x'],
    ]) {
      const config = JSON.stringify({ backend: 'onnxruntime' });
      const body = JSON.stringify({
        parameters: { config, [`file:${name}`]: Buffer.from('x').toString('base64') },
      });
      const response = await asked(open, 'POST', LOAD, {}, body);
      assert.ok(response.status >= 400, `${name}: ${response.status}`);
      assert.ok(!response.body.toString().includes(folder), response.body.toString());
    }
    assert.deepEqual(readdirSync(models).sort(), before);
    assert.deepEqual(
      readdirSync(folder).filter((one) => one === 'x'),
      [],
    );
    assert.equal(await statusOf(open, 'GET', `${METADATA}/ready`), 200, 'the old model serves');
  });

  it('shared memory: no key leads out of /dev/shm', async () => {
    for (const key of [
      ...['', '/', '//', '..', '/..', '../etc/passwd', '/../etc/passwd', '/a/b', 'a/../b', '/./a'],
      ...['/etc/passwd', '/proc/self/mem', 'a\0b', '/a\n', `/${'a'.repeat(300)}`],
    ]) {
      const body = JSON.stringify({ key, offset: 0, byte_size: 16 });
      const path = '/v2/systemsharedmemory/region/r/register';
      const response = await asked(open, 'POST', path, {}, body);
      assert.ok(response.status >= 400 && response.status < 500, `${key}: ${response.status}`);
      assert.doesNotMatch(response.body.toString(), /root:/);
    }
  });

  it('changes from web pages and through proxies are refused, reads are not', async () => {
    const host = `127.0.0.1:${open.httpPort}`;
    const foreign: readonly Headers[] = [
      ...[
        'http://evil.example',
        'null',
        'file://',

        `http://${host}.evil.example`,
      ].map((origin) => ({ host, origin })),
      ...['cross-site', 'same-site', 'CROSS-SITE', 'x'].map((site) => ({
        host,
        'sec-fetch-site': site,
      })),
      { host, 'x-forwarded-for': '203.0.113.9' },
      { host, 'x-forwarded-for': '127.0.0.1' },
      { host, forwarded: 'for=127.0.0.1' },
      { host, 'x-real-ip': '127.0.0.1' },
      { host, via: '1.1 proxy' },
    ];
    for (const headers of foreign) {
      for (const path of [LOAD, `/v2/repository/models/${MODEL}/unload`, '/v2/logging']) {
        const status = await statusOf(open, 'POST', path, headers, '{}');
        assert.equal(status, 403, `${path} ${JSON.stringify(headers)}`);
      }
    }
    assert.equal(await statusOf(open, 'GET', METADATA, { host, via: '1.1 proxy' }), 200);
    assert.equal(await statusOf(open, 'GET', `${METADATA}/ready`, { host }), 200);
  });

  it('names of hosts: a rebound page reads nothing of a server on a loopback address', async () => {
    for (const path of [METADATA, '/metrics', '/v2/models', '/', '/v2/health/ready', '/nowhere']) {
      const rebound = await asked(open, 'GET', path, { host: 'rebound.example:8000' });
      assert.equal(rebound.status, 403, path);
      const own = await asked(open, 'GET', path, { host: `localhost:${open.httpPort}` });
      assert.notEqual(own.status, 403, path);
    }
    const infer = `${METADATA}/infer`;
    assert.equal(await statusOf(open, 'POST', infer, { host: 'rebound.example' }, '{}'), 403);
    assert.equal(await statusOf(open, 'POST', INDEX, { host: 'rebound.example' }, '{}'), 403);
  });

  it('answers name no software and are not sniffed; reasons need the metadata group', async () => {
    for (const path of [
      METADATA,
      '/v2',
      '/nowhere',
      '/v1/models/none',
      '/v2/models/broken/ready',
    ]) {
      const { headers, body } = await asked(locked, 'GET', path);
      assert.equal(headers.get('uwebsockets'), undefined);
      assert.equal(headers.get('server'), undefined);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
      assert.ok(!body.toString().includes(folder) && !body.toString().includes(SECRET), path);
    }
    const ready = await asked(locked, 'GET', '/v2/models/broken/ready');
    assert.match(ready.body.toString(), /it could not be loaded; the reason is in the log/);
    const reader = { authorization: 'Bearer reader' };
    const infer = await asked(locked, 'POST', '/v2/models/broken/infer', reader, '{"inputs":[]}');
    assert.match(infer.body.toString(), /it could not be loaded; the reason is in the log/);
    const ops = { authorization: 'Bearer ops' };
    const listed = await asked(locked, 'GET', '/v1/models/broken', ops);
    assert.match(listed.body.toString(), /model file|ONNX|cannot/i);
    assert.doesNotMatch(listed.body.toString(), /error_message[^\n]*\\n/);
  });

  it('TLS: only forward-secret authenticated ciphers shake hands', async () => {
    const { server } = certificates;
    const tls = ['--tls-cert', server.certificate, '--tls-key', server.key];
    const serval = await startServer([...explicit, ...tls]);
    const cipherOf = (port: number, ciphers: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls({
          ...{ host: '127.0.0.1', port, ciphers, maxVersion: 'TLSv1.2', minVersion: 'TLSv1' },
          ca: readFileSync(certificates.authority.certificate),
          checkServerIdentity: () => undefined,
        });
        socket.on('secureConnect', () => {
          resolve(socket.getCipher().name);
          socket.destroy();
        });
        socket.on('error', () => resolve(''));
      });
    try {
      for (const weak of [
        ...['AES128-SHA', 'AES256-SHA', 'AES128-GCM-SHA256', 'AES256-GCM-SHA384'],
        ...['ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES256-SHA', 'ECDHE-RSA-AES128-SHA256'],
        ...['ECDHE-ECDSA-AES128-SHA', 'DHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-SHA384'],
      ]) {
        assert.equal(await cipherOf(serval.httpPort, `${weak}:@SECLEVEL=0`), '', weak);
      }
      const strong = await cipherOf(serval.httpPort, 'ECDHE+AESGCM');
      assert.match(strong, /^ECDHE-(?:RSA|ECDSA)-AES(?:128|256)-GCM-SHA(?:256|384)$/);
    } finally {
      await serval.stop();
    }
  });

  it('removing the last key closes everything; a broken file changes nothing', async () => {
    const file = join(folder, 'last-keys');
    writeFileSync(file, `ops sha256:${digestOf('ops')} all\n`);
    const server = await startServer([...explicit, '--api-key-file', file]);
    try {
      const ops = { authorization: 'Bearer ops' };
      writeFileSync(file, 'broken');
      await until('the broken file is reported', async () =>
        server.stderr.includes('keeping the current ones'),
      );
      assert.equal(await statusOf(server, 'GET', METADATA, ops), 200);
      writeFileSync(file, '');
      await until(
        'no key opens',
        async () => (await statusOf(server, 'GET', METADATA, ops)) === 401,
      );
      assert.equal(await statusOf(server, 'POST', LOAD, ops), 401);
      assert.equal(await statusOf(server, 'GET', '/v2/health/live'), 200);
    } finally {
      await server.stop();
    }
  });

  it('an admin socket whose path is in use ends the start with a reason, and the file stays', async () => {
    const path = join(folder, 'admin-taken');
    writeFileSync(path, 'mine');
    const ports = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0'];
    const { code, signal, stderr } = await runServal([
      ...['serve', models, ...ports, ...flags, `--admin-address=unix:${path}`],
    ]);
    assert.equal(signal, null, stderr);
    assert.notEqual(code, 0);
    assert.match(
      stderr,
      /--admin-address: cannot listen on unix:.*an existing file that is not a socket/,
    );
    assert.equal(readFileSync(path, 'utf8'), 'mine');
    mkdirSync(join(folder, 'socket'));
    const live = join(folder, 'socket', 'admin.sock');
    const first = await startServer([...explicit, `--admin-address=unix:${live}`]);
    try {
      const second = await runServal([
        ...['serve', models, ...ports, ...flags, `--admin-address=unix:${live}`],
      ]);
      assert.equal(second.signal, null);
      assert.match(second.stderr, /another server answers on it; choose another/);
      assert.deepEqual(readdirSync(join(folder, 'socket')), ['admin.sock']);
    } finally {
      await first.stop();
    }
  });
});
