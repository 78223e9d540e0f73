// The uWebSockets.js listener over real sockets: bytes of one request never reach another, and late
// responses. The routes are the test's own.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { HttpExchange, HttpListener, Route } from '../../../../ts/listeners/http/listener.js';
import { uwsFile } from '../../../../ts/listeners/http/uws-binding.js';
import { RawConnection, chunked, requestBytes } from '../../../e2e/support/raw-http.js';

/** Joins a body; answers 413 as soon as it exceeds 10 bytes. Reports each chunk. */
class Joining implements Route {
  changed: () => void = () => undefined;
  readonly bodies = new Map<HttpExchange, string>();

  begin(_head: unknown, exchange: HttpExchange): void {
    this.bodies.set(exchange, '');
  }
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    const body = (this.bodies.get(exchange) ?? '') + Buffer.from(chunk).toString();
    this.bodies.set(exchange, body);
    if (body.length > 10) exchange.send(413, 'text/plain', 'too long');
    else if (last) exchange.send(200, 'text/plain', `got ${body}`);
    this.changed();
  }
  abort(): void {}
}

/** Answers on the test's command. */
class Held implements Route {
  readonly waiting: HttpExchange[] = [];
  changed: () => void = () => undefined;

  begin(_head: unknown, exchange: HttpExchange): void {
    this.waiting.push(exchange);
    this.changed();
  }
  data(): void {}
  abort(exchange: HttpExchange): void {
    this.waiting.splice(this.waiting.indexOf(exchange), 1);
    this.changed();
  }
}

const missing = uwsFile() === undefined && 'no uWebSockets.js for this Node';

describe('the listener on uWebSockets.js', { skip: missing }, () => {
  const joining = new Joining();
  const held = new Held();
  const problems: unknown[] = [];
  const connections: RawConnection[] = [];
  let listener: HttpListener;
  let port = 0;
  before(async () => {
    const { UwsListener } = await import('../../../../ts/listeners/http/uws-listener.js');
    listener = new UwsListener(
      (_method, path) => (path === '/held' ? held : joining),
      (error) => problems.push(error),
    );
    port = await listener.listen('127.0.0.1', 0);
  });
  after(async () => {
    for (const connection of connections) connection.close();
    await listener.drain(5);
    assert.deepEqual(problems, []);
  });

  const opened = async (): Promise<RawConnection> => {
    const connection = await RawConnection.open(port);
    connections.push(connection);
    return connection;
  };
  const answer = async (connection: RawConnection): Promise<string> => {
    const { status, body } = await connection.response();
    return `${status} ${body.toString()}`;
  };
  /** Waits for a chunk, or for a request to be held or gone. */
  const until = async (route: Joining | Held, condition: () => boolean): Promise<void> => {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        route.changed = resolve;
      });
    }
  };
  const bodySeen = (text: string) => (): boolean => [...joining.bodies.values()].includes(text);

  it('keeps the rest of a refused body away from the next request', async () => {
    const [refused, next] = [await opened(), await opened()];
    const head = requestBytes('POST', '/a', '', ['Transfer-Encoding: chunked']);
    await refused.write(Buffer.concat([head, Buffer.from('b\r\n0123456789a\r\n')]));
    assert.equal(await answer(refused), '413 too long');
    const whole = requestBytes('POST', '/b', 'bbbb');
    await next.write(whole.subarray(0, -2));
    await until(joining, bodySeen('bb'));
    const behind = requestBytes('POST', '/c', 'c');
    await refused.write(Buffer.concat([chunked('EVIL', 4), behind]));
    assert.equal(await refused.rest(), ''); // no data follows the chunks
    await next.write(whole.subarray(-2));
    assert.equal(await answer(next), '200 got bbbb');
  });

  it('serves one request after the other on a connection, whole or in pieces', async () => {
    const connection = await opened();
    for (const body of ['abc', 'def']) {
      const whole = requestBytes('POST', '/x', body);
      await connection.write(whole);
      assert.equal(await answer(connection), `200 got ${body}`);
      await connection.write(whole.subarray(0, -1));
      await until(joining, bodySeen(body.slice(0, 2)));
      await connection.write(whole.subarray(-1));
      assert.equal(await answer(connection), `200 got ${body}`);
    }
  });

  it('answers later, and not a client that left', async () => {
    const [stays, leaves] = [await opened(), await opened()];
    const request = requestBytes('GET', '/held');
    await stays.write(request);
    await until(held, () => held.waiting.length === 1);
    await leaves.write(request);
    await until(held, () => held.waiting.length === 2);
    const gone = held.waiting[1];
    leaves.close();
    await until(held, () => held.waiting.length === 1);
    gone?.send(200, 'text/plain', 'to nobody');
    held.waiting[0]?.send(200, 'text/plain', 'late');
    assert.equal(await answer(stays), '200 late');
  });
});
