// What sends requests and hears of their answers, whatever is between: the interface of the
// transports of `serval bench`, and what passes between its threads. Types and a clock; control
// plane, the load's threads.
import type { Written } from '../../config/values.js';
import type { ModelChoice } from '../../library/open-model.js';
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
  /** For this request, of which `inFlight` will be under way, and `most` may. Errors: no server. */
  prepare(request: LoadRequest, inFlight: number, most: number): Promise<void>;
  /** Whether a request can be begun. */
  free(): boolean;
  send(begun: number): void;
  /** Gives up what is under way: it is not heard of any more. */
  cut(): void;
  close(): Promise<void>;
}

/** Where a thread sends to. */
export type LoadTarget =
  | {
      readonly kind: 'http' | 'grpc';
      readonly host: string;
      readonly port: number;
      /** PEM of who signed the server's certificate; "" = the system's; undefined = no TLS. */
      readonly tlsCa: string | undefined;
    }
  | {
      readonly kind: 'engine';
      readonly path: string;
      readonly choice: ModelChoice;
      readonly settings: ReadonlyMap<string, Written>;
    };

/** One request, encoded. http: `head` is what stands before the body; grpc: HPACK's block of
 * headers, and the body a message with its prefix; engine: no head. */
export interface LoadRequest {
  readonly head: Uint8Array;
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

export type ToLoad =
  | { readonly say: 'prepare'; readonly request: LoadRequest; readonly plan: LoadPlan }
  /** `begins`: by now(). */
  | { readonly say: 'go'; readonly begins: number }
  | { readonly say: 'close' };

export type FromLoad =
  | { readonly say: 'prepared' | 'closed' }
  | { readonly say: 'done'; readonly result: LoadResult }
  | { readonly say: 'failed'; readonly code: number; readonly message: string };
