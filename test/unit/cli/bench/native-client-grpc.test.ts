// The load client over HTTP/2 and gRPC, against Node's own server: its windows, its Huffman-coded
// trailers, calls that the server resets, connections that it closes.
import assert from 'node:assert/strict';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer as createTcpServer } from 'node:net';
import { afterEach, test } from 'node:test';
import type { LoadSchedule } from '../../../../ts/cli/bench/load/sender.js';
import { NativeClient } from '../../../../ts/cli/bench/load/native-client.js';
import { prefixed } from '../../../../ts/cli/bench/request/message-prefix.js';
import { freePort, listening, requestOf, runSchedule, targetOf } from './loads.js';

type Handler = (stream: ServerHttp2Stream, message: Buffer) => void;

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

function answer(stream: ServerHttp2Stream, status: string, message = '', bytes = 10): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    const said = message === '' ? {} : { 'grpc-message': message };
    stream.sendTrailers({ 'grpc-status': status, ...said });
  });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes - 5, 1);
  stream.end(Buffer.concat([prefix, Buffer.alloc(bytes - 5)]));
}

async function served(handler: Handler, body: Uint8Array, kind: 'grpc' | 'http2' = 'grpc') {
  let sessions = 0;
  const server: Http2Server = createServer();
  server.on('session', () => {
    sessions += 1;
  });
  server.on('sessionError', () => undefined);
  server.on('stream', (stream) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => handler(stream, Buffer.concat(chunks)));
  });
  const client = new NativeClient(targetOf(kind, await listening(server)));
  close = async () => {
    await client.close();
    server.close();
  };
  const sent = kind === 'grpc' ? prefixed(body) : body;
  const request = requestOf(sent, { path: '/a.B/C', fields: [['X-Key', 'k']] });
  const run = (schedule: Partial<LoadSchedule>) => runSchedule(client, request, schedule);
  return { run, sessions: () => sessions };
}

test('sends messages larger than any window, many at once', async () => {
  const message = Buffer.alloc(300_000, 'abc');
  let right = 0;
  const { run } = await served((stream, got) => {
    if (got.subarray(5).equals(message) && got.readUInt32BE(1) === message.length) right += 1;
    answer(stream, '0', '', 200_000);
  }, message);
  const { answered, failed, responseBytes } = await run({ concurrency: 3, requests: 20 });
  assert.deepEqual([answered, failed, responseBytes, right], [20, 0, 199_995, 20]);
});

test('keeps more small calls under way than one connection allows', async () => {
  const { run, sessions } = await served((stream) => answer(stream, '0'), Buffer.from('x'));
  const { answered, failed } = await run({ concurrency: 500, requests: 2000 });
  assert.deepEqual([answered, failed, sessions()], [2000, 0, 16]);
});

test('reads the status and the words of a refusal', async () => {
  const words = 'model "m": 50%25 of 3 inputs; <ok> {x} [y] ~ @ # \'z\'';
  const { run } = await served((stream) => answer(stream, '3', words), Buffer.from('x'));
  const { failed, firstError, failures } = await run({ concurrency: 2, requests: 3 });
  assert.equal(firstError, 'gRPC status 3: model "m": 50% of 3 inputs; <ok> {x} [y] ~ @ # \'z\'');
  assert.deepEqual([failed, failures.status], [3, 3]);
});

test('counts responses that are not gRPC and calls that are reset as failed', async () => {
  let count = 0;
  const { run } = await served((stream) => {
    count += 1;
    if (count === 1) stream.respond({ ':status': 404 }, { endStream: true });
    else if (count === 2) stream.close(8);
    else answer(stream, '0');
  }, Buffer.from('x'));
  assert.match((await run({ requests: 1 })).firstError ?? '', /no gRPC response, status 404/);
  const reset = await run({ requests: 1 });
  assert.match(reset.firstError ?? '', /reset the stream \(8\)/);
  assert.deepEqual(reset.failures, { status: 0, reset: 1, lost: 0, late: 0 });
  assert.equal((await run({ requests: 1 })).answered, 1);
});

test('replaces a connection that the server ends', async () => {
  let count = 0;
  const { run, sessions } = await served((stream) => {
    count += 1;
    if (count === 2) stream.session?.destroy();
    else answer(stream, '0');
  }, Buffer.from('x'));
  const { answered, failed, failures } = await run({ requests: 4 });
  assert.deepEqual([answered, failed, failures.lost, sessions()], [3, 1, 1, 2]);
});

test('leaves a server that drains, and loses nothing that it still answers', async () => {
  let count = 0;
  const { run, sessions } = await served((stream) => {
    count += 1;
    if (count === 5) stream.session?.close();
    setTimeout(() => answer(stream, '0'), 10);
  }, Buffer.from('x'));
  const { answered, failed } = await run({ concurrency: 1, requests: 20 });
  assert.deepEqual([answered, failed, sessions()], [20, 0, 2]);
});

test('sends calls again that a leaving server did not read, three times at most', async () => {
  let count = 0;
  const { run } = await served((stream) => {
    count += 1;
    // The server states that it does not read streams above the first one.
    if (count === 200) stream.session?.goaway(0, 1);
    setTimeout(() => answer(stream, '0'), 5);
  }, Buffer.from('x'));
  const { answered, failed, firstError } = await run({ concurrency: 500, requests: 2000 });
  assert.deepEqual([answered, failed, firstError], [2000, 0, undefined]);
});

/** An HTTP/2 frame with its header. */
function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  return Buffer.concat([head, payload]);
}

/** True if the bytes after the client's preface contain a HEADERS frame. */
function hasHeaders(bytes: Buffer): boolean {
  for (let at = 24; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === 1) return true;
  }
  return false;
}

test('gives up calls that three connections leave unread', async () => {
  let sessions = 0;
  const server = createTcpServer((socket) => {
    sessions += 1;
    let got: Buffer = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.write(frame(4, Buffer.alloc(0)));
    socket.on('data', (chunk: Buffer) => {
      got = Buffer.concat([got, chunk]);
      if (hasHeaders(got)) socket.end(frame(7, Buffer.alloc(8)));
    });
  });
  const client = new NativeClient(targetOf('grpc', await listening(server)));
  const request = requestOf(prefixed(Buffer.from('x')));
  const { answered, failed, firstError, failures } = await runSchedule(client, request, {
    requests: 2,
  });
  await client.close();
  server.close();
  assert.deepEqual([answered, failed, failures.reset], [0, 2, 2]);
  assert.equal(firstError, 'the server ended the connection');
  assert.ok(sessions >= 6, `${sessions} sessions`);
});

test('sends REST over HTTP/2, and reads status and text', async () => {
  let status = 200;
  const { run, sessions } = await served(
    (stream, body) => {
      stream.respond({ ':status': body.equals(Buffer.from('{"a":1}')) ? status : 400 });
      stream.end('{"error":"x"}');
    },
    Buffer.from('{"a":1}'),
    'http2',
  );
  const good = await run({ concurrency: 20, requests: 100 });
  assert.deepEqual([good.answered, good.failed, good.responseBytes], [100, 0, 13]);
  assert.equal(sessions(), 16);
  status = 429;
  const bad = await run({ requests: 2 });
  assert.deepEqual([bad.failed, bad.firstError], [2, 'status 429: {"error":"x"}']);
});

test('says that there is no server', async () => {
  const client = new NativeClient(targetOf('grpc', await freePort(createServer())));
  const request = requestOf(prefixed(Buffer.from('x')));
  await assert.rejects(
    runSchedule(client, request, { requests: 1 }),
    /no connection: connect: Connection refused/,
  );
  await client.close();
});
