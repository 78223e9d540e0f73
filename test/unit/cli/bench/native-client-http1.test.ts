// The load client over HTTP/1.1, against Node's own server: connections that end, responses without
// a length, a server that stops and one that never answers.
import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import type { LoadSchedule } from '../../../../ts/cli/bench/load/sender.js';
import { NativeClient } from '../../../../ts/cli/bench/load/native-client.js';
import { freePort, listening, requestOf, runSchedule, targetOf } from './loads.js';

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

const BODY = Buffer.alloc(100_000, 'abc');
const REQUEST = requestOf(BODY, { fields: [['X-Key', 'k']] });

async function served(handler: RequestListener) {
  let connections = 0;
  const server: Server = createServer(handler);
  server.on('connection', () => {
    connections += 1;
  });
  const port = await listening(server);
  const client = new NativeClient(targetOf('http', port));
  close = async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  };
  const run = (schedule: Partial<LoadSchedule>) => runSchedule(client, REQUEST, schedule);
  return { server, run, connections: () => connections };
}

const answering =
  (status: number, text: string, head: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isWhole = Buffer.concat(chunks).equals(BODY) && request.headers['x-key'] === 'k';
      response.writeHead(isWhole ? status : 400, head);
      response.end(isWhole ? text : 'not what was sent');
    });
  };

test('keeps connections, and sends large requests whole', async () => {
  const { run, connections } = await served(answering(200, 'x'.repeat(200_000)));
  const { answered, failed, firstError, responseBytes } = await run({
    concurrency: 3,
    requests: 30,
  });
  assert.deepEqual([answered, failed, firstError], [30, 0, undefined]);
  assert.equal(responseBytes, 200_000);
  assert.equal(connections(), 3);
});

test('reads chunked responses, and keeps the text of the first error', async () => {
  const head = { 'transfer-encoding': 'chunked' };
  const { run } = await served(answering(503, '{"error": "busy"}', head));
  const { answered, failed, firstError, failures, latencies } = await run({ requests: 4 });
  assert.deepEqual([answered, failed, firstError], [0, 4, 'status 503: {"error": "busy"}']);
  assert.deepEqual(failures, { status: 4, reset: 0, lost: 0, late: 0 });
  assert.equal(latencies.counts.length, 0);
});

test('opens a connection for each request where the server closes them', async () => {
  const { run, connections } = await served(answering(200, 'x', { connection: 'close' }));
  const { answered, failed } = await run({ concurrency: 2, requests: 10 });
  assert.deepEqual([answered, failed], [10, 0]);
  assert.ok(connections() >= 10);
});

test('fails the request of a connection that breaks, and no other', async () => {
  let count = 0;
  const { run } = await served((request, response) => {
    count += 1;
    if (count === 3) request.socket.destroy();
    else answering(200, 'x')(request, response);
  });
  const { answered, failed, failures } = await run({ requests: 6 });
  assert.deepEqual([answered, failed, failures.lost], [5, 1, 1]);
});

test('opens more connections where requests of an open loop wait', async () => {
  const { run, connections } = await served((request, response) => {
    request.resume();
    setTimeout(() => response.end('x'), 100);
  });
  const { failed, latencies } = await run({ loop: 'open', rate: 1000, measureMs: 300 });
  assert.equal(failed, 0);
  assert.equal(
    latencies.counts.filter((_, i) => i % 2 === 1).reduce((a, b) => a + b),
    300,
  );
  assert.ok(connections() > 64, `${connections()} connections`);
});

test('counts requests from the moment when they were due', async () => {
  // The server needs 20 ms for each request, and one is due every 10 ms.
  const { run } = await served((request, response) => {
    request.resume();
    const until = performance.now() + 20;
    while (performance.now() < until);
    response.end('x');
  });
  const { latencies, failed } = await run({ loop: 'open', rate: 100, measureMs: 400 });
  assert.equal(failed, 0);
  assert.ok(latencies.max > 300_000, `${latencies.max} us`);
});

