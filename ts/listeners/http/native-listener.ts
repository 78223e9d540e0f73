// The addon's HTTP listener, seen from the JavaScript thread that owns it: that thread routes
// requests that the engine does not serve itself, and tells the listener which ones the engine may
// serve. Hot path's frame; that thread. Must not know any protocol or registry: it has a router.
import { JSON_TYPE, TEXT_TYPE } from '../../base/media-types.js';
import { ERRORS, type ErrorCode } from '../../base/errors.js';
import {
  HANDSHAKE_MS_MAX,
  HTTP_HEAD_BYTES_MAX,
  HTTP_IDLE_MS,
  HTTP_SILENT_MS,
  HTTP_STALLED_MS,
  INFLATED_BYTES_MAX,
} from '../../base/limits.js';
import { ListenerEvent } from '../../base/generated/engine.js';
import { addedCounts, countsByName } from '../../base/text.js';
import type { GrpcTransportSettings, HandshakeFailures } from '../grpc/settings.js';
import { NOTHING_CUT, type Cut } from '../cut.js';
import {
  HttpExchange,
  UNLIMITED,
  type EngineRoute,
  type HttpListener,
  type Route,
  type Router,
  type Surroundings,
} from './listener.js';
import { Asked } from './answer-log.js';
import {
  EventTaker,
  eachEvent,
  engineFailure,
  handshakeFailures,
  threadAdded,
  type TellEvent,
} from '../grpc/native-events.js';
import type { ThreadAdded, ThreadRange } from '../threads.js';
import { LearnedRules } from './routes/learned-rules.js';
import { RouteCache } from './routes/route-cache.js';
import { expiryOf, pemText } from '../tls/pem-files.js';
import { TLS_VERSION_DEFAULT } from '../tls/settings.js';
import {
  NativeHead,
  NativeRequest,
  type LearnedAnswer,
  type LearnedRule,
  type NativeHttpLink,
  type NativeHttpOptions,
} from './native-binding.js';

/** Dependencies of a native listener besides those of every listener. */
export interface NativeHttpSurroundings extends Surroundings {
  readonly threads: ThreadRange;
  /** The server value that counts its threads. */
  readonly threadsValue?: string;
  readonly threadAdded?: (added: ThreadAdded) => void;
  readonly reusePort: boolean;
  readonly unsentBytesMax: number;
  /** Settings of the gRPC listener on the same port; it starts first. */
  readonly grpc?: GrpcTransportSettings;
  /** Connections without a request are closed after this time. */
  readonly idleMs?: number;
  /** Listens on this unix socket instead of a host and a port. */
  readonly unix?: { readonly path: string; readonly mode: number };
  /** The server value that counts its connections. */
  readonly connectionsValue?: string;
  readonly handshakeFailed?: (failures: HandshakeFailures) => void;
}

/** Tolerance between the addon's clock and JavaScript's at the end of a drain. */
const CLOCKS_MS = 10;

/** OPTIONS *: concerns the server as a whole. */
const SERVER_ROUTE: Route = {
  begin: (_head, exchange) => exchange.send(200, TEXT_TYPE, '', ['Allow', 'GET, POST, OPTIONS']),
  data: () => undefined,
  abort: () => undefined,
};

/** The gRPC settings that apply to a port shared with HTTP. */
function sharedSettings({ tls: _, unixPath: __, ...transport }: GrpcTransportSettings) {
  return { ...transport, inflatedBytesMax: INFLATED_BYTES_MAX };
}

class NativeExchange extends HttpExchange {
  route: Route | undefined;
  /** A constant response, with all of its headers. */
  answered: (LearnedAnswer & { readonly all: readonly string[] }) | undefined;

  constructor(
    private readonly request: NativeRequest,
    private readonly gone: () => void,
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
    this.finished = true;
    if (this.asked !== undefined) this.logAnswer(this.asked, status, body);
    const all = [...(headers ?? []), ...(this.added ?? [])];
    this.request.answer(status, contentType, all, body);
    if (this.isConstant) this.answered = { status, contentType, body, all };
    this.gone();
  }
}

/** Listens from `listen` to `drain`, once. */
export class NativeHttpListener implements HttpListener {
  readonly #link: NativeHttpLink;
  readonly #routes: RouteCache;
  readonly #report: (error: unknown) => void;
  readonly #around: NativeHttpSurroundings;
  /** By thread, then by request. */
  readonly #exchanges: Map<number, NativeExchange>[] = [];
  readonly #rules = new LearnedRules();
  #started = false;
  #draining = false;
  #cutsAtMs = Infinity;
  #cutModels: Cut['models'] | undefined;
  readonly #taker: EventTaker;
  #drained: (cut: Cut) => void = () => undefined;

