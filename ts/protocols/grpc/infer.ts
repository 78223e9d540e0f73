// What the gRPC inference services ask of the engine, and how its errors become statuses. Hot
// plane: the listener's thread.
import { ERRORS } from '../../errors.js';
import type { MessageProtocol } from '../../model/request-kinds.js';
import type { EngineError } from '../../native/missing.js';
import { GrpcStatus } from '../../transport/grpc-call.js';

/** How a request failed. */
export type InferError = EngineError;

/** Called once per request, during `infer` or later on the same thread. One argument is null.
 * `response` belongs to the engine again on return. */
export type InferDone = (error: InferError | null, response: Buffer | null) => void;

/** The engine as the gRPC protocols use it. */
export interface GrpcInfer {
  /**
   * Runs one request message of this kind. `message` is kept by the engine as long as it needs
   * it. For V2_GRPC_STREAM the response is a ModelStreamInferResponse, also for a request that
   * failed, unless its model is missing.
   * `timeoutUs`: how long it may take, 0 = any time; past it, it fails with DeadlineExceeded.
   * Returns a ticket to cancel with, or 0 when `done` was already called.
   */
  infer(message: Buffer, protocol: MessageProtocol, timeoutUs: number, done: InferDone): number;
  /** Drops the request if it was not begun; `done` is called either way. */
  cancel(ticket: number): void;
}

/** What is left until a call's deadline, in microseconds, as `infer` takes it: 1 when it has
 * passed, 0 when there is none (Infinity). `deadline` and `now`: milliseconds since 1970. */
export function timeoutUs(deadline: number, now: number): number {
  if (deadline === Infinity) return 0;
  const left = Math.round((deadline - now) * 1000);
  return Math.min(Math.max(left, 1), Number.MAX_SAFE_INTEGER);
}

/** The gRPC status of an error of the engine or of our own. */
export function inferStatus(error: InferError): GrpcStatus {
  return new GrpcStatus(ERRORS[error.code].grpc, error.message);
}
