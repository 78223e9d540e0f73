// The HTTP listener on uWebSockets.js. Hot path; the thread that made it.
import type * as uws from 'uWebSockets.js';
import { AcceptingListener, type Accepting } from './accepting-listener.js';
import { FollowedAnswer } from './followed-answer.js';
import {
  headerName,
  HttpExchange,
  type HeaderName,
  type KeepMemory,
  type RequestHead,
  type Route,
  type Router,
  type Surroundings,
} from './listener.js';
import { LARGE_CHUNK_BYTES, ReadingTurns, type Sender } from './reading-turns.js';
import { statusLine } from './status-lines.js';
import { loadUws } from './uws-binding.js';
import { WritingTurns } from './writing-turns.js';

const { App, us_listen_socket_close, us_socket_local_port } = loadUws();

const KEPT_EXCHANGES_MAX = 1024;
/** Answers from this size on are followed until the socket has taken all of it, so that a drain
 * does not cut them; smaller ones fit the kernel's buffers. */
const FOLLOWED_BYTES_MIN = 65_536;

const CONTENT_TYPE = headerName('Content-Type');
const JSON_TYPE = 'application/json';
const JSON_BYTES = headerName(JSON_TYPE);

class UwsHead implements RequestHead {
  request: uws.HttpRequest | undefined;

  method(): string {
    return this.request?.getCaseSensitiveMethod() ?? '';
  }
  path(): string {
    return this.request?.getUrl() ?? '';
  }
  query(): string {
    return this.request?.getQuery() ?? '';
  }
  header(name: string | HeaderName): string {
    return this.request?.getHeader(name) ?? '';
  }
}

// Kept and reused, with the two callbacks that uWebSockets.js gets: a request allocates nothing
// here. One whose client went away is not reused: the engine or zlib may still come back to it. Nor
// is one that was answered before its body had ended: the rest of that body still comes to it.
class UwsExchange extends HttpExchange implements Sender {
  response: uws.HttpResponse | undefined = undefined;
  route: Route | undefined = undefined;
  aborted = false;
  /** uWebSockets.js has more of the body to hand over. */
  bodyOpen = false;
  /** It has sent a large chunk of this body: it is read from in turns. */
  sendsLarge = false;
  /** The answer that the socket has not all taken. */
  following: FollowedAnswer | undefined = undefined;
  /** A HEAD request: its answer has headers only. */
  noBody = false;
  readonly owner: UwsListener;
  readonly onData: (chunk: ArrayBuffer, last: boolean) => void;
  readonly onAborted: () => void;

  constructor(owner: UwsListener) {
    super();
    this.owner = owner;
    this.onData = (chunk, last) => owner.receive(this, chunk, last);
    this.onAborted = () => owner.abort(this);
  }

  pauseReading(): void {
    this.response?.pause();
  }

  resumeReading(): void {
    if (!this.aborted) this.response?.resume();
  }

  // Hot path: reply. Status, headers, body: one corked write.
  send(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    headers?: readonly string[],
  ): void {
    if (this.finished) return;
    this.owner.bodyEnded(this);
    this.finished = true;
    const { response, owner } = this;
    if (response === undefined) return;
    if (owner.corked) this.#write(response, status, contentType, body, headers);
    else response.cork(() => this.#write(response, status, contentType, body, headers));
  }

  #write(
    response: uws.HttpResponse,
    status: number,
    contentType: string,
    body: Uint8Array | string,
    headers: readonly string[] | undefined,
  ): void {
    const { owner } = this;
    writeHead(response, status, contentType, headers);
    if (this.noBody) {
      endWithoutBody(response, body);
    } else if (typeof body !== 'string' && body.length >= FOLLOWED_BYTES_MIN) {
      this.#follow(response, body);
      return;
    } else {
      response.end(body, owner.draining);
    }
    owner.answered(this);
  }

  // What the socket does not take at once follows in turns. Meanwhile the exchange is active.
  #follow(response: uws.HttpResponse, body: Uint8Array): void {
    const { owner } = this;
    const following = new FollowedAnswer(response, owner.writing, () => owner.answered(this));
    if (following.begin(body)) {
      owner.answered(this);
      return;
    }
    following.hold(body, owner.held, owner.keep);
    this.following = following;
    response.onAborted(this.onAborted);
  }
}

// Source: RFC 9110 9.3.2: the length that GET would state, and no byte of content. As an argument
// of endWithoutBody() the length would be waited for; a drain closes the connection soon enough.
function endWithoutBody(response: uws.HttpResponse, body: Uint8Array | string): void {
  response.writeHeader('Content-Length', String(Buffer.byteLength(body)));
  response.endWithoutBody();
}

