// Listeners that are switched off, and ports that processes share: Triton's flags and their
// effects. Source: server/src/command_line_parser.cc (allow-http, allow-grpc, reuse-http-port,
// reuse-grpc-port).
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { RawClient } from '../../unit/protocols/raw-client.js';
import { freePort } from '../support/free-port.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { exchange } from '../support/raw-http.js';
import { runServal, ServalProcess, startServer } from '../support/serval-process.js';

const HEALTH = '/grpc.health.v1.Health/Check';
const LIVE = '/v2/health/live';
const SERVING = Buffer.from([8, 1]);

const folders = new ModelFolders();
const models = folders.repository('listeners', ['half_plus_three']);
const servers: ServalProcess[] = [];
const start = async (...args: readonly string[]): Promise<ServalProcess> => {
  const server = await startServer([models, ...args]);
  servers.push(server);
  return server;
};
after(async () => {
  await Promise.all(servers.map((one) => one.stop()));
  folders.remove();
});

async function answersGrpc(port: number): Promise<void> {
  const client = new RawClient(port);
  try {
    assert.deepEqual((await client.unary(HEALTH, Buffer.alloc(0))).message, SERVING);
  } finally {
    client.close();
  }
}

/** True if connections are accepted. */
const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

describe('without HTTP', () => {
  it('gRPC answers, no HTTP port is opened, and the start says so', async () => {
    const port = String(await freePort());
    const server = await start('--allow-http=false', '--http-port', port);
    assert.equal(server.ready?.http, null);
    assert.equal(await isOpen(Number(port)), false);
    await answersGrpc(server.grpcPort);
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended, { code: 0, signal: null }, server.stderr);
  });

  it('the admin address and the metrics port stay', async () => {
    const socketPath = join(folders.folder, `admin.sock`);
    const server = await start('--allow-http=false', '--admin-address', `unix:${socketPath}`);
    const status = await new Promise((resolve, reject) => {
      const asked = request({ socketPath, path: '/metrics' }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on('error', reject);
      asked.end();
    });
    assert.equal(status, 200);
    await answersGrpc(server.grpcPort);
  });
});

overListeners('without gRPC', (flags) => {
  it('HTTP answers, no gRPC port is opened, and the start says so', async () => {
    const port = String(await freePort());
    const server = await start(...flags, '--allow-grpc=false', '--grpc-port', port);
    assert.equal(server.ready?.grpc, null);
    assert.equal(await isOpen(Number(port)), false);
    assert.equal((await exchange(server.httpPort, 'GET', LIVE)).status, 200);
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended, { code: 0, signal: null }, server.stderr);
  });
});

describe('without a listener', () => {
  it('messages name the listener that is off, with commands for the other one', async () => {
    const flags = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
    const server = new ServalProcess(['serve', ...flags, '--allow-grpc=false', models]);
    servers.push(server);
    await server.printed(({ stdout }) => stdout.includes('serval is ready'));
    assert.match(server.stdout, /serval is ready: HTTP on 127\.0\.0\.1:\d+, gRPC off\n/);
    assert.doesNotMatch(server.stdout, /grpcurl|http2-prior-knowledge/);
    assert.match(server.stdout, /\/v2\/models\/half_plus_three\/infer/);
  });

  it('nobody could ask, which is an error', async () => {
    const { code, stderr } = await runServal(['serve', '--allow-http=0', '--allow-grpc=0', models]);
    assert.notEqual(code, 0);
    assert.match(stderr, /--allow-grpc: expected true where --allow-http is false/);
  });
});

overListeners('a shared HTTP port', (flags) => {
  it('is answered by whoever is there', async () => {
    const shared = [...flags, '--reuse-http-port=true'];
    const first = await start(...shared);
    const port = String(first.httpPort);
    const second = await start(...shared, '--http-port', port);
    assert.equal(second.httpPort, first.httpPort);
    assert.equal((await exchange(first.httpPort, 'GET', LIVE)).status, 200);
    first.signal('SIGTERM');
    assert.equal((await first.ended).code, 0);
    assert.equal((await exchange(second.httpPort, 'GET', LIVE)).status, 200);
  });

  it('is refused to those who do not share it', async () => {
    const server = await start(...flags, '--reuse-http-port=true');
    const port = String(server.httpPort);
    const args = ['serve', '--host', '127.0.0.1', '--http-port', port, '--grpc-port', '0'];
    const refused = await runServal([...args, ...flags, models]);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /HTTP cannot listen on 127\.0\.0\.1 port \d+: the port is in use/);
  });

  it('fails if another program uses the port exclusively', async (context) => {
    const other = createServer().listen({ host: '127.0.0.1', port: 0, exclusive: true });
    context.after(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const args = ['serve', '--host', '127.0.0.1', '--http-port', String(port), '--grpc-port', '0'];
    const refused = await runServal([...args, ...flags, '--reuse-http-port', models]);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, new RegExp(`cannot listen on 127\\.0\\.0\\.1(:| port )${port}`));
  });
});

describe('a shared gRPC port', () => {
  it('is answered by whoever is there, and refused to those who do not share', async () => {
    const first = await start('--reuse-grpc-port');
    const port = String(first.grpcPort);
    const second = await start('--reuse-grpc-port', '--grpc-port', port);
    await answersGrpc(first.grpcPort);
    const args = ['serve', '--host', '127.0.0.1', '--http-port', '0', '--grpc-port', port];
    const refused = await runServal([...args, models]);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /gRPC cannot listen on 127\.0\.0\.1 port \d+: the port is in use/);
    first.signal('SIGTERM');
    assert.equal((await first.ended).code, 0);
    await answersGrpc(second.grpcPort);
  });
});
