// Common part of listeners on uWebSockets.js besides serving requests: listens, closes the port
// while there are too many connections, drains. Hot path's frame; the listener's thread.
import { JSON_TYPE } from '../../base/media-types.js';
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
import { RouteCache } from './routes/route-cache.js';

const DRAIN_LOOK_MS = 5;
const LISTEN_AGAIN_MS = 100;

/** Called once with the port, or with the reason of failure ("" if it is unknown). */
export type Accepting = (port: number | undefined, why: string) => void;

export abstract class AcceptingListener implements HttpListener {
  /** Requests begun whose responses have not been passed to the socket completely. */
  active = 0;
  /** Active requests that are not answered and whose body has not completely arrived. */
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
  /** Its address; undefined before it listens. */
  #address: { readonly host: string; readonly port: number } | undefined;

  /** `report` receives errors that must never happen: exceptions of routes. */
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
  /** Closes the port but no connection. */
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

  /**
   * Counts `change` new connections. A connection that would use the last descriptors is not
   * accepted: the port is closed until there is capacity. (A listener that cannot accept would be
   * woken repeatedly and use a whole core.)
   */
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

  /** A bug in Serval must not affect other connections. */
  protected failed(exchange: HttpExchange, error: unknown): void {
    this.#report(error);
    exchange.send(500, JSON_TYPE, '{"error":"internal error"}');
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
