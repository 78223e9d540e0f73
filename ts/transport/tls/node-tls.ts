// TLS of the listeners on Node, HTTP's and gRPC's: node:tls, a protocol by ALPN, certificates of
// clients where they are asked for. Files are read anew when they change and when that is asked
// for. The listener's thread.
import { reasonOf } from '../../errors.js';
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { HandshakeFailures } from '../grpc/settings.js';
import type { Expires } from '../listener.js';
import { PemFiles, expiryOf } from './pem-files.js';
import { NODE_CIPHERS, TLS_VERSION_DEFAULT, type ServerTls, type TlsVersion } from './settings.js';

export interface NodeTlsOptions {
  readonly settings: ServerTls;
  /** For errors: gRPC, HTTP. */
  readonly what: string;
  /** The protocol's name in ALPN. */
  readonly alpn: string;
  /** Whoever says no protocol at all is refused. (Whoever says others only always is.) */
  readonly alpnRequired: boolean;
  /** Takes a connection whose handshake is done. */
  readonly secured: (socket: TLSSocket) => void;
  /** Told what became of files that were read anew. */
  readonly changed: (problem: string | undefined) => void;
  /** Told when the certificate ends that is served from now on. */
  readonly expires?: Expires;
  /** Told of handshakes that failed; not of those in which the client said nothing. */
  readonly failed?: (failures: HandshakeFailures) => void;
  readonly handshakeMsMax: number;
  readonly lookMs?: number;
}

/** As the native listener has it (native/transport/socket/channel.h). */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  if (remoteAddress === undefined) return 'a unix socket';
  const address = remoteAddress.replace(/^::ffff:(?=[\d.]+$)/, '');
  return `${address.includes(':') ? `[${address}]` : address}:${remotePort ?? 0}`;
}

export class NodeTls {
  readonly #options: NodeTlsOptions;
  readonly #server: Server;
  readonly #files: PemFiles;
  readonly #minVersion: TlsVersion;
  readonly #peers = new WeakMap<Socket, string>();
  #failures = 0;

  /** Errors: InvalidArgument. */
  constructor(options: NodeTlsOptions) {
    this.#options = options;
    const { settings, what, alpn, alpnRequired, secured, handshakeMsMax, lookMs } = options;
    const { clientRequired } = settings;
    this.#minVersion = settings.minVersion ?? TLS_VERSION_DEFAULT;
    this.#files = new PemFiles({
      settings,
      what,
      changed: () => this.reload(),
      ...(lookMs !== undefined && { lookMs }),
    });
    try {
      const pems = this.#files.read();
      this.#server = createServer({
        ...pems,
        ALPNProtocols: [alpn],
        handshakeTimeout: handshakeMsMax,
        minVersion: this.#minVersion,
        ciphers: NODE_CIPHERS,
        requestCert: clientRequired,
        rejectUnauthorized: clientRequired,
      });
      options.expires?.(expiryOf(pems.cert));
    } catch (error) {
      this.#files.close();
      throw error;
    }
    const protocol = alpn === 'h2' ? 'HTTP/2' : 'HTTP/1.1';
    this.#server.on('secureConnection', (socket) => {
      socket.on('error', () => socket.destroy());
      const agreed = socket.alpnProtocol === alpn || (!alpnRequired && !socket.alpnProtocol);
      if (agreed) secured(socket);
      else this.#failed(socket, `the client does not ask for ${protocol} (ALPN "${alpn}")`);
    });
    this.#server.on('tlsClientError', (error: Error & { readonly reason?: string }, socket) =>
      this.#failed(socket, error.reason ?? error.message),
    );
  }

  #failed(socket: TLSSocket & { readonly _parent?: Socket }, reason: string): void {
    socket.destroy();
    const raw = socket._parent ?? socket; // which counts; no public member names it
    if (raw.bytesRead === 0) return; // somebody looked whether the port is open
    this.#failures += 1;
    const peer = this.#peers.get(raw) ?? 'unknown';
    this.#options.failed?.({ failures: this.#failures, peer, reason });
  }

  accept(socket: Socket): void {
    this.#peers.set(socket, peerOf(socket)); // it is not known any more when it has failed
    this.#server.emit('connection', socket);
  }

  /** Reads the files anew; connections that are there go on as they are. On an error what was read
   * before stays, until they change once more. */
  reload(): void {
    try {
      const pems = this.#files.read();
      this.#server.setSecureContext({ ...pems, minVersion: this.#minVersion });
      this.#options.expires?.(expiryOf(pems.cert));
    } catch (error) {
      this.#options.changed(reasonOf(error));
      return;
    }
    this.#options.changed(undefined);
  }

  close(): void {
    this.#files.close();
  }
}
