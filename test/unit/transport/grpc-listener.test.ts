// The gRPC listener with handlers of its own: bytes, limits, errors, cancels, streams, drain.
import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/errors.js';
import {
  GrpcStatus,
  type GrpcReply,
  type GrpcStreamCall,
  type GrpcUnaryCall,
} from '../../../ts/transport/grpc-call.js';
import { GrpcListener, type GrpcListenerOptions } from '../../../ts/transport/grpc-listener.js';
import { RawClient } from '../protocols/raw-client.js';

const HOST = '127.0.0.1';

// Echoes requests at once; replies come from one buffer that is overwritten right after each write.
function echoStream(call: GrpcStreamCall) {
  const scratch = Buffer.alloc(64 * 1024);
  return {
    onMessage(message: Buffer): void {
      if (message.toString() === 'throw') throw new Error('stream broke');
      message.copy(scratch);
      call.write(scratch.subarray(0, message.length));
      scratch.fill(0);
    },
    onHalfClose: () => call.end(null),
    onCancel: () => undefined,
    onFlushed: () => undefined,
    onDrain: () => call.end(new GrpcStatus(14, 'draining')),
  };
}

/** A call that the handler leaves open. */
interface Held {
  readonly call: GrpcUnaryCall;
  readonly reply: GrpcReply;
}

// A service whose Hold method hands its calls to whoever waits for them.
function testService() {
  const waiting: ((held: Held) => void)[] = [];
  return {
    nextHeld: () =>
      new Promise<Held>((resolve) => {
        waiting.push(resolve);
      }),
    service: {
      name: 'test.Service',
      unary: {
        Echo: (call: GrpcUnaryCall, reply: GrpcReply) => reply(null, call.request),
        Fail: (call: GrpcUnaryCall, reply: GrpcReply) =>
          reply(new GrpcStatus(9, call.request.toString('utf8'))),
        FailSurrogate: (_: GrpcUnaryCall, reply: GrpcReply) =>
          reply(new GrpcStatus(3, 'lone \ud800 half')),
        Throw: () => {
          throw new Error('handler broke');
        },
        Hold: (call: GrpcUnaryCall, reply: GrpcReply) => waiting.shift()?.({ call, reply }),
      },
      streams: {
        Echo2: echoStream,
        // Has the engine do three requests, for ever.
        Busy: (call: GrpcStreamCall) => ({
          ...echoStream(call),
          running: 3,
          onDrain: () => undefined,
        }),
        ThrowOpen: () => {
          throw new Error('open broke');
        },
      },
    },
  };
}

async function started(options: Partial<GrpcListenerOptions> = {}) {
  const { service, nextHeld } = testService();
  const listener = new GrpcListener({ host: HOST, port: 0, services: [service], ...options });
  const port = await listener.start();
  return { listener, port, nextHeld, client: new RawClient(port) };
}

