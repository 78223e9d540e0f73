// JavaScript side of the addon's load client (native/load): one thread that sends requests over
// HTTP/1.1, HTTP/2 or gRPC and measures their responses. Control plane; nothing here runs per
// request.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { BENCH_CALL_MS, BENCH_CONNECTIONS_MAX } from '../../../base/limits.js';
import { lateTls } from '../../../base/late-modules.js';
import { loadBinding, type NativeBinding } from '../../../engine/binding.js';
import type { HistogramData } from './histogram.js';
import type { LoadPart, LoadSchedule, LoadRequest, LoadResult, ServerTarget } from './sender.js';

/** The argument of clientOpen(). */
interface NativeTarget {
  readonly host: string;
  readonly port: number;
  readonly unixPath?: string;
  readonly http2: boolean;
  /** PEM of the roots; absent: no TLS. */
  readonly tlsCa?: string;
}

/** The requests of clientOrder(). */
interface NativeTraffic {
  readonly judged: 'http' | 'grpc' | 'grpc-stream';
  readonly authority: string;
  readonly path: string;
  /** Names, in lower case, and values, alternating. */
  readonly fields: readonly string[];
  readonly bodies: readonly Uint8Array[];
}

/** The schedule of clientOrder(): a LoadSchedule, and the number of connections. */
interface NativeSchedule extends LoadSchedule {
  readonly connections: number;
  readonly connectionsMax: number;
}

/** The second argument of `told`. */
export interface NativeResult extends LoadResult {
  readonly failures: Readonly<Record<'status' | 'reset' | 'lost' | 'late', number>>;
  readonly latencies: HistogramData;
  readonly late: HistogramData;
  readonly elapsedUs: number;
  readonly responseBytes: number;
}

/**
 * HTTP/2: one client has one connection, but a server has many clients: one for each call in
 * flight, up to this.
 */
const HTTP2_CONNECTIONS_MAX = 16;
/** Initial connections of an open loop; over HTTP/1.1 it opens more as needed. */
const OPEN_FIRST = 32;

export class NativeClient implements LoadPart {
  readonly #native: NativeBinding;
  readonly #client: number;
  readonly #target: ServerTarget;
  #told: (problem: string | undefined, result: NativeResult | undefined) => void = () => undefined;

  /** Errors: RuntimeUnavailable: the addon is missing. */
  constructor(target: ServerTarget) {
    this.#target = target;
    this.#native = loadBinding();
    this.#client = this.#native.clientOpen(nativeTarget(target), (problem, result) =>
      this.#told(problem, result as NativeResult | undefined),
    );
    if (this.#client === 0) {
      throw new ServalError(ErrorCode.Internal, 'bench: no thread or descriptor for the load');
    }
  }

  prepare(request: LoadRequest, schedule: LoadSchedule): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#told = (problem) => {
        if (problem === '') resolve();
        else reject(new ServalError(ErrorCode.ModelNotReady, problem ?? ''));
      };
      const traffic = nativeTraffic(this.#target, request);
      this.#native.clientOrder(this.#client, {
        traffic,
        schedule: nativeSchedule(this.#target, schedule),
      });
    });
  }

  go(begins: number): Promise<NativeResult> {
    return new Promise((resolve) => {
      this.#told = (_, result) => {
        if (result !== undefined) resolve(result);
      };
      this.#native.clientOrder(this.#client, { begins });
    });
  }

  close(): Promise<void> {
    this.#native.clientClose(this.#client);
    return Promise.resolve();
  }
}

const isHttp2 = ({ kind }: ServerTarget): boolean => kind !== 'http';

function nativeTarget(target: ServerTarget): NativeTarget {
  const { host, port, unixPath, tlsCa } = target;
  const ca = tlsCa === '' ? trustedByNode() : tlsCa;
  return {
    host,
    port,
    http2: isHttp2(target),
    ...(unixPath !== undefined && { unixPath }),
    ...(ca !== undefined && { tlsCa: ca }),
  };
}

/**
 * PEM; includes NODE_EXTRA_CA_CERTS and Node's options if this Node version exposes them (22.15
 * on).
 */
function trustedByNode(): string {
  const tls = lateTls() as typeof import('node:tls') & {
    readonly getCACertificates?: (type: 'default') => readonly string[];
  };
  return (tls.getCACertificates?.('default') ?? tls.rootCertificates).join('\n');
}

function nativeTraffic(target: ServerTarget, request: LoadRequest): NativeTraffic {
  const { host, port, kind } = target;
  const { path, fields, body } = request;
  return {
    judged: kind === 'grpc' ? 'grpc' : 'http',
    authority: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    path,
    fields: fields.flatMap(([name, value]) => [name.toLowerCase(), value]),
    bodies: [body],
  };
}

function nativeSchedule(target: ServerTarget, schedule: LoadSchedule): NativeSchedule {
  const isOpen = schedule.loop === 'open';
  const most = isHttp2(target) ? HTTP2_CONNECTIONS_MAX : BENCH_CONNECTIONS_MAX;
  const connections = Math.min(isOpen ? OPEN_FIRST : schedule.concurrency, most);
  const connectionsMax = isOpen ? most : connections;
  return { timeoutMs: BENCH_CALL_MS, ...schedule, connections, connectionsMax };
}