  constructor(
    link: NativeHttpLink,
    router: Router,
    report: (error: unknown) => void,
    surroundings: NativeHttpSurroundings,
  ) {
    this.#link = link;
    this.#routes = new RouteCache(router);
    this.#report = report;
    this.#around = surroundings;
    this.#taker = new EventTaker(
      () => link.read((native) => native.httpTake()),
      (packed) => eachEvent('HTTP', packed, this.#tell, report),
      report,
    );
  }

  /** Rejects with a ServalError that says why it cannot listen. */
  async listen(host: string, port: number): Promise<number> {
    const { threads, reusePort, unsentBytesMax, grpc, connections = UNLIMITED } = this.#around;
    const { idleMs = HTTP_IDLE_MS, tls, unix, connectionsValue, threadsValue } = this.#around;
    const { threadsMax = threads.threads, cores = 1 } = threads;
    for (let i = 0; i < threadsMax; i += 1) this.#exchanges.push(new Map());
    const options: NativeHttpOptions = {
      connectionIdleMsMax: idleMs,
      ...(grpc && sharedSettings(grpc)),
      sharesPort: grpc !== undefined,
      host,
      port,
      threads: threads.threads,
      threadsMax,
      cores,
      ...(threadsValue !== undefined && { threadsValue }),
      reusePort,
      ...(unix && { unixPath: unix.path, unixMode: unix.mode }),
      ...(connectionsValue !== undefined && { connectionsValue }),
      connectionsMax: connections.max,
      unsentBytesMax,
      handshakeMsMax: HANDSHAKE_MS_MAX,
      targetBytesMax: HTTP_HEAD_BYTES_MAX,
      headBytesMax: HTTP_HEAD_BYTES_MAX,
      idleMs,
      silentMs: HTTP_SILENT_MS,
      stalledMs: HTTP_STALLED_MS,
      ...(tls && { tls: { minVersion: TLS_VERSION_DEFAULT, ...tls.settings } }),
    };
    const answer = this.#link.read((native) => native.httpStart(options, this.#taker.take));
    this.#started = true;
    const bound = answer.readUInt32LE();
    this.#around.listening?.(bound);
    this.#tellExpiry();
    return bound;
  }

  reloadCertificates(): void {
    if (this.#started && this.#around.tls !== undefined) {
      this.#link.native.httpReloadCertificates();
    }
  }

  routesChanged(models: ReadonlySet<string> | undefined): void {
    this.#routes.clear();
    const parts = this.#rules.forget(models);
    if (!this.#started) return;
    for (const part of parts) this.#link.native.httpForget(part);
  }

  async drain(seconds: number): Promise<Cut> {
    if (!this.#started || this.#draining) return NOTHING_CUT;
    this.#draining = true;
    const drained = new Promise<Cut>((resolve) => {
      this.#drained = resolve;
    });
    this.#cutsAtMs = performance.now() + seconds * 1000 - CLOCKS_MS;
    this.#link.native.httpDrain(seconds * 1000);
    const cut = await drained;
    this.#stop();
    return cut;
  }

  #stop(): void {
    this.#started = false;
    this.#taker.stop();
    this.#link.native.httpStop();
    for (const exchanges of this.#exchanges) {
      for (const exchange of [...exchanges.values()]) this.#left(exchange);
      exchanges.clear();
    }
  }

  readonly #tell: TellEvent = (kind, thread, id, value, payload): void => {
    switch (kind) {
      case ListenerEvent.Request:
        return this.#begin(thread, id, new NativeHead(payload, value));
      case ListenerEvent.Data:
        return this.#data(thread, id, payload, value === 1);
      case ListenerEvent.Closed:
        return this.#closed(thread, id);
      case ListenerEvent.Failed:
        return this.#failed(thread, id, value, payload);
      case ListenerEvent.Refused:
        return this.#logRefused(value, payload);
      case ListenerEvent.Full:
        return this.#around.connections?.full(value);
      case ListenerEvent.ThreadAdded:
        return this.#around.threadAdded?.(threadAdded(value, payload));
      case ListenerEvent.HandshakeFailed:
        return this.#around.handshakeFailed?.(handshakeFailures(value, payload));
      case ListenerEvent.Certificates:
        return this.#certificates(value === 0 ? undefined : payload.toString('utf8'));
      case ListenerEvent.Drained: {
        const models = addedCounts([countsByName(payload), this.#cutModels ?? {}]);
        return this.#drained({ requests: value, models });
      }
      default:
        throw new TypeError(`HTTP event of kind ${kind}`);
    }
  };

  #exchange(thread: number, id: number): [NativeExchange, NativeRequest] {
    const exchanges = this.#exchanges[thread];
    const request = new NativeRequest(this.#link.native, thread, id);
    const exchange = new NativeExchange(request, () => void exchanges?.delete(id));
    exchanges?.set(id, exchange);
    return [exchange, request];
  }

  // Hot path: route, for what the engine has not learned.
  #begin(thread: number, id: number, head: NativeHead): void {
    const [exchange, request] = this.#exchange(thread, id);
    try {
      const method = head.method();
      const path = head.path();
      const route = path === '*' ? SERVER_ROUTE : this.#routes.find(method, path);
      exchange.route = route;
      const { log } = this.#around;
      if (route === SERVER_ROUTE && log !== undefined) {
        exchange.asked = new Asked(log, method, path, performance.now());
      }
      route.begin(head, exchange);
      if (!exchange.finished && head.header('expect') !== '') request.wantBody();
      const { engine } = exchange.keyed === undefined ? route : exchange.keyed.route;
      const { answered, isConstant, keyed } = exchange;
      if (engine !== undefined && !exchange.finished) {
        const rule = this.#ruleOf(
          request,
          head,
          route,
          engine,
          exchange.added ?? [],
          keyed?.caller,
        );
        if (rule !== undefined) request.learn(rule, engine);
      } else if (isConstant && answered !== undefined && head.query() === '') {
        const rule = this.#ruleOf(request, head, route, undefined, answered.all);
        if (rule !== undefined) request.learnAnswer(rule, answered);
      }
    } catch (error) {
      this.#bug(exchange, error);
    }
  }

