// What the gRPC inference services ask of the engine, and how its errors become statuses. Hot
// plane: the listener's thread.
import { ERRORS, type ErrorCode } from '../errors.js';
import { GrpcStatus } from '../transport/grpc-call.js';

/** How a request failed. */
export interface InferError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Called once per request, during `infer` or later on the same thread. One argument is null.
 * `response` belongs to the engine again on return. */
export type InferDone = (error: InferError | null, response: Buffer | null) => void;

/** The engine as the gRPC protocols use it. */
export interface GrpcInfer {
  /**
   * Runs one ModelInferRequest. `message` is kept by the engine as long as it needs it. With
   * `stream` the response is a ModelStreamInferResponse, also for a request that failed.
   * Returns a ticket to cancel with, or 0 when `done` was already called.
   */
  infer(message: Buffer, stream: boolean, done: InferDone): number;
  /** Drops the request if it was not begun; `done` is called either way. */
  cancel(ticket: number): void;
}

/** The gRPC status of an error of the engine or of our own. */
export function inferStatus(error: InferError): GrpcStatus {
  return new GrpcStatus(ERRORS[error.code].grpc, error.message);
}
