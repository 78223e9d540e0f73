// The one table from error codes to HTTP and gRPC statuses. Control plane and hot path (read only).
// A code without a row does not compile. Source of each column: docs/reference/errors.md.
import { ErrorCode } from './generated/engine.js';
import { GrpcCode } from './generated/grpc-code.js';

export { ErrorCode, GrpcCode };

/**
 * HTTP and gRPC statuses of one error code. `v1Http` is TensorFlow Serving's map, `v2Http` the
 * "suggested" column of the V2 page; `grpc` is the canonical gRPC code.
 */
export interface ErrorRow {
  readonly name: string;
  readonly v1Http: number;
  readonly v2Http: number;
  readonly grpc: number;
}

const row = (
  name: string,
  v1Http: number,
  v2Http: number,
  grpc: keyof typeof GrpcCode,
): ErrorRow => ({ name, v1Http, v2Http, grpc: GrpcCode[grpc] });

export const ERRORS: Readonly<Record<ErrorCode, ErrorRow>> = {
  [ErrorCode.Ok]: row('OK', 200, 200, 'OK'),
  [ErrorCode.InvalidArgument]: row('INVALID_ARGUMENT', 400, 400, 'INVALID_ARGUMENT'),
  [ErrorCode.MalformedBody]: row('MALFORMED_BODY', 400, 400, 'INVALID_ARGUMENT'),
  [ErrorCode.PathNotFound]: row('PATH_NOT_FOUND', 404, 404, 'UNIMPLEMENTED'),
  [ErrorCode.ModelNotFound]: row('MODEL_NOT_FOUND', 404, 404, 'NOT_FOUND'),
  [ErrorCode.SignatureNotFound]: row('SIGNATURE_NOT_FOUND', 400, 400, 'FAILED_PRECONDITION'),
  [ErrorCode.ModelNotReady]: row('MODEL_NOT_READY', 503, 503, 'UNAVAILABLE'),
  [ErrorCode.MethodNotAllowed]: row('METHOD_NOT_ALLOWED', 405, 405, 'UNIMPLEMENTED'),
  [ErrorCode.BodyTooLarge]: row('BODY_TOO_LARGE', 413, 413, 'RESOURCE_EXHAUSTED'),
  [ErrorCode.UnsupportedEncoding]: row('UNSUPPORTED_ENCODING', 415, 415, 'UNIMPLEMENTED'),
  [ErrorCode.QueueFull]: row('QUEUE_FULL', 503, 503, 'UNAVAILABLE'),
  [ErrorCode.Unimplemented]: row('UNIMPLEMENTED', 501, 501, 'UNIMPLEMENTED'),
  [ErrorCode.DeadlineExceeded]: row('DEADLINE_EXCEEDED', 504, 504, 'DEADLINE_EXCEEDED'),
  [ErrorCode.Cancelled]: row('CANCELLED', 499, 499, 'CANCELLED'),
  [ErrorCode.ShuttingDown]: row('SHUTTING_DOWN', 503, 503, 'UNAVAILABLE'),
  [ErrorCode.ModelInvalid]: row('MODEL_INVALID', 500, 500, 'FAILED_PRECONDITION'),
  [ErrorCode.RuntimeUnavailable]: row('RUNTIME_UNAVAILABLE', 503, 503, 'UNAVAILABLE'),
  [ErrorCode.BackendFailed]: row('BACKEND_FAILED', 500, 500, 'INTERNAL'),
  [ErrorCode.Internal]: row('INTERNAL', 500, 500, 'INTERNAL'),
  [ErrorCode.MemoryFull]: row('MEMORY_FULL', 503, 503, 'RESOURCE_EXHAUSTED'),
  [ErrorCode.LimitReached]: row('LIMIT_REACHED', 429, 429, 'RESOURCE_EXHAUSTED'),
};

/** An error with a code, for every failure that TypeScript code detects. */
export class ServalError extends Error {
  readonly code: ErrorCode;
  /** LimitReached: seconds until a request may be admitted. */
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, retryAfterS?: number) {
    super(message);
    this.name = 'ServalError';
    this.code = code;
    this.retryAfterS = retryAfterS;
  }
}

/**
 * The errors that most code detects. `parts` go from the place (file, input, element) to what is
 * wrong there, and are joined by ': '.
 */
export const modelInvalid = (...parts: readonly string[]): ServalError =>
  new ServalError(ErrorCode.ModelInvalid, parts.join(': '));
export const invalidArgument = (...parts: readonly string[]): ServalError =>
  new ServalError(ErrorCode.InvalidArgument, parts.join(': '));
export const unimplemented = (...parts: readonly string[]): ServalError =>
  new ServalError(ErrorCode.Unimplemented, parts.join(': '));

/** Returns the message of a thrown value. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
