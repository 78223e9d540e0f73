// Refusals of requests on uWebSockets.js for what they say of their length. Source: RFC 9112 6. Hot
// path, requests without a Content-Length only; the listener's thread.

/** An answer, behind which the connection ends. */
export interface FramingProblem {
  readonly status: number;
  readonly body: string;
}

const TEXT_MAX = 64;

const problem = (status: number, text: string): FramingProblem => ({
  status,
  body: JSON.stringify({ error: text }),
});

/** Chunks where nobody expects a body. */
export const NO_LENGTH = problem(
  411,
  'Transfer-Encoding: expected a request without a body, or a Content-Length',
);

/** What is wrong with a Transfer-Encoding; undefined where the body is chunked and nothing else.
 * Source: RFC 9112 6.1. */
export function codingProblem(coding: string): FramingProblem | undefined {
  if (coding === 'chunked' || coding.toLowerCase() === 'chunked') return undefined;
  const got = JSON.stringify(coding.slice(0, TEXT_MAX)).slice(1, -1);
  return problem(400, `Transfer-Encoding: expected chunked, got '${got}'`);
}
