// The HTTP listener on uWebSockets.js. Hot path; the thread that made it.
import { JSON_TYPE } from '../../base/media-types.js';
import { reasonOf } from '../../base/errors.js';
import type * as uws from 'uWebSockets.js';
import { AcceptingListener, type Accepting } from './accepting-listener.js';
import { FollowedAnswer } from './followed-answer.js';
import {
  CONTENT_LENGTH,
  headerName,
  HttpExchange,
  type HeaderName,
  type KeepMemory,
  type RequestHead,
  type Route,
  type Router,
  type Surroundings,
} from './listener.js';
import { LateAnswer } from './late-answer.js';
import { LARGE_CHUNK_BYTES, ReadingTurns, type Sender } from './reading-turns.js';
import { codingProblem, NO_LENGTH } from './request-framing.js';
import { statusLine } from './status-lines.js';
import { UwsTls } from '../tls/uws-tls.js';
import { loadUws } from './uws-binding.js';
import { WritingTurns } from './writing-turns.js';

const { App, SSLApp, us_listen_socket_close, us_socket_local_port } = loadUws();

const KEPT_EXCHANGES_MAX = 1024;
/**
 * Responses of at least this size are followed until the socket has accepted all of it, so that a
 * drain does not cut them off; smaller ones fit the kernel's buffers.
 */
const FOLLOWED_BYTES_MIN = 65_536;

const TRANSFER_ENCODING = headerName('transfer-encoding');
const CONTENT_TYPE = headerName('Content-Type');
const JSON_BYTES = headerName(JSON_TYPE);
const TYPE_OPTIONS = headerName('X-Content-Type-Options');
const NO_SNIFF = headerName('nosniff');

class UwsHead implements RequestHead {
  request: uws.HttpRequest | undefined;
  /** Content-Length, once it has been read. */
  length = '';
  response: uws.HttpResponse | undefined;

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
    if (name === CONTENT_LENGTH && this.length !== '') return this.length;
    return this.request?.getHeader(name) ?? '';
  }
  isLocal(): boolean {
    return this.response !== undefined && isLoopbackBytes(this.response.getRemoteAddress());
  }
}

const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');
const IPV6_LOOPBACK = Buffer.from('00000000000000000000000000000001', 'hex');

// Empty for a closed connection.
function isLoopbackBytes(address: ArrayBuffer): boolean {
  const bytes = Buffer.from(address);
  if (bytes.length === 4) return bytes[0] === 127;
  if (bytes.length !== 16) return false;
  return bytes.equals(IPV6_LOOPBACK) || (bytes.subarray(0, 12).equals(MAPPED) && bytes[12] === 127);
}

// Kept and reused, with the two callbacks that uWebSockets.js gets: a request allocates nothing
// here. An exchange whose client left is not reused: the engine or zlib may still call it. Neither
// is one that was answered before its body had ended: the rest of that body still arrives.
class UwsExchange extends HttpExchange implements Sender {
  response: uws.HttpResponse | undefined = undefined;
  route: Route | undefined = undefined;
  aborted = false;
  /** uWebSockets.js has more of the body to deliver. */
  bodyOpen = false;
  /** It has sent a large chunk of this body: it is read in turn with others. */
  sendsLarge = false;
  /** The response that the socket has not completely accepted. */
  following: FollowedAnswer | undefined = undefined;
  /** A HEAD request: its response has headers only. */
  noBody = false;
  /**
   * Its response is the last of its connection: following bytes could be parsed differently from
   * what the sender meant.
   */
  closes = false;
  /** For one that closes: more of its body is expected. */
  lastDue = false;
  /** For one that closes: its response, while that waits. */
  late: LateAnswer | undefined;
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
    if (this.asked !== undefined) this.logAnswer(this.asked, status, body);
    const { response, owner } = this;
    if (response === undefined) return;
    if (this.closes && (owner.corked || this.lastDue)) {
      this.#sendBehind(response, status, contentType, body, headers);
    } else if (owner.corked) this.#write(response, status, contentType, body, headers);
    else response.cork(() => this.#write(response, status, contentType, body, headers));
  }

