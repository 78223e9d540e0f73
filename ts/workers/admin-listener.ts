// The admin address: a second HTTP listener on the first HTTP worker, where alone control, logging,
// metrics and statistics are answered, and no inference. Control plane; that thread.
import { ErrorCode, ServalError, reasonOf } from '../errors.js';
import { ADMIN_CONNECTIONS_MAX } from '../limits.js';
import type { HttpListener, Router, Surroundings } from '../transport/listener.js';
import { makeRoom, UnixSocketFile } from '../transport/sockets/unix-socket.js';
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
  /** undefined = TCP. */
  readonly #unix: UnixSocketFile | undefined;

  constructor(thread: ListenerThread, address: AdminSettings, listener: Listener, router: Router) {
    const { tls } = address;
    this.#address = address;
    const { host, socketMode } = address;
    if (host.startsWith(UNIX)) this.#unix = new UnixSocketFile(host.slice(UNIX.length), socketMode);
    this.#listener = new listener(router, thread.report, {
      connections: { max: ADMIN_CONNECTIONS_MAX, full: thread.full() },
      connected: thread.connected('admin'),
      ...(this.#unix && { unix: this.#unix }),
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
    if (this.#unix === undefined) return this.#listener.listen(host, port);
    try {
      await makeRoom(this.#unix.path);
    } catch (error) {
      const why = reasonOf(error);
      const message = `--admin-address: cannot listen on ${host}: ${why}`;
      throw new ServalError(ErrorCode.InvalidArgument, message);
    }
    return this.#listener.listen(this.#unix.path, 0);
  }

  reloadCertificates(): void {
    this.#listener.reloadCertificates();
  }

  async drain(seconds: number): Promise<void> {
    await this.#listener.drain(seconds);
    this.#unix?.remove();
  }
}
