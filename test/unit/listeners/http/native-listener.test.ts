// The JavaScript side of the addon's HTTP listener: forwarded requests are routed and answered,
// requests for the engine become rules, refusals get a message, and no rule outlives its routes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { EventWord, ListenerCommand, ListenerEvent } from '../../../../ts/base/generated/engine.js';
import type { HttpExchange, RequestHead, Route } from '../../../../ts/listeners/http/listener.js';
import type { NativeHttpCalls } from '../../../../ts/listeners/http/native-binding.js';
import { NativeHttpListener } from '../../../../ts/listeners/http/native-listener.js';

const PORT = 8000;
const JSON_TYPE = 'application/json';

interface Sent {
  readonly request: number;
  readonly command: ListenerCommand;
  readonly value: number;
  readonly bytes: Buffer;
}

/** The calls of the addon that the listener uses. */
/** Bytes of a rule before its texts. */
const RULE_WORDS = 24;

class FakeAddon implements NativeHttpCalls {
  readonly sent: Sent[] = [];
  readonly forgotten: number[] = [];
  #events: Buffer[] = [];
  #tell: () => void = () => undefined;
  #answer = Buffer.alloc(0);

  readonly link = {
    native: this as NativeHttpCalls,
    read: (call: (native: NativeHttpCalls) => number): Buffer => {
      call(this);
      return this.#answer;
    },
  };

  httpStart(_options: object, onEvents: () => void): number {
    this.#tell = onEvents;
    this.#answer = Buffer.alloc(4);
    this.#answer.writeUInt32LE(PORT);
    return 0;
  }
  httpTake(): number {
    this.#answer = Buffer.concat(this.#events);
    this.#events = [];
    return 0;
  }
  httpSend(_thread: number, request: number, command: number, value: number, bytes: Buffer): void {
    this.sent.push({ request, command, value, bytes: Buffer.from(bytes) });
  }
  httpDrain(): void {
    this.event(ListenerEvent.Drained, 0, 0);
  }
  httpReloadCertificates(): void {}
  httpForget(part: number): void {
    this.forgotten.push(part);
  }
  httpStop(): void {}

  event(kind: ListenerEvent, id: number, value: number, payload: string | Buffer = ''): void {
    const bytes = Buffer.from(payload as string, 'latin1');
    const event = Buffer.alloc(EventWord.Words * 4 + Math.ceil(bytes.length / 4) * 4);
    event.writeUInt32LE(kind, EventWord.Kind * 4);
    event.writeUInt32LE(id, EventWord.CallLow * 4);
    event.writeUInt32LE(value, EventWord.Value * 4);
    event.writeUInt32LE(bytes.length, EventWord.Bytes * 4);
    bytes.copy(event, EventWord.Words * 4);
    this.#events.push(event);
    this.#tell();
  }

  request(id: number, line: readonly [string, string, string?], headers: readonly string[] = []) {
    const [method, path, query = ''] = line;
    this.event(ListenerEvent.Request, id, 1, `${[method, path, query, ...headers].join('\0')}\0`);
  }

  /**
   * Returns [status, content type, header lines, body] of the responses so far, and forgets them.
   */
  answers(): readonly (readonly [number, string, string, string])[] {
    const answers = this.sent.filter(({ command }) => command === ListenerCommand.Answer);
    this.sent.length = 0;
    return answers.map(({ value, bytes }) => {
      const end = 4 + bytes.readUInt32LE();
      const [type = '', lines = ''] = bytes.toString('latin1', 4, end).split('\0');
      return [value, type, lines, bytes.toString('utf8', end)];
    });
  }
}

/** Echoes the complete body; `engine`: the handle that it names. */
class EchoRoute implements Route {
  readonly bodies = new Map<HttpExchange, string>();
  readonly left: HttpExchange[] = [];
  readonly engine;

  constructor(handle?: number, model = 'm') {
    const { failed } = this;
    this.engine = handle === undefined ? undefined : { protocol: 1, handle, model, failed };
  }
  begin(head: RequestHead, exchange: HttpExchange): void {
    this.bodies.set(exchange, `${head.method()} ${head.path()} ${head.header('x-a')} `);
  }
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    const text = this.bodies.get(exchange) + Buffer.from(chunk).toString();
    this.bodies.set(exchange, text);
    if (last) exchange.send(200, JSON_TYPE, text, ['X-B', 'c']);
  }
  abort(exchange: HttpExchange): void {
    this.left.push(exchange);
  }
  failed(exchange: HttpExchange, code: number, body: Buffer, missingBytes: number): void {
    exchange.send(400 + code, JSON_TYPE, `${body.toString()} ${missingBytes}`);
  }
}

async function listening(
  route: Route,
  report = (error: unknown): void => assert.fail(String(error)),
) {
  const addon = new FakeAddon();
  const around = { threads: { threads: 1 }, reusePort: false, unsentBytesMax: 1 };
  const listener = new NativeHttpListener(addon.link, () => route, report, around);
  assert.equal(await listener.listen('127.0.0.1', 0), PORT);
  return { addon, listener };
}

