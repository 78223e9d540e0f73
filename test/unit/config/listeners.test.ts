// The listeners that a server's flags select.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharesPort } from '../../../ts/config/server-settings.js';
import { parseServeConfig, type Config } from '../../../ts/config/config.js';

async function parse(...args: string[]): Promise<Config> {
  const config = await parseServeConfig(['models', ...args], '/somewhere');
  assert.ok(config);
  return config;
}

test("accepts each peer's way to disable a listener", async () => {
  for (const off of ['false', 'False', 'off', '0']) {
    const { listeners: noHttp } = await parse(`--allow-http=${off}`);
    assert.deepEqual([noHttp.http, noHttp.grpc], [false, true]);
    const { listeners: noGrpc } = await parse(`--allow_grpc=${off}`);
    assert.deepEqual([noGrpc.http, noGrpc.grpc], [true, false]);
  }
});

test('ignores the port of a disabled listener', async () => {
  await parse('--http-port=7', '--grpc-port=7', '--allow-http=false');
  await parse('--http-port=7', '--grpc-port=7', '--allow-grpc=false');
  await parse('--metrics-port=8000', '--allow-http=false');
});

test('HTTP and gRPC share a port if both have the same port and address', async () => {
  assert.equal(sharesPort(await parse('--http-port=7', '--grpc-port=7')), true);
  assert.equal(sharesPort(await parse('--http-port=7', '--grpc-port=8')), false);
  assert.equal(sharesPort(await parse('--http-port=0', '--grpc-port=0')), false);
  const other = await parse('--http-port=7', '--grpc-port=7', '--grpc-address=127.0.0.2');
  assert.equal(sharesPort(other), false);
  const refused: readonly (readonly [string, RegExp])[] = [
    ['--http-listener=uws', /^ServalError: --http-listener: expected native where HTTP and gRPC/],
    ['--grpc-socket-path=s', /^ServalError: --grpc-socket-path: expected none where HTTP and gRPC/],
    ['--reuse-grpc-port=true', /^ServalError: --reuse-grpc-port: expected the value of/],
  ];
  for (const [flag, text] of refused) {
    await assert.rejects(parse('--http-port=7', '--grpc-port=7', flag), text);
  }
});

test('refuses a server without listeners and a socket of a disabled listener', async () => {
  await assert.rejects(
    parse('--allow-http=false', '--allow-grpc=false'),
    /^ServalError: --allow-grpc: expected true where --allow-http is false/,
  );
  await assert.rejects(
    parse('--allow-grpc=false', '--grpc-socket-path=s'),
    /^ServalError: --grpc-socket-path: expected gRPC with it, got --allow-grpc=false$/,
  );
});

test('shares ports on request', async () => {
  const { listeners, grpc } = await parse('--reuse-http-port', '--reuse-grpc-port=true');
  assert.deepEqual([listeners.reuseHttpPort, listeners.reuseGrpcPort], [true, true]);
  assert.equal(grpc.transport.reusePort, true);
});

test('accepts a configuration name only as a file in one folder', async () => {
  const { sources } = await parse('--model-config-name=h100');
  assert.equal(sources.modelConfigName, 'h100');
  for (const name of ['', 'a b', '../x', 'a/b', 'a\\b', 'a\tb']) {
    await assert.rejects(
      parse(`--model-config-name=${name}`),
      /^ServalError: --model-config-name: /,
    );
  }
});

test('applies a platform file like the equivalent flags', async () => {
  const { platformConfigFile } = await parse('--platform_config_file=p.txt');
  assert.equal(platformConfigFile, '/somewhere/p.txt');
  for (const flag of ['--enable_batching', '--saved-model-tags=x', '--intra-op-threads=1']) {
    const refused = parse('--platform_config_file=p.txt', flag);
    await assert.rejects(refused, /expected either this or --platform-config-file, got both$/);
  }
});
