// Routes that answer later: bodies in pieces, compressed, too long; errors; clients that leave.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateSync, gzipSync } from 'node:zlib';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { BodyRoute, LaterRoute, type Fail } from '../../../../ts/protocols/rest/body-route.js';
import type { Route } from '../../../../ts/listeners/http/listener.js';
import { ask, begin, headOf } from '../fake-http.js';

const fail: Fail = (exchange, code, message) => exchange.send(code, 'error', message);

/** Counts held bytes, up to a limit. */
class Held {
  bytes = 0;
  constructor(private readonly max = Infinity) {}
  change(bytes: number): void {
    this.bytes += bytes;
  }
  take(bytes: number): boolean {
    if (this.bytes + bytes > this.max) return false;
    this.bytes += bytes;
    return true;
  }
  keep(bytes: number): boolean {
    return this.take(bytes);
  }
}

const held = new Held();
const echo = new BodyRoute({ bodyBytesMax: 10, inflatedBytesMax: 20, held }, fail, (body) =>
  Promise.resolve({ contentType: 'text', body: `got ${body.toString()}` }),
);

describe('BodyRoute', () => {
  it('joins chunks whose memory is gone afterwards', async () => {
    for (const body of [['abc'], ['a', 'bc'], ['', 'abc', ''], ['ab', 'c', '']]) {
      assert.deepEqual(await ask(echo, { body }), {
        status: 200,
        contentType: 'text',
        body: 'got abc',
        headers: [],
      });
    }
    assert.equal((await ask(echo)).body, 'got ');
  });

  it('unpacks gzip and deflate', async () => {
    for (const [coding, packed] of [
      ['gzip', gzipSync('hello')],
      ['deflate', deflateSync('hello')],
      ['identity', Buffer.from('hello')],
    ] as const) {
      const wide = new BodyRoute({ bodyBytesMax: 100, inflatedBytesMax: 20, held }, fail, (body) =>
        Promise.resolve({ contentType: 'text', body: `got ${body.toString()}` }),
      );
      const headers = { 'content-encoding': coding };
      const half = Math.floor(packed.length / 2);
      const body = [packed.subarray(0, half), packed.subarray(half)];
      assert.equal((await ask(wide, { headers, body })).body, 'got hello', coding);
    }
  });

  it('takes a body of the limit and refuses one over it, stated or not', async () => {
    assert.equal((await ask(echo, { body: ['0123456789'] })).status, 200);
    const { BodyTooLarge } = ErrorCode;
    const stated = await ask(echo, { headers: { 'content-length': '11' }, body: ['x'] });
    assert.deepEqual(
      [stated.status, stated.body],
      [BodyTooLarge, 'request body of 11 bytes is over the limit of 10 bytes'],
    );
    const found = begin(echo, { body: ['012345', '678910', 'more', 'and more'] });
    assert.deepEqual([(await found.answered).status, found.sends], [BodyTooLarge, 1]);
  });

  it('refuses what unpacks to too much, what is broken, and codings that it does not know', async () => {
    const wide = new BodyRoute({ bodyBytesMax: 1000, inflatedBytesMax: 20, held }, fail, () =>
      assert.fail('was asked'),
    );
    const of = async (coding: string, body: Uint8Array): Promise<number> =>
      (await ask(wide, { headers: { 'content-encoding': coding }, body: [body] })).status;
    assert.equal(await of('gzip', gzipSync('x'.repeat(21))), ErrorCode.BodyTooLarge);
    assert.equal(await of('gzip', gzipSync('abc').subarray(0, 12)), ErrorCode.MalformedBody);
    assert.equal(await of('br', Buffer.from('abc')), ErrorCode.UnsupportedEncoding);
  });

  it('counts a body until it is answered, and refuses what has no room', async () => {
    const small = new Held(100);
    let seen = 0;
    const route = new BodyRoute(
      { bodyBytesMax: 1000, inflatedBytesMax: 1000, held: small },
      fail,
      () => {
        seen = small.bytes;
        return Promise.resolve({ contentType: 'text', body: '' });
      },
    );
    const of = async (body: Uint8Array, headers = {}): Promise<number> => {
      const { status } = await ask(route, { headers, body: [body] });
      await new Promise(setImmediate);
      assert.equal(small.bytes, 0);
      return status;
    };
    const gzip = { 'content-encoding': 'gzip' };
    assert.equal(await of(Buffer.alloc(40)), 200);
    assert.equal(seen, 80);
    assert.equal(await of(Buffer.alloc(51)), ErrorCode.MemoryFull);
    assert.equal(await of(Buffer.alloc(1), { 'content-length': '51' }), ErrorCode.MemoryFull);
    assert.equal(await of(gzipSync(Buffer.alloc(10)), gzip), 200);
    assert.equal(await of(gzipSync(Buffer.alloc(90)), gzip), ErrorCode.MemoryFull);
  });

  it('answers errors of the maker, and its bugs as internal', async () => {
    const errors: readonly [Error, number, string][] = [
      [new ServalError(ErrorCode.ModelNotFound, 'none'), ErrorCode.ModelNotFound, 'none'],
      [new RangeError('oops'), ErrorCode.Internal, 'oops'],
    ];
    for (const [error, status, text] of errors) {
      const limits = { bodyBytesMax: 10, inflatedBytesMax: 10, held };
      const later = new BodyRoute(limits, fail, () => Promise.reject(error));
      const now = new BodyRoute(limits, fail, () => {
        throw error;
      });
      for (const route of [later, now]) {
        const got = await ask(route, { body: ['x'] });
        assert.deepEqual([got.status, got.body], [status, text]);
      }
    }
  });

  it('forgets the body of a client that leaves', () => {
    const route = new BodyRoute({ bodyBytesMax: 10, inflatedBytesMax: 10, held }, fail, () =>
      assert.fail('was asked'),
    );
    const exchange = begin(route, { body: [] });
    route.data(exchange, new ArrayBuffer(3), false);
    exchange.finished = true;
    route.abort(exchange);
    route.data(exchange, new ArrayBuffer(3), true);
    assert.equal(exchange.state, undefined);
  });

  it('tells the maker that its client left, and frees the body when that ends', async () => {
    const counted = new Held();
    let leave = (): void => undefined;
    const limits = { bodyBytesMax: 10, inflatedBytesMax: 10, held: counted };
    const route = new BodyRoute(limits, fail, async (_body, _query, left) => {
      await new Promise<void>((resolve) => {
        left.addEventListener('abort', () => resolve(), { once: true });
        leave();
      });
      left.throwIfAborted();
      return { contentType: 'text', body: 'never' };
    });
    const begun = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const exchange = begin(route, { body: ['abc'] });
    await begun;
    assert.ok(counted.bytes > 0);
    route.abort(exchange);
    const { status, body } = await exchange.answered; // which a real exchange does not send
    assert.deepEqual([status, body], [ErrorCode.Cancelled, 'the client went away']);
    assert.deepEqual([counted.bytes, exchange.state], [0, undefined]);
  });

  it('leaves the state of an exchange that is used again alone', async () => {
    let end = (): void => undefined;
    const route = new BodyRoute(
      { bodyBytesMax: 10, inflatedBytesMax: 10, held },
      fail,
      async () => {
        await new Promise<void>((resolve) => {
          end = resolve;
        });
        return { contentType: 'text', body: '' };
      },
    );
    const exchange = begin(route, { body: ['abc'] });
    await new Promise(setImmediate);
    const next = {};
    exchange.state = next;
    end();
    await exchange.answered;
    assert.equal(exchange.state, next);
  });

  it('takes nothing of a body whose head was refused', async () => {
    const exchange = begin(echo, { body: ['abc'] });
    await exchange.answered;
    exchange.finished = false;
    echo.begin(headOf({ headers: { 'content-length': '11' } }), exchange);
    echo.data(exchange, new ArrayBuffer(3), true);
    assert.equal(exchange.state, undefined);
  });
});

describe('LaterRoute', () => {
  it('reads the head and answers later; a body is passed over', async () => {
    const route = new LaterRoute(fail, async (head) => {
      const query = head.query();
      await Promise.resolve();
      return { contentType: 'text', body: query };
    });
    assert.equal((await ask(route, { query: 'a=1', body: ['x', 'y'] })).body, 'a=1');
  });

  it('answers errors', async () => {
    const route = new LaterRoute(fail, () => {
      throw new ServalError(ErrorCode.InvalidArgument, 'bad query');
    });
    assert.deepEqual(await ask(route), {
      status: ErrorCode.InvalidArgument,
      contentType: 'error',
      body: 'bad query',
      headers: [],
    });
  });

  it('sends nothing to a client that left meanwhile', async () => {
    let answer = (): void => undefined;
    const made = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const route: Route = new LaterRoute(fail, async () => {
      await made;
      return { contentType: 'text', body: 'late' };
    });
    const exchange = begin(route);
    exchange.finished = true; // as a listener does before abort()
    route.abort(exchange);
    answer();
    await new Promise(setImmediate);
    assert.equal(exchange.sends, 0);
  });
});
