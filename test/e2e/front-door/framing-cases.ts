// Requests whose framing is unusual, ambiguous or broken, and what each HTTP listener does with
// them: the table of docs/security.md. Source: RFC 9112 2 to 7; RFC 9110 7.2. Test time only.

export const PREDICT = '/v1/models/half_plus_three:predict';
const ROWS = '{"instances":[1.0,2.0,5.0]}';
const LENGTH = `Content-Length: ${ROWS.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';
const SIZE = ROWS.length.toString(16);
/** What an attacker would have read as a request of somebody else's. */
const HIDDEN = 'GET /v2 HTTP/1.1\r\nHost: hidden\r\n\r\n';
const LIVE = '/v2/health/live';

export interface FramingCase {
  readonly name: string;
  readonly bytes: Buffer;
  /** The statuses that come back, then "close" where the connection ends; "waits": neither. */
  readonly uws: string;
  readonly node: string;
  readonly native: string;
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const chunks = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const post = (headers: readonly string[], body: string, path = PREDICT): Buffer =>
  latin1(`POST ${path} HTTP/1.1\r\nHost: test\r\n${[...headers, '', ''].join('\r\n')}${body}`);
const get = (...lines: readonly string[]): Buffer => latin1([...lines, '', ''].join('\r\n'));
const liveWith = (...lines: readonly string[]): Buffer =>
  get(`GET ${LIVE} HTTP/1.1`, 'Host: test', ...lines);

/** Rows in the order of the table: name, bytes, over uWebSockets.js, over node:http, over the
 * addon's listener (absent: as over node:http). */
type Row = readonly [string, Buffer, string, string, string?];

const LENGTHS: readonly Row[] = [
  ['a Content-Length', post([LENGTH], ROWS), '200', '200'],
  ['two Content-Lengths', post([LENGTH, 'Content-Length: 3'], ROWS), '200', '400 close'],
  ['one Content-Length, twice', post([LENGTH, LENGTH], ROWS), '200', '400 close'],
  ['a list of Content-Lengths', post([`${LENGTH}, 27`], ROWS), '400 close', '400 close'],
  ['a Content-Length with a sign', post(['Content-Length: +27'], ROWS), '400 close', '400 close'],
  ['a hexadecimal Content-Length', post(['Content-Length: 0x1b'], ROWS), '400 close', '400 close'],
  ['Content-Length: 27x', post(['Content-Length: 27x'], ROWS), '400 close', '400 close'],
  ['Content-Length: 2 7', post(['Content-Length: 2 7'], ROWS), '400 close', '400 close'],
  [
    'a Content-Length of 20 digits',
    post([`${LENGTH}${'9'.repeat(18)}`], ROWS),
    '400 close',
    '400 close',
  ],
  ['an empty Content-Length', post(['Content-Length:'], ''), '400 close', '400 close'],
  [
    'Content-Length and Transfer-Encoding',
    post([LENGTH, CHUNKED], chunks(ROWS)),
    '400 close',
    '400 close',
  ],
  [
    'Content-Length and an empty Transfer-Encoding',
    post([LENGTH, 'Transfer-Encoding:'], ROWS),
    '200',
    '400 close',
  ],
  ['no length, and another request after it', post([], HIDDEN), 'close', '400 200'],
  [
    'an empty Transfer-Encoding, and a request after it',
    post(['Transfer-Encoding:'], HIDDEN),
    'close',
    '400 close',
  ],
  [
    'a header without a name, and a request after it',
    post([': x', 'Content-Length: 0'], HIDDEN),
    'close',
    '400 close',
  ],
];

const CODINGS: readonly Row[] = [
  ['chunks', post([CHUNKED], chunks(ROWS)), '200 close', '200'],
  ['CHUNKED', post(['Transfer-Encoding: CHUNKED'], chunks(ROWS)), '200 close', '200'],
  ...['xchunked', 'gzip, chunked', 'identity', 'chunked, chunked', 'chunked;q=1'].map(
    (coding): Row => [
      `Transfer-Encoding: ${coding}`,
      post([`Transfer-Encoding: ${coding}`], chunks(ROWS)),
      '400 close',
      '400 close',
      coding === 'gzip, chunked' ? '501 close' : '400 close',
    ],
  ),
  [
    'Transfer-Encoding, identity and chunked',
    post(['Transfer-Encoding: identity', CHUNKED], chunks(ROWS)),
    '400 close',
    '400 close',
  ],
  [
    'Transfer-Encoding, chunked and identity',
    post([CHUNKED, 'Transfer-Encoding: identity'], chunks(ROWS)),
    '200 close',
    '400 close',
  ],
  [
    'a vertical tab before chunked',
    post(['Transfer-Encoding: \x0bchunked'], chunks(ROWS)),
    'waits',
    '400 close',
  ],
  [
    'chunks in a GET',
    latin1(`GET ${LIVE} HTTP/1.1\r\nHost: test\r\n${CHUNKED}\r\n\r\n0\r\n\r\n`),
    '411 close',
    '200',
  ],
  ['chunks and a request after them', post([CHUNKED], chunks(ROWS) + HIDDEN), 'close', '200 200'],
  [
    'the same to a model that is not there',
    post([CHUNKED], chunks(ROWS) + HIDDEN, '/v1/models/none:predict'),
    'close',
    '404 200',
  ],
  [
    'the same to a path that takes no POST',
    post([CHUNKED], chunks(ROWS) + HIDDEN, LIVE),
    'close',
    '405 200',
  ],
  [
    'the same in a GET',
    latin1(`GET ${LIVE} HTTP/1.1\r\nHost: test\r\n${CHUNKED}\r\n\r\n0\r\n\r\n${HIDDEN}`),
    'close',
    '200 200',
  ],
];

const CHUNKS: readonly Row[] = [
  [
    'a chunk of size ":"',
    post([CHUNKED], ':\r\n0123456789\r\n0\r\n\r\n'),
    '400 close',
    '400 close',
  ],
  ['a chunk of size "G"', post([CHUNKED], `G\r\n${ROWS}\r\n0\r\n\r\n`), '400 close', '400 close'],
  [
    'a chunk of size "0x1b"',
    post([CHUNKED], `0x1b\r\n${ROWS}\r\n0\r\n\r\n`),
    '400 close',
    '400 close',
  ],
  [
    'a chunk of 18 digits',
    post([CHUNKED], `${'f'.repeat(16)}1b\r\n${ROWS}\r\n0\r\n\r\n`),
    '400 close',
    '400 close',
  ],
  [
    'a chunk with an extension',
    post([CHUNKED], `${SIZE};a=b\r\n${ROWS}\r\n0\r\n\r\n`),
    'waits',
    '200',
  ],
  [
    "a blank behind a chunk's size",
    post([CHUNKED], `${SIZE} ;a\r\n${ROWS}\r\n0\r\n\r\n`),
    '200 close',
    '400 close',
  ],
  [
    'a chunk that ends with other bytes',
    post([CHUNKED], `${SIZE}\r\n${ROWS}XX0\r\n\r\n`),
    '200 close',
    '400 close',
  ],
  [
    'chunk lines that end with LF',
    post([CHUNKED], `${SIZE}\n${ROWS}\r\n0\r\n\r\n`),
    '200 close',
    '400 close',
  ],
  ['trailers', post([CHUNKED], `${SIZE}\r\n${ROWS}\r\n0\r\nX-Sum: 1\r\n\r\n`), '505 close', '200'],
  [
    'a request as trailers',
    post([CHUNKED], `${SIZE}\r\n${ROWS}\r\n0\r\n${HIDDEN}`),
    'close',
    '400 close',
  ],
];

const LINES: readonly Row[] = [
  ['an absolute URL', get(`GET http://test${LIVE} HTTP/1.1`, 'Host: test'), '505 close', '200'],
  ['OPTIONS *', get('OPTIONS * HTTP/1.1', 'Host: test'), '505 close', '200'],
  [
    'two blanks before the URL',
    get(`GET  ${LIVE} HTTP/1.1`, 'Host: test'),
    '505 close',
    '200',
    '400 close',
  ],
  [
    'an empty line before the first',
    latin1(`\r\nGET ${LIVE} HTTP/1.1\r\nHost: test\r\n\r\n`),
    'waits',
    '200',
  ],
  ['a URL with NUL', get('GET /v2/\0 HTTP/1.1', 'Host: test'), '505 close', '400 close'],
  ['a URL with a tab', get('GET /v2/\t HTTP/1.1', 'Host: test'), '505 close', '400 close'],
  ['a URL that is not ASCII', get('GET /v2/\xe4 HTTP/1.1', 'Host: test'), '404', '400 close'],
  [
    'lines that end with LF',
    latin1(`GET ${LIVE} HTTP/1.1\nHost: test\n\n`),
    '505 close',
    '505 close',
    '400 close',
  ],
  ['HTTP/1.0', get(`GET ${LIVE} HTTP/1.0`, 'Host: test'), '505 close', '200 close'],
];

