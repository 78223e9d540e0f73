// The admin address: a second HTTP listener on the first HTTP worker, where alone control, logging,
// metrics and statistics are answered, and no inference. Control plane; that thread.
import { rmSync } from 'node:fs';
import { ErrorCode, ServalError, reasonOf } from '../errors.js';
import { ADMIN_CONNECTIONS_MAX } from '../limits.js';
import { makeRoom } from '../transport/grpc/node-sockets.js';
import type { HttpListener, Router, Surroundings } from '../transport/listener.js';
import type { ListenerThread } from './listener-thread.js';
import type { AdminSettings } from './messages.js';

const UNIX = 'unix:';

type Listener = new (
  router: Router,
  report: (error: unknown) => void,
  surroundings: Surroundings,
) => HttpListener;

export class AdminListener {
  readonly #listener: HttpListener;
  readonly #address: AdminSettings;
  /** "" = TCP. */
  readonly #path: string;

  constructor(thread: ListenerThread, address: AdminSettings, listener: Listener, router: Router) {
    const { tls } = address;
    this.#address = address;
    this.#path = address.host.startsWith(UNIX) ? address.host.slice(UNIX.length) : '';
    this.#listener = new listener(router, thread.report, {
      connections: { max: ADMIN_CONNECTIONS_MAX, full: thread.full() },
      connected: thread.connected('admin'),
      isUnix: this.#path !== '',
      ...(tls && {
        tls: {
          settings: tls,
          changed: thread.certificates('admin'),
          expires: thread.expires('admin'),
        },
      }),
      ...(thread.log && { log: thread.log }),
    });
    thread.subscribe(() => this.#listener.routesChanged());
  }

  /** Settles with the port, 0 of a unix socket. Rejects with ServalError that says why not. */
  async listen(): Promise<number> {
    const { host, port } = this.#address;
    if (this.#path === '') return this.#listener.listen(host, port);
    try {
      await makeRoom(this.#path);
    } catch (error) {
      const why = reasonOf(error);
      const message = `--admin-address: cannot listen on ${host}: ${why}`;
      throw new ServalError(ErrorCode.InvalidArgument, message);
    }
    return this.#listener.listen(this.#path, 0);
  }

  reloadCertificates(): void {
    this.#listener.reloadCertificates();
  }

  async drain(seconds: number): Promise<void> {
    await this.#listener.drain(seconds);
    if (this.#path !== '') rmSync(this.#path, { force: true });
  }
}