test('runs again after requests that were cut off', async () => {
  let answers = false;
  const { run } = await served((request, response) => {
    if (answers) answering(200, 'x')(request, response);
  });
  const first = await run({ concurrency: 2, measureMs: 50, graceMs: 50 });
  assert.deepEqual([first.answered, first.failed, first.failures.late], [0, 2, 2]);
  assert.match(first.firstError ?? '', /no answer 0\.1 s after the end/);
  answers = true;
  const { answered, failed } = await run({ concurrency: 2, requests: 4 });
  assert.deepEqual([answered, failed], [4, 0]);
});

test('waits at the end of an open loop for responses that are late', async () => {
  const { run } = await served((request, response) => {
    request.resume();
    setTimeout(() => response.end('x'), 700);
  });
  const begun = performance.now();
  const { failed, firstError, latencies } = await run({ loop: 'open', rate: 100, measureMs: 200 });
  assert.deepEqual([failed, firstError], [0, undefined]);
  assert.ok(latencies.max >= 699_000, `${latencies.max} us`);
  assert.ok(performance.now() - begun < 5000, 'waits only as long as needed');
});

test('fails the requests of an open loop that are never answered, after the wait', async () => {
  const { run } = await served((request) => request.resume());
  const begun = performance.now();
  const schedule = { loop: 'open', rate: 100, measureMs: 200, graceMs: 400 } as const;
  const { answered, failed, firstError, failures } = await run(schedule);
  assert.deepEqual([answered, failed, failures.late], [0, 20, 20]);
  assert.match(firstError ?? '', /no answer 0\.4 s after the end/);
  assert.ok(performance.now() - begun >= 590);
});

test('says that there is no server', async () => {
  const port = await freePort(createServer());
  const client = new NativeClient(targetOf('http', port));
  const error = /^ServalError: 127\.0\.0\.1:\d+: no connection: connect: Connection refused$/;
  await assert.rejects(runSchedule(client, REQUEST, { requests: 1 }), error);
  await client.close();
});

async function answeredWith(...parts: readonly string[]) {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      for (const part of parts) socket.write(part);
      if (parts.length > 1) socket.end();
    });
  });
  const client = new NativeClient(targetOf('http', await listening(server)));
  const result = await runSchedule(client, requestOf(Buffer.from('x')), { requests: 1 });
  await client.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  return result;
}

const OK = 'HTTP/1.1 200 OK\r\n';
for (const [what, parts, expected] of [
  ['a body that ends with the connection', [`${OK}\r\n`, 'abc', 'de'], 5],
  [
    '100 Continue before the response',
    [`HTTP/1.1 100 Continue\r\n\r\n${OK}content-length: 2\r\n\r\nok`],
    2,
  ],
  ['HTTP/1.0', ['HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nabc'], 3],
  [
    'chunks with trailers',
    [`${OK}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx: y\r\n\r\n`],
    3,
  ],
] as const) {
  test(`reads ${what}`, async () => {
    const { answered, firstError, responseBytes } = await answeredWith(...parts);
    assert.deepEqual([answered, firstError, responseBytes], [1, undefined, expected]);
  });
}

for (const [what, parts, error] of [
  ['bytes that are not HTTP', ['hello\r\n\r\n'], /the response is not HTTP\/1\.1/],
  [
    'a body shorter than its length',
    [`${OK}content-length: 9\r\n\r\nabc`, ''],
    /closed the connection/,
  ],
  ['a chunk size that is no number', [`${OK}transfer-encoding: chunked\r\n\r\nzz\r\n`], /not HTTP/],
] as const) {
  test(`fails on ${what}`, async () => {
    const { answered, failed, firstError } = await answeredWith(...parts);
    assert.deepEqual([answered, failed], [0, 1]);
    assert.match(firstError ?? '', error);
  });
}
