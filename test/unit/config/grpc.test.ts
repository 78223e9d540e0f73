// Settings of the gRPC listener: TLS by either server's flags, channel arguments, valid
// combinations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServeConfig } from '../../../ts/config/config.js';
import type { Config } from '../../../ts/config/config.js';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import { GRPC_CONNECTION_DEFAULTS } from '../../../ts/listeners/grpc/settings.js';

async function grpc(...args: string[]): Promise<Config['grpc']> {
  const config = await parseServeConfig(['m', ...args], '/here');
  assert.ok(config);
  return config.grpc;
}

async function refuses(args: readonly string[], message: string): Promise<void> {
  await assert.rejects(
    grpc(...args),
    (error) =>
      error instanceof ServalError &&
      error.code === ErrorCode.InvalidArgument &&
      error.message === message,
  );
}

const PAIR = ['--grpc-server-cert=c.pem', '--grpc-server-key=k.pem'];

test("defaults are gRPC's own", async () => {
  const { transport, threads, ignored } = await grpc();
  assert.deepEqual(transport, {
    ...GRPC_CONNECTION_DEFAULTS,
    receiveBytesMax: 2147483647,
    sendBytesMax: 2147483647,
    unixPath: '',
    unixMode: 0o700,
    reusePort: false,
    compressionLevel: 0,
  });
  assert.equal(threads, 'auto');
  assert.deepEqual(ignored, []);
});

test("TLS by Triton's flags", async () => {
  const certificate = { path: '/here/c.pem' };
  const key = { path: '/here/k.pem' };
  const roots = { path: '/here/r.pem' };
  assert.deepEqual((await grpc('--grpc-use-ssl', ...PAIR)).transport.tls, {
    certificate,
    key,
    clientRequired: false,
  });
  const rooted = await grpc('--grpc-use-ssl=1', ...PAIR, '--grpc-root-cert=r.pem');
  assert.deepEqual(rooted.transport.tls, { certificate, key, roots, clientRequired: false });
  const mutual = await grpc('--grpc-use-ssl-mutual', ...PAIR, '--grpc-root-cert=r.pem');
  assert.deepEqual(mutual.transport.tls, { certificate, key, roots, clientRequired: true });
  assert.equal((await grpc('--grpc-use-ssl=false', ...PAIR)).transport.tls, undefined);
});

test('TLS that cannot be is refused', async () => {
  await refuses(
    ['--grpc-use-ssl', '--grpc-server-cert=c.pem'],
    '--grpc-use-ssl: expected --grpc-server-key FILE with it, got none',
  );
  await refuses(
    ['--grpc-use-ssl', '--grpc-server-key=c.pem'],
    '--grpc-use-ssl: expected --grpc-server-cert FILE with it, got none',
  );
  await refuses(
    ['--grpc-use-ssl-mutual', ...PAIR],
    '--grpc-use-ssl-mutual: expected --grpc-root-cert FILE with it, got none',
  );
  for (const flag of ['--grpc-server-cert', '--grpc-server-key', '--grpc-root-cert']) {
    await refuses(
      [`${flag}=x`],
      `${flag}: expected --grpc-use-ssl or --grpc-use-ssl-mutual with it`,
    );
  }
  await refuses(
    ['--ssl_config_file=s.pbtxt', '--grpc-use-ssl', ...PAIR],
    '--ssl_config_file: expected either this or --grpc-use-ssl and its files, got both',
  );
  assert.equal((await grpc('--ssl_config_file=s.pbtxt')).sslConfigFile, '/here/s.pbtxt');
});

test('sets flags from channel arguments; flags win; the rest is reported', async () => {
  const { transport, ignored } = await grpc(
    '--grpc_channel_arguments=grpc.max_connection_age_ms=5000, grpc.keepalive_time_ms=7,' +
      'grpc.keepalive_permit_without_calls=1,grpc.max_concurrent_streams=9,' +
      'grpc.max_receive_message_length=-1,grpc.max_send_message_length=100,' +
      'grpc.http2.min_ping_interval_without_data_ms=11,grpc.primary_user_agent=x',
    '--grpc-keepalive-time=8',
  );
  assert.equal(transport.connectionAgeMsMax, 5000);
  assert.equal(transport.keepaliveTimeMs, 8);
  assert.equal(transport.keepalivePermitWithoutCalls, true);
  assert.equal(transport.concurrentStreamsMax, 9);
  assert.equal(transport.receiveBytesMax, 2147483647);
  assert.equal(transport.sendBytesMax, 100);
  assert.equal(transport.pingIntervalWithoutDataMsMin, 11);
  assert.deepEqual(ignored, [
    '--grpc-channel-arguments grpc.primary_user_agent: there is no such setting here',
  ]);
  const both = await grpc(
    '--grpc_channel_arguments=grpc.max_send_message_length=100',
    '--grpc-message-bytes-max=5',
  );
  assert.deepEqual([both.transport.receiveBytesMax, both.transport.sendBytesMax], [5, 5]);
  const config = await parseServeConfig(
    ['m', '--grpc_max_threads=4', '--grpc_channel_arguments=grpc.x=1'],
    '/here',
  );
  assert.deepEqual(
    config?.ignoredFlags.map((one) => one.split(':')[0]),
    ['--grpc_max_threads', '--grpc-channel-arguments grpc.x'],
  );
});

test('channel arguments that cannot be read say which', async () => {
  await refuses(
    ['--grpc-channel-arguments=grpc.keepalive_time_ms'],
    '--grpc-channel-arguments: expected name=value, got "grpc.keepalive_time_ms"',
  );
  await refuses(
    ['--grpc-channel-arguments=grpc.keepalive_time_ms=soon'],
    '--grpc-channel-arguments: grpc.keepalive_time_ms: ' +
      'expected a whole number from 1 to 2147483647, got "soon"',
  );
  await refuses(
    ['--grpc-channel-arguments=grpc.keepalive_permit_without_calls=yes'],
    '--grpc-channel-arguments: grpc.keepalive_permit_without_calls: ' +
      'expected true (on, 1) or false (off, 0), got "yes"',
  );
});

test("gRPC's largest number, and 0 where it may be, mean never", async () => {
  const { transport } = await grpc(
    '--grpc-keepalive-time=2147483647',
    '--grpc-max-connection-age=0',
    '--grpc-max-connection-idle=2147483647',
  );
  assert.equal(transport.keepaliveTimeMs, Infinity);
  assert.equal(transport.connectionAgeMsMax, Infinity);
  assert.equal(transport.connectionIdleMsMax, Infinity);
});