function failure(code: ErrorCode, text: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(code);
  return Buffer.concat([head, Buffer.from(text)]);
}

describe('the native HTTP listener', () => {
  it('answers a forwarded request by its route, in pieces too', async () => {
    const { addon } = await listening(new EchoRoute());
    addon.request(1, ['POST', '/a'], ['X-A', 'one', 'x-a', 'two']);
    addon.event(ListenerEvent.Data, 1, 0, 'b');
    addon.event(ListenerEvent.Data, 1, 1, 'c');
    assert.deepEqual(addon.answers(), [[200, JSON_TYPE, 'X-B: c\r\n', 'POST /a one, two bc']]);
  });

  it('keeps requests apart', async () => {
    const { addon } = await listening(new EchoRoute());
    for (const id of [1, 2]) addon.request(id, ['POST', `/${id}`]);
    addon.event(ListenerEvent.Data, 2, 1, 'second');
    addon.event(ListenerEvent.Data, 1, 1, 'first');
    assert.deepEqual(
      addon.answers().map(([, , , body]) => body),
      ['POST /2  second', 'POST /1  first'],
    );
  });

  it('teaches what the engine may answer, for this path and Host', async () => {
    const { addon, listener } = await listening(new EchoRoute(77));
    addon.request(1, ['POST', '/v2/models/m/infer'], ['Host', 'here:1']);
    const [rule] = addon.sent;
    assert.equal(rule?.command, ListenerCommand.Learn);
    assert.equal(rule.value, 77);
    assert.deepEqual([rule.bytes.readUInt32LE(), rule.bytes.readUInt32LE(8)], [1, 0]);
    assert.equal(
      rule.bytes.toString('latin1', RULE_WORDS),
      'POST\0/v2/models/m/infer\0here:1\0\0\0\0',
    );
    listener.routesChanged(undefined);
    assert.deepEqual(addon.forgotten, [0]);
    addon.sent.length = 0;
    addon.request(2, ['POST', '/v2/models/m/infer'], ['Host', 'here:1']);
    assert.equal(addon.sent[0]?.bytes.readUInt32LE(8), 1, 'of the next generation');
  });

  it('forgets the rules of changed models only, and those that describe several', async () => {
    const routes = new Map(['m', 'n'].map((name) => [`/${name}`, new EchoRoute(77, name)]));
    const addon = new FakeAddon();
    const around = { threads: { threads: 1 }, reusePort: false, unsentBytesMax: 1 };
    const route = (_: string, path: string): Route => routes.get(path) ?? new EchoRoute();
    const listener = new NativeHttpListener(
      addon.link,
      route,
      (error) => assert.fail(String(error)),
      around,
    );
    await listener.listen('127.0.0.1', 0);
    const teach = (id: number): readonly (readonly number[])[] => {
      addon.sent.length = 0;
      for (const path of routes.keys()) addon.request(id, ['POST', path], ['Host', 'h']);
      const rules = addon.sent.filter(({ command }) => command === ListenerCommand.Learn);
      return rules.map(({ bytes }) => [8, 12, 16].map((at) => bytes.readUInt32LE(at)));
    };
    const [m = [], n = []] = teach(1);
    assert.deepEqual([m[0], m[2], n[0], n[2]], [0, 0, 0, 0]);
    assert.notEqual(m[1], n[1]);
    listener.routesChanged(new Set(['n', 'unknown']));
    assert.ok(addon.forgotten.includes(n[1] ?? -1));
    assert.ok(!addon.forgotten.includes(m[1] ?? -1) && !addon.forgotten.includes(0));
    assert.deepEqual(teach(2), [[0, n[1], 1]], 'n, in the next generation of its part');
    const general = addon.forgotten[0];
    addon.forgotten.length = 0;
    listener.routesChanged(new Set());
    assert.deepEqual(addon.forgotten, [general]);
    assert.deepEqual(teach(3), []);
  });

  it('has the rules of a part that changed before all were forgotten', async () => {
    const { addon, listener } = await listening(new EchoRoute(77));
    const failed = (id: number, route: number): unknown => {
      addon.sent.length = 0;
      addon.event(ListenerEvent.Failed, id, route, failure(ErrorCode.InvalidArgument, 'why'));
      return addon.answers()[0]?.[3];
    };
    addon.request(1, ['POST', '/a']);
    listener.routesChanged(new Set(['m']));
    addon.sent.length = 0;
    addon.request(2, ['POST', '/a']);
    const route = addon.sent[0]?.bytes.readUInt32LE(4) ?? 0;
    listener.routesChanged(undefined);
    assert.equal(failed(3, route), 'why 0');
  });

  it('teaches each path and Host once', async () => {
    const { addon } = await listening(new EchoRoute(77));
    for (let i = 1; i < 9; i += 1) addon.request(i, ['POST', '/a'], ['Host', `h${i % 2}`]);
    const rules = addon.sent.filter(({ command }) => command === ListenerCommand.Learn);
    assert.equal(rules.length, 2);
    assert.equal(new Set(rules.map(({ bytes }) => bytes.readUInt32LE(4))).size, 2);
  });

  it('teaches nothing of a route that refused the request', async () => {
    const route = new EchoRoute(77);
    route.begin = (_head, exchange) => exchange.send(403, JSON_TYPE, 'no');
    const { addon } = await listening(route);
    addon.request(1, ['POST', '/a']);
    assert.ok(addon.sent.every(({ command }) => command !== ListenerCommand.Learn));
    assert.equal(addon.answers()[0]?.[0], 403);
  });

  it('teaches headers that every answer has, and nothing of pages of other origins', async () => {
    const route = new EchoRoute(77);
    const begin = route.begin.bind(route);
    route.begin = (head, exchange) => {
      exchange.added = ['Vary', 'Origin'];
      begin(head, exchange);
    };
    const { addon } = await listening(route);
    addon.request(1, ['POST', '/a'], ['Host', 'h', 'Origin', 'http://page']);
    assert.equal(addon.sent.length, 0);
    addon.request(2, ['POST', '/a'], ['Host', 'h']);
    const [rule] = addon.sent;
    assert.equal(rule?.bytes.toString('latin1', RULE_WORDS), 'POST\0/a\0h\0\0\0Vary: Origin\r\n\0');
    addon.sent.length = 0;
    addon.event(ListenerEvent.Failed, 3, rule.bytes.readUInt32LE(4), failure(1, 'why'));
    assert.equal(addon.answers()[0]?.[2], 'Vary: Origin\r\n');
  });

  it('teaches answers that stay the same, but not those to a query', async () => {
    const route = new EchoRoute();
    route.begin = (_head, exchange) => {
      exchange.isConstant = true;
      exchange.send(400, JSON_TYPE, '{"ready":false}', ['Retry-After', '1']);
    };
    const { addon } = await listening(route);
    addon.request(1, ['GET', '/v2/health/ready', 'a=b'], ['Host', 'h']);
    assert.ok(addon.sent.every(({ command }) => command !== ListenerCommand.Learn));
    addon.request(2, ['GET', '/v2/health/ready'], ['Host', 'h']);
    const rule = addon.sent.find(({ command }) => command === ListenerCommand.Learn);
    assert.equal(rule?.value, 400);
    assert.equal(rule.bytes.readUInt32LE(), 0xffff_ffff);
    assert.equal(
      rule.bytes.toString('latin1', RULE_WORDS),
      `GET\0/v2/health/ready\0h\0\0\0Retry-After: 1\r\n\0${JSON_TYPE}\0{"ready":false}`,
    );
  });

  it('has the route word what the engine refused, also after its routes changed', async () => {
    const { addon, listener } = await listening(new EchoRoute(77));
    addon.request(1, ['POST', '/a']);
    const route = addon.sent[0]?.bytes.readUInt32LE(4) ?? 0;
    addon.sent.length = 0;
    const refusal = failure(ErrorCode.InvalidArgument, 'why');
    addon.event(ListenerEvent.Failed, 2, route, refusal);
    const worded = [400 + ErrorCode.InvalidArgument, JSON_TYPE, '', 'why 0'];
    assert.deepEqual(addon.answers(), [worded]);
    listener.routesChanged(undefined);
    addon.event(ListenerEvent.Failed, 3, route, refusal);
    assert.deepEqual(addon.answers(), [worded]);
    listener.routesChanged(undefined);
    addon.event(ListenerEvent.Failed, 4, route, refusal);
    assert.deepEqual(addon.answers(), [[400, JSON_TYPE, '', '{"error":"why"}']]);
  });

  it('tells the route of a client that leaves, and answers it no more', async () => {
    const route = new EchoRoute();
    const { addon } = await listening(route);
    addon.request(1, ['POST', '/a']);
    addon.event(ListenerEvent.Closed, 1, 0);
    addon.event(ListenerEvent.Data, 1, 1, 'late');
    assert.equal(route.left.length, 1);
    route.left[0]?.send(200, JSON_TYPE, 'nobody');
    assert.deepEqual(addon.answers(), []);
  });

  it('reports a bug of a route and answers 500', async () => {
    const route = new EchoRoute();
    route.data = () => {
      throw new TypeError('a bug');
    };
    const reported: unknown[] = [];
    const { addon } = await listening(route, (error) => reported.push(error));
    addon.request(1, ['POST', '/a']);
    addon.event(ListenerEvent.Data, 1, 1, '');
    assert.equal(addon.answers()[0]?.[0], 500);
    assert.equal(reported.length, 1);
  });

  it('drains once, and tells routes whose requests were cut', async () => {
    const route = new EchoRoute();
    const { addon, listener } = await listening(route);
    addon.request(1, ['POST', '/a']);
    assert.deepEqual(await listener.drain(1), { requests: 0, models: {} });
    await turn();
    assert.equal(route.left.length, 1);
    assert.deepEqual(await listener.drain(1), { requests: 0, models: {} });
  });
});
