// The HTTP listener on node:http: for a Node that uWebSockets.js has no binary for, and where it is
// asked for. It answers as that one does, in 2.6 times its processor time; what differs is in
// docs/decisions/0010. Hot path; the thread that made it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createAcceptor, Socket, type Server as Acceptor } from 'node:net';
import { isLoopback } from '../access/policy.js';
import {
  HANDSHAKE_MS_MAX,
  HTTP_HEAD_BYTES_MAX,
  HTTP_IDLE_MS,
  HTTP_KEEP_ALIVE_MS,
  HTTP_PIPELINED_MAX,
  HTTP_SILENT_MS,
  HTTP_STALLED_MS,
  HTTP_STALLED_ROOM_BYTES,
} from '../limits.js';
import { AcceptingListener, type Accepting } from './accepting-listener.js';
import { sharesPorts } from './http-kind.js';
import {
  HttpExchange,
  type HeaderName,
  type RequestHead,
  type Route,
  type Router,
  type Surroundings,
} from './listener.js';
import { NOT_HTTP_1_1, refuse, refuseUnread, type ParserError } from './node-refusal.js';
import { codingProblem, hostProblem, originForm } from './http/request-framing.js';
import { statusLine } from './status-lines.js';
import { NodeTls } from './tls/node-tls.js';

/** Shorter answers travel as text, in one piece with their head. */
const TEXT_BYTES_MAX = 4096;
/** So much of a body in one turn; then others have theirs. */
const TURN_BYTES = 262_144;
const NOTHING = new ArrayBuffer(0);

const names = new Map<HeaderName, string>();

function nameOf(bytes: HeaderName): string {
  let name = names.get(bytes);
  if (name === undefined) {
    name = new TextDecoder().decode(bytes);
    names.set(bytes, name);
  }
  return name;
}

class NodeHead implements RequestHead {
  #request: IncomingMessage | undefined;
  #mark = -1;

  #url = '';

