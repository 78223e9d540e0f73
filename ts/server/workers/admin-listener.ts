// The admin address: a second HTTP listener of the first HTTP worker, which alone serves control,
// logging, metrics and statistics, and no inference. It always uses the addon's listener. Control
// plane; that thread.
import { UNIX_PREFIX } from '../../listeners/unix-socket.js';
import { ServalError } from '../../base/errors.js';
import { ADMIN_CONNECTIONS_MAX } from '../../base/limits.js';
import type { Router } from '../../listeners/http/listener.js';
import { adminLink } from '../../listeners/http/native-binding.js';
import { NativeHttpListener } from '../../listeners/http/native-listener.js';
import type { ListenerThread } from './listener-thread.js';
import type { AdminSettings } from './messages.js';

export class AdminListener {
  readonly #listener: NativeHttpListener;
  readonly #address: AdminSettings;
  readonly #isUnix: boolean;

  /** `unsentBytesMax`: maximum bytes of responses that clients have not read yet, in total. */
  constructor(
    thread: ListenerThread,
    address: AdminSettings,
    router: Router,
    unsentBytesMax: number,
  ) {
    const { tls, host, socketMode } = address;
    this.#address = address;
    this.#isUnix = host.startsWith(UNIX_PREFIX);
    this.#listener = new NativeHttpListener(adminLink(thread.link), router, thread.report, {
      threads: { threads: 1 },
      reusePort: false,
      unsentBytesMax,
      connections: { max: ADMIN_CONNECTIONS_MAX, full: thread.full() },
      connectionsValue: 'connections_admin',
      handshakeFailed: thread.handshakeFailed('admin'),
      ...(this.#isUnix && { unix: { path: host.slice(UNIX_PREFIX.length), mode: socketMode } }),
      ...(tls && {
        tls: {
          settings: tls,
          changed: thread.certificates('admin'),
          expires: thread.expires('admin'),
        },
      }),
      ...(thread.log && { log: thread.log }),
    });
    thread.subscribe((models) => this.#listener.routesChanged(models));
  }

  /**
   * Settles with the port, 0 for a unix socket. Rejects with a ServalError that gives the reason.
   */
  async listen(): Promise<number> {
    const { host, port } = this.#address;
    try {
      return await this.#listener.listen(this.#isUnix ? '' : host, port);
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      const why = error.message.replace(/^HTTP /, '');
      throw new ServalError(error.code, `--admin-address: ${why}`);
    }
  }

  reloadCertificates(): void {
    this.#listener.reloadCertificates();
  }

  async drain(seconds: number): Promise<void> {
    await this.#listener.drain(seconds);
  }
}
