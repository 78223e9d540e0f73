// What the gRPC listener on grpc-js listens on: TCP, and a unix socket where there is one. The gRPC
// listener's thread.
import { lstatSync, unlinkSync } from 'node:fs';
import { connect, createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { ErrorCode, ServalError } from '../../errors.js';

export interface NodeSocketsOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Other processes that set it may listen on the port too. */
  readonly reusePort?: boolean;
  /** "" = none. */
  readonly unixPath: string;
  /** Of each; more are closed at once, and `full` is told. */
  readonly connectionsMax: number | undefined;
  readonly full: ((connections: number) => void) | undefined;
  readonly accepted: (socket: Socket, isUnix: boolean) => void;
}

/** Of sockaddr_un, less its zero byte. */
const UNIX_PATH_BYTES_MAX = 107;

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

/** Whether somebody accepts on a unix socket. Rejects where that is not known. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EAGAIN')
        resolve(true); // its queue is full
      else if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(error);
    });
  });
}

/** Removes a unix socket that a dead server left. Rejects with why that cannot be. */
export async function makeRoom(path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > UNIX_PATH_BYTES_MAX) {
    throw new Error(`the path has ${bytes} bytes, the system takes at most ${UNIX_PATH_BYTES_MAX}`);
  }
  const about = lstatSync(path, { throwIfNoEntry: false });
  if (about === undefined) return;
  if (!about.isSocket()) {
    throw new Error('a file that is no socket is there; remove it or choose another');
  }
  if (await answers(path)) throw new Error('another server answers on it; choose another');
  unlinkSync(path);
}

export class NodeSockets {
  readonly #options: NodeSocketsOptions;
  readonly #tcp: Server;
  readonly #unix: Server | undefined;

  constructor(options: NodeSocketsOptions) {
    this.#options = options;
    this.#tcp = this.#made(false);
    if (options.unixPath !== '') this.#unix = this.#made(true);
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
    if (this.#unix !== undefined) {
      try {
        await makeRoom(path);
        await listening(this.#unix, { path });
      } catch (error) {
        throw invalid(`gRPC cannot listen on unix:${path}: ${unixReason(error)}`);
      }
    }
    const address = this.#tcp.address();
    return address !== null && typeof address === 'object' ? address.port : port;
  }

  /** Stops accepting. Settles when all connections are closed. */
  async close(): Promise<void> {
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