  // Each thread learns separately, from the requests that it forwards. undefined: the rule is
  // already known, or not allowed.
  #ruleOf(
    request: NativeRequest,
    head: NativeHead,
    route: Route,
    engine: EngineRoute | undefined,
    added: readonly string[],
    caller = 0,
  ): LearnedRule | undefined {
    const [method, path, host] = [head.method(), head.path(), head.header('host')];
    if (added.length > 0 && head.header('origin') !== '') return undefined;
    const hasLock = route.keyHeader !== undefined;
    const header = route.keyHeader?.(head) ?? '';
    if (hasLock && header === '') return undefined;
    const name = `${request.thread} ${method} ${path} ${host}`;
    if (this.#rules.isFull) this.routesChanged(undefined);
    const stamp = this.#rules.add(name, engine, added, hasLock);
    if (stamp === undefined) return undefined;
    const key = { header, value: header === '' ? '' : head.header(header), caller };
    return { method, path, host, stamp, added, key };
  }

  #data(thread: number, id: number, payload: Buffer, last: boolean): void {
    const exchange = this.#exchanges[thread]?.get(id);
    if (exchange?.route === undefined) return;
    // Copied to its own memory: a route may view it as an ArrayBuffer.
    const chunk = new Uint8Array(payload).buffer;
    try {
      exchange.route.data(exchange, chunk, last);
    } catch (error) {
      this.#bug(exchange, error);
    }
  }

  #closed(thread: number, id: number): void {
    const exchange = this.#exchanges[thread]?.get(id);
    if (exchange === undefined) return;
    this.#exchanges[thread]?.delete(id);
    // Recorded before it is cancelled.
    if (performance.now() >= this.#cutsAtMs) this.#cutModels ??= this.#around.unanswered?.() ?? {};
    this.#left(exchange);
  }

  #left(exchange: NativeExchange): void {
    if (exchange.finished) return;
    exchange.finished = true;
    try {
      exchange.route?.abort(exchange);
    } catch (error) {
      this.#report(error);
    }
  }

  // A request that the listener sent to the engine directly has failed.
  #failed(thread: number, id: number, route: number, payload: Buffer): void {
    const [exchange] = this.#exchange(thread, id);
    const { code, missingBytes, body } = engineFailure(payload);
    try {
      const learned = this.#rules.find(route);
      if (learned !== undefined) {
        exchange.added = learned.added;
        learned.engine.failed(exchange, code, body, missingBytes);
      } else {
        const text = JSON.stringify({ error: body.toString('utf8', missingBytes) });
        exchange.send(ERRORS[code as ErrorCode].v2Http, JSON_TYPE, text);
      }
    } catch (error) {
      this.#bug(exchange, error);
    }
  }

  #logRefused(status: number, payload: Buffer): void {
    const { log } = this.#around;
    if (log === undefined) return;
    const [reason = '', method = '', path = ''] = payload.toString('latin1').split('\0');
    if (path === '') {
      log.unread(`${status} ${reason}`);
      return;
    }
    const asked = new Asked(log, method, path, performance.now());
    log.answered(asked, status, JSON.stringify({ error: reason }));
  }

  // A bug in Serval must not affect other connections.
  #bug(exchange: NativeExchange, error: unknown): void {
    this.#report(error);
    exchange.send(500, JSON_TYPE, '{"error":"internal error"}');
  }

  #certificates(problem: string | undefined): void {
    if (problem === undefined) this.#tellExpiry();
    this.#around.tls?.changed(problem);
  }

  // The listener has just read the files itself.
  #tellExpiry(): void {
    const { tls } = this.#around;
    if (tls?.expires === undefined) return;
    try {
      tls.expires(expiryOf(pemText(tls.settings.certificate)));
    } catch (error) {
      this.#report(error);
    }
  }
}
