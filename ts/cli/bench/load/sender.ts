// The parts of a load: what a thread of `serval bench` is asked for and what it returns, and the
// sender of the thread that calls the engine. Types and a clock; control plane, the load's threads.
import type { Written } from '../../../config/values/values.js';
import type { ModelChoice } from '../../../library/open-model.js';
import type { HistogramData } from './histogram.js';

/** Milliseconds of a clock that all threads of the machine share. */
export const now = (): number => performance.now() + CLOCK_BEGAN;
const CLOCK_BEGAN = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** `begun`: what send() was given. `error`: what is wrong with the answer, or that none came. */
export type OnAnswer = (begun: number, error: string | undefined) => void;

export interface Sender {
  /** Called once for each send(), during it or later. */
  onAnswer: OnAnswer;
  /** Something can be sent again that could not before. */
  onFree: () => void;
  /** For this request. */
  prepare(request: LoadRequest): Promise<void>;
  /** Whether a request can be begun. */
  free(): boolean;
  send(begun: number): void;
  /** Gives up what is under way: it is not heard of any more. */
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
  /** PEM of who signed the server's certificate; "" = those that Node trusts; undefined = no
   * TLS. */
  readonly tlsCa: string | undefined;
}

/** A model of this process. */
export interface EngineTarget {
  readonly kind: 'engine';
  readonly path: string;
  readonly choice: ModelChoice;
  readonly settings: ReadonlyMap<string, Written>;
}

/** Where a thread sends to. */
export type LoadTarget = ServerTarget | EngineTarget;

/** One request, encoded. grpc: the body is a message with its prefix; engine: no path. */
export interface LoadRequest {
  readonly path: string;
  /** Headers beside those that every request of its kind has (host, content-length). */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** V2's header length; -1: the body is JSON alone. */
  readonly jsonBytes: number;
}

/** One thread's part of a measurement. */
export interface LoadPlan {
  readonly loop: 'closed' | 'open';
  /** closed */
  readonly concurrency: number;
  /** open, a second */
  readonly rate: number;
  readonly warmupMs: number;
  readonly measureMs: number;
  /** How long answers are waited for when it is over. */
  readonly graceMs: number;
  /** Of the gaps between requests of an open loop: as independent callers come, or all equal. */
  readonly arrivals: 'poisson' | 'constant';
  readonly seed: number;
  /** Of one request to a server; default: BENCH_CALL_MS. */
  readonly timeoutMs?: number;
  /** closed, to a server: it ends after this many; default: by the clock. */
  readonly requests?: number;
}

export interface LoadResult {
  readonly answered: number;
  readonly failed: number;
  readonly firstError: string | undefined;
  readonly latencies: HistogramData;
  /** open: from the moment when a request was due to when it was sent. */
  readonly late: HistogramData;
  /** The part of the time in which the thread was busy. */
  readonly busy: number;
}

/** One thread of a load. */
export interface LoadPart {
  /** Opens what a load of this request needs. Errors: no server. */
  prepare(request: LoadRequest, plan: LoadPlan): Promise<void>;
  /** Begins it at this time of now(). */
  go(begins: number): Promise<LoadResult>;
  /** Never rejects. */
  close(): Promise<void>;
}

export type ToLoad =
  | { readonly say: 'prepare'; readonly request: LoadRequest; readonly plan: LoadPlan }
  /** `begins`: by now(). */
  | { readonly say: 'go'; readonly begins: number }
  | { readonly say: 'close' };

export type FromLoad =
  | { readonly say: 'prepared' | 'closed' }
  | { readonly say: 'done'; readonly result: LoadResult }
  | { readonly say: 'failed'; readonly code: number; readonly message: string };
