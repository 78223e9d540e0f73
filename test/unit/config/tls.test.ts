// TLS for HTTP and gRPC together: which flags need which, and the settings of each transport.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServeConfig, type Config } from '../../../ts/config/config.js';

async function configOf(...flags: readonly string[]): Promise<Config> {
  const config = await parseServeConfig(['models', ...flags], '/here');
  assert.ok(config);
  return config;
}

const PAIR = ['--tls-cert=c.pem', '--tls-key=k.pem'];
const SHARED = {
  certificate: { path: '/here/c.pem' },
  key: { path: '/here/k.pem' },
  clientRequired: false,
};

test('one certificate is for HTTP and gRPC', async () => {
  const { tls, grpc } = await configOf(...PAIR);
  assert.deepEqual(tls, { shared: SHARED, http: true, version: {} });
  assert.deepEqual(grpc.transport.tls, SHARED);
});

test('either can be left out of it', async () => {
  assert.equal((await configOf(...PAIR, '--http-use-ssl=false')).tls.http, false);
  assert.equal((await configOf(...PAIR, '--grpc-use-ssl=false')).grpc.transport.tls, undefined);
});

test('gRPC keeps its own certificate', async () => {
  const own = ['--grpc-use-ssl', '--grpc-server-cert=g.pem', '--grpc-server-key=h.pem'];
  const { tls, grpc } = await configOf(...PAIR, ...own, '--tls-min-version=1.3');
  assert.deepEqual(tls.shared, { ...SHARED, minVersion: 'TLSv1.3' });
  assert.deepEqual(grpc.transport.tls, {
    certificate: { path: '/here/g.pem' },
    key: { path: '/here/h.pem' },
    clientRequired: false,
    minVersion: 'TLSv1.3',
  });
});

test('clients are asked for certificates where somebody signs them', async () => {
  const { tls, grpc } = await configOf(...PAIR, '--tls-client-ca=ca.pem');
  const mutual = { ...SHARED, roots: { path: '/here/ca.pem' }, clientRequired: true };
  assert.deepEqual([tls.shared, grpc.transport.tls], [mutual, mutual]);
});

test('what cannot go together is refused by name', async () => {
  for (const [flags, problem] of [
    [['--tls-cert=c.pem'], '--tls-cert: expected --tls-key FILE with it'],
    [['--tls-key=k.pem'], '--tls-key: expected --tls-cert FILE with it'],
    [['--tls-client-ca=a.pem'], '--tls-client-ca: expected --tls-cert FILE with it'],
    [
      ['--tls-min-version=1.3'],
      '--tls-min-version: expected --tls-cert or another flag of TLS with it',
    ],
    [[...PAIR, '--tls-min-version=1.1'], '--tls-min-version: expected 1.2 or 1.3, got "1.1"'],
    [
      [...PAIR, '--ssl-config-file=s'],
      '--ssl-config-file: expected either this or --tls-cert, got both',
    ],
  ] as const) {
    await assert.rejects(configOf(...flags), { message: problem });
  }
});
