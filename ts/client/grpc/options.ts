// Options of the gRPC client. Types only; Node only, any thread.
import type { ClientError } from '../core/errors.js';
import type {
  CallOptions,
  ClientOptions,
  InferOptions,
  Inputs,
  TlsOptions,
} from '../core/types.js';

/** Pings of a connection with calls in progress. */
export interface KeepaliveOptions {
  readonly intervalMs: number;
  /** The connection is closed if a ping is not answered in this time. Default: 20,000 ms. */
  readonly timeoutMs?: number | undefined;
}

export interface GrpcOptions extends ClientOptions {
  readonly tls?: TlsOptions | undefined;
  readonly keepalive?: KeepaliveOptions | undefined;
  /** The :authority of calls. Default: the address. */
  readonly authority?: string | undefined;
}

/** A request of a stream: a model with its inputs and options. */
export interface StreamRequest extends Omit<InferOptions, keyof CallOptions> {
  readonly model: string;
  readonly inputs: Inputs;
}

export interface StreamOptions extends CallOptions {
  /** Receives the errors of single requests; without it the first one ends the iteration. */
  readonly onError?: ((error: ClientError) => void) | undefined;
  /** Returns FP16 and BF16 as Uint16Array of their bits, BYTES as Uint8Array. */
  readonly raw?: boolean | undefined;
}

export interface PredictOptions extends CallOptions {
  /** Default: the server's choice. */
  readonly version?: string | number | undefined;
  /** A label instead of a version. */
  readonly label?: string | undefined;
  /** Default: serving_default. */
  readonly signature?: string | undefined;
  /** The requested outputs. Default: all. */
  readonly outputs?: readonly string[] | undefined;
  /** Returns FP16 and BF16 as Uint16Array of their bits, BYTES as Uint8Array. */
  readonly raw?: boolean | undefined;
}
