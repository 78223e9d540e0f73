// REST over HTTP/2, by prior knowledge and by ALPN, and one port for HTTP and gRPC, with Node's own
// HTTP/2 client, curl and gRPC clients.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:http2';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { credentials } from '@grpc/grpc-js';
import { HTTP_HEAD_BYTES_MAX } from '../../../ts/base/limits.js';
import { RawClient } from '../../unit/protocols/raw-client.js';
import { Certificates } from '../support/certificates.js';
import { freePort } from '../support/free-port.js';
import { exchange2, Http2Client } from '../support/http2-exchange.js';
import { ModelFolders } from '../support/model-folders.js';
import { until } from '../support/polling.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const LIVE = '/v2/health/live';
const PREDICT = '/v1/models/half_plus_three:predict';
const INFER = '/v2/models/half_plus_three/infer';
const HEALTH = '/grpc.health.v1.Health/Check';
const ROWS = '{"instances":[1.0,2.0,5.0]}';
const ANSWER = { predictions: [3.5, 4.0, 5.5] };
const LONG_MS = 20_000;

const run = promisify(execFile);
const folders = new ModelFolders();
const certificates = new Certificates();
const models = folders.repository('http2', ['half_plus_three']);
after(() => {
  folders.remove();
  certificates.remove();
});

