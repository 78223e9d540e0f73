// Which gRPC listener a server has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNodeListener, chooseGrpcListener } from '../../../../ts/transport/grpc/kind.js';
import { GRPC_CONNECTION_DEFAULTS } from '../../../../ts/transport/grpc/settings.js';

test('auto is the native one where it was built; what is asked for is had, or an error', () => {
  assert.equal(chooseGrpcListener('auto', true), 'native');
  assert.equal(chooseGrpcListener('auto', false), 'node');
  assert.equal(chooseGrpcListener('native', true), 'native');
  assert.equal(chooseGrpcListener('node', true), 'node');
  assert.throws(() => chooseGrpcListener('native', false), /--grpc-listener: expected node: /);
});

test('what grpc-js cannot do is refused, with its flag and the reason', () => {
  const settings = {
    ...GRPC_CONNECTION_DEFAULTS,
    receiveBytesMax: 1,
    sendBytesMax: 1,
    unixPath: '/x',
    threads: 1,
    compressionLevel: 0,
  };
  checkNodeListener({ ...settings, keepaliveTimeMs: 1, connectionAgeMsMax: 1 });
  checkNodeListener({ ...settings, reusePort: true }, true);
  const refused = [
    ['--grpc-threads', { threads: 2 }],
    ['--grpc-http2-max-pings-without-data', { pingsWithoutDataMax: 0 }],
    ['--grpc-http2-min-recv-ping-interval-without-data', { pingIntervalWithoutDataMsMin: 1 }],
    ['--grpc-http2-max-ping-strikes', { pingStrikesMax: 0 }],
    ['--grpc-infer-response-compression-level', { compressionLevel: 1 }],
    ['--reuse-grpc-port', { reusePort: true }],
  ] as const;
  for (const [flag, change] of refused) {
    const expected = new RegExp(`^Error: ${flag}: expected the native gRPC listener .*: it `);
    assert.throws(
      () => checkNodeListener({ ...settings, ...change }, false),
      (error) => expected.test(`Error: ${(error as Error).message}`),
    );
  }
});
