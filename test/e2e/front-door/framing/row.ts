// One framing case, and the words that cases are made of. Test time only.

export const PREDICT = '/v1/models/half_plus_three:predict';
export const LIVE = '/v2/health/live';
/** A request that ends its connection, sent right after the bytes of each case. */
export const NEXT = 'GET /next HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n';

export const ROWS = '{"instances":[1.0,2.0,5.0]}';
export const LENGTH = `Content-Length: ${ROWS.length}`;
export const CHUNKED = 'Transfer-Encoding: chunked';
export const SIZE = ROWS.length.toString(16);
/** What an attacker would have read as a request of somebody else's. */
export const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: hidden\r\n\r\n';

/**
 * Name; section of the RFC; bytes in Latin-1; the reading of the native listener and of
 * uWebSockets.js: the statuses of all answers, then "close" where NEXT was not answered, or "waits"
 * where neither happened. `differs`: why the native listener reads it unlike nginx or Node, where
 * the rule of framing.test.ts does not hold.
 */
export type Row = readonly [
  name: string,
  rfc: string,
  bytes: string,
  native: string,
  uws: string,
  differs?: string,
];

/** Lines as a head. */
export const head = (...lines: readonly string[]): string => [...lines, '', ''].join('\r\n');
/** A GET whose request line is this. */
export const line = (text: string): string => head(text, 'Host: test');
/** A GET with these headers too. */
export const get = (...headers: readonly string[]): string =>
  head(`GET ${LIVE} HTTP/1.1`, 'Host: test', ...headers);
/** A prediction with these headers; the body is stated by them. */
export const post = (headers: readonly string[], body: string, path = PREDICT): string =>
  head(`POST ${path} HTTP/1.1`, 'Host: test', ...headers) + body;
/** ROWS in one chunk, then the last chunk and `end`. */
export const chunks = (size = SIZE, end = '\r\n'): string => `${size}\r\n${ROWS}\r\n0\r\n${end}`;
/** A prediction whose chunked body is this. */
export const chunkedPost = (body: string): string => post([CHUNKED], body);
