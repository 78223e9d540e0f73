// Lengths of requests: which are refused, and the messages.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codingProblem } from '../../../../ts/listeners/http/request-framing.js';

const textOf = (body: string | undefined): unknown =>
  body === undefined ? undefined : (JSON.parse(body) as { error: string }).error;

describe('Transfer-Encoding', () => {
  it('is chunked, in any case', () => {
    for (const coding of ['chunked', 'Chunked', 'CHUNKED']) {
      assert.equal(codingProblem(coding), undefined);
    }
  });

  it('is nothing else', () => {
    for (const coding of [
      '',
      'xchunked',
      'chunked ',
      'gzip, chunked',
      'chunked, chunked',
      'identity',
    ]) {
      const problem = codingProblem(coding);
      assert.equal(problem?.status, 400);
      assert.equal(textOf(problem.body), `Transfer-Encoding: expected chunked, got '${coding}'`);
    }
  });

  it('is echoed short and as JSON', () => {
    const problem = codingProblem(`\x0b"${'x'.repeat(1000)}`);
    assert.match(String(textOf(problem?.body)), /got '\\u000b\\"x{62}'$/);
  });
});