describe('REST over HTTP/2, by prior knowledge', () => {
  let server: ServalProcess;
  let client: Http2Client;
  before(async () => {
    server = await startServer([models, '--access-log', join(folders.folder, 'access.log')]);
    client = new Http2Client(`http://127.0.0.1:${server.httpPort}`);
  });
  after(async () => {
    client.session.destroy();
    await server.stop();
  });
  const predict = (headers: readonly string[] = [], body: string | Uint8Array = ROWS) =>
    client.ask({ method: 'POST', path: PREDICT, body, headers });

  it('answers many requests of one connection at once, each with its own body', async () => {
    const bodies = Array.from({ length: 200 }, (_, i) => i);
    const answers = await Promise.all(
      bodies.map((value) => predict([], `{"instances":[${value}]}`)),
    );
    for (const [i, answer] of answers.entries()) {
      assert.deepEqual(jsonOf(answer), { predictions: [i / 2 + 3] });
      assert.equal(answer.headers.get('content-length'), String(answer.body.length));
      assert.match(answer.headers.get('date') ?? '', /GMT$/);
    }
  });

  it('reads a body of many frames, and writes one', async () => {
    const values = Array.from({ length: 200_000 }, (_, i) => i);
    const answer = await predict([], JSON.stringify({ instances: values }));
    const { predictions } = jsonOf(answer) as { predictions: number[] };
    assert.equal(predictions.length, values.length);
    assert.equal(predictions[199_999], 199_999 / 2 + 3);
  });

  it('reads and writes gzip', async () => {
    const headers = ['Content-Encoding: gzip', 'Accept-Encoding: gzip'];
    // Long ones are compressed on another thread; JavaScript answers the first request of a URL.
    for (const length of [10, 10, 1000, 200_000, 200_000]) {
      const data = Array.from({ length }, (_, i) => i);
      const packed = gzipSync(
        JSON.stringify({ inputs: [{ name: 'x', shape: [length], datatype: 'FP32', data }] }),
      );
      const answer = await client.ask({ method: 'POST', path: INFER, body: packed, headers });
      assert.equal(answer.status, 200, answer.body.toString());
      assert.equal(answer.headers.get('content-encoding'), 'gzip');
      const { outputs } = JSON.parse(gunzipSync(answer.body).toString()) as {
        outputs: { data: number[] }[];
      };
      assert.equal(outputs[0]?.data[length - 1], (length - 1) / 2 + 3);
    }
  });

  it('carries binary tensors', async () => {
    const head = Buffer.from(
      JSON.stringify({
        inputs: [{ name: 'x', shape: [2], datatype: 'FP32', parameters: { binary_data_size: 8 } }],
        parameters: { binary_data_output: true },
      }),
    );
    const tensor = Buffer.alloc(8);
    tensor.writeFloatLE(1, 0);
    tensor.writeFloatLE(5, 4);
    const answer = await client.ask({
      method: 'POST',
      path: INFER,
      body: Buffer.concat([head, tensor]),
      headers: [`Inference-Header-Content-Length: ${head.length}`],
    });
    assert.equal(answer.status, 200, answer.body.toString());
    const at = Number(answer.headers.get('inference-header-content-length'));
    assert.equal(answer.body.readFloatLE(at), 3.5);
    assert.equal(answer.body.readFloatLE(at + 4), 5.5);
  });

  it('answers HEAD without a body, and names the methods that a path has', async () => {
    const head = await client.ask({ method: 'HEAD', path: LIVE });
    assert.equal(head.body.length, 0);
    const options = await client.ask({ method: 'OPTIONS', path: '*' });
    assert.equal(options.status, 200);
    assert.match(options.headers.get('allow') ?? '', /POST/);
    const refused = await client.ask({ method: 'DELETE', path: INFER });
    assert.equal(refused.status, 405);
    assert.equal(refused.headers.get('allow'), 'POST');
  });

  it('answers Expect: 100-continue, and refuses other expectations', async () => {
    const fields = { ':method': 'POST', ':path': PREDICT, expect: '100-continue' };
    const stream = client.session.request(fields);
    let body = '';
    stream.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    await new Promise<void>((resolve, reject) => {
      stream.once('continue', resolve);
      stream.once('error', reject);
    });
    stream.end(ROWS);
    await new Promise((resolve) => stream.once('close', resolve));
    assert.deepEqual(JSON.parse(body), ANSWER);
    assert.equal((await predict(['Expect: cake'])).status, 417);
  });

  it('refuses parts that are too long, with the status of each limit', async () => {
    const long = 'x'.repeat(HTTP_HEAD_BYTES_MAX);
    assert.equal((await client.ask({ path: LIVE, headers: [`X-Long: ${long}`] })).status, 431);
    assert.equal((await client.ask({ path: `/${long}` })).status, 414);
    const large = ['Content-Length: 99999999999'];
    const stream = client.session.request({
      ':method': 'POST',
      ':path': PREDICT,
      'content-length': large[0]?.slice(16) ?? '',
    });
    const status = await new Promise((resolve, reject) => {
      stream.once('response', (response) => resolve(response[':status']));
      stream.once('error', reject);
    });
    assert.equal(status, 413);
    stream.close();
    assert.equal((await predict()).status, 200, 'the connection goes on');
  });

  it('refuses a Host that is not the authority', async () => {
    const answer = await client.ask({
      path: LIVE,
      headers: [`:authority: 127.0.0.1:${server.httpPort}`, 'Host: elsewhere.example'],
    });
    assert.equal(answer.status, 400);
  });

  it('goes on when a client cancels a request', { timeout: LONG_MS }, async () => {
    for (let i = 0; i < 50; i += 1) {
      const stream = client.session.request({ ':method': 'POST', ':path': PREDICT });
      stream.on('error', () => undefined);
      stream.write(ROWS.slice(0, 5));
      stream.close(constants.NGHTTP2_CANCEL);
    }
    assert.deepEqual(jsonOf(await predict()), ANSWER);
  });

  it('refuses headers of a request that HTTP/1 could not carry safely', async () => {
    const fields = ['Connection: keep-alive', 'Transfer-Encoding: chunked'];
    for (const field of fields) {
      // Node's client refuses some of them itself.
      await assert.rejects(exchange2(server.httpPort, 'GET', LIVE, '', [field]), field);
    }
  });

  it('is seen in the access log as requests over HTTP/1 are', async () => {
    await client.ask({ path: '/v2/models/nobody' });
    const line = (text: string): boolean => text.includes('/v2/models/nobody');
    const log = join(folders.folder, 'access.log');
    await until('a line of the access log', () => readFileSync(log, 'utf8').split('\n').some(line));
  });

  it('drains: running requests are answered, and the connection closes', async () => {
    const one = await startServer([models]);
    const other = new Http2Client(`http://127.0.0.1:${one.httpPort}`);
    assert.equal((await other.ask({ path: LIVE })).status, 200);
    const closed = new Promise((resolve) => other.session.once('close', resolve));
    one.signal('SIGTERM');
    await closed;
    assert.deepEqual(await one.ended, { code: 0, signal: null }, one.stderr);
  });
});

