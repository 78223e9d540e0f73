// One framing case, and the parts that cases consist of. Test time only.

export const PREDICT = '/v1/models/half_plus_three:predict';
export const LIVE = '/v2/health/live';
/** A request that ends its connection, sent directly after the bytes of each case. */
export const NEXT = 'GET /next HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n';

export const ROWS = '{"instances":[1.0,2.0,5.0]}';
export const LENGTH = `Content-Length: ${ROWS.length}`;
export const CHUNKED = 'Transfer-Encoding: chunked';
export const SIZE = ROWS.length.toString(16);
/** A request that an attacker would smuggle in as another client's. */
export const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: hidden\r\n\r\n';

/**
 * Name; section of the RFC; bytes in Latin-1; the readings of the native listener and of
 * uWebSockets.js: the statuses of all responses, then "close" if NEXT was not answered, or "waits"
 * if neither happened. `differs`: why the native listener reads it differently from nginx or Node
 * where the rule of framing.test.ts does not hold.
 */
export type Row = readonly [
  name: string,
  rfc: string,
  bytes: string,
  native: string,
  uws: string,
  differs?: string,
];

/** Joins lines to a head. */
export const head = (...lines: readonly string[]): string => [...lines, '', ''].join('\r\n');
/** A GET with this request line. */
export const line = (text: string): string => head(text, 'Host: test');
/** A GET with these additional headers. */
export const get = (...headers: readonly string[]): string =>
  head(`GET ${LIVE} HTTP/1.1`, 'Host: test', ...headers);
/** A prediction with these headers; they state the body's length. */
export const post = (headers: readonly string[], body: string, path = PREDICT): string =>
  head(`POST ${path} HTTP/1.1`, 'Host: test', ...headers) + body;
/** ROWS in one chunk, then the last chunk and `end`. */
export const chunks = (size = SIZE, end = '\r\n'): string => `${size}\r\n${ROWS}\r\n0\r\n${end}`;
/** A prediction with this chunked body. */
export const chunkedPost = (body: string): string => post([CHUNKED], body);