describe('gRPC listener: unary calls', () => {
  let server: Awaited<ReturnType<typeof started>>;
  before(async () => {
    server = await started();
  });
  after(async () => {
    server.client.close();
    assert.deepEqual(await server.listener.drain(5), { requests: 0, models: {} });
  });

  it('hands bytes through, none and many', async () => {
    for (const size of [0, 1, 5, 65_536, 3_000_001]) {
      const sent = Buffer.alloc(size, size % 251);
      const { code, message } = await server.client.unary('/test.Service/Echo', sent);
      assert.equal(code, 0);
      assert.ok(message?.equals(sent), `${size} bytes`);
    }
  });

  it('answers unknown methods and services with UNIMPLEMENTED', async () => {
    for (const path of ['/test.Service/Nope', '/no.Service/Echo', `/${'x'.repeat(4000)}/y`]) {
      assert.equal((await server.client.unary(path, Buffer.alloc(0))).code, 12, path);
    }
  });

  it('answers a handler that throws with INTERNAL and goes on', async () => {
    const broken = await server.client.unary('/test.Service/Throw', Buffer.alloc(0));
    assert.deepEqual([broken.code, broken.details], [13, 'internal error: handler broke']);
    assert.equal((await server.client.unary('/test.Service/Echo', Buffer.alloc(1))).code, 0);
  });

  it('carries any status text, cut between characters where it is too long', async () => {
    const texts = ['', 'plain', 'é ü 漢 \u{1f600} % " \n \u0000 \u007f', 'x'.repeat(4096)];
    for (const text of texts) {
      const { code, details } = await server.client.unary('/test.Service/Fail', Buffer.from(text));
      assert.equal(code, 9);
      assert.equal(details, text);
    }
    for (const unit of ['x', ' ', 'é', '漢', '\u{1f600}', 'a\u{1f600}']) {
      const long = unit.repeat(200_000);
      const { code, details } = await server.client.unary('/test.Service/Fail', Buffer.from(long));
      assert.equal(code, 9);
      assert.ok(details.endsWith('...'), unit);
      assert.ok(details.length > 600 && long.startsWith(details.slice(0, -3)), unit);
      assert.ok(Buffer.byteLength(details) <= 4096 && encodeURI(details).length <= 6144, unit);
    }
    const lone = await server.client.unary('/test.Service/FailSurrogate', Buffer.alloc(0));
    assert.deepEqual([lone.code, lone.details], [3, 'lone \ufffd half']);
  });

  it('tells the handler when the client cancels', async () => {
    const arrived = server.nextHeld();
    let cancel = (): void => undefined;
    const outcome = server.client.unary('/test.Service/Hold', Buffer.alloc(0), {}, (call) => {
      cancel = () => call.cancel();
    });
    const held = await arrived;
    const cancelled = new Promise<void>((resolve) => {
      held.call.on('cancelled', resolve);
    });
    cancel();
    await cancelled;
    assert.equal((await outcome).code, 1);
    held.reply(null, Buffer.from('too late'));
  });

  it('shows the deadline and enforces it', async () => {
    const arrived = server.nextHeld();
    const deadline = Date.now() + 50;
    const outcome = server.client.unary('/test.Service/Hold', Buffer.alloc(0), { deadline });
    const held = await arrived;
    assert.ok(Math.abs(Number(held.call.getDeadline()) - deadline) < 1000);
    const cancelled = new Promise<void>((resolve) => {
      held.call.on('cancelled', resolve);
    });
    assert.equal((await outcome).code, 4);
    await cancelled;

    const open = server.nextHeld();
    const answered = server.client.unary('/test.Service/Hold', Buffer.alloc(0));
    const second = await open;
    assert.equal(second.call.getDeadline(), Infinity);
    second.reply(null, Buffer.from('late but welcome'));
    assert.equal((await answered).message?.toString(), 'late but welcome');
  });

  it('opens wide flow-control windows', async () => {
    const session = connectHttp2(`http://${HOST}:${server.port}`);
    const initial = new Promise<void>((resolve) => {
      session.on('remoteSettings', (settings) => {
        if (settings.initialWindowSize === 1_048_576) resolve();
      });
    });
    await initial;
    await new Promise((resolve) => {
      session.ping(() => resolve(undefined));
    });
    assert.equal(session.state.remoteWindowSize, 16_777_216);
    session.close();
  });

  it('survives what is not gRPC', async () => {
    const bodies = [
      'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
      '\x16\x03\x01\x02\x00',
      `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(100)}`,
    ];
    for (const body of bodies) {
      await new Promise<void>((resolve) => {
        const socket = connect(server.port, HOST, () => socket.end(Buffer.from(body, 'latin1')));
        socket.on('data', () => undefined);
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
      });
    }
    assert.equal((await server.client.unary('/test.Service/Echo', Buffer.alloc(1))).code, 0);
  });
});

describe('gRPC listener: limits', () => {
  it('refuses messages over its limits, also when they unpack to more', async () => {
    const server = await started({ receiveBytesMax: 1000, sendBytesMax: 900 });
    const echo = (size: number, client = server.client) =>
      client.unary('/test.Service/Echo', Buffer.alloc(size));
    assert.equal((await echo(900)).message?.length, 900);
    const large = await echo(1001);
    assert.deepEqual(
      [large.code, large.details],
      [8, 'Received message larger than max (1001 vs 1000)'],
    );
    assert.equal((await echo(901)).code, 8);
    const packing = new RawClient(server.port, { 'grpc.default_compression_algorithm': 2 });
    assert.equal((await echo(900, packing)).message?.length, 900);
    const bomb = await echo(500_000, packing);
    assert.deepEqual(
      [bomb.code, bomb.details],
      [8, 'Received message that decompresses to a size larger than 1000'],
    );
    assert.equal((await echo(900)).code, 0);
    packing.close();
    server.client.close();
    await server.listener.drain(5);
  });
});