describe('HTTP over TLS', () => {
  const { authority, server: pair } = certificates;
  const ca = readFileSync(authority.certificate);
  let server: ServalProcess;
  before(async () => {
    server = await startServer([
      models,
      ...['--tls-cert', pair.certificate, '--tls-key', pair.key],
    ]);
  });
  after(() => server.stop());

  it('agrees on HTTP/2 with clients that offer it, on HTTP/1.1 with others', async () => {
    const client = new Http2Client(`https://localhost:${server.httpPort}`, { ca });
    const answer = await client.ask({ method: 'POST', path: PREDICT, body: ROWS });
    assert.deepEqual(jsonOf(answer), ANSWER);
    client.session.destroy();
    const url = `https://localhost:${server.httpPort}${PREDICT}`;
    for (const [flag, version] of [
      ['--http2', '2'],
      ['--http1.1', '1.1'],
      ['--no-alpn', '1.1'],
    ]) {
      const { stdout } = await run('curl', [
        ...['--silent', '--cacert', authority.certificate, flag ?? '', '--data', ROWS],
        ...['--write-out', '\n%{http_version}', url],
      ]);
      const [body = '', spoken] = stdout.split(/\n(?=[^\n]*$)/);
      assert.equal(spoken, version, flag);
      assert.deepEqual(JSON.parse(body), ANSWER);
    }
  });
});

describe('one port for HTTP and gRPC', () => {
  let server: ServalProcess;
  before(async () => {
    const port = String(await freePort());
    server = await startServer([models, '--http-port', port, '--grpc-port', port]);
  });
  after(() => server.stop());

  it('serves REST over HTTP/1 and HTTP/2 and gRPC, and its ready line says so', async () => {
    assert.equal(server.httpPort, server.grpcPort);
    for (const ask of [exchange, exchange2]) {
      assert.deepEqual(jsonOf(await ask(server.httpPort, 'POST', PREDICT, ROWS)), ANSWER);
    }
    const client = new RawClient(server.httpPort);
    const { message, code } = await client.unary(HEALTH, Buffer.alloc(0));
    assert.equal(code, 0);
    assert.deepEqual(message, Buffer.from([8, 1]));
    const unknown = await client.unary('/no.Service/Method', Buffer.alloc(0));
    assert.equal(unknown.code, 12);
    client.close();
  });

  it('runs models over both on one connection', async () => {
    for (const scheme of ['http', 'grpc']) {
      const url = `${scheme}://127.0.0.1:${server.httpPort}/v2/models/half_plus_three`;
      const { code, stdout, stderr } = await runServal(['predict', url, '--input', 'x=[1,2,5]']);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /3\.5\s+4\s+5\.5/);
    }
  });

  it('answers what only looks like gRPC as HTTP', async () => {
    const headers = ['Content-Type: application/grpc-web'];
    const answer = await exchange2(server.httpPort, 'POST', HEALTH, ROWS, headers);
    assert.equal(answer.status, 404);
  });

  it('drains both', async () => {
    const port = String(await freePort());
    const one = await startServer([models, '--http-port', port, '--grpc-port', port]);
    const client = new RawClient(one.httpPort);
    assert.equal((await client.unary(HEALTH, Buffer.alloc(0))).code, 0);
    assert.equal((await exchange(one.httpPort, 'GET', LIVE)).status, 200);
    one.signal('SIGTERM');
    assert.deepEqual(await one.ended, { code: 0, signal: null }, one.stderr);
    client.close();
  });

  it('has TLS for both', async () => {
    const port = String(await freePort());
    const { authority, server: pair } = certificates;
    const ca = readFileSync(authority.certificate);
    const one = await startServer([
      ...[models, '--http-port', port, '--grpc-port', port],
      ...['--tls-cert', pair.certificate, '--tls-key', pair.key],
    ]);
    const client = new RawClient(`localhost:${port}`, {}, credentials.createSsl(ca));
    assert.equal((await client.unary(HEALTH, Buffer.alloc(0))).code, 0);
    client.close();
    const rest = new Http2Client(`https://localhost:${port}`, { ca });
    assert.equal((await rest.ask({ path: LIVE })).status, 200);
    rest.session.destroy();
    await one.stop();
  });

  it('is not started where only one of them has TLS', async () => {
    const port = String(await freePort());
    const { server: pair } = certificates;
    const { code, stderr } = await runServal([
      ...['serve', models, '--http-port', port, '--grpc-port', port],
      ...['--tls-cert', pair.certificate, '--tls-key', pair.key, '--grpc-use-ssl=false'],
    ]);
    assert.notEqual(code, 0);
    assert.match(stderr, /--grpc-port: expected the same TLS settings for HTTP and gRPC/);
  });
});
