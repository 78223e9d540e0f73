// What the gRPC listener on grpc-js listens on: TCP, and a unix socket where there is one. The gRPC
// listener's thread.
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { ErrorCode, ServalError } from '../../errors.js';
import { makeRoom, UnixSocketFile } from '../sockets/unix-socket.js';

export interface NodeSocketsOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Other processes that set it may listen on the port too. */
  readonly reusePort?: boolean;
  /** "" = none. */
  readonly unixPath: string;
  /** Of its file. */
  readonly unixMode?: number;
  /** Of each; more are closed at once, and `full` is told. */
  readonly connectionsMax: number | undefined;
  readonly full: ((connections: number) => void) | undefined;
  readonly accepted: (socket: Socket, isUnix: boolean) => void;
}

const invalid = (message: string): ServalError =>
  new ServalError(ErrorCode.InvalidArgument, message);

function listenError(error: NodeJS.ErrnoException, host: string, port: number): ServalError {
  const where = `gRPC cannot listen on ${host} port ${port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return invalid(
        `${where}: the port is in use by another process; choose another, or 0 for a free one`,
      );
    case 'EACCES':
      return invalid(`${where}: this user may not; ports below 1024 are often reserved`);
    case 'EADDRNOTAVAIL':
      return invalid(`${where}: the address does not belong to this machine`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return invalid(`${where}: the host name is not known`);
    default:
      return invalid(`${where}: ${error.message}`);
  }
}

function listening(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

function unixReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  // Node says of a folder that is not there that it may not.
  return code === 'ENOENT' || code === 'EACCES' ? `${message}; is its folder there?` : message;
}

export class NodeSockets {
  readonly #options: NodeSocketsOptions;
  readonly #tcp: Server;
  readonly #unix: Server | undefined;
  readonly #file: UnixSocketFile | undefined;

  constructor(options: NodeSocketsOptions) {
    this.#options = options;
    this.#tcp = this.#made(false);
    const { unixPath, unixMode } = options;
    if (unixPath === '') return;
    this.#unix = this.#made(true);
    this.#file = new UnixSocketFile(unixPath, unixMode);
  }

  /** Listens. Settles with the port; rejects with ServalError (InvalidArgument) that says why. */
  async start(): Promise<number> {
    const { host, port, reusePort = false, unixPath: path } = this.#options;
    const shared = reusePort ? { reusePort } : {};
    try {
      await listening(this.#tcp, { host, port, exclusive: true, ...shared });
    } catch (error) {
      throw listenError(error as NodeJS.ErrnoException, host, port);
    }
    const file = this.#file;
    if (this.#unix !== undefined && file !== undefined) {
      try {
        await makeRoom(path);
        await listening(this.#unix, { path: file.prepare() });
        file.publish();
      } catch (error) {
        file.abandon();
        throw invalid(`gRPC cannot listen on unix:${path}: ${unixReason(error)}`);
      }
    }
    const address = this.#tcp.address();
    return address !== null && typeof address === 'object' ? address.port : port;
  }

  /** Stops accepting. Settles when all connections are closed. */
  async close(): Promise<void> {
    this.#file?.remove();
    const servers = [this.#tcp, this.#unix].filter((server) => server?.listening === true);
    await Promise.all(
      servers.map((server) => new Promise<void>((resolve) => server?.close(() => resolve()))),
    );
  }

  #made(isUnix: boolean): Server {
    const { accepted, connectionsMax, full } = this.#options;
    const server = createServer((socket) => accepted(socket, isUnix));
    if (connectionsMax !== undefined) server.maxConnections = connectionsMax;
    server.on('drop', () => full?.(connectionsMax ?? 0));
    return server;
  }
}