describe('gRPC listener: streams', () => {
  let server: Awaited<ReturnType<typeof started>>;
  before(async () => {
    server = await started();
  });
  after(async () => {
    server.client.close();
    await server.listener.drain(5);
  });

  it('keeps the order and copies what must wait', async () => {
    const stream = server.client.stream('/test.Service/Echo2');
    const sent = Array.from({ length: 200 }, (_, index) => Buffer.alloc(10_000, index + 1));
    for (const message of sent) stream.call.write(message);
    stream.call.end();
    assert.equal((await stream.ended).code, 0);
    assert.equal(stream.count, sent.length);
    for (const [index, message] of sent.entries()) {
      assert.ok((await stream.reply(index)).equals(message), `reply ${index}`);
    }
  });

  it('ends with OK when nothing was sent, with INTERNAL when the handler throws', async () => {
    const empty = server.client.stream('/test.Service/Echo2');
    empty.call.end();
    assert.equal((await empty.ended).code, 0);
    const broken = server.client.stream('/test.Service/Echo2');
    broken.call.write(Buffer.from('first'));
    broken.call.write(Buffer.from('throw'));
    const { code, details } = await broken.ended;
    assert.deepEqual([code, details], [13, 'internal error: stream broke']);
    assert.equal((await broken.reply(0)).toString(), 'first');
    const unopened = server.client.stream('/test.Service/ThrowOpen');
    assert.equal((await unopened.ended).details, 'internal error: open broke');
  });
});

describe('gRPC listener: start and drain', () => {
  it('says why it cannot listen', async () => {
    const server = await started();
    const refused = (options: Partial<GrpcListenerOptions>, text: RegExp) =>
      assert.rejects(
        new GrpcListener({ host: HOST, port: 0, services: [], ...options }).start(),
        (error: unknown) => {
          assert.ok(error instanceof ServalError);
          assert.equal(error.code, ErrorCode.InvalidArgument);
          assert.match(error.message, text);
          return true;
        },
      );
    await refused(
      { port: server.port },
      new RegExp(`cannot listen on ${HOST} port ${server.port}: the port is in use`),
    );
    await refused({ host: '192.0.2.1' }, /192\.0\.2\.1 port 0: the address does not belong/);
    server.client.close();
    await server.listener.drain(5);
  });

  it('can be drained when it never listened', async () => {
    const { service } = testService();
    const listener = new GrpcListener({ host: HOST, port: 0, services: [service] });
    assert.deepEqual(await listener.drain(60), { requests: 0, models: {} });
  });

  it('refuses a method that two services have', () => {
    const { service } = testService();
    assert.throws(
      () => new GrpcListener({ host: HOST, port: 0, services: [service, service] }),
      /\/test\.Service\/Echo is registered twice/,
    );
  });

  it('lets running calls finish, tells streams, and refuses new connections', async () => {
    const server = await started();
    const arrived = server.nextHeld();
    const outcome = server.client.unary('/test.Service/Hold', Buffer.alloc(0));
    const stream = server.client.stream('/test.Service/Echo2');
    stream.call.write(Buffer.from('here'));
    await stream.reply(0);
    const held = await arrived;
    const drained = server.listener.drain(60);
    assert.deepEqual((await stream.ended).details, 'draining');
    held.reply(null, Buffer.from('finished'));
    assert.equal((await outcome).message?.toString(), 'finished');
    assert.deepEqual(await drained, { requests: 0, models: {} });
    const next = new RawClient(server.port);
    assert.equal((await next.unary('/test.Service/Echo', Buffer.alloc(0))).code, 14);
    next.close();
    server.client.close();
  });

  it('cuts a stream as one call, whatever it has the engine do', async () => {
    const server = await started({ running: () => 4 });
    const arrived = server.nextHeld();
    const outcome = server.client.unary('/test.Service/Hold', Buffer.alloc(0));
    await arrived;
    const stream = server.client.stream('/test.Service/Busy');
    stream.call.write(Buffer.from('three requests'));
    await stream.reply(0);
    assert.deepEqual(await server.listener.drain(0.05), { requests: 2, models: {} });
    assert.equal((await outcome).code, 14);
    assert.equal((await stream.ended).code, 14);
    server.client.close();
  });

  it('cuts what is left when the time is over', async () => {
    const server = await started();
    const arrived = server.nextHeld();
    const outcome = server.client.unary('/test.Service/Hold', Buffer.alloc(0));
    const held = await arrived;
    assert.deepEqual(await server.listener.drain(0.05), { requests: 1, models: {} });
    assert.equal((await outcome).code, 14);
    held.reply(null, Buffer.from('nobody listens'));
    server.client.close();
  });
});
