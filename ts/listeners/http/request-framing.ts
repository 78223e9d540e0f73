// Refuses requests on uWebSockets.js with invalid length headers. Source: RFC 9112 6. Hot path,
// requests without a Content-Length only; the listener's thread.

/** A response after which the connection ends. */
export interface FramingProblem {
  readonly status: number;
  readonly body: string;
}

const TEXT_MAX = 64;

const problem = (status: number, text: string): FramingProblem => ({
  status,
  body: JSON.stringify({ error: text }),
});

/** Chunked data for a request that has no body. */
export const NO_LENGTH = problem(
  411,
  'Transfer-Encoding: expected a request without a body, or a Content-Length',
);

/**
 * The problem of a Transfer-Encoding; undefined if the body is only chunked. Source: RFC 9112 6.1.
 */
export function codingProblem(coding: string): FramingProblem | undefined {
  if (coding === 'chunked' || coding.toLowerCase() === 'chunked') return undefined;
  const got = JSON.stringify(coding.slice(0, TEXT_MAX)).slice(1, -1);
  return problem(400, `Transfer-Encoding: expected chunked, got '${got}'`);
}