  // uWebSockets.js continues to read and answer buffered requests until the end of this iteration,
  // even if the connection is to end; while a response is pending, it closes the connection
  // instead. Also, a client that still sends would not read a response followed by a close: its
  // body may end first, within limits.
  #sendBehind(
    response: uws.HttpResponse,
    status: number,
    contentType: string,
    body: Uint8Array | string,
    headers: readonly string[] | undefined,
  ): void {
    const copy = typeof body === 'string' ? body : Buffer.from(body);
    this.owner.held.change(copy.length);
    this.late = new LateAnswer(
      () => response.cork(() => this.#write(response, status, contentType, copy, headers)),
      () => this.owner.held.change(-copy.length),
    );
    if (!this.lastDue) this.late.sendSoon();
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
    if (this.added !== undefined) writeHeaders(response, this.added);
    if (this.noBody) {
      endWithoutBody(response, body);
    } else if (typeof body !== 'string' && body.length >= FOLLOWED_BYTES_MIN) {
      this.#follow(response, body);
      return;
    } else {
      response.end(body, this.closes || owner.draining);
    }
    owner.answered(this);
  }

  // Data that the socket does not accept at once is written later. The exchange stays active
  // meanwhile.
  #follow(response: uws.HttpResponse, body: Uint8Array): void {
    const { owner } = this;
    if (this.closes) {
      // tryEnd() cannot end the connection: it stays open, without reads, until its client closes
      // it or it times out.
      response.writeHeader('Connection', 'close');
      response.pause();
    }
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

// Source: RFC 9110 9.3.2: the length that GET would state, and no content. As an argument of
// endWithoutBody() the length would be waited for; a drain closes the connection soon enough.
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
  if (contentType === JSON_TYPE) {
    response.writeHeader(CONTENT_TYPE, JSON_BYTES);
    response.writeHeader(TYPE_OPTIONS, NO_SNIFF);
  } else {
    response.writeHeader(CONTENT_TYPE, contentType);
  }
  if (headers !== undefined) writeHeaders(response, headers);
}

function writeHeaders(response: uws.HttpResponse, headers: readonly string[]): void {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    response.writeHeader(headers[i] ?? '', headers[i + 1] ?? '');
  }
}

/** An app and its open connections. */
interface Served {
  readonly app: uws.TemplatedApp;
  open: number;
}

export class UwsListener extends AcceptingListener {
  corked = false;
  readonly keep: KeepMemory;
  readonly writing = new WritingTurns();
  readonly #head = new UwsHead();
  readonly #free: UwsExchange[] = [];
  readonly #turns = new ReadingTurns();
  readonly #listening: (port: number) => void;
  readonly #tls: UwsTls | undefined;
  #served: Served;
  /** Apps with replaced certificates, kept as long as they have connections. */
  readonly #retired = new Set<Served>();
  #socket: uws.us_listen_socket | undefined;
  #address = { host: '', port: 0 };

  constructor(router: Router, report: (error: unknown) => void, surroundings: Surroundings = {}) {
    super(router, report, surroundings);
    this.keep = surroundings.keep ?? (() => undefined);
    this.#listening = surroundings.listening ?? (() => undefined);
    const { tls } = surroundings;
    this.#tls = tls && new UwsTls(tls, () => this.reloadCertificates());
    this.#served = this.#made();
    this.#tls?.serves();
  }

