// The gRPC server socket: grpc-js over a TCP server of our own, raw bytes in and out. Hot path;
// the thread that made it. Must not know any protocol or registry: it is handed the services.
import type { Http2Server, ServerHttp2Session } from 'node:http2';
import { createServer, type Server as TcpServer, type Socket } from 'node:net';
import {
  Server,
  ServerCredentials,
  logVerbosity,
  setLogVerbosity,
  type ConnectionInjector,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { ErrorCode, ServalError } from '../errors.js';
import { DRAIN_SILENT_MS, HANDSHAKE_MS_MAX } from '../limits.js';
import { countGrpcMemory, type GrpcMemory, type GrpcMemoryOptions } from './grpc-memory.js';
import { NOTHING_CUT, type Cut } from './listener.js';
import {
  GrpcStream,
  KeptMessage,
  thrownStatus,
  type GrpcService,
  type GrpcStreamOpen,
  type GrpcUnaryHandler,
} from './grpc-call.js';

const MESSAGE_BYTES_MAX = 2_147_483_647;
const CONCURRENT_STREAMS_MAX = 4096;
const KEEPALIVE_TIME_MS = 7_200_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;
/** Bytes that a client may send before it hears from us, per call and per connection. With HTTP/2's
 * own 64 KiB an image of 602 KB stops nine times on its way (0.94 instead of 0.47 ms at best). */
const CALL_WINDOW_BYTES = 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** Absent members take the defaults above. */
export interface GrpcListenerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly services: readonly GrpcService[];
  /** Larger requests fail with RESOURCE_EXHAUSTED; compressed ones count unpacked. */
  readonly receiveBytesMax?: number;
  readonly sendBytesMax?: number;
  /** Streams (calls) open at once on one connection; clients wait with the rest. */
  readonly concurrentStreamsMax?: number;
  /** A connection that was silent this long is pinged, and closed when it does not answer. */
  readonly keepaliveTimeMs?: number;
  readonly keepaliveTimeoutMs?: number;
  /** Connections beyond are closed at once; `full` is told. */
  readonly connectionsMax?: number;
  readonly full?: (connections: number) => void;
  readonly handshakeMsMax?: number;
  /** Calls that are begun and not answered; streams not counted. A drain then leaves connections
   * that nothing runs on. */
  readonly running?: () => number;
  /** The models of calls that wait for an answer. */
  readonly unanswered?: () => Cut['models'];
  /** Where what calls hold is counted; absent = nowhere. */
  readonly memory?: GrpcMemoryOptions;
}

const DRAIN_LOOK_MS = 50;
/** HTTP/2's preface and an empty SETTINGS frame: less no client has said. Source: RFC 9113 3.4. */
const HANDSHAKE_BYTES = 33;

const identity = (bytes: Buffer): Buffer => bytes;
const messageOf = (reply: Buffer | KeptMessage): Buffer =>
  reply instanceof KeptMessage ? reply.message : reply;

