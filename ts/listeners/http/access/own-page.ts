// Calls that change the server's state, from browsers: refused unless a page of this very server
// makes them. A page of anybody's may send a POST with a text body to any address that its visitor
// reaches, and may call itself by a name that leads there (DNS rebinding). Programs say nothing of
// an origin and are not asked. Control plane; the listener's thread.
// Source: Fetch (Origin, Sec-Fetch-Site); RFC 6454 7.
import { hostname } from 'node:os';
import type { EngineRoute, HttpExchange, RequestHead, Route } from '../listener.js';
import { isLoopback } from '../../../access/policy.js';

const FORBIDDEN = 403;
const JSON_TYPE = 'application/json';
const TEXT_MAX = 128;
/** What a browser says of a call that no other site had a part in. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

const shown = (text: string): string => JSON.stringify(text.slice(0, TEXT_MAX)).slice(1, -1);

/** The name of a Host header, without its port and brackets. */
function nameOf(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

/** No name that DNS knows looks like one: none ends in digits, none has a colon. */
const isAddress = (name: string): boolean => /^[\d.]+$/.test(name) || name.includes(':');

/** Names that nobody else can make lead here: addresses, localhost, the machine's. */
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
  /** Most callers say the same. */
  #last = '';

  private constructor(names: readonly string[]) {
    this.#names = new Set(names);
  }

  /** undefined: nothing is checked. `host`: where it listens; `allowed`: names that lead to it, or
   * `*`. */
  static of(host: string, allowed: readonly string[]): HostCheck | undefined {
    const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    const isLocal = isLoopback(name) || name === 'localhost' || name.endsWith('.localhost');
    return isLocal && !allowed.includes('*') ? new HostCheck([name, ...allowed]) : undefined;
  }

  /** Why a call is refused; undefined: it is not. */
  problem(head: { header(name: string): string }): string | undefined {
    const host = head.header('host');
    if (host === this.#last || host === '') return undefined;
    const name = nameOf(host);
    if (name.includes('.') && !isOwnName(name) && !this.#names.has(name)) {
      const expected = 'an address, localhost, a name without a dot or one of --allowed-hosts';
      return `a call to this machine only: expected ${expected} as Host, got '${shown(host)}'`;
    }
    this.#last = host;
    return undefined;
  }
}

/** `route`, for callers with a Host that is the server's; others get 403. */
export class OwnHostRoute implements Route {
  constructor(
    private readonly route: Route,
    private readonly hosts: HostCheck,
    private readonly refused: () => void,
  ) {}

  /** A listener asks the engine for requests with the Host that was let in here. */
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

/** Whose pages may change something, by Origin. */
export type TrustedOrigin = (origin: string) => boolean;

/** Why a call may not change anything; undefined where it may. */
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

/** `route`, for those who may: others get 403 before any of a body is read, and `refused` is told
 * of them. */
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
