// Calls over raw HTTP/2 against Node's own server: its windows, its Huffman-coded trailers, calls
// that it resets, connections that it ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { GrpcSender } from '../../../ts/bench-command/load/grpc-sender.js';
import { readHeaderBlock } from '../../../ts/bench-command/load/header-block.js';
import { headerBlock, prefixed } from '../../../ts/bench-command/load/http2.js';
import type { Sender } from '../../../ts/bench-command/load/sender.js';
import { until } from '../../e2e/support/polling.js';

type Handler = (stream: ServerHttp2Stream, message: Buffer) => void;

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

const HEAD = headerBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/inference.GRPCInferenceService/ModelInfer'],
  [':authority', 'test'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
]);

function answer(stream: ServerHttp2Stream, status: string, message = '', bytes = 10): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => {
    const said = message === '' ? {} : { 'grpc-message': message };
    stream.sendTrailers({ 'grpc-status': status, ...said });
  });
  stream.end(Buffer.alloc(bytes));
}

async function served(handler: Handler, body: Uint8Array, inFlight: number) {
  const server: Http2Server = createServer();
  server.on('sessionError', () => undefined);
  server.on('stream', (stream) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => handler(stream, Buffer.concat(chunks)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sender: Sender = new GrpcSender({
    kind: 'grpc',
    host: '127.0.0.1',
    port,
    tlsCa: undefined,
  });
  close = async () => {
    await sender.close();
    server.close();
  };
  const errors: (string | undefined)[] = [];
  sender.onAnswer = (_, error) => errors.push(error);
  await sender.prepare({ head: HEAD, body: prefixed(body), jsonBytes: -1 }, inFlight, inFlight);
  const send = async (count: number): Promise<readonly (string | undefined)[]> => {
    errors.length = 0;
    let sent = 0;
    await until('answers', () => {
      while (sent < count && sender.free()) {
        sent += 1;
        sender.send(sent);
      }
      return errors.length === count ? true : undefined;
    });
    return [...errors];
  };
  return { sender, send, server };
}

test('messages larger than any window come whole, and many at once', async () => {
  const message = Buffer.alloc(300_000, 'abc');
  let right = 0;
  const { send } = await served(
    (stream, got) => {
      if (got.subarray(5).equals(message) && got.readUInt32BE(1) === message.length) right += 1;
      answer(stream, '0', '', 200_000);
    },
    message,
    3,
  );
  assert.deepEqual(new Set(await send(20)), new Set([undefined]));
  assert.equal(right, 20);
});

test('more small calls at once than a connection takes wait for their turn', async () => {
  const { send } = await served((stream) => answer(stream, '0'), Buffer.from('x'), 1);
  assert.deepEqual(new Set(await send(500)), new Set([undefined]));
});

test("a refusal's status and words are read", async () => {
  const words = 'model "m": 50%25 of 3 inputs; <ok> {x} [y] ~ @ # \'z\'';
  const { send } = await served((stream) => answer(stream, '3', words), Buffer.from('x'), 2);
  const expected = 'gRPC status 3: model "m": 50% of 3 inputs; <ok> {x} [y] ~ @ # \'z\'';
  assert.deepEqual(await send(3), [expected, expected, expected]);
});

test('an answer that is none of gRPC, and a call that is reset, have failed', async () => {
  let count = 0;
  const { send } = await served(
    (stream) => {
      count += 1;
      if (count === 1) stream.respond({ ':status': 404 }, { endStream: true });
      else if (count === 2) stream.close(8);
      else answer(stream, '0');
    },
    Buffer.from('x'),
    1,
  );
  const errors = [...(await send(1)), ...(await send(1)), ...(await send(1))];
  assert.match(errors[0] ?? '', /no gRPC answer, status 404/);
  assert.match(errors[1] ?? '', /reset the stream/);
  assert.equal(errors[2], undefined);
});

test('a connection that the server ends is made anew', async () => {
  let count = 0;
  const { send } = await served(
    (stream) => {
      count += 1;
      if (count === 2) stream.session?.destroy();
      else answer(stream, '0');
    },
    Buffer.from('x'),
    1,
  );
  const errors = [...(await send(1)), ...(await send(1)), ...(await send(2))];
  assert.deepEqual(
    errors.map((one) => one === undefined),
    [true, false, true, true],
  );
});

test('a server that is not there is an error', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const sender: Sender = new GrpcSender({
    kind: 'grpc',
    host: '127.0.0.1',
    port,
    tlsCa: undefined,
  });
  const request = { head: HEAD, body: prefixed(Buffer.from('x')), jsonBytes: -1 };
  await assert.rejects(sender.prepare(request, 1, 1), /no connection: .*ECONNREFUSED/);
  await sender.close();
});

test('any bytes as a block of headers give fields or nothing', () => {
  const good = headerBlock([['grpc-status', '0']]);
  assert.equal(readHeaderBlock(good)?.get('grpc-status'), '0');
  let state = 1;
  for (let i = 0; i < 20_000; i += 1) {
    const bytes = Buffer.from(good);
    for (let k = 0; k < 3; k += 1) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      bytes[state % bytes.length] = state >>> 24;
    }
    readHeaderBlock(bytes.subarray(0, (state >>> 8) % (bytes.length + 1)));
  }
});
