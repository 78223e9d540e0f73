// The HTTP listener of a port on uWebSockets.js: a front looks at the first request of each
// connection, and those that uWebSockets.js would refuse though they are right (HTTP/1.0, a first
// line or head in pieces, `Expect: 100-Continue`) are served by node:http, on the same thread.
// Control plane; the thread that made it.
import { createServer, Socket, type Server } from 'node:net';
import { HTTP_IDLE_MS, HTTP_SILENT_MS } from '../limits.js';
import { addedCounts } from '../text.js';
import { AcceptingListener, type Accepting } from './accepting-listener.js';
import { sharesPorts } from './http-kind.js';
import type { Cut, Front, Router, Surroundings } from './listener.js';
import { NodeListener } from './node-listener.js';
import { UwsListener } from './uws-listener.js';

/** FrontEvent of native/addon/http_front.h. */
const ACCEPTED = 0;
const TO_UWS = 1;
const TO_NODE = 2;
/** How often connections are closed that have sent nothing. */
const SWEEP_MS = 1000;

/** What of Node's server is not typed: its listening socket. */
interface WithHandle {
  readonly _handle?: { readonly fd?: number };
}

export class FrontedListener extends AcceptingListener {
  readonly #front: Front | undefined;
  readonly #uws: UwsListener;
  readonly #node: NodeListener;
  readonly #idleMs: number;
  readonly #listening: (port: number) => void;
  #number = 0;
  #closed = false;
  #sweeps: NodeJS.Timeout | undefined;

  constructor(router: Router, report: (error: unknown) => void, surroundings: Surroundings = {}) {
    super(router, report, surroundings);
    const { connections: _, listening, ...shared } = surroundings;
    const inner = { ...shared, connected: (change: number) => this.connected(change) };
    this.#front = surroundings.front;
    this.#listening = listening ?? ((): void => undefined);
    this.#idleMs = surroundings.idleMs ?? HTTP_IDLE_MS;
    this.#uws = new UwsListener(router, report, inner);
    this.#node = new NodeListener(router, report, inner);
  }

  reloadCertificates(): void {}

  override routesChanged(): void {
    this.#uws.routesChanged();
    this.#node.routesChanged();
  }

  override async drain(seconds: number): Promise<Cut> {
    this.draining = true;
    this.acceptNoMore();
    const cuts = await Promise.all([this.#uws.drain(seconds), this.#node.drain(seconds)]);
    this.closeAll();
    return {
      requests: cuts.reduce((sum, { requests }) => sum + requests, 0),
      models: addedCounts(cuts.map(({ models }) => models)),
    };
  }

  protected accept(host: string, port: number, done: Accepting): void {
    const server = createServer();
    server.once('error', (error: Error) => done(undefined, ` (${error.message})`));
    server.once('listening', () => {
      const address = server.address();
      const bound = address !== null && typeof address === 'object' ? address.port : port;
      this.#number = this.#opened(server);
      server.close();
      if (this.#number === 0) {
        done(undefined, ' (its socket cannot be watched)');
        return;
      }
      this.#listening(bound);
      this.#sweeps ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
      done(bound, '');
    });
    const shared = sharesPorts() ? { reusePort: true } : {};
    server.listen({ host, port, exclusive: true, ...shared });
  }

  // The front accepts from the server's socket, which stays when the server closes.
  #opened(server: Server): number {
    const descriptor = (server as unknown as WithHandle)._handle?.fd ?? -1;
    if (this.#front === undefined || descriptor < 0) return 0;
    if (this.#number > 0) this.#front.frontSweep(this.#number, 0);
    return this.#front.frontOpen(descriptor, (event, socket) => this.#told(event, socket));
  }

  #told(event: number, descriptor: number): void {
    if (event === ACCEPTED) {
      this.connected(1);
      return;
    }
    if (this.#closed && (event === TO_UWS || event === TO_NODE)) {
      new Socket({ fd: descriptor }).destroy();
      return;
    }
    if (event === TO_UWS) this.#uws.adopt(descriptor);
    else if (event === TO_NODE) this.#node.adopt(descriptor);
    this.connected(-1);
  }

  #sweep(): void {
    this.#front?.frontSweep(this.#number, Math.min(this.#idleMs, HTTP_SILENT_MS));
  }

  protected acceptNoMore(): void {
    this.#front?.frontStop(this.#number);
  }

  protected closeAll(): void {
    this.#closed = true;
    clearInterval(this.#sweeps);
    this.#front?.frontSweep(this.#number, 0);
  }
}
