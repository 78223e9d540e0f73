// Which calls may change state: those of programs and of the server's own pages.
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { it } from 'node:test';
import { foreignCall } from '../../../../../ts/listeners/http/access/own-page.js';

type Headers = Readonly<Record<string, string>>;
const problemOf = (headers: Headers): string | undefined =>
  foreignCall({ header: (name) => headers[String(name)] ?? '' });

it('takes programs, whatever they call the server', () => {
  assert.equal(problemOf({ host: 'serval.models.svc:8000' }), undefined);
  assert.equal(problemOf({}), undefined);
});

it('takes pages of the server itself', () => {
  for (const host of [
    'localhost:8000',
    '127.0.0.1:8000',
    '[::1]:8000',
    'a.localhost',
    hostname(),
  ]) {
    for (const site of ['', 'same-origin', 'none']) {
      const headers = { host, origin: `http://${host}`, 'sec-fetch-site': site };
      assert.equal(problemOf(headers), undefined, host);
    }
  }
});

it('refuses pages of others', () => {
  for (const origin of [
    'http://evil.example',
    'null',
    'https://localhost:8000.evil.example',
    'x',
  ]) {
    const got = `Origin '${origin}' at Host 'localhost:8000'`;
    assert.equal(
      problemOf({ host: 'localhost:8000', origin }),
      `a call that changes state: expected a program, or a page of this server, got ${got}`,
    );
  }
  for (const site of ['cross-site', 'same-site', 'Cross-Site', 'new-word']) {
    assert.match(problemOf({ host: 'localhost', 'sec-fetch-site': site }) ?? '', /Sec-Fetch-Site/);
  }
  // Another port is another origin.
  assert.ok(problemOf({ host: 'localhost:8000', origin: 'http://localhost:8001' }));
});

it('refuses pages whose name was made to lead here', () => {
  for (const host of [
    'evil.example',
    'evil.example:8000',
    '127.0.0.1.evil.example',
    'localhost.a',
  ]) {
    const problem = problemOf({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' });
    assert.ok(problem?.endsWith(`as Host, got '${host}'`), problem);
  }
});