function listenError(error: NodeJS.ErrnoException, host: string, port: number): ServalError {
  const where = `gRPC cannot listen on ${host} port ${port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return new ServalError(
        ErrorCode.InvalidArgument,
        `${where}: the port is in use by another process; choose another, or 0 for a free one`,
      );
    case 'EACCES':
      return new ServalError(
        ErrorCode.InvalidArgument,
        `${where}: this user may not; ports below 1024 are often reserved`,
      );
    case 'EADDRNOTAVAIL':
      return new ServalError(
        ErrorCode.InvalidArgument,
        `${where}: the address does not belong to this machine`,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ServalError(ErrorCode.InvalidArgument, `${where}: the host name is not known`);
    default:
      return new ServalError(ErrorCode.InvalidArgument, `${where}: ${error.message}`);
  }
}

/** One gRPC server on one port. Listens from `start` to `drain`, once. */
export class GrpcListener {
  private readonly options: GrpcListenerOptions;
  private readonly server: Server;
  private readonly injector: ConnectionInjector;
  private readonly memory: GrpcMemory | undefined;
  private readonly tcp: TcpServer;
  private readonly sockets = new Set<Socket>();
  private readonly streams = new Set<GrpcStream>();
  private draining = false;

  constructor(options: GrpcListenerOptions) {
    this.options = options;
    // grpc-js writes what clients did wrong to stderr; only our logger may print.
    setLogVerbosity(logVerbosity.NONE);
    this.server = new Server({
      'grpc.max_receive_message_length': options.receiveBytesMax ?? MESSAGE_BYTES_MAX,
      'grpc.max_send_message_length': options.sendBytesMax ?? MESSAGE_BYTES_MAX,
      'grpc.max_concurrent_streams': options.concurrentStreamsMax ?? CONCURRENT_STREAMS_MAX,
      'grpc.keepalive_time_ms': options.keepaliveTimeMs ?? KEEPALIVE_TIME_MS,
      'grpc.keepalive_timeout_ms': options.keepaliveTimeoutMs ?? KEEPALIVE_TIMEOUT_MS,
      'grpc.enable_channelz': 0,
    });
    this.memory = options.memory && countGrpcMemory(options.memory);
    for (const service of options.services) this.register(service);
    // Our own TCP server instead of bindAsync: the error keeps its code, no name resolver is
    // loaded, and the sockets can be destroyed (forceShutdown knows no connection while channelz is
    // off).
    this.injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
    widenWindows(this.server);
    this.tcp = createServer((socket) => this.accept(socket));
    const { connectionsMax, full } = options;
    if (connectionsMax !== undefined) this.tcp.maxConnections = connectionsMax;
    this.tcp.on('drop', () => full?.(connectionsMax ?? 0));
  }

  /** Listens. Settles with the port; rejects with ServalError (InvalidArgument) that says why. */
  start(): Promise<number> {
    const { host, port } = this.options;
    return new Promise((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException): void => reject(listenError(error, host, port));
      this.tcp.once('error', failed);
      this.tcp.listen({ host, port, exclusive: true }, () => {
        this.tcp.removeListener('error', failed);
        const address = this.tcp.address();
        resolve(address !== null && typeof address === 'object' ? address.port : port);
      });
    });
  }

  /**
   * Stops accepting, lets the calls that run finish and tells the streams to; after `seconds` the
   * connections left are cut, and before that those that have nothing to wait for. Settles when
   * all are closed, with the calls that were cut (connections, without `running`).
   */
  async drain(seconds: number): Promise<Cut> {
    this.draining = true;
    let cut = NOTHING_CUT;
    const timer = setTimeout(() => {
      const { running, unanswered } = this.options;
      const requests = running === undefined ? this.sockets.size : this.begun();
      cut = { requests, models: requests === 0 ? {} : (unanswered?.() ?? {}) };
      for (const socket of this.sockets) socket.destroy();
    }, seconds * 1000);
    const looks = this.cutSilent();
    const closed = new Promise<void>((resolve) => {
      this.tcp.close(() => resolve());
    });
    const finished = new Promise<void>((resolve) => {
      this.server.tryShutdown(() => resolve());
    });
    for (const stream of this.streams) stream.drain();
    await Promise.all([closed, finished]);
    clearTimeout(timer);
    clearInterval(looks);
    return cut;
  }

  /** Calls and streams that are begun and not answered. */
  private begun(): number {
    const streams = [...this.streams].filter((stream) => !stream.hasEnded);
    return (this.options.running?.() ?? 0) + streams.length;
  }

  // Who never said a word goes at once; when nothing runs any more, also who takes no answer: one
  // that idles, or has sent half a message.
  private cutSilent(): NodeJS.Timeout | undefined {
    if (this.options.running === undefined) return undefined;
    for (const socket of this.sockets) if (socket.bytesRead === 0) socket.destroy();
    const seen = new Map<Socket, { written: number; atMs: number }>();
    return setInterval(() => {
      const now = performance.now();
      const runs = this.begun() > 0;
      for (const socket of this.sockets) {
        const written = socket.bytesWritten - socket.writableLength;
        const last = seen.get(socket);
        if (runs || last?.written !== written) seen.set(socket, { written, atMs: now });
        else if (now - last.atMs >= DRAIN_SILENT_MS) socket.destroy();
      }
    }, DRAIN_LOOK_MS);
  }

  private accept(socket: Socket): void {
    if (this.draining) {
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    const late = setTimeout(() => {
      if (socket.bytesRead < HANDSHAKE_BYTES) socket.destroy();
    }, this.options.handshakeMsMax ?? HANDSHAKE_MS_MAX);
    socket.once('close', () => {
      clearTimeout(late);
      this.sockets.delete(socket);
    });
    this.injector.injectConnection(socket);
  }

  private register(service: GrpcService): void {
    for (const [method, handler] of Object.entries(service.unary)) {
      this.registerMethod(`/${service.name}/${method}`, 'unary', unaryAdapter(handler));
    }
    for (const [method, open] of Object.entries(service.streams)) {
      this.registerMethod(`/${service.name}/${method}`, 'bidi', this.streamAdapter(open));
    }
  }

  private registerMethod(
    path: string,
    type: 'unary' | 'bidi',
    handler: ReturnType<typeof unaryAdapter> | ReturnType<GrpcListener['streamAdapter']>,
  ): void {
    if (
      !this.server.register<Buffer, Buffer | KeptMessage>(path, handler, messageOf, identity, type)
    ) {
      throw new TypeError(`gRPC method ${path} is registered twice`);
    }
  }

  private streamAdapter(open: GrpcStreamOpen) {
    return (call: ServerDuplexStream<Buffer, Buffer | KeptMessage>): void => {
      let stream: GrpcStream;
      try {
        stream = new GrpcStream(call, open, this.memory?.ofStream(call));
      } catch (error) {
        call.emit('error', thrownStatus(error));
        return;
      }
      this.streams.add(stream);
      call.once('close', () => this.streams.delete(stream));
      if (this.draining) stream.drain();
    };
  }
}

// grpc-js has no option for a server's flow-control windows, so they are set on each session of its
// HTTP/2 server. Reaches into a private member of the pinned version; a test looks at the windows.
function widenWindows(server: Server): void {
  const { http2Servers } = server as unknown as { http2Servers: Map<Http2Server, unknown> };
  for (const http2Server of http2Servers.keys()) {
    http2Server.on('session', (session: ServerHttp2Session) => {
      if (session.destroyed) return;
      session.settings({ initialWindowSize: CALL_WINDOW_BYTES });
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
  }
}

// Hot path, gRPC. grpc-js's own call and callback go straight through: nothing is made per call.
function unaryAdapter(handler: GrpcUnaryHandler) {
  return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
    try {
      handler(call, callback);
    } catch (error) {
      callback(thrownStatus(error));
    }
  };
}
