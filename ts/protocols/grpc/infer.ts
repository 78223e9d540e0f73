// Engine interface of the gRPC inference services, and the mapping of its errors to statuses. Hot
// plane: the listener's thread.
import { ERRORS } from '../../base/errors.js';
import type { EngineError } from '../../engine/missing.js';
import type { EngineLink } from '../../engine/link.js';
import { GrpcStatus } from '../../listeners/grpc/call.js';

/** How a request failed. */
export type InferError = EngineError;

/**
 * The engine as the gRPC protocols use it. The engine keeps a request message as long as it needs
 * it.
 */
export type GrpcInfer = Pick<EngineLink, 'inferMessage' | 'cancel'>;

/**
 * Microseconds until a call's deadline, in the engine's form: 1 if it has passed, 0 if there is
 * none (Infinity). `deadline` and `now`: milliseconds since 1970.
 */
export function timeoutUs(deadline: number, now: number): number {
  if (deadline === Infinity) return 0;
  const left = Math.round((deadline - now) * 1000);
  return Math.min(Math.max(left, 1), Number.MAX_SAFE_INTEGER);
}

/** The gRPC status of an error of the engine or of TypeScript code. */
export function inferStatus(error: InferError): GrpcStatus {
  return new GrpcStatus(ERRORS[error.code].grpc, error.message);
}
