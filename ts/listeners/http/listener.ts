// Interface between an HTTP listener and the protocols. The transport knows no registry and no
// protocol: it has routes by URL and passes them heads, chunks and aborts. Hot path; the listener's
// thread.
import type { CallKind } from '../../access/groups.js';
import type { ErrorCode } from '../../base/errors.js';
import type { AnswerLog, Asked } from './answer-log.js';
import type { Cut } from '../cut.js';
import type { ListenerTls } from '../tls/settings.js';

/** A header's lower-case name as bytes: passing text to uWebSockets.js costs 13 ns more. */
export type HeaderName = Uint8Array;

export function headerName(name: string): HeaderName {
  return new TextEncoder().encode(name);
}

/** Lookups with this exact object use a value that the listener has read anyway. */
export const CONTENT_LENGTH = headerName('content-length');

/** A request's line and headers. Valid only during begin(). */
export interface RequestHead {
  /** Upper case. */
  method(): string;
  /** Path without the query, still percent-encoded. */
  path(): string;
  /** The part after "?", or "". */
  query(): string;
  /** A header's value, or "". Names looked up in every request are made once, by headerName(). */
  header(name: string | HeaderName): string;
  /** Whether the client is on this machine: it connected over loopback or a unix socket. */
  isLocal(): boolean;
}

/** Counts bytes that JavaScript holds for clients. */
export interface HeldBytes {
  /** Adds to the count (negative: subtracts), whatever the limit. */
  change(bytes: number): void;
  /** Adds to the count, or returns false if it does not fit. */
  take(bytes: number): boolean;
  /**
   * Takes over the count of a response from the engine if it is large; adds a small one, or returns
   * false if the budget is full.
   */
  keep(bytes: number): boolean;
}

/** Counts nothing. */
export const UNCOUNTED: HeldBytes = { change: () => undefined, take: () => true, keep: () => true };

/** Maximum number of connections; `full` is called when it is reached. */
export interface Connections {
  readonly max: number;
  readonly full: (connections: number) => void;
}

export const UNLIMITED: Connections = { max: Infinity, full: () => undefined };

/**
 * Keeps the memory that `body` views until the returned function is called. undefined: its owner
 * will reuse the memory, so it must be copied.
 */
export type KeepMemory = (body: Uint8Array) => (() => void) | undefined;

/** The environment of a listener; each member may be absent. */
export interface Surroundings {
  readonly connections?: Connections;
  readonly held?: HeldBytes;
  /** Called for a long response that its client does not read at once. Absent: it is copied. */
  readonly keep?: KeepMemory;
  /** Called with the port whenever a socket begins to listen, before any connection is accepted. */
  readonly listening?: (port: number) => void;
  /** The models that pending requests wait for. */
  readonly unanswered?: () => Cut['models'];
  readonly tls?: ListenerTls;
  /** Called for connections opened (1) or closed (-1). */
  readonly connected?: (change: number) => void;
  /** Absent: the access log is disabled. */
  readonly log?: AnswerLog;
}

/** One request being answered. */
export abstract class HttpExchange {
  /** The route's state of this request. A reused exchange still has it. */
  state: object | undefined = undefined;
  finished = false;
  /** Set by the route's lock: the caller whose key has a number, and the route that answers it. */
  keyed: { readonly caller: number; readonly route: Route } | undefined = undefined;
  /** Headers of any response to this request, besides its own: names and values, alternating. */
  added: readonly string[] | undefined = undefined;
  /**
   * Set if the access log is enabled, until a line of this request is written or the engine becomes
   * responsible for it.
   */
  asked: Asked | undefined = undefined;

  /**
   * The response is the same for each request with this method, path and Host, until the registry
   * or the policy changes: a listener may repeat it without JavaScript. Set before it is sent.
   */
  isConstant = false;

  /** Records the code of the error about to be sent. */
  note(code: ErrorCode): void {
    if (this.asked !== undefined) this.asked.code = code;
  }

  /** Logs a response that is being sent, if the access log is enabled. */
  protected logAnswer(asked: Asked, status: number, body: Uint8Array | string): void {
    this.asked = undefined;
    asked.log.answered(asked, status, body);
  }

  /**
   * Sends the whole response once; does nothing if the client has left. Copies or sends `body`
   * before it returns. `headers`: names and values, alternating.
   */
  abstract send(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    headers?: readonly string[],
  ): void;
}

/**
 * Allows the engine to serve requests to this URL directly, whatever their headers, except those of
 * codings (and Origin, if the exchange has headers added).
 */
export interface EngineRoute {
  readonly protocol: number;
  /** The model's handle; not 0. */
  readonly handle: number;
  /** The model's name: the route stays the same while this model, and the keys, do. */
  readonly model: string;
  /**
   * Answers such a request after the engine refused it. `body`, `missingBytes`: see readError().
   */
  failed(exchange: HttpExchange, code: number, body: Buffer, missingBytes: number): void;
}

/** Answers the requests of one URL. Cached and reused: the exchange has all state of a request. */
export interface Route {
  /** Absent: the route receives every request. */
  readonly engine?: EngineRoute | undefined;
  /**
   * The header whose value granted this request access, if the route has a lock; undefined: it is
   * no longer known.
   */
  readonly keyHeader?: ((head: RequestHead) => string | undefined) | undefined;
  /** Access kind; absent: it belongs to no group. */
  call?: CallKind;
  /** The head has arrived. May answer at once; otherwise data() follows. */
  begin(head: RequestHead, exchange: HttpExchange): void;
  /** A chunk of the body; its memory is invalid on return. */
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void;
  /** The client left before it was answered. */
  abort(exchange: HttpExchange): void;
  /**
   * Registers a request that is answered before begin() with the access log. Absent: the log is
   * disabled.
   */
  ask?(exchange: HttpExchange): void;
}

/** Sets the access kind of a route and returns it. */
export function ofCall(call: CallKind, route: Route): Route {
  route.call = call;
  return route;
}

/**
 * Finds the route of a URL; cached by (method, path) until routesChanged(). The route handles the
 * query.
 */
export type Router = (method: string, path: string) => Route;

export interface HttpListener {
  /** Reloads TLS files, if there are any; existing connections continue unchanged. */
  reloadCertificates(): void;
  /**
   * Listens on a host; resolves with the port. Rejects with ServalError if the address is in use.
   */
  listen(host: string, port: number): Promise<number>;
  /**
   * Clears cached routes: the next request of each URL asks the router again. `models`: the only
   * models that changed; undefined: anything may have changed.
   */
  routesChanged(models: ReadonlySet<string> | undefined): void;
  /**
   * Stops accepting, waits for running requests (at most `seconds`) and briefly for bodies still
   * arriving, then closes everything. Settles with the requests that were still running.
   */
  drain(seconds: number): Promise<Cut>;
}
