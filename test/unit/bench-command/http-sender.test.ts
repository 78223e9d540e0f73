// Requests over keep-alive connections, against Node's own server: connections that end, answers
// without a length, a server that goes away and one that never answers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { HttpSender } from '../../../ts/bench-command/load/http-sender.js';
import type { LoadRequest, Sender } from '../../../ts/bench-command/load/sender.js';
import { until } from '../../e2e/support/polling.js';

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

const BODY = Buffer.alloc(100_000, 'abc');
const REQUEST: LoadRequest = {
  head: Buffer.from(`POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: ${BODY.length}\r\n\r\n`),
  body: BODY,
  jsonBytes: -1,
};

interface Served {
  readonly server: Server;
  readonly sender: Sender;
  readonly connections: () => number;
  /** Errors of so many requests, as they come. */
  readonly send: (count: number) => Promise<readonly (string | undefined)[]>;
}

async function served(handler: RequestListener, inFlight: number, most = inFlight) {
  let connections = 0;
  const server = createServer(handler);
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sender: Sender = new HttpSender({
    ...{ kind: 'http', host: '127.0.0.1', port, tlsCa: undefined },
  });
  close = async () => {
    await sender.close();
    server.closeAllConnections();
    server.close();
  };
  const errors: (string | undefined)[] = [];
  sender.onAnswer = (_, error) => errors.push(error);
  await sender.prepare(REQUEST, inFlight, most);
  const made: Served = {
    server,
    sender,
    connections: () => connections,
    send: async (count) => {
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
    },
  };
  return made;
}

const answering =
  (status: number, text: string, head: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      const isWhole = bytes === BODY.length;
      response.writeHead(isWhole ? status : 400, head);
      response.end(isWhole ? text : `${bytes} bytes`);
    });
  };

test('connections are kept, and large requests come whole', async () => {
  const { send, connections } = await served(answering(200, 'x'.repeat(200_000)), 3);
  assert.deepEqual(new Set(await send(30)), new Set([undefined]));
  assert.equal(connections(), 3);
});

test('an answer in chunks is one, and an error has its words', async () => {
  const head = { 'transfer-encoding': 'chunked' };
  const { send } = await served(answering(503, '{"error": "busy"}', head), 1);
  assert.deepEqual(await send(2), Array(2).fill('status 503: {"error": "busy"}'));
});

test('a connection that the server does not keep is made anew', async () => {
  const { send, connections } = await served(answering(200, 'x', { connection: 'close' }), 2);
  assert.deepEqual(new Set(await send(10)), new Set([undefined]));
  assert.ok(connections() >= 10);
});

test('a connection that breaks fails its request, and no other', async () => {
  let count = 0;
  const { send } = await served((request, response) => {
    count += 1;
    if (count === 3) request.socket.destroy();
    else answering(200, 'x')(request, response);
  }, 1);
  const errors = await send(6);
  assert.equal(errors.filter((one) => one !== undefined).length, 1);
});

test('more connections are made where requests wait, up to the most', async () => {
  let inFlight = 0;
  let most = 0;
  const held: (() => void)[] = [];
  const { sender, connections } = await served(
    (_, response) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      held.push(() => response.end());
    },
    1,
    5,
  );
  await until('five in flight', () => {
    if (sender.free()) sender.send(0);
    return inFlight === 5 ? true : undefined;
  });
  assert.equal(sender.free(), false);
  for (const end of held) end();
  await until('a place', () => sender.free() || undefined);
  assert.deepEqual([most, connections()], [5, 5]);
});

test('what is cut is not heard of, and its connection is replaced', async () => {
  let answers = false;
  const { sender, send } = await served((request, response) => {
    if (answers) answering(200, 'x')(request, response);
  }, 2);
  let heard = 0;
  const before = sender.onAnswer;
  sender.onAnswer = () => {
    heard += 1;
  };
  sender.send(1);
  sender.send(2);
  sender.cut();
  await until('a place', () => sender.free() || undefined);
  assert.equal(heard, 0);
  answers = true;
  sender.onAnswer = before;
  assert.deepEqual(await send(4), Array(4).fill(undefined));
});

test('a server that is not there is an error', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const sender: Sender = new HttpSender({
    ...{ kind: 'http', host: '127.0.0.1', port, tlsCa: undefined },
  });
  await assert.rejects(sender.prepare(REQUEST, 1, 1), /no connection: .*ECONNREFUSED/);
  await sender.close();
});
