// The front-door rows: nginx's configuration, requests over TLS and with keys, and each row on its
// own servers for a moment. Without nginx, the measurements against it are skipped.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { test } from 'node:test';
import { callOnce, schemeOf, sendOnce } from '../check.mjs';
import { startGrpcEcho, startUwsEcho } from '../contenders/echoes.mjs';
import { makeCertificate, nginxConfig, nginxProgram, startNginx } from '../contenders/nginx.mjs';
import { Skipped } from '../runner.mjs';
import { frontDoor } from '../workloads/front-door/index.mjs';
import { selectWorkloads } from '../workloads/index.mjs';
import { testContext } from './support.mjs';

/** Starts nginx before a server; returns undefined and skips the test if there is none. */
async function openNginx(t, context, kind, upstream) {
  try {
    nginxProgram();
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    t.skip(error.message);
    return undefined;
  }
  const front = await startNginx(context, kind, upstream);
  t.after(front.stop);
  return front;
}

test('one word selects the rows; only TLS over HTTP has a target', () => {
  const ids = ['keys-rest', 'keys-grpc', 'tls-http-v1', 'tls-http', 'tls-grpc'];
  assert.deepEqual(
    frontDoor.map(({ id }) => id),
    ids,
  );
  assert.deepEqual(
    selectWorkloads('front-door').map(({ id }) => id),
    ids,
  );
  const judged = frontDoor.filter(({ target }) => target !== null).map(({ id }) => id);
  assert.deepEqual(judged, ['tls-http-v1', 'tls-http']);
  assert.ok(frontDoor.every(({ metric }) => metric === 'rate'));
});

test("nginx's configuration names its files and forwards with the right protocol", () => {
  const given = { port: 5, upstream: { host: 'h', port: 6 }, folder: '/f', isRoot: false };
  const files = { certificate: '/c', key: '/k' };
  const http = nginxConfig({ ...given, ...files, kind: 'http' });
  assert.match(http, /listen 127\.0\.0\.1:5 ssl;/);
  assert.match(http, /proxy_pass http:\/\/behind;\s+proxy_http_version 1\.1;/);
  assert.match(http, /server h:6;/);
  assert.match(http, /ssl_certificate \/c;\s+ssl_certificate_key \/k;/);
  assert.doesNotMatch(http, /user |grpc_pass/);
  const grpc = nginxConfig({ ...given, ...files, kind: 'grpc', isRoot: true });
  assert.match(grpc, /^user root;/);
  assert.match(grpc, /listen 127\.0\.0\.1:5 ssl http2;/);
  assert.match(grpc, /grpc_pass grpc:\/\/behind;/);
  assert.doesNotMatch(grpc, /proxy_pass/);
});

test('a request over TLS trusts only the given certificate', async (t) => {
  const context = testContext(t);
  const [{ certificate, key, ca }, other] = [makeCertificate(context), makeCertificate(context)];
  const pems = { cert: readFileSync(certificate), key: readFileSync(key) };
  const server = createServer(pems, (request, response) => {
    response.statusCode = request.url === '/bad' ? 500 : 200;
    response.setHeader('X-Sent', request.headers['x-sent'] ?? '');
    request.pipe(response);
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => server.close());
  const at = { host: '127.0.0.1', port: server.address().port, ca };
  const asked = {
    method: 'POST',
    path: '/',
    headers: { 'X-Sent': 'this' },
    body: Buffer.from('b'),
  };
  const { headers, body } = await sendOnce(at, asked);
  assert.deepEqual([headers.get('x-sent'), body.toString()], ['this', 'b']);
  await assert.rejects(sendOnce(at, { ...asked, path: '/bad' }), /POST \/bad: 500 b/);
  await assert.rejects(sendOnce({ ...at, ca: other.ca }, asked), /certificate/);
  assert.deepEqual([schemeOf(at), schemeOf({})], ['https', 'http']);
});

test('nginx terminates TLS for HTTP', async (t) => {
  const context = testContext(t);
  const echo = await startUwsEcho(context);
  t.after(echo.stop);
  const front = await openNginx(t, context, 'http', echo);
  if (front === undefined) return;
  const request = { method: 'POST', path: '/any', body: Buffer.from('hello') };
  assert.equal((await sendOnce(front, request)).body.toString(), 'hello');
  await assert.rejects(sendOnce({ ...front, ca: undefined }, request), /400/);
});

test('nginx terminates TLS for gRPC', async (t) => {
  const context = testContext(t);
  const echo = await startGrpcEcho(context);
  t.after(echo.stop);
  const front = await openNginx(t, context, 'grpc', echo);
  if (front === undefined) return;
  const message = Buffer.from('hello');
  const path = '/inference.GRPCInferenceService/ModelInfer';
  assert.deepEqual(await callOnce(front, path, message), message);
});