  // Creates an app that serves here. Errors: InvalidArgument (TLS).
  #made(): Served {
    const app = this.#tls === undefined ? App() : this.#tls.app(SSLApp);
    const served: Served = { app, open: 0 };
    app.filter((_response, change) => {
      served.open += change;
      if (served.open === 0) this.#retired.delete(served);
      this.connected(change);
    });
    app.post('/*', (response, request) => this.#begin('POST', response, request));
    app.get('/*', (response, request) => this.#begin('GET', response, request));
    app.any('/*', (response, request) =>
      this.#begin(request.getCaseSensitiveMethod(), response, request),
    );
    return served;
  }

  // An app cannot change its certificates: a new one takes over its port, and the old one keeps its
  // existing connections.
  reloadCertificates(): void {
    const { changed } = this.#tls ?? {};
    if (changed === undefined) return;
    const before = this.#served;
    try {
      this.#served = this.#made();
    } catch (error) {
      changed(reasonOf(error));
      return;
    }
    const socket = this.#socket;
    if (socket !== undefined) {
      const { host, port } = this.#address;
      let why: string | undefined = 'the port is in use';
      this.accept(host, port, (bound) => {
        if (bound !== undefined) why = undefined;
      });
      if (why !== undefined) {
        this.#served = before;
        changed(why);
        return;
      }
      // After an iteration that has accepted waiting connections: those still waiting at a closing
      // port are reset.
      setImmediate(() => us_listen_socket_close(socket));
    }
    if (before.open > 0) this.#retired.add(before);
    this.#tls?.serves();
    changed(undefined);
  }

  protected accept(host: string, port: number, done: Accepting): void {
    this.#served.app.listen(host, port, (socket) => {
      if (socket === false) {
        done(undefined, '');
        return;
      }
      this.#socket = socket;
      const bound = us_socket_local_port(socket as unknown as uws.us_socket);
      this.#address = { host, port: bound };
      this.#listening(bound);
      done(bound, '');
    });
  }

  protected acceptNoMore(): void {
    if (this.#socket !== undefined) us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  protected closeAll(): void {
    this.#tls?.close();
    for (const { app } of [this.#served, ...this.#retired]) app.close();
  }

  // Hot path: receive. The head: route by URL, then the body.
  #begin(method: string, response: uws.HttpResponse, request: uws.HttpRequest): void {
    const exchange = this.#free.pop() ?? new UwsExchange(this);
    exchange.finished = false;
    exchange.response = response;
    exchange.noBody = method === 'HEAD';
    this.#head.request = request;
    this.#head.response = response;
    this.active += 1;
    this.corked = true;
    try {
      const route = this.routes.find(method, request.getUrl());
      exchange.route = route;
      if (this.#framed(method, request, exchange)) route.begin(this.#head, exchange);
      if (!exchange.finished || exchange.closes) {
        exchange.bodyOpen = true;
        if (!exchange.finished) this.receiving += 1;
        response.onAborted(exchange.onAborted);
        response.onData(exchange.onData);
      }
    } catch (error) {
      this.failed(exchange, error);
    }
    this.corked = false;
    this.#head.request = undefined;
    this.#head.response = undefined;
  }

  // uWebSockets.js treats any Transfer-Encoding as chunked, and parses chunks less strictly than
  // RFC 9112: bytes after such a body are not read any more. Answers invalid requests. A body with
  // a Content-Length, which is what clients send, costs nothing here: its route reads the length
  // anyway.
  #framed(method: string, request: uws.HttpRequest, exchange: UwsExchange): boolean {
    const takesBody = method === 'POST';
    this.#head.length = takesBody ? request.getHeader(CONTENT_LENGTH) : '';
    exchange.closes = exchange.lastDue = false;
    if (this.#head.length !== '') return true;
    const coding = request.getHeader(TRANSFER_ENCODING);
    exchange.closes = exchange.lastDue = takesBody || coding !== '';
    if (coding === '') return true;
    const problem = takesBody ? codingProblem(coding) : NO_LENGTH;
    if (problem === undefined) return true;
    exchange.route?.ask?.(exchange);
    exchange.send(problem.status, JSON_TYPE, problem.body);
    return false;
  }

  /** A chunk of a request's body. Called by exchanges only. */
  receive(exchange: UwsExchange, chunk: ArrayBuffer, last: boolean): void {
    if (last) {
      this.bodyEnded(exchange);
      exchange.bodyOpen = exchange.lastDue = false;
    }
    if (exchange.finished) {
      exchange.late?.received(chunk.byteLength, last);
      return;
    }
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

  /** The client left. Called by exchanges only. */
  abort(exchange: UwsExchange): void {
    exchange.aborted = true;
    exchange.late?.drop();
    this.#heldNoMore(exchange);
    this.active -= 1;
    if (exchange.finished) return; // the response was being written
    this.bodyEnded(exchange);
    exchange.finished = true;
    exchange.route?.abort(exchange);
  }

  /** The request's body is complete, or the rest is not needed. Called by exchanges only. */
  bodyEnded(exchange: UwsExchange): void {
    if (exchange.bodyOpen && !exchange.finished) this.receiving -= 1;
    if (!exchange.sendsLarge) return;
    exchange.sendsLarge = false;
    this.#turns.left(exchange);
  }

  /**
   * The socket has accepted the whole response: recycles the exchange. Called by exchanges only.
   */
  answered(exchange: UwsExchange): void {
    this.active -= 1;
    this.#heldNoMore(exchange);
    exchange.response = undefined;
    exchange.route = undefined;
    exchange.late = undefined;
    exchange.added = undefined;
    if (exchange.bodyOpen) return;
    if (this.#free.length < KEPT_EXCHANGES_MAX) this.#free.push(exchange);
  }

  #heldNoMore(exchange: UwsExchange): void {
    exchange.following?.end();
    exchange.following = undefined;
  }
}
