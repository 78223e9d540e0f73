// The flags that control access.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../../ts/access/keys.js';
import { policyOf } from '../../../ts/config/access.js';
import { parseServeConfig, type Config } from '../../../ts/config/config.js';

async function parse(...args: string[]): Promise<Config['access']> {
  const config = await parseServeConfig(['models', ...args], '/somewhere');
  assert.ok(config);
  return config.access;
}

const refuses = (args: readonly string[], message: RegExp): Promise<void> =>
  assert.rejects(parse(...args), message);

test('every flag of access', async () => {
  const access = await parse(
    ...['--api-key-file', 'keys', '--api-key-header', 'X-Api-Key', '--open-groups=health,metadata'],
    ...['--allow-remote-control', '--allow-client-shm'],
  );
  assert.deepEqual(access, {
    keyFile: '/somewhere/keys',
    keyHeader: 'x-api-key',
    openGroups: ['health', 'metadata', 'model-config', 'statistics'],
    httpRules: [],
    grpcRules: [],
    remoteControl: true,
    cors: undefined,
    clientShm: true,
    console: true,
    admin: undefined,
    adminTls: true,
    socketMode: 0o700,
    allowedHosts: [],
  });
  const { keys, remoteControl } = policyOf(access, undefined);
  assert.deepEqual([keys, remoteControl], [undefined, true]);
});

test("Triton's restrictions are rules, and go with no keys: either would open", async () => {
  const rules = [
    ...['--http-restricted-api', 'trace:a=b', '--http-restricted-api=logging:c=d'],
    ...['--grpc-restricted-protocol', 'inference:e=f'],
  ];
  const { httpRules, grpcRules } = await parse(...rules);
  assert.deepEqual(httpRules, [
    { header: 'a', digest: digestOf('b'), groups: ['tracing'] },
    { header: 'c', digest: digestOf('d'), groups: ['logging'] },
  ]);
  assert.deepEqual(grpcRules, [
    { header: 'triton-grpc-protocol-e', digest: digestOf('f'), groups: ['inference'] },
  ]);
  const expected = 'expected no --api-key-file with it, got both';
  await refuses(['--api-key-file=k', ...rules], new RegExp(`--http-restricted-api: ${expected}`));
  await refuses(
    ['--api-key-file=k', '--grpc-restricted-protocol', 'inference:e=f'],
    new RegExp(`--grpc-restricted-protocol: ${expected}`),
  );
});

test('an admin address is a host and a port, or a unix socket', async () => {
  const admin = async (text: string) => (await parse('--admin-address', text)).admin;
  assert.deepEqual(await admin('127.0.0.1:9000'), { host: '127.0.0.1', port: 9000 });
  assert.deepEqual(await admin('[::1]:0'), { host: '::1', port: 0 });
  assert.deepEqual(await admin('unix:a.sock'), { host: 'unix:/somewhere/a.sock', port: 0 });
  assert.equal(policyOf(await parse('--admin-address', 'h:1'), undefined).hasAdmin, true);
  for (const text of ['9000', 'h', 'h:', ':1', 'h:65536', '::1:9', 'unix:', 'http://h:1', 'h:1/']) {
    await refuses(['--admin-address', text], /--admin-address: expected HOST:PORT or unix:PATH/);
  }
});

test('names of hosts', async () => {
  const hosts = async (text: string) => (await parse('--allowed-hosts', text)).allowedHosts;
  assert.deepEqual(await hosts('API.example.com, b'), ['api.example.com', 'b']);
  assert.deepEqual(await hosts('*'), ['*']);
  for (const text of ['a,', 'http://a', 'a:80', 'a b']) {
    await refuses(['--allowed-hosts', text], /--allowed-hosts: expected names of hosts, or \*/);
  }
});

test('unix sockets are for their owner, unless --socket-mode opens them', async () => {
  const mode = async (text: string) => (await parse('--socket-mode', text)).socketMode;
  assert.deepEqual([await mode('0770'), await mode('660')], [0o770, 0o660]);
  for (const text of ['', '0', '77', '0999', '00700', '0070', 'rwx', '0x1ff', '-700']) {
    await refuses([`--socket-mode=${text}`], /--socket-mode: expected a mode such as 0700 or 0770/);
  }
});

test('an admin address over TCP has TLS where there is TLS, unless it is told not to', async () => {
  const tls = ['--tls-cert=c', '--tls-key=k'];
  const adminTls = async (...args: string[]) => (await parse(...args)).adminTls;
  assert.equal(await adminTls('--admin-address=h:1', ...tls), true);
  assert.equal(await adminTls('--admin-address=h:1', '--admin-use-ssl', ...tls), true);
  assert.equal(await adminTls('--admin-address=h:1', '--admin-use-ssl=false', ...tls), false);
  assert.equal(await adminTls('--admin-address=unix:s', ...tls), false);
  for (const [message, ...args] of [
    [/expected --admin-address with it/, '--admin-use-ssl=false'],
    [/expected --tls-cert FILE with it/, '--admin-use-ssl', '--admin-address=h:1'],
    [/HOST:PORT with it, got a unix/, '--admin-use-ssl', '--admin-address=unix:s', ...tls],
  ] as const) {
    await refuses(args, message);
  }
});

test('origins of pages, as browsers write them', async () => {
  const cors = async (...args: string[]) => (await parse(...args)).cors;
  const listed = 'HTTPS://App.Example:443, http://localhost:3000,app://x';
  assert.deepEqual(await cors('--cors-origins', listed, '--http-restricted-api', 'logging:key=v'), {
    origins: ['https://app.example', 'http://localhost:3000', 'app://x'],
    onEvery: false,
    keyHeaders: ['key'],
  });
  const any = { origins: undefined, keyHeaders: [] };
  assert.deepEqual(await cors('--cors-origins=*'), { ...any, onEvery: false });
  assert.deepEqual(await cors('--rest_api_enable_cors_support'), { ...any, onEvery: true });
  assert.equal(await cors('--rest_api_enable_cors_support=false'), undefined);
  for (const text of ['app.example', 'null', 'https://', 'https://a/b', 'https://a b', 'a,*']) {
    await refuses(['--cors-origins', text], /--cors-origins: expected SCHEME:/);
  }
  await refuses(['--cors-origins=http://a,*'], /'\*' alone, or origins without '\*'/);
  const both = ['--cors-origins=http://a', '--rest_api_enable_cors_support'];
  await refuses(both, /without --rest_api_enable_cors_support/);
});

test('no group may be left open', async () => {
  assert.deepEqual((await parse('--api-key-file', 'k', '--open-groups=')).openGroups, []);
});

test('errors name the flag, and no value of a header', async () => {
  await refuses(
    ['--open-groups=x', '--api-key-file=k'],
    /--open-groups: expected groups of inf.*"x"/,
  );
  await refuses(['--open-groups=health'], /--open-groups: expected --api-key-file with it/);
  await refuses(['--api-key-header=x'], /--api-key-header: expected --api-key-file with it/);
  await refuses(
    ['--api-key-file=k', '--api-key-header=a b'],
    /--api-key-header: expected the name/,
  );
  await refuses(['--http-restricted-api=x'], /--http-restricted-api: expected API/);
  await refuses(['--grpc-restricted-protocol=x:y=z'], /--grpc-restricted-protocol: expected APIs/);
});
