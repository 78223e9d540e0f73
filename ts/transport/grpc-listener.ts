// The gRPC server socket: grpc-js over a TCP server of our own, raw bytes in and out. Hot path;
// the thread that made it. Must not know any protocol or registry: it is handed the services.
import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import {
  Metadata,
  Server,
  ServerCredentials,
  logVerbosity,
  setLogVerbosity,
  type ConnectionInjector,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { DRAIN_SILENT_MS, HANDSHAKE_MS_MAX } from '../limits.js';
import { MethodLocks, UNIX_PEER, type AccessOf } from './grpc/access.js';
import { EndedCalls, type EndedCall } from './grpc/ended-calls.js';
import { NodeSockets } from './grpc/node-sockets.js';
import { NodeTls } from './tls/node-tls.js';
import {
  GRPC_CONNECTION_DEFAULTS,
  type GrpcConnectionSettings,
  type GrpcTransportSettings,
  type HandshakeFailures,
} from './grpc/settings.js';
import { countGrpcMemory, type GrpcMemory, type GrpcMemoryOptions } from './grpc-memory.js';
import { NOTHING_CUT, type Cut, type Expires } from './listener.js';
import {
  GrpcStream,
  KeptMessage,
  thrownStatus,
  type GrpcSendHead,
  type GrpcService,
  type GrpcStatus,
  type GrpcStreamOpen,
  type GrpcUnaryHandler,
} from './grpc-call.js';

const MESSAGE_BYTES_MAX = 2_147_483_647;
/** grpc-js's for never. */
const MS_MAX = 2_147_483_647;
/** Bytes that a client may send before it hears from us, per call and per connection. With HTTP/2's
 * own 64 KiB an image of 602 KB stops nine times on its way (0.94 instead of 0.47 ms at best). */
const CALL_WINDOW_BYTES = 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** Absent members take the defaults above. */
export interface GrpcListenerOptions extends Partial<GrpcTransportSettings> {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly services: readonly GrpcService[];
  /** Connections beyond are closed at once; `full` is told. */
  readonly connectionsMax?: number;
  readonly full?: (connections: number) => void;
  readonly handshakeMsMax?: number;
  /** Told what became of TLS files that were read anew. */
  readonly certificates?: (problem: string | undefined) => void;
  /** Told of clients' TLS handshakes that failed. */
  readonly handshakeFailed?: (failures: HandshakeFailures) => void;
  /** Requests that are begun and not answered, those of streams too. A drain then leaves
   * connections that nothing runs on. */
  readonly running?: () => number;
  /** The models of calls that wait for an answer. */
  readonly unanswered?: () => Cut['models'];
  /** Absent: everybody may make every call. */
  readonly access?: AccessOf;
  /** Told when the certificate ends that is served from now on. */
  readonly expires?: Expires;
  /** Told of connections that came (1) or went (-1), and of calls that were not let in. */
  readonly connected?: (change: number) => void;
  readonly refused?: () => void;
  /** Told of calls that the engine writes no line of; absent: the access log is off. */
  readonly ended?: (call: EndedCall) => void;
  /** Where what calls hold is counted; absent = nowhere. */
  readonly memory?: GrpcMemoryOptions;
}

const DRAIN_LOOK_MS = 50;
/** HTTP/2's preface and an empty SETTINGS frame: less no client has said. Source: RFC 9113 3.4. */
const HANDSHAKE_BYTES = 33;

const identity = (bytes: Buffer): Buffer => bytes;
const messageOf = (reply: Buffer | KeptMessage): Buffer =>
  reply instanceof KeptMessage ? reply.message : reply;

function headOf(name: string, value: string): Metadata {
  const head = new Metadata();
  head.set(name, value);
  return head;
}
const sendHead: GrpcSendHead = (call, name, value) => {
  (call as ServerUnaryCall<Buffer, Buffer>).sendMetadata(headOf(name, value));
};

/** One gRPC server on one port. Listens from `start` to `drain`, once. */
export class GrpcListener {
  private readonly options: GrpcListenerOptions;
  private readonly server: Server;
  private readonly injector: ConnectionInjector;
  private readonly memory: GrpcMemory | undefined;
  private readonly tls: NodeTls | undefined;
  private readonly listening: NodeSockets;
  private readonly sockets = new Set<Socket>();
  private readonly locks: MethodLocks;
  private readonly ended: EndedCalls | undefined;
  /** And why its caller may not go on; undefined: it may. */
  private readonly streams = new Map<GrpcStream, () => GrpcStatus | undefined>();
  private draining = false;

  constructor(options: GrpcListenerOptions) {
    this.options = options;
    // grpc-js writes what clients did wrong to stderr; only our logger may print.
    setLogVerbosity(logVerbosity.NONE);
    this.server = new Server({
      'grpc.max_receive_message_length': options.receiveBytesMax ?? MESSAGE_BYTES_MAX,
      'grpc.max_send_message_length': options.sendBytesMax ?? MESSAGE_BYTES_MAX,
      ...connectionOptions({ ...GRPC_CONNECTION_DEFAULTS, ...options }),
      'grpc.enable_channelz': 0,
    });
    this.memory = options.memory && countGrpcMemory(options.memory);
    this.locks = new MethodLocks(options.services, options.access);
    this.ended = options.ended && new EndedCalls(options.services, options.ended);
    for (const service of options.services) this.register(service);
    // Our own servers instead of bindAsync: the error keeps its code, no name resolver is loaded,
    // and the sockets can be destroyed (forceShutdown knows no connection while channelz is off).
    this.injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
    widenWindows(this.server);
    this.ended?.follow(this.server);
    const {
      host,
      port,
      unixPath = '',
      unixMode,
      connectionsMax,
      full,
      tls,
      reusePort = false,
    } = options;
    if (tls !== undefined) {
      this.tls = new NodeTls({
        settings: tls,
        what: 'gRPC',
        alpn: 'h2',
        alpnRequired: true, // gRPC clients say theirs
        secured: (socket) => this.injector.injectConnection(socket),
        changed: (problem) => options.certificates?.(problem),
        ...(options.expires && { expires: options.expires }),
        failed: (failures) => options.handshakeFailed?.(failures),
        handshakeMsMax: options.handshakeMsMax ?? HANDSHAKE_MS_MAX,
      });
    }
    const accepted = (socket: Socket, isUnix: boolean): void => this.accept(socket, isUnix);
    this.listening = new NodeSockets({
      ...{ host, port, reusePort, unixPath },
      ...(unixMode !== undefined && { unixMode }),
      ...{ connectionsMax, full, accepted },
    });
  }

  /** Listens. Settles with the port; rejects with ServalError (InvalidArgument) that says why. */
  start(): Promise<number> {
    return this.listening.start();
  }

  /** Calls that begin from now on are let in by this; streams that it does not let in end. */
  setAccess(access: AccessOf): void {
    this.locks.accessOf = access;
    for (const [stream, refusalNow] of [...this.streams]) {
      const refusal = refusalNow();
      if (refusal === undefined) continue;
      this.options.refused?.();
      stream.revoke(refusal);
    }
  }

  /** Reads TLS files anew; `certificates` is told. */
  reloadCertificates(): void {
    this.tls?.reload();
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
    this.tls?.close();
    const closed = this.listening.close();
    const finished = new Promise<void>((resolve) => {
      this.server.tryShutdown(() => resolve());
    });
    for (const stream of this.streams.keys()) stream.drain();
    await Promise.all([closed, finished]);
    clearTimeout(timer);
    clearInterval(looks);
    return cut;
  }

  /** Calls that are begun and not answered: a stream is one, whatever it has the engine do. */
  private begun(): number {
    const streams = [...this.streams.keys()].filter((stream) => !stream.hasEnded);
    const ofStreams = streams.reduce((sum, { running }) => sum + running, 0);
    return (this.options.running?.() ?? 0) - ofStreams + streams.length;
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

  private accept(socket: Socket, isUnix: boolean): void {
    // Asked for now, because Node keeps it: of a socket that has closed nobody could ask.
    if (!isUnix) void socket.remoteAddress;
    else Object.defineProperty(socket, 'remoteAddress', { value: UNIX_PEER });
    if (this.draining) {
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    this.options.connected?.(1);
    // TLS has this limit itself, and says why it closes.
    const late =
      this.tls === undefined
        ? setTimeout(() => {
            if (socket.bytesRead < HANDSHAKE_BYTES) socket.destroy();
          }, this.options.handshakeMsMax ?? HANDSHAKE_MS_MAX)
        : undefined;
    socket.once('close', () => {
      clearTimeout(late);
      this.options.connected?.(-1);
      this.sockets.delete(socket);
    });
    if (this.tls === undefined) this.injector.injectConnection(socket);
    else this.tls.accept(socket);
  }

  private register(service: GrpcService): void {
    for (const [method, handler] of Object.entries(service.unary)) {
      const path = `/${service.name}/${method}`;
      this.registerMethod(path, 'unary', this.unaryAdapter(handler, path));
    }
    for (const [method, open] of Object.entries(service.streams)) {
      const path = `/${service.name}/${method}`;
      this.registerMethod(path, 'bidi', this.streamAdapter(open, path));
    }
  }

  private registerMethod(
    path: string,
    type: 'unary' | 'bidi',
    handler: ReturnType<GrpcListener['unaryAdapter']> | ReturnType<GrpcListener['streamAdapter']>,
  ): void {
    if (
      !this.server.register<Buffer, Buffer | KeptMessage>(path, handler, messageOf, identity, type)
    ) {
      throw new TypeError(`gRPC method ${path} is registered twice`);
    }
  }

  // Hot path, gRPC. grpc-js's own call and callback go straight through: nothing is made per call.
  // Its message has come when a handler is asked: the lock is behind it here.
  private unaryAdapter(handler: GrpcUnaryHandler, path: string) {
    const { locks, ended } = this;
    return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
      const refusal = locks.refusal(path, call);
      if (refusal !== undefined) {
        this.options.refused?.();
        callback(refusal);
        return;
      }
      if (ended !== undefined) ended.handOver(path, call);
      try {
        handler(call, callback, sendHead);
      } catch (error) {
        callback(thrownStatus(error));
      }
    };
  }

  private streamAdapter(open: GrpcStreamOpen, path: string) {
    return (call: ServerDuplexStream<Buffer, Buffer | KeptMessage>): void => {
      const refusal = this.locks.refusal(path, call);
      if (refusal !== undefined) {
        this.options.refused?.();
        call.emit('error', refusal);
        return;
      }
      let stream: GrpcStream;
      try {
        stream = new GrpcStream(call, open, this.memory?.ofStream(call), headOf);
      } catch (error) {
        call.emit('error', thrownStatus(error));
        return;
      }
      this.streams.set(stream, () => this.locks.refusal(path, call));
      call.once('close', () => this.streams.delete(stream));
      if (this.draining) stream.drain();
    };
  }
}

function connectionOptions(settings: GrpcConnectionSettings): Record<string, number> {
  const ms = (value: number): number => Math.min(value, MS_MAX);
  return {
    'grpc.max_concurrent_streams': settings.concurrentStreamsMax,
    'grpc.keepalive_time_ms': ms(settings.keepaliveTimeMs),
    'grpc.keepalive_timeout_ms': ms(settings.keepaliveTimeoutMs),
    'grpc.max_connection_age_ms': ms(settings.connectionAgeMsMax),
    'grpc.max_connection_age_grace_ms': ms(settings.connectionAgeGraceMs),
    'grpc.max_connection_idle_ms': ms(settings.connectionIdleMsMax),
  };
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
