// Protects calls that change the server's state from browsers: refused unless a page of this server
// makes them. A page of any site can send a POST with a text body to any address that its visitor
// can reach, and can use a host name that resolves there (DNS rebinding). Programs send no origin
// and are not checked. Control plane; the listener's thread. Source: Fetch (Origin,
// Sec-Fetch-Site); RFC 6454 7.
import { hostname } from 'node:os';
import { JSON_TYPE } from '../../../base/media-types.js';
import type { EngineRoute, HttpExchange, RequestHead, Route } from '../listener.js';
import { isLoopback } from '../../../access/policy.js';

const FORBIDDEN = 403;
const TEXT_MAX = 128;
/** Sec-Fetch-Site values of a call that no other site was involved in. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

const shown = (text: string): string => JSON.stringify(text.slice(0, TEXT_MAX)).slice(1, -1);

/** The name of a Host header, without port and brackets. */
function nameOf(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

/** No DNS name looks like an address: none ends in digits, none has a colon. */
const isAddress = (name: string): boolean => /^[\d.]+$/.test(name) || name.includes(':');

/** Names that nobody else can make resolve here: addresses, localhost, the machine's own name. */
function isOwnName(name: string): boolean {
  if (isAddress(name) || name === 'localhost' || name.endsWith('.localhost')) return true;
  return name === hostname().toLowerCase();
}

/** The Host of calls on a listener that only this machine reaches, without keys: any page may call
 * itself by a name that leads there (DNS rebinding) and would read the responses. Such a name is in
 * a public domain, so it has a dot; names without one (of containers, of hosts files) are accepted.
 * Requests without Host are not a browser's. */
export class HostCheck {
  readonly #names: ReadonlySet<string>;
  /** Most callers send the same host. */
  #last = '';

  private constructor(names: readonly string[]) {
    this.#names = new Set(names);
  }

  /**
   * undefined: nothing is checked. `host`: the listening address; `allowed`: names that resolve to
   * it, or `*`.
   */
  static of(host: string, allowed: readonly string[]): HostCheck | undefined {
    const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    const isLocal = isLoopback(name) || name === 'localhost' || name.endsWith('.localhost');
    return isLocal && !allowed.includes('*') ? new HostCheck([name, ...allowed]) : undefined;
  }

  /** Why a call is refused; undefined: it is allowed. */
  problem(head: { header(name: string): string }): string | undefined {
    const host = head.header('host');
    if (host === this.#last || host === '') return undefined;
    const name = nameOf(host);
    if (name.includes('.') && !isOwnName(name) && !this.#names.has(name)) {
      const expected = 'an address, localhost, a name without a dot or one of --allowed-hosts';
      return `only calls to this machine are accepted: expected ${expected} as Host, got '${shown(host)}'`;
    }
    this.#last = host;
    return undefined;
  }
}

/** Wraps `route` for callers whose Host is the server's; others get 403. */
export class OwnHostRoute implements Route {
  constructor(
    private readonly route: Route,
    private readonly hosts: HostCheck,
    private readonly refused: () => void,
  ) {}

  /** Rules taught to the engine include the Host that was accepted here. */
  get engine(): EngineRoute | undefined {
    return this.route.engine;
  }

  begin(head: RequestHead, exchange: HttpExchange): void {
    const problem = this.hosts.problem(head);
    if (problem === undefined) {
      this.route.begin(head, exchange);
      return;
    }
    this.refused();
    exchange.send(FORBIDDEN, JSON_TYPE, JSON.stringify({ error: problem }));
  }
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    this.route.data(exchange, chunk, last);
  }
  abort(exchange: HttpExchange): void {
    this.route.abort(exchange);
  }
}

/** Origins whose pages may change the server's state. */
export type TrustedOrigin = (origin: string) => boolean;

/** Why a call may not change anything; undefined if it may. */
export function foreignCall(
  head: Pick<RequestHead, 'header'>,
  trusted: TrustedOrigin = () => false,
): string | undefined {
  const origin = head.header('origin');
  if (trusted(origin)) return undefined;
  const site = head.header('sec-fetch-site').toLowerCase();
  if (site !== '' && !OWN_SITES.has(site)) {
    const expected = 'a program, or a page of this server';
    return `a call that changes state: expected ${expected}, got Sec-Fetch-Site '${shown(site)}'`;
  }
  if (origin === '') return undefined;
  const host = head.header('host');
  const authority = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1] ?? '';
  if (authority.toLowerCase() !== host.toLowerCase()) {
    const got = `Origin '${shown(origin)}' at Host '${shown(host)}'`;
    return `a call that changes state: expected a program, or a page of this server, got ${got}`;
  }
  if (isOwnName(nameOf(host))) return undefined;
  const expected = `an address, localhost or '${hostname()}'`;
  return `a browser's call that changes state: expected ${expected} as Host, got '${shown(host)}'`;
}

/**
 * Wraps `route` for allowed callers: others get 403 before any of the body is read, and `refused`
 * is called.
 */
export class OwnPageRoute implements Route {
  constructor(
    private readonly route: Route,
    private readonly trusted: TrustedOrigin | undefined,
    private readonly refused: () => void,
  ) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    const problem = foreignCall(head, this.trusted);
    if (problem === undefined) {
      this.route.begin(head, exchange);
      return;
    }
    this.refused();
    exchange.send(FORBIDDEN, JSON_TYPE, JSON.stringify({ error: problem }));
  }
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    this.route.data(exchange, chunk, last);
  }
  abort(exchange: HttpExchange): void {
    this.route.abort(exchange);
  }
}