const HEADS: readonly Row[] = [
  ['no headers', get(`GET ${LIVE} HTTP/1.1`), 'waits', '400 close'],
  ['no Host', get(`GET ${LIVE} HTTP/1.1`, 'X: y'), '400 close', '400 close'],
  ['an empty Host', get(`GET ${LIVE} HTTP/1.1`, 'Host:'), '200', '200'],
  ['two Hosts', liveWith('Host: other'), '200', '400 close'],
  ['a Host that is none', get(`GET ${LIVE} HTTP/1.1`, 'Host: a b/c@d'), '200', '400 close'],
  ['NUL in a header', liveWith('X: a\0b'), 'waits', '400 close'],
  ['CR in a header', liveWith('X: a\rb'), 'waits', '400 close'],
  ['LF in a header', liveWith('X: a\nY: b'), 'waits', '400 close'],
  ['DEL in a header', liveWith('X: a\x7f'), '200', '400 close'],
  ['a folded header', liveWith('X: a', ' b'), 'waits', '400 close'],
  ['a blank before the colon', liveWith('X : a'), 'waits', '400 close'],
  [
    'a blank before the colon of Content-Length',
    post(['Content-Length : 27'], ROWS),
    'waits',
    '400 close',
  ],
  ['a header without a colon', liveWith('Xa'), 'waits', '400 close'],
  ['a header without a name', liveWith(': a'), '200', '400 close'],
  ['a header name with a bracket', liveWith('X(y): b'), 'waits', '400 close'],
];

export const FRAMING: readonly FramingCase[] = [LENGTHS, CODINGS, CHUNKS, LINES, HEADS]
  .flat()
  .map(([name, bytes, uws, node, native = node]) => ({ name, bytes, uws, node, native }));
