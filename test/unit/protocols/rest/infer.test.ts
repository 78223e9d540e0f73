// From head and chunks to one engine call and back, on a port whose native side is played by the
// test: a reused exchange keeps nothing of its last request.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { V1_PREDICT } from '../../../../ts/model/request-kinds.js';
import { InferRoute, type InferState } from '../../../../ts/protocols/rest/infer.js';
import {
  UNCOUNTED,
  type HttpExchange,
  type RequestHead,
} from '../../../../ts/listeners/http/listener.js';
import { FakeNative, PENDING } from '../../engine/fake-native.js';
import { FakeExchange, headOf } from '../fake-http.js';

class Route extends InferRoute {
  protected readHead(head: RequestHead, state: InferState): void {
    const length = head.header('json-bytes');
    if (length !== '') state.jsonBytes = Number(length);
  }
  protected succeed({ exchange }: InferState, body: Uint8Array): void {
    exchange.send(200, 'text', body);
  }
  protected fail(exchange: HttpExchange, code: ErrorCode, message: string): void {
    exchange.send(code, 'error', message);
  }
}

const HANDLE = 3;
const chunk = new ArrayBuffer(2);

function started() {
  const native = new FakeNative();
  const route = new Route(
    { link: native.link, bodyBytesMax: 1_000_000, inflatedBytesMax: 1_000_000, held: UNCOUNTED },
    V1_PREDICT,
    HANDLE,
    'm',
  );
  const exchange = new FakeExchange();
  const begin = (headers: Readonly<Record<string, string>> = {}): void => {
    exchange.finished = false;
    route.begin(headOf({ headers }), exchange);
  };
  return { native, route, exchange, begin };
}

describe('InferRoute', () => {
  it('makes one call of a body in one piece; the next request keeps nothing', () => {
    const { native, route, exchange, begin } = started();
    begin({ 'json-bytes': '7' });
    route.data(exchange, chunk, true);
    const { state } = exchange;
    begin();
    route.data(exchange, chunk, true);
    assert.deepEqual(native.calls, [
      ['infer', V1_PREDICT, HANDLE, chunk, 7],
      ['infer', V1_PREDICT, HANDLE, chunk, -1],
    ]);
    assert.equal(exchange.state, state, 'made once');
    assert.equal(exchange.sends, 2);
  });

  it('appends a body in pieces, and answers when its completion comes', async () => {
    const { native, route, exchange, begin } = started();
    native.codes.set('inferBody', PENDING);
    begin();
    route.data(exchange, chunk, false); // the body's ticket is 1
    route.data(exchange, chunk, true);
    assert.equal(exchange.sends, 0);
    native.complete(native.calls.length, ErrorCode.QueueFull, 'full');
    assert.deepEqual(await exchange.answered, {
      status: ErrorCode.QueueFull,
      contentType: 'error',
      body: 'full',
      headers: [],
    });
    assert.deepEqual(
      native.calls.map(([name, at]) => [name, at]),
      [
        ['openBody', 0],
        ['appendBody', 1],
        ['appendBody', 1],
        ['inferBody', 1],
      ],
    );
  });

  it('drops what is too much, and what a client that leaves had sent', () => {
    const { native, route, exchange, begin } = started();
    begin({ 'content-length': '600000' });
    native.codes.set('appendBody', ErrorCode.BodyTooLarge);
    route.data(exchange, chunk, false);
    assert.deepEqual([exchange.sends, native.cancelled], [1, [1]]);
    native.codes.clear();
    begin();
    route.data(exchange, chunk, false);
    exchange.finished = true; // as a listener does before abort()
    route.abort(exchange);
    route.abort(exchange);
    assert.deepEqual([exchange.sends, native.cancelled], [1, [1, 3]]);
  });
});