  set(request: IncomingMessage | undefined): void {
    this.#request = request;
    const url = request?.url ?? '';
    this.#url = url.startsWith('/') ? url : originForm(url);
    this.#mark = this.#url.indexOf('?');
  }
  method(): string {
    return this.#request?.method ?? '';
  }
  path(): string {
    return this.#mark < 0 ? this.#url : this.#url.slice(0, this.#mark);
  }
  query(): string {
    return this.#mark < 0 ? '' : this.#url.slice(this.#mark + 1);
  }
  header(name: string | HeaderName): string {
    const value = this.#request?.headers[typeof name === 'string' ? name : nameOf(name)];
    return typeof value === 'string' ? value : (value?.join(', ') ?? '');
  }
  // Asked for when the socket was accepted: of one that has closed nobody knows.
  isLocal(): boolean {
    return isLoopback(this.#request?.socket.remoteAddress ?? '');
  }
}

// What Node's parser accepts and RFC 9112 does not. Answers what is no request, which is the last
// on its connection then.
function isFramed(
  { headers, rawHeaders, method, url, httpVersion }: IncomingMessage,
  response: ServerResponse,
  exchange: NodeExchange,
): boolean {
  const coding = headers['transfer-encoding'];
  const problem =
    (coding === undefined ? undefined : codingProblem(coding, httpVersion)) ??
    hostProblem(rawHeaders);
  if (problem !== undefined) {
    response.shouldKeepAlive = false;
    exchange.route?.ask?.(exchange);
    exchange.send(problem.status, 'application/json', problem.body);
    return false;
  }
  if (url !== '*' || method !== 'OPTIONS') return true;
  exchange.route?.ask?.(exchange);
  exchange.send(200, 'text/plain', '', ['Allow', 'GET, POST, OPTIONS']);
  return false;
}

/** A chunk as memory of its own; Node's are pieces of a larger buffer. */
function memoryOf({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer {
  const memory = buffer as ArrayBuffer;
  if (byteLength === memory.byteLength) return memory;
  return memory.slice(byteOffset, byteOffset + byteLength);
}

class NodeExchange extends HttpExchange {
  route: Route | undefined = undefined;
  aborted = false;
  /** Counted as receiving. */
  bodyOpen = false;
  /** The route has had the body's last chunk. */
  bodyWhole = false;
  receivedBytes = 0;
  turnBytes = 0;
  /** Of the answer, while the socket has not taken it. */
  heldBytes = 0;

  constructor(
    private readonly owner: NodeListener,
    readonly request: IncomingMessage,
    private readonly response: ServerResponse,
  ) {
    super();
  }

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
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const head = ['Content-Type', contentType, 'Content-Length', String(length)];
    if (contentType === 'application/json') head.push('X-Content-Type-Options', 'nosniff');
    if (headers !== undefined) head.push(...headers);
    if (this.added !== undefined) head.push(...this.added);
    if (owner.draining) response.shouldKeepAlive = false;
    response.writeHead(status, statusLine(status).slice(4), head);
    response.once('finish', () => owner.answered(this));
    if (typeof body === 'string') {
      response.end(body);
    } else if (length <= TEXT_BYTES_MAX) {
      const bytes = Buffer.from(body.buffer, body.byteOffset, length);
      response.end(bytes.toString('latin1'), 'latin1');
    } else {
      this.heldBytes = length;
      owner.held.change(length);
      response.end(Buffer.from(body)); // a copy: the socket takes it after we have returned
    }
  }
}

/** A connection whose body or answer does not move. */
interface Stalled {
  /** Bytes that had gone through it, both ways. */
  readonly moved: number;
  readonly silentMs: number;
}

export class NodeListener extends AcceptingListener {
  readonly #head = new NodeHead();
  /** Reads requests from the sockets that #acceptor hands it; never listens itself. */
  readonly #server: Server;
  readonly #acceptor: Acceptor;
  /** Open connections and what is not answered on each, in the order of asking. */
  readonly #sockets = new Map<Socket, Set<NodeExchange>>();
  /** Those whose body or answer has not moved for the idle limit. */
  readonly #stalled = new WeakMap<Socket, Stalled>();
  readonly #idleMs: number;
  /** Accepted, and not yet through their TLS handshake. */
  readonly #handshakes = new Set<Socket>();
  readonly #tls: NodeTls | undefined;

  constructor(router: Router, report: (error: unknown) => void, surroundings: Surroundings = {}) {
    super(router, report, surroundings);
    this.#idleMs = surroundings.idleMs ?? HTTP_IDLE_MS;
    this.#server = createServer({
      maxHeaderSize: HTTP_HEAD_BYTES_MAX,
      keepAliveTimeout: this.#idleMs,
      headersTimeout: 0,
      requestTimeout: 0,
    });
    this.#server.timeout = this.#idleMs;
    this.#server.maxHeadersCount = 0; // those beyond it would be dropped, not refused
    this.#server.on('request', (request, response) => this.#begin(request, response, false));
    this.#server.on('checkContinue', (request, response) => this.#begin(request, response, true));
    this.#server.on('checkExpectation', (request, response) =>
      this.#begin(request, response, false),
    );
    this.#server.on('connect', (request) => refuse(request.socket, NOT_HTTP_1_1, this.log));
    this.#server.on('timeout', (socket: Socket) => this.#silent(socket));
    this.#server.on('clientError', (error: ParserError, socket) => {
      try {
        refuseUnread(socket as Socket, error, router, this.log);
      } catch (failure) {
        report(failure);
        socket.destroy();
      }
    });
    // Half-closed connections are not left open: a client that ends its side went away.
    this.#acceptor = createAcceptor(
      {
        allowHalfOpen: true,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: HTTP_KEEP_ALIVE_MS,
      },
      (socket) => this.#accepted(socket),
    );
    if (surroundings.tls !== undefined) {
      this.#tls = new NodeTls({
        ...surroundings.tls,
        what: 'HTTP',
        alpn: 'http/1.1',
        alpnRequired: false,
        secured: (socket) => this.#serve(socket),
        handshakeMsMax: HANDSHAKE_MS_MAX,
      });
    }
  }

  reloadCertificates(): void {
    this.#tls?.reload();
  }

  protected accept(host: string, port: number, done: Accepting): void {
    const acceptor = this.#acceptor;
    const listening = (): void => {
      acceptor.off('error', refused);
      const bound = acceptor.address();
      done(bound !== null && typeof bound === 'object' ? bound.port : port, '');
    };
    const refused = (error: Error): void => {
      acceptor.off('listening', listening);
      done(undefined, ` (${error.message})`);
    };
    acceptor.once('listening', listening);
    acceptor.once('error', refused);
    const shared = sharesPorts() ? { reusePort: true } : {};
    acceptor.listen({ host, port, exclusive: true, ...shared });
  }

  /** Serves a connection that somebody else accepted. */
  adopt(descriptor: number): void {
    const socket = new Socket({
      fd: descriptor,
      allowHalfOpen: true,
      readable: true,
      writable: true,
    });
    socket.setKeepAlive(true, HTTP_KEEP_ALIVE_MS);
    this.#accepted(socket);
  }

  protected acceptNoMore(): void {
    this.#acceptor.close();
  }

  protected closeAll(): void {
    this.#tls?.close();
    for (const socket of this.#handshakes) socket.destroy();
    for (const socket of [...this.#sockets.keys()]) {
      socket.destroy();
      this.#closed(socket); // now: behind us nobody is there to be told
    }
  }

  #accepted(socket: Socket): void {
    socket.on('error', () => undefined); // 'close' follows
    socket.once('close', () => this.connected(-1));
    if (this.#tls === undefined) {
      this.#serve(socket);
    } else {
      this.#handshakes.add(socket);
      socket.once('close', () => this.#handshakes.delete(socket));
      this.#tls.accept(socket);
    }
    this.connected(1);
  }

  // Of TLS: what came out of the handshake.
  #serve(socket: Socket): void {
    this.#sockets.set(socket, new Set());
    void socket.remoteAddress; // Node keeps it: of a socket that has closed nobody could ask
    socket.once('close', () => this.#closed(socket));
    socket.on('end', () => socket.destroy());
    socket.on('error', () => undefined); // 'close' follows
    this.#server.emit('connection', socket);
    socket.setTimeout(Math.min(this.#idleMs, HTTP_SILENT_MS)); // until its first request
  }

  #closed(socket: Socket): void {
    const open = this.#sockets.get(socket);
    if (open === undefined) return; // told already
    this.#sockets.delete(socket);
    for (const exchange of open) this.#abort(exchange);
  }

  // Nothing has moved on this connection for the idle limit: it is closed, unless its client waits
  // for us. A body or an answer that is under way has much longer.
  #silent(socket: Socket): void {
    const open = this.#sockets.get(socket) ?? new Set();
    for (const exchange of open) {
      if (!exchange.finished && !exchange.bodyOpen) return;
    }
    const moved = socket.bytesRead + socket.bytesWritten - socket.writableLength;
    const before = this.#stalled.get(socket);
    const silentMs = this.#idleMs + (before?.moved === moved ? before.silentMs : 0);
    if (open.size === 0 || silentMs >= HTTP_STALLED_MS || this.#memoryIsShort()) {
      socket.destroy();
      return;
    }
    this.#stalled.set(socket, { moved, silentMs });
    socket.setTimeout(this.#idleMs);
  }

  // Who holds memory and does not move is not waited for then.
  #memoryIsShort(): boolean {
    if (!this.held.take(HTTP_STALLED_ROOM_BYTES)) return true;
    this.held.change(-HTTP_STALLED_ROOM_BYTES);
    return false;
  }

  #begin(request: IncomingMessage, response: ServerResponse, waits: boolean): void {
    const { socket } = request;
    const open = this.#sockets.get(socket);
    if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') {
      refuse(socket, NOT_HTTP_1_1, this.log);
      return;
    }
    if (open === undefined || open.size >= HTTP_PIPELINED_MAX) {
      socket.destroy();
      return;
    }
    const exchange = new NodeExchange(this, request, response);
    open.add(exchange);
    socket.setTimeout(this.#idleMs);
    this.active += 1;
    this.#head.set(request);
    try {
      const route = this.routes.find(request.method ?? '', this.#head.path());
      exchange.route = route;
      if (isFramed(request, response, exchange)) route.begin(this.#head, exchange);
      if (!exchange.finished) this.#awaitBody(exchange, response, waits);
    } catch (error) {
      this.failed(exchange, error);
    }
    this.#head.set(undefined);
  }

  #awaitBody(exchange: NodeExchange, response: ServerResponse, waits: boolean): void {
    const { request } = exchange;
    const length = Number(request.headers['content-length'] ?? -1);
    exchange.bodyOpen = true;
    this.receiving += 1;
    if (waits) response.writeContinue();
    request.on('data', (chunk: Buffer) => {
      exchange.receivedBytes += chunk.length;
      this.#receive(exchange, memoryOf(chunk), exchange.receivedBytes === length);
    });
    request.on('end', () => {
      if (!exchange.bodyWhole) this.#receive(exchange, NOTHING, true);
    });
  }

  #receive(exchange: NodeExchange, chunk: ArrayBuffer, last: boolean): void {
    if (last) {
      this.bodyEnded(exchange);
      exchange.bodyWhole = true;
    }
    if (exchange.finished) return;
    try {
      exchange.route?.data(exchange, chunk, last);
    } catch (error) {
      this.failed(exchange, error);
    }
    exchange.turnBytes += chunk.byteLength;
    if (!last && exchange.turnBytes >= TURN_BYTES) this.#letOthers(exchange);
  }

  // A fast client would be read from for as long as it sends: others wait until the next turn.
  #letOthers(exchange: NodeExchange): void {
    exchange.turnBytes = 0;
    exchange.request.pause();
    setImmediate(() => exchange.request.resume());
  }

  // The client went away.
  #abort(exchange: NodeExchange): void {
    exchange.aborted = true;
    this.#heldNoMore(exchange);
    this.active -= 1;
    if (exchange.finished) return; // the answer was on its way
    this.bodyEnded(exchange);
    exchange.finished = true;
    exchange.route?.abort(exchange);
  }

  /** The request's body is in, or nobody waits for its rest. For exchanges only. */
  bodyEnded(exchange: NodeExchange): void {
    if (!exchange.bodyOpen) return;
    exchange.bodyOpen = false;
    this.receiving -= 1;
  }

  /** The whole answer is with the socket. For exchanges only. */
  answered(exchange: NodeExchange): void {
    if (exchange.aborted) return;
    this.active -= 1;
    this.#heldNoMore(exchange);
    this.#sockets.get(exchange.request.socket)?.delete(exchange);
  }

  #heldNoMore(exchange: NodeExchange): void {
    if (exchange.heldBytes === 0) return;
    this.held.change(-exchange.heldBytes);
    exchange.heldBytes = 0;
  }
}
