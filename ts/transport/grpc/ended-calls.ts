// How calls on grpc-js ended, for the access log: read from what their HTTP/2 streams were sent,
// since grpc-js refuses some without asking us. Only where the log is on; the listener's thread.
import type { Http2Server, ServerHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { status as GrpcCode, type Server } from '@grpc/grpc-js';
import type { GrpcService } from '../grpc-call.js';

/** One call that has ended. `code`: the status's name. */
export interface EndedCall {
  readonly path: string;
  readonly status: number;
  readonly code: string;
  readonly reason: string;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a stream was answered; nothing: its client went away. */
function outcomeOf(stream: ServerHttp2Stream): Pick<EndedCall, 'status' | 'reason'> {
  for (const sent of [stream.sentTrailers, stream.sentHeaders]) {
    const status = (sent as IncomingHttpHeaders | undefined)?.['grpc-status'];
    if (status === undefined) continue;
    const message = Number(status) === GrpcCode.OK ? '' : sent?.['grpc-message'];
    return { status: Number(status), reason: decoded(String(message ?? '')) };
  }
  const http = stream.sentHeaders?.[':status'];
  if (http !== undefined && http !== 200) {
    return { status: GrpcCode.UNKNOWN, reason: `HTTP status ${String(http)}` };
  }
  return { status: GrpcCode.CANCELLED, reason: 'the client went away' };
}

export class EndedCalls {
  readonly #ended: (call: EndedCall) => void;
  /** Paths of methods that the engine answers, and whether they are streams. */
  readonly #engine = new Map<string, boolean>();
  /** Of requests that the engine has: it writes their lines. */
  readonly #handedOver = new WeakSet<object>();

  constructor(services: readonly GrpcService[], ended: (call: EndedCall) => void) {
    this.#ended = ended;
    for (const { name, engine = {}, streams } of services) {
      for (const method of Object.keys(engine)) {
        this.#engine.set(`/${name}/${method}`, streams[method] !== undefined);
      }
    }
  }

  /** Reaches into a private member of the pinned version, as its other users here do. */
  follow(server: Server): void {
    const { http2Servers } = server as unknown as { http2Servers: Map<Http2Server, unknown> };
    for (const http2Server of http2Servers.keys()) {
      http2Server.on('stream', (stream, headers) => {
        stream.once('close', () => this.#closed(stream, String(headers[':path'] ?? '')));
      });
    }
  }

  /** A unary call's message goes to its handler. */
  handOver(path: string, call: object): void {
    if (this.#engine.get(path) !== false) return;
    const { call: inner } = call as { readonly call?: { readonly stream?: object } };
    if (inner?.stream !== undefined) this.#handedOver.add(inner.stream);
  }

  #closed(stream: ServerHttp2Stream, path: string): void {
    if (this.#handedOver.has(stream)) return;
    const { status, reason } = outcomeOf(stream);
    // A stream's requests have lines of their own.
    const isEngineStream = this.#engine.get(path) === true;
    if (isEngineStream && (status === GrpcCode.OK || status === GrpcCode.CANCELLED)) return;
    this.#ended({ path, status, code: GrpcCode[status] ?? 'UNKNOWN', reason });
  }
}
