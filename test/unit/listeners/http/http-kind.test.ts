// Which HTTP listener a server uses, by its flags and by what this Node supports.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseHttpListener } from '../../../../ts/listeners/http/kind.js';

describe('the choice of the HTTP listener', () => {
  const pair = { certificate: { path: 'c' }, key: { path: 'k' }, clientRequired: false };
  const mutual = { ...pair, clientRequired: true };
  const strict = { ...pair, minVersion: 'TLSv1.3' } as const;

  it('is the addon, unless uWebSockets.js is asked for', () => {
    for (const tls of [undefined, pair, mutual, strict]) {
      for (const choice of ['auto', 'native'] as const) {
        assert.equal(chooseHttpListener(choice, tls, true), 'native');
        assert.equal(chooseHttpListener(choice, tls, false), 'native');
      }
    }
    assert.equal(chooseHttpListener('uws', undefined, true), 'uws');
    assert.equal(chooseHttpListener('uws', pair, true), 'uws');
  });

  it('refuses uWebSockets.js where it cannot work, and names the other one', () => {
    for (const [tls, found, message] of [
      [
        undefined,
        false,
        /^--http-listener: expected native, got uws: uWebSockets\.js has no binary/,
      ],
      [mutual, true, /expected native with client certificates \(--tls-client-ca\), got uws/],
      [strict, true, /expected native with --tls-min-version 1\.3, got uws/],
    ] as const) {
      assert.throws(() => chooseHttpListener('uws', tls, found), { message });
    }
  });
});
