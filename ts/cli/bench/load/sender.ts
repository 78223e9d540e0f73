// Types of a load: orders to a thread of `serval bench` and its results, and the sender of the
// thread that calls the engine. Types and a clock; control plane, the load's threads.
import type { Written } from '../../../config/values/values.js';
import type { ModelChoice } from '../../../library/open-model.js';
import type { HistogramData } from './histogram.js';

/** Milliseconds of a clock that all threads of the machine share. */
export const now = (): number => performance.now() + CLOCK_BEGAN;
const CLOCK_BEGAN = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * `begun`: the value given to send(). `error`: the problem of the response, or that none arrived.
 */
export type OnAnswer = (begun: number, error: string | undefined) => void;

export interface Sender {
  /** Called once for each send(), during it or later. */
  onAnswer: OnAnswer;
  /** Called when a request can be sent again. */
  onFree: () => void;
  /** Prepares to send this request. */
  prepare(request: LoadRequest): Promise<void>;
  /** Whether a request can be begun. */
  free(): boolean;
  send(begun: number): void;
  /** Abandons pending requests: they are not reported any more. */
  cut(): void;
  close(): Promise<void>;
}

/** A server; http: HTTP/1.1, http2: REST over HTTP/2. */
export interface ServerTarget {
  readonly kind: 'http' | 'http2' | 'grpc';
  /** A unix socket in place of host and port. */
  readonly unixPath?: string;
  readonly host: string;
  readonly port: number;
  /**
   * PEM of the signers of the server's certificate; "" = those that Node trusts; undefined = no
   * TLS.
   */
  readonly tlsCa: string | undefined;
}

/** A model in this process. */
export interface EngineTarget {
  readonly kind: 'engine';
  readonly path: string;
  readonly choice: ModelChoice;
  readonly settings: ReadonlyMap<string, Written>;
}

/** Target of a thread's requests. */
export type LoadTarget = ServerTarget | EngineTarget;

/** One encoded request. grpc: the body is a message with its prefix; engine: no path. */
export interface LoadRequest {
  readonly path: string;
  /** Headers besides those of every request of its kind (host, content-length). */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** V2's header length; -1: the body is only JSON. */
  readonly jsonBytes: number;
}

/** One thread's part of a measurement. */
export interface LoadSchedule {
  readonly loop: 'closed' | 'open';
  /** closed */
  readonly concurrency: number;
  /** open: requests per second */
  readonly rate: number;
  readonly warmupMs: number;
  readonly measureMs: number;
  /** How long to wait for responses at the end. */
  readonly graceMs: number;
  /** Gaps between requests of an open loop: as from independent callers, or all equal. */
  readonly arrivals: 'poisson' | 'constant';
  readonly seed: number;
  /** Timeout of one request to a server; default: BENCH_CALL_MS. */
  readonly timeoutMs?: number;
  /** closed, to a server: ends after this number; default: by the clock. */
  readonly requests?: number;
}

export interface LoadResult {
  readonly answered: number;
  readonly failed: number;
  readonly firstError: string | undefined;
  readonly latencies: HistogramData;
  /** open: delay between the time a request was due and when it was sent. */
  readonly late: HistogramData;
  /** Fraction of the time in which the thread was busy. */
  readonly busy: number;
}

/** One thread of a load. */
export interface LoadPart {
  /** Opens what a load of this request needs. Errors: no server. */
  prepare(request: LoadRequest, schedule: LoadSchedule): Promise<void>;
  /** Starts it at this time of now(). */
  go(begins: number): Promise<LoadResult>;
  /** Never rejects. */
  close(): Promise<void>;
}

export type ToLoad =
  | { readonly say: 'prepare'; readonly request: LoadRequest; readonly schedule: LoadSchedule }
  /** `begins`: by now(). */
  | { readonly say: 'go'; readonly begins: number }
  | { readonly say: 'close' };

export type FromLoad =
  | { readonly say: 'prepared' | 'closed' }
  | { readonly say: 'done'; readonly result: LoadResult }
  | { readonly say: 'failed'; readonly code: number; readonly message: string };