function writeHead(
  response: uws.HttpResponse,
  status: number,
  contentType: string,
  headers: readonly string[] | undefined,
): void {
  if (status !== 200) response.writeStatus(statusLine(status));
  response.writeHeader(CONTENT_TYPE, contentType === JSON_TYPE ? JSON_BYTES : contentType);
  if (headers !== undefined) {
    for (let i = 0; i + 1 < headers.length; i += 2) {
      response.writeHeader(headers[i] ?? '', headers[i + 1] ?? '');
    }
  }
}

export class UwsListener extends AcceptingListener {
  corked = false;
  readonly keep: KeepMemory;
  readonly writing = new WritingTurns();
  readonly #app = App();
  readonly #head = new UwsHead();
  readonly #free: UwsExchange[] = [];
  readonly #turns = new ReadingTurns();
  readonly #listening: (port: number) => void;
  #socket: uws.us_listen_socket | undefined;

  constructor(router: Router, report: (error: unknown) => void, surroundings: Surroundings = {}) {
    super(router, report, surroundings);
    this.keep = surroundings.keep ?? (() => undefined);
    this.#listening = surroundings.listening ?? (() => undefined);
    this.#app.filter((_response, change) => this.connected(change));
    this.#app.post('/*', (response, request) => this.#begin('POST', response, request));
    this.#app.get('/*', (response, request) => this.#begin('GET', response, request));
    this.#app.any('/*', (response, request) =>
      this.#begin(request.getCaseSensitiveMethod(), response, request),
    );
  }

  protected accept(host: string, port: number, done: Accepting): void {
    this.#app.listen(host, port, (socket) => {
      if (socket === false) {
        done(undefined, '');
        return;
      }
      this.#socket = socket;
      const bound = us_socket_local_port(socket as unknown as uws.us_socket);
      this.#listening(bound);
      done(bound, '');
    });
  }

  protected acceptNoMore(): void {
    if (this.#socket !== undefined) us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  protected closeAll(): void {
    this.#app.close();
  }

  // Hot path: receive. The head: route by URL, then the body.
  #begin(method: string, response: uws.HttpResponse, request: uws.HttpRequest): void {
    const exchange = this.#free.pop() ?? new UwsExchange(this);
    exchange.finished = false;
    exchange.response = response;
    exchange.noBody = method === 'HEAD';
    this.#head.request = request;
    this.active += 1;
    this.corked = true;
    try {
      const route = this.routes.find(method, request.getUrl());
      exchange.route = route;
      route.begin(this.#head, exchange);
      if (!exchange.finished) {
        exchange.bodyOpen = true;
        this.receiving += 1;
        response.onAborted(exchange.onAborted);
        response.onData(exchange.onData);
      }
    } catch (error) {
      this.failed(exchange, error);
    }
    this.corked = false;
    this.#head.request = undefined;
  }

  /** A chunk of a request's body. For exchanges only. */
  receive(exchange: UwsExchange, chunk: ArrayBuffer, last: boolean): void {
    if (last) {
      this.bodyEnded(exchange);
      exchange.bodyOpen = false;
    }
    if (exchange.finished) return;
    this.corked = true;
    try {
      exchange.route?.data(exchange, chunk, last);
    } catch (error) {
      this.failed(exchange, error);
    }
    this.corked = false;
    if (last || exchange.finished || chunk.byteLength < LARGE_CHUNK_BYTES) return;
    exchange.sendsLarge = true;
    this.#turns.took(exchange, chunk.byteLength);
  }

  /** The client went away. For exchanges only. */
  abort(exchange: UwsExchange): void {
    exchange.aborted = true;
    this.#heldNoMore(exchange);
    this.active -= 1;
    if (exchange.finished) return; // the answer was on its way
    this.bodyEnded(exchange);
    exchange.finished = true;
    exchange.route?.abort(exchange);
  }

  /** The request's body is in, or nobody waits for its rest. For exchanges only. */
  bodyEnded(exchange: UwsExchange): void {
    if (exchange.bodyOpen && !exchange.finished) this.receiving -= 1;
    if (!exchange.sendsLarge) return;
    exchange.sendsLarge = false;
    this.#turns.left(exchange);
  }

  /** The whole answer is with the socket: takes the exchange back. For exchanges only. */
  answered(exchange: UwsExchange): void {
    this.active -= 1;
    this.#heldNoMore(exchange);
    exchange.response = undefined;
    exchange.route = undefined;
    if (exchange.bodyOpen) return;
    if (this.#free.length < KEPT_EXCHANGES_MAX) this.#free.push(exchange);
  }

  #heldNoMore(exchange: UwsExchange): void {
    exchange.following?.end();
    exchange.following = undefined;
  }
}
