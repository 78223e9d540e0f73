// What an HTTP listener is to the protocols. The transport knows no registry and no protocol: it
// has routes by URL and hands over heads, chunks and aborts. Hot path; the listener's thread.
import type { CallKind } from '../../access/groups.js';
import type { ErrorCode } from '../../base/errors.js';
import type { AnswerLog, Asked } from './answer-log.js';
import type { Cut } from '../cut.js';
import type { ListenerTls } from '../tls/settings.js';

/** A header's lower-case name as bytes: crossing into uWebSockets.js, text costs 13 ns more. */
export type HeaderName = Uint8Array;

export function headerName(name: string): HeaderName {
  return new TextEncoder().encode(name);
}

/** Who asks by this very object is answered from what the listener has read anyway. */
export const CONTENT_LENGTH = headerName('content-length');

/** A request's line and headers. Valid only during begin(). */
export interface RequestHead {
  /** Upper case. */
  method(): string;
  /** Path without the query, still percent-encoded. */
  path(): string;
  /** What is behind "?", or "". */
  query(): string;
  /** A header's value, or "". A name that is asked for with every request is made once, by
   * headerName(). */
  header(name: string | HeaderName): string;
  /** Whether the client is on this machine: it came over loopback or a unix socket. */
  isLocal(): boolean;
}

/** Where bytes are counted that JavaScript holds for clients. */
export interface HeldBytes {
  /** Counts what is held (negative: held no more), whatever the limit. */
  change(bytes: number): void;
  /** Counts more, or answers false where it does not fit. */
  take(bytes: number): boolean;
  /** Counts an answer that the engine has counted so far, where that is large; a small one too, or
   * answers false where the budget is full. */
  keep(bytes: number): boolean;
}

/** Counts nothing. */
export const UNCOUNTED: HeldBytes = { change: () => undefined, take: () => true, keep: () => true };

/** How many connections there may be at once; `full` is told when they are there. */
export interface Connections {
  readonly max: number;
  readonly full: (connections: number) => void;
}

export const UNLIMITED: Connections = { max: Infinity, full: () => undefined };

/** Keeps the memory that `body` views until what this returns is called. undefined: it is memory
 * that its owner takes back, to be copied. */
export type KeepMemory = (body: Uint8Array) => (() => void) | undefined;

/** What a listener works with; each may be absent. */
export interface Surroundings {
  readonly connections?: Connections;
  readonly held?: HeldBytes;
  /** Asked about a long answer that its client does not take at once. Absent: it is copied. */
  readonly keep?: KeepMemory;
  /** Told the port whenever a socket begins to listen, before anybody is accepted. */
  readonly listening?: (port: number) => void;
  /** The models of requests that wait for an answer. */
  readonly unanswered?: () => Cut['models'];
  readonly tls?: ListenerTls;
  /** Told of connections that came (1) or went (-1). */
  readonly connected?: (change: number) => void;
  /** Absent: the access log is off. */
  readonly log?: AnswerLog;
}

/** One request being answered. */
export abstract class HttpExchange {
  /** The route's, for what belongs to one request. An exchange that is used again still has it. */
  state: object | undefined = undefined;
  finished = false;
  /** Headers of any answer to this request, beside its own: names and values, alternating. */
  added: readonly string[] | undefined = undefined;
  /** Where the access log is on: as long as no line of this request is written or the engine's to
   * write. */
  asked: Asked | undefined = undefined;

  /** The answer is the same for each request with this method, path and Host, until the registry or
   * the policy changes: a listener may give it by itself. Set before it is sent. */
  isConstant = false;

  /** Says which error is about to be sent. */
  note(code: ErrorCode): void {
    if (this.asked !== undefined) this.asked.code = code;
  }

  /** Of an answer that is being sent, where the access log is on. */
  protected logAnswer(asked: Asked, status: number, body: Uint8Array | string): void {
    this.asked = undefined;
    asked.log.answered(asked, status, body);
  }

  /** Sends the whole answer once; does nothing when the client is gone. Copies or sends `body`
   * before it returns. `headers`: names and values, alternating. */
  abstract send(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    headers?: readonly string[],
  ): void;
}

/** Says that the engine may answer requests to this URL by itself, whatever their headers say,
 * except those of codings (and Origin, where the exchange has headers added). */
export interface EngineRoute {
  readonly protocol: number;
  /** The model's handle; not 0. */
  readonly handle: number;
  /** Answers such a request, which the engine refused. `body`, `missingBytes`: see readError(). */
  failed(exchange: HttpExchange, code: number, body: Buffer, missingBytes: number): void;
}

/** Answers the requests of one URL. Kept and reused: all that belongs to one request is in the
 * exchange. */
export interface Route {
  /** Absent: the route sees every request. */
  readonly engine?: EngineRoute | undefined;
  /** The header by whose value this request was let in, where the route has a lock; undefined: it
   * is not known any more. */
  readonly keyHeader?: ((head: RequestHead) => string | undefined) | undefined;
  /** What access to it is given by; absent: it is no call of any group. */
  call?: CallKind;
  /** The head is in. May answer at once; otherwise data() follows. */
  begin(head: RequestHead, exchange: HttpExchange): void;
  /** A chunk of the body; its memory dies on return. */
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void;
  /** The client went away before it was answered. */
  abort(exchange: HttpExchange): void;
  /** Of what is answered before begin(): has the access log know of it. Absent: that is off. */
  ask?(exchange: HttpExchange): void;
}

/** Says what a route is, and answers it. */
export function ofCall(call: CallKind, route: Route): Route {
  route.call = call;
  return route;
}

/** Finds the route of a URL; kept by (method, path) until routesChanged(). The query is the route's
 * business. */
export type Router = (method: string, path: string) => Route;

export interface HttpListener {
  /** Reads TLS files anew, where there are any; connections that are there go on as they are. */
  reloadCertificates(): void;
  /** Listens on a host; resolves with the port. Rejects with ServalError
   * when the address is taken. */
  listen(host: string, port: number): Promise<number>;
  /** Forgets kept routes: the next request of each URL asks the router again. */
  routesChanged(): void;
  /** Stops accepting, waits for what runs (at most `seconds`) and shortly for bodies that still
   * come, closes everything. Settles with the requests that were running then. */
  drain(seconds: number): Promise<Cut>;
}
