// What a listener on uWebSockets.js does beside serving: listen, close the port while there are too
// many connections, drain. Hot path's frame; the listener's thread.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { DRAIN_BODY_MS } from '../../base/limits.js';
import { type Cut } from '../cut.js';
import {
  UNCOUNTED,
  UNLIMITED,
  type Connections,
  type HeldBytes,
  type HttpExchange,
  type HttpListener,
  type Router,
  type Surroundings,
} from './listener.js';
import type { AnswerLog } from './answer-log.js';
import { RouteCache } from './route-cache.js';

const DRAIN_LOOK_MS = 5;
const LISTEN_AGAIN_MS = 100;

/** Told once: the port, or why not ("" where nothing is known). */
export type Accepting = (port: number | undefined, why: string) => void;

export abstract class AcceptingListener implements HttpListener {
  /** Requests that were begun, until their answers are with the socket. */
  active = 0;
  /** Of the active ones, those that are not answered and whose body has not all come. */
  receiving = 0;
  draining = false;
  readonly held: HeldBytes;
  protected readonly routes: RouteCache;
  protected readonly log: AnswerLog | undefined;
  readonly #report: (error: unknown) => void;
  readonly #connections: Connections;
  readonly #connected: (change: number) => void;
  readonly #unanswered: () => Cut['models'];
  #open = 0;
  #accepts: 'no' | 'soon' | 'yes' = 'no';
  /** Where it listens; undefined before that. */
  #address: { readonly host: string; readonly port: number } | undefined;

  /** `report` takes what must never happen: exceptions of routes. */
  constructor(router: Router, report: (error: unknown) => void, surroundings: Surroundings = {}) {
    this.held = surroundings.held ?? UNCOUNTED;
    this.routes = new RouteCache(router);
    this.log = surroundings.log;
    this.#report = report;
    this.#connections = surroundings.connections ?? UNLIMITED;
    this.#connected = surroundings.connected ?? (() => undefined);
    this.#unanswered = surroundings.unanswered ?? (() => ({}));
  }

  /** Opens the port. */
  protected abstract accept(host: string, port: number, done: Accepting): void;
  /** Closes the port and no connection. */
  protected abstract acceptNoMore(): void;
  /** Closes every connection. */
  protected abstract closeAll(): void;

  abstract reloadCertificates(): void;

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#accept(host, port, resolve, (why) => {
        const where = host.startsWith('/') ? host : `${host}:${port}`;
        const text = `cannot listen on ${where}: the address is in use or not permitted`;
        reject(new ServalError(ErrorCode.InvalidArgument, text + why));
      });
    });
  }

  routesChanged(): void {
    this.routes.clear();
  }

  async drain(seconds: number): Promise<Cut> {
    this.draining = true;
    this.#acceptNoMore();
    const begun = performance.now();
    const passed = (ms: number): boolean => performance.now() - begun >= ms;
    const waits = (): boolean => this.active > (passed(DRAIN_BODY_MS) ? this.receiving : 0);
    while (waits() && !passed(seconds * 1000)) {
      await new Promise((resolve) => {
        setTimeout(resolve, DRAIN_LOOK_MS);
      });
    }
    const requests = this.active - this.receiving;
    const models = requests === 0 ? {} : this.#unanswered();
    this.closeAll();
    return { requests, models };
  }

  /** `change` connections came. Nobody is accepted who would take the last descriptors: the port is
   * closed until there is room. (A listener that cannot accept is told so again and again, and
   * takes a core.) */
  protected connected(change: number): void {
    this.#open += change;
    this.#connected(change);
    const { max, full } = this.#connections;
    if (this.#open >= max && this.#accepts === 'yes') {
      this.#acceptNoMore();
      full(max);
    } else if (this.#open < max && this.#accepts === 'no') {
      setImmediate(() => this.#listenAgain());
    }
  }

  /** A bug of ours must not take the other connections down. */
  protected failed(exchange: HttpExchange, error: unknown): void {
    this.#report(error);
    exchange.send(500, 'application/json', '{"error":"internal error"}');
  }

  #listenAgain(): void {
    const full = this.#open >= this.#connections.max;
    if (this.draining || full || this.#accepts !== 'no' || this.#address === undefined) return;
    const { host, port } = this.#address;
    const later = (): void => void setTimeout(() => this.#listenAgain(), LISTEN_AGAIN_MS);
    this.#accept(host, port, () => undefined, later);
  }

  #accept(
    host: string,
    port: number,
    done: (port: number) => void,
    failed: (why: string) => void,
  ): void {
    this.#accepts = 'soon';
    this.accept(host, port, (bound, why) => {
      this.#accepts = bound === undefined ? 'no' : 'yes';
      if (bound === undefined) {
        failed(why);
        return;
      }
      this.#address = { host, port: bound };
      done(bound);
    });
  }

  #acceptNoMore(): void {
    if (this.#accepts === 'yes') this.acceptNoMore();
    this.#accepts = 'no';
  }
}
