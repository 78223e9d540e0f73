// Answers of HTTP/1.1, whole and in pieces of any size.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpAnswers } from '../../../ts/bench-command/load/http-answer.js';

interface Seen {
  readonly error: string | undefined;
  readonly keep: boolean;
}

function read(text: string, piece: number, ended = false): readonly (Seen | 'wrong')[] {
  const seen: (Seen | 'wrong')[] = [];
  const answers = new HttpAnswers((error, keep) => seen.push({ error, keep }));
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at += piece) {
    // Memory that is used again, as a connection's is.
    const chunk = Buffer.from(bytes.subarray(at, at + piece));
    if (!answers.feed(chunk)) {
      seen.push('wrong');
      return seen;
    }
    chunk.fill(0);
  }
  if (ended) answers.ended();
  return seen;
}

const OK: Seen = { error: undefined, keep: true };
const body = (text: string, status = '200 OK', more = ''): string =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${text.length}\r\n${more}\r\n${text}`;
const chunked = (...texts: readonly string[]): string =>
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' +
  texts.map((text) => `${text.length.toString(16)};x=y\r\n${text}\r\n`).join('') +
  '0\r\nTrailer: t\r\n\r\n';

for (const [what, text, expected] of [
  ['with a length', body('{"a":1}'), [OK]],
  ['empty', body(''), [OK]],
  ['two of them', body('12345') + body('', '204 No Content').replace('204', '200'), [OK, OK]],
  ['in chunks', chunked('abc', '\r\n\r\n', 'x'.repeat(300)), [OK]],
  ['100 before', `HTTP/1.1 100 Continue\r\n\r\n${body('x')}`, [OK]],
  ['an error', body('no', '503 Busy'), [{ error: 'status 503: no', keep: true }]],
  ['the last', body('x', '200 OK', 'Connection: close\r\n'), [{ error: undefined, keep: false }]],
  ['no HTTP', 'SSH-2.0-x\r\n\r\n', ['wrong']],
  ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', ['wrong']],
  [
    'a chunk that is none',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    ['wrong'],
  ],
] as const) {
  test(`${what}, in pieces of any size`, () => {
    for (let piece = 1; piece <= text.length; piece += 1) {
      assert.deepEqual(read(text, piece), expected, `${piece} bytes at a time`);
    }
  });
}

test('a body without a length ends with the connection', () => {
  const text = 'HTTP/1.1 200 OK\r\n\r\nabc';
  assert.deepEqual(read(text, 5), []);
  assert.deepEqual(read(text, 5, true), [{ error: undefined, keep: false }]);
  assert.deepEqual(read('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab', 50, true), []);
});

test('a head without an end is refused', () => {
  assert.deepEqual(read(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}`, 10_000), ['wrong']);
});
