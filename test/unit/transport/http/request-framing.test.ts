// Lengths, hosts and targets of requests: what is refused, and how it is said.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  codingProblem,
  hostProblem,
  originForm,
} from '../../../../ts/transport/http/request-framing.js';

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

describe('Host', () => {
  it('is a host and a port, or nothing', () => {
    for (const host of [
      '',
      'a',
      'a:8000',
      '127.0.0.1:1',
      '[::1]:8000',
      'xn--a.b',
      "a!$&'()*+,;=b",
    ]) {
      assert.equal(hostProblem(['Host', host]), undefined, host);
    }
    assert.equal(hostProblem(['X', 'y z']), undefined);
  });

  it('is there once', () => {
    const problem = hostProblem(['host', 'a', 'X', 'y', 'HOST', 'a']);
    assert.equal(textOf(problem?.body), 'Host: expected one header, got several');
  });

  it('has no blank, path or user', () => {
    for (const host of ['a b', 'a/b', 'u@h', 'a?b', 'a#b', 'ä', '"a"', '<a>', 'a\\b']) {
      assert.equal(hostProblem(['Host', host])?.status, 400, host);
    }
  });
});

it('a target in absolute form is its path and query', () => {
  for (const [target, path] of [
    ['http://a/v2?b=c', '/v2?b=c'],
    ['HTTPS://a:1/v2/', '/v2/'],
    ['http://a', '/'],
    ['http://a?b', '/?b'],
    ['*', '*'],
    ['ftp://a/b', 'ftp://a/b'],
  ] as const) {
    assert.equal(originForm(target), path);
  }
});
