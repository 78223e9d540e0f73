// Lines of the access log for requests without the engine: their fields, escaping, truncation, and
// which ones are written.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import type { AccessLogSettings } from '../../../../ts/config/config.js';
import { Asked } from '../../../../ts/listeners/http/answer-log.js';
import { AnswerLines } from '../../../../ts/server/workers/answer-lines.js';

type Line = Readonly<Record<string, unknown>>;

function opened(settings: Partial<AccessLogSettings> = {}) {
  const texts: string[] = [];
  const all = { oneIn: 1, errorsOnly: false, reasons: true, ...settings };
  const lines = new AnswerLines(all, (line) => texts.push(line.toString()));
  const asked = (method: string, path: string, code?: ErrorCode): Asked => {
    const made = new Asked(lines, method, path, performance.now());
    made.code = code;
    return made;
  };
  const parsed = (): readonly Line[] => texts.map((text) => JSON.parse(text) as Line);
  return { lines, texts, asked, parsed };
}

/** Removes the values that differ between runs. */
const stable = ({ time: _time, total_us: _us, ...rest }: Line): Line => rest;
const error = (text: string): string => JSON.stringify({ error: text });

describe('lines of answers', () => {
  it('name the call, the model where the path has one, and the reason', () => {
    const { lines, asked, parsed, texts } = opened();
    const path = '/v2/models/no%20such/versions/7/infer';
    const body = error("unknown model 'no such'");
    lines.answered(asked('POST', path, ErrorCode.ModelNotFound), 404, body);
    lines.answered(asked('GET', '/v2/health/live'), 200, '{}');
    lines.answered(asked('GET', '/favicon.ico'), 404, Buffer.from(error('no such endpoint')));
    assert.deepEqual(parsed().map(stable), [
      {
        protocol: 'v2-rest',
        call: `POST ${path}`,
        model: 'no such',
        version: '7',
        code: 'MODEL_NOT_FOUND',
        status: 404,
        reason: "unknown model 'no such'",
        response_bytes: body.length,
      },
      {
        protocol: 'v2-rest',
        call: 'GET /v2/health/live',
        code: 'OK',
        status: 200,
        response_bytes: 2,
      },
      {
        protocol: 'http',
        call: 'GET /favicon.ico',
        code: 'PATH_NOT_FOUND',
        status: 404,
        reason: 'no such endpoint',
        response_bytes: error('no such endpoint').length,
      },
    ]);
    for (const text of texts) assert.match(text, /^\{"time":"[^"]+Z".*"total_us":[\d.]+\}\n$/);
  });

  it('have a name for each status', () => {
    const { lines, asked, parsed } = opened();
    const codes: Readonly<Record<number, string>> = {
      400: 'INVALID_ARGUMENT',
      401: 'UNAUTHENTICATED',
      403: 'PERMISSION_DENIED',
      405: 'METHOD_NOT_ALLOWED',
      411: 'LENGTH_REQUIRED',
      413: 'BODY_TOO_LARGE',
      415: 'UNSUPPORTED_ENCODING',
      500: 'INTERNAL',
      599: 'UNKNOWN',
    };
    for (const status of Object.keys(codes)) lines.answered(asked('GET', '/'), Number(status), '');
    assert.deepEqual(
      parsed().map((line) => line['code']),
      Object.values(codes),
    );
  });

  it('escape what a terminal would act on, and cut what is long', () => {
    const { lines, asked, texts, parsed } = opened();
    const hostile = '\u001b[31m\u0007\u007f\u009b\u202e\u2066\u200f\u2028\ufeff\ud83d\n';
    lines.answered(
      asked('GET', `/v2/models/${encodeURIComponent('a\u202eb')}`),
      404,
      error(hostile),
    );
    lines.answered(asked(`X${'y'.repeat(9000)}`, '/'), 405, error('z'.repeat(9000)));
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(texts[0] ?? '', /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]|\p{Cf}|\p{Zl}/u);
    assert.equal(texts[0]?.indexOf('\n'), (texts[0]?.length ?? 0) - 1);
    assert.equal(parsed()[0]?.['reason'], hostile);
    assert.equal(parsed()[0]?.['model'], 'a\u202eb');
    assert.equal(String(parsed()[1]?.['call']).length, 256);
    assert.equal(String(parsed()[1]?.['reason']).length, 1024);
  });

  it('say that a client left, and what was no request', () => {
    const { lines, asked, parsed } = opened();
    lines.left(asked('POST', '/v1/models/half:predict'));
    lines.unread('400 Bad Request');
    assert.deepEqual(parsed().map(stable), [
      {
        protocol: 'v1-rest',
        call: 'POST /v1/models/half:predict',
        model: 'half',
        code: 'CANCELLED',
        status: 499,
        reason: 'the client went away',
        response_bytes: 0,
      },
      {
        protocol: 'http',
        code: 'INVALID_ARGUMENT',
        status: 400,
        reason: 'Bad Request: not an HTTP/1.1 request',
      },
    ]);
  });

  it('are of one in N, or of failures alone, and leave reasons out where asked', () => {
    const sampled = opened({ oneIn: 3 });
    for (let i = 0; i < 7; i += 1) sampled.lines.answered(sampled.asked('GET', '/'), 200, '');
    assert.equal(sampled.texts.length, 2);
    const failures = opened({ oneIn: 3, errorsOnly: true, reasons: false });
    for (const status of [200, 404, 200, 503]) {
      failures.lines.answered(failures.asked('GET', '/'), status, error('why'));
    }
    assert.deepEqual(
      failures.parsed().map(({ protocol, status, reason }) => [protocol, status, reason]),
      [
        ['http', 404, undefined],
        ['http', 503, undefined],
      ],
    );
  });
});
