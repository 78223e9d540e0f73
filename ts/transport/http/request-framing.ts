// What a request says of its length, its host and its target, where that is refused or needs
// reading: alike over both HTTP listeners, as far as each sees it. Source: RFC 9112 3.2, 6. Hot
// path, requests without a Content-Length and those on node:http only; the listener's thread.

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
 * HTTP/1.0 has none: who forwards such a request may not have understood it.
 * Source: RFC 9112 6.1. */
export function codingProblem(coding: string, version = '1.1'): FramingProblem | undefined {
  if (version === '1.0') {
    return problem(400, 'Transfer-Encoding: expected HTTP/1.1, got it in an HTTP/1.0 request');
  }
  if (coding === 'chunked' || coding.toLowerCase() === 'chunked') return undefined;
  const got = JSON.stringify(coding.slice(0, TEXT_MAX)).slice(1, -1);
  return problem(400, `Transfer-Encoding: expected chunked, got '${got}'`);
}

/** RFC 3986: the characters of a host and a port. */
const HOST = /^[A-Za-z0-9\-._~%!$&'()*+,;=:[\]]*$/;
/** The one that was seen last: clients have the same for each request. */
let goodHost = '';

/** What is wrong with the Host of a request; `headers`: names and values, alternating. (One without
 * any is refused by the parsers.) */
export function hostProblem(headers: readonly string[]): FramingProblem | undefined {
  let host: string | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return problem(400, 'Host: expected one header, got several');
    host = headers[i + 1];
  }
  if (host === undefined || host === goodHost) return undefined;
  if (!HOST.test(host)) {
    const got = JSON.stringify(host.slice(0, TEXT_MAX)).slice(1, -1);
    return problem(400, `Host: expected a host and a port, got '${got}'`);
  }
  goodHost = host;
  return undefined;
}

/** The path and query of a target in absolute form, http://host/path; other targets as they are. */
export function originForm(target: string): string {
  const scheme = /^https?:\/\//i.exec(target)?.[0].length;
  if (scheme === undefined) return target;
  const path = target.slice(scheme).search(/[/?]/);
  if (path < 0) return '/';
  const rest = target.slice(scheme + path);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
