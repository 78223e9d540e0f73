// The error of every call of the client, over REST and gRPC. Pure; any thread of any JavaScript
// runtime. Source: google.rpc.Code for the names; docs/reference/errors.md for HTTP's statuses.

/** In the order of gRPC's numbers. */
const CODES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

export type ClientErrorCode = (typeof CODES)[number];

const HTTP_CODES: Readonly<Record<number, ClientErrorCode>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'RESOURCE_EXHAUSTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

export const grpcCode = (status: number): ClientErrorCode => CODES[status] ?? 'UNKNOWN';
export const httpCode = (status: number): ClientErrorCode =>
  HTTP_CODES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');

/** Facts of a failed attempt that decide whether the call is repeated. */
interface Failure {
  /** The HTTP or gRPC status; undefined without a response. */
  readonly status?: number | undefined;
  /** unsent: the server did not run the request; lost: it may have run it. */
  readonly retry?: 'unsent' | 'lost' | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

export class ClientError extends Error {
  /** A name of gRPC's codes, over REST too. */
  readonly code: ClientErrorCode;
  readonly status: number | undefined;
  readonly retry: 'unsent' | 'lost' | undefined;
  /** The server's wish: its Retry-After. */
  readonly retryAfterMs: number | undefined;
  /** The number of attempts that the call made. */
  attempts = 0;

  constructor(code: ClientErrorCode, message: string, failure: Failure = {}) {
    super(message, { cause: failure.cause });
    this.name = 'ClientError';
    this.code = code;
    this.status = failure.status;
    this.retry = failure.retry;
    this.retryAfterMs = failure.retryAfterMs;
  }
}

export const wrongInput = (where: string, expected: string, got: string): ClientError =>
  new ClientError('INVALID_ARGUMENT', `${where}: expected ${expected}, got ${got}`);
export const badResponse = (where: string, expected: string, got: string): ClientError =>
  new ClientError(
    'INTERNAL',
    `${where}: the response is invalid: expected ${expected}, got ${got}`,
  );

/** The text of a value in errors, cut. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
