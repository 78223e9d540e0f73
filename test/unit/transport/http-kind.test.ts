// Which HTTP listener a server gets, by what is asked for and what this Node has.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServalError } from '../../../ts/errors.js';
import { chooseHttpListener, sharesPorts } from '../../../ts/transport/http-kind.js';

describe('the choice of the HTTP listener', () => {
  it('is the addon, where it has its own, then uWebSockets.js, then node:http', () => {
    const shared = { threads: 4, reusePort: true };
    assert.equal(chooseHttpListener('auto', shared, true, true, true), 'native');
    assert.equal(chooseHttpListener('native', shared, false, false, true), 'native');
    assert.throws(() => chooseHttpListener('native', shared, true, true, false), {
      message: /^--http-listener: expected auto, uws or node, got native: the addon was built /,
    });
    assert.equal(chooseHttpListener('auto', { threads: 4, reusePort: true }, true, false), 'uws');
    assert.equal(chooseHttpListener('auto', { threads: 1 }, false, false), 'node');
    assert.equal(chooseHttpListener('uws', { threads: 1 }, true, true), 'uws');
    assert.equal(chooseHttpListener('node', { threads: 2, reusePort: true }, true, true), 'node');
  });

  it('is refused where it cannot work', () => {
    const shared = { threads: 1, reusePort: true };
    for (const [choice, needs, message] of [
      ['uws', { threads: 1 }, /^--http-listener: expected node: uWebSockets.js has no binary for /],
      ['node', { threads: 2 }, /^--http-threads: expected 1, got 2, with --http-listener node on /],
      ['auto', { threads: 2 }, /^--http-threads: expected 1, /],
      ['node', shared, /^--reuse-http-port: expected false, got true, with --http-listener node /],
    ] as const) {
      assert.throws(
        () => chooseHttpListener(choice, needs, false, false),
        (error) => error instanceof ServalError && message.test(error.message),
      );
    }
  });

  it('is node:http where TLS needs it', () => {
    const pair = { certificate: { path: 'c' }, key: { path: 'k' }, clientRequired: false };
    assert.equal(chooseHttpListener('auto', { threads: 1, tls: pair }, true, true), 'uws');
    for (const [tls, what] of [
      [{ ...pair, clientRequired: true }, /expected node or auto with client certificates/],
      [{ ...pair, minVersion: 'TLSv1.3' }, /expected node or auto with --tls-min-version 1\.3/],
    ] as const) {
      assert.equal(chooseHttpListener('auto', { threads: 1, tls }, true, true), 'node');
      assert.throws(() => chooseHttpListener('uws', { threads: 1, tls }, true, true), {
        message: what,
      });
    }
  });

  it('knows which Nodes share a port', () => {
    for (const [version, shares] of [
      ['20.20.2', false],
      ['22.11.0', false],
      ['22.12.0', true],
      ['23.0.0', false],
      ['23.1.0', true],
      ['24.0.0', true],
    ] as const) {
      assert.equal(sharesPorts(version), shares, version);
    }
  });
});
