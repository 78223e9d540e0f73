// The lock in front of a route: open routes cost nothing, refused requests are not started.
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { HostCheck } from '../../../../../ts/listeners/http/access/own-page.js';
import { CONTROL_CHANGE, HEALTH, INFERENCE } from '../../../../../ts/access/groups.js';
import { digestOf } from '../../../../../ts/access/keys.js';
import { OPEN_POLICY, type Policy } from '../../../../../ts/access/policy.js';
import { locked } from '../../../../../ts/listeners/http/access/rest-lock.js';
import { ofCall, type Route } from '../../../../../ts/listeners/http/listener.js';
import { begin } from '../../../protocols/fake-http.js';

const POLICY: Policy = {
  ...OPEN_POLICY,
  keys: [{ name: 'a', digest: digestOf('key'), groups: ['inference'] }],
  openGroups: ['health'],
};

function counting(): Route & { readonly told: string[] } {
  const told: string[] = [];
  return {
    told,
    begin: () => void told.push('begin'),
    data: (_exchange, chunk, last) => void told.push(`data ${chunk.byteLength} ${last}`),
    abort: () => void told.push('abort'),
  };
}

test('a route that anybody may call is handed on as it is', () => {
  const route = ofCall(HEALTH, counting());
  assert.equal(locked(route, POLICY, 'http'), route);
  assert.equal(locked(route, OPEN_POLICY, 'http'), route);
});

test('passes on callers with the key: head, body and leave', () => {
  const route = counting();
  const lockedRoute = locked(ofCall(INFERENCE, route), POLICY, 'http');
  const exchange = begin(lockedRoute, {
    headers: { authorization: 'Bearer key' },
    body: ['abc', 'd'],
  });
  lockedRoute.abort(exchange);
  assert.deepEqual(route.told, ['begin', 'data 3 false', 'data 1 true', 'abort']);
  assert.equal(exchange.sends, 0);
});

test('answers callers without a key at once, as JSON, with a challenge', async () => {
  const route = counting();
  const lockedRoute = locked(ofCall(INFERENCE, route), POLICY, 'http');
  const { status, contentType, body, headers } = await begin(lockedRoute, {}).answered;
  const error = "inference calls need a key: expected 'authorization: Bearer KEY', got none";
  assert.deepEqual([status, contentType, JSON.parse(body)], [401, 'application/json', { error }]);
  assert.deepEqual(headers, ['WWW-Authenticate', 'Bearer realm="serval"']);
  assert.deepEqual(route.told, []);
});

test('checks accepted callers again when the keys change', async () => {
  const route = ofCall(INFERENCE, counting());
  const digests = ['key', 'new'].map(digestOf);
  const status = async (digest: string, key: string): Promise<number> => {
    const policy = policies.get(digest) as Policy;
    const begun = begin(locked(route, policy, 'http'), {
      headers: { authorization: `Bearer ${key}` },
    });
    return begun.sends === 0 ? 200 : (await begun.answered).status;
  };
  const policies = new Map(
    digests.map((digest) => [
      digest,
      { ...POLICY, keys: [{ name: 'a', digest, groups: ['inference' as const] }] },
    ]),
  );
  for (const digest of [...digests, ...digests]) {
    const right = digest === digests[0] ? 'key' : 'new';
    for (const key of ['key', 'new', 'key', 'new']) {
      assert.equal(await status(digest, key), key === right ? 200 : 401, `${right} ${key}`);
    }
  }
});

test('on a loopback address without keys a foreign Host is refused, for reads too', async () => {
  const status = async (
    listens: string,
    host: string,
    policy: Policy = OPEN_POLICY,
    allowed: readonly string[] = ['api.example'],
  ): Promise<number> => {
    const hosts = HostCheck.of(listens, allowed);
    const route = ofCall(INFERENCE, counting());
    const lockedRoute = locked(route, policy, 'http', undefined, undefined, hosts);
    const begun = begin(lockedRoute, { headers: { host, authorization: 'Bearer key' } });
    return begun.sends === 0 ? 200 : (await begun.answered).status;
  };
  for (const listens of ['127.0.0.1', '::1', 'localhost', '[::1]', '127.0.0.9']) {
    for (const host of [
      'evil.example',
      'evil.example:8000',
      'localhost.evil.example',
      '1.2.3.4.a',
    ]) {
      assert.equal(await status(listens, host), 403, `${listens} ${host}`);
    }
    for (const host of [
      ...['127.0.0.1:8000', '[::1]:8000', 'localhost', 'LOCALHOST:1', 'a.localhost', hostname()],
      ...['serval:8000', 'x'],
      ...['API.example:443', '192.0.2.1', ''],
    ]) {
      assert.equal(await status(listens, host), 200, `${listens} ${host}`);
    }
    assert.equal(await status(listens, 'evil.example', OPEN_POLICY, ['*']), 200);
    assert.equal(await status(listens, 'evil.example', POLICY), 200, 'a key is enough');
  }
  for (const listens of ['0.0.0.0', '::', '192.0.2.1', 'server.example', 'unix:/a.sock']) {
    assert.equal(await status(listens, 'evil.example'), 200, listens);
  }
});

test('a page of others is refused, and counted', async () => {
  let refused = 0;
  const route = counting();
  const lockedRoute = locked(
    ofCall(CONTROL_CHANGE, route),
    OPEN_POLICY,
    'http',
    () => (refused += 1),
  );
  const { status } = await begin(lockedRoute, { headers: { origin: 'http://evil.example' } })
    .answered;
  assert.deepEqual([status, refused, route.told], [403, 1, []]);
});
