// The admin address: calls that only it answers, and that no other address reaches them.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials } from '@grpc/grpc-js';
import { outsideAddress } from '../support/addresses.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { errorOf, exchange } from '../support/raw-http.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = 'half_plus_three';
const EXPLICIT = ['--model-control-mode', 'explicit', '--load-model', MODEL];
const TENSOR = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}';
type Call = readonly [string, string, string];
const ADMIN: readonly Call[] = [
  ['POST', '/v2/repository/index', ''],
  ['POST', `/v2/repository/models/${MODEL}/load`, ''],
  ['GET', '/v2/logging', ''],
  ['POST', '/v2/logging', '{}'],
  ['GET', '/metrics', ''],
  ['GET', '/v2/models/stats', ''],
  ['GET', `/v2/models/${MODEL}/stats`, ''],
];
const BOTH: readonly Call[] = [
  ['GET', '/v2/health/ready', ''],
  ['GET', `/v2/models/${MODEL}`, ''],
];
const INFER: Call = ['POST', `/v2/models/${MODEL}/infer`, TENSOR];

function overSocket(socketPath: string, [method, path, body]: Call): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, timeout: DEADLINE_MS }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

overListeners('an admin address', (flags) => {
  const folders = new ModelFolders();
  const servers: ServalProcess[] = [];
  const start = async (address: string, ...more: readonly string[]): Promise<ServalProcess> => {
    const models = folders.repository(`admin${servers.length}`, [MODEL]);
    const args = ['--model-repository', models, ...EXPLICIT, '--admin-address', address];
    const server = await startServer([...args, ...flags, ...more]);
    servers.push(server);
    return server;
  };
  after(async () => {
    for (const server of servers) await server.stop();
    folders.remove();
  });

  it('has control, logging, metrics and statistics for itself', async () => {
    const server = await start('127.0.0.1:0', '--http-threads', '2');
    const port = server.ready?.admin?.port ?? 0;
    assert.notEqual(port, server.httpPort);
    for (const [method, path, body] of ADMIN) {
      assert.equal((await exchange(port, method, path, body)).status, 200, path);
      const elsewhere = await exchange(server.httpPort, method, path, body);
      assert.equal(elsewhere.status, 403, path);
      assert.match(errorOf(elsewhere), /calls are answered on the admin address only$/);
    }
    for (const [method, path, body] of BOTH) {
      for (const at of [port, server.httpPort]) {
        assert.equal((await exchange(at, method, path, body)).status, 200, path);
      }
    }
    const [method, path, body] = INFER;
    assert.equal((await exchange(server.httpPort, method, path, body)).status, 200);
    assert.equal((await exchange(port, method, path, body)).status, 403);
    const forged = ['X-Forwarded-For: 127.0.0.1', 'X-Forwarded-Port: 9000'];
    const [, loadPath] = ADMIN[1] ?? INFER;
    assert.equal((await exchange(server.httpPort, 'POST', loadPath, '', forged)).status, 403);
  });

  it('may be a unix socket, whose callers are on this machine', async () => {
    const path = join(folders.folder, 'admin.sock');
    const server = await start(`unix:${path}`);
    for (const call of [...ADMIN, ...BOTH])
      assert.equal(await overSocket(path, call), 200, call[1]);
    assert.equal(await overSocket(path, INFER), 403);
    server.signal('SIGTERM');
    await server.ended;
    assert.equal(existsSync(path), false);
  });

  const outside = outsideAddress();
  const skip = outside === undefined && 'this machine has no address but loopback';
  it('accepts no change from another machine', { skip }, async () => {
    const server = await start('0.0.0.0:0');
    const port = server.ready?.admin?.port ?? 0;
    for (const [method, path, body] of ADMIN) {
      const changes = path.endsWith('/load') || (method === 'POST' && path === '/v2/logging');
      const { status } = await exchange(port, method, path, body, [], outside);
      assert.equal(status, changes ? 403 : 200, `${method} ${path}`);
    }
  });
});

describe('gRPC beside an admin address', () => {
  describe('has nothing of it', () => {
    const folders = new ModelFolders();
    let server: ServalProcess;
    let client: Client;
    before(async () => {
      const models = folders.repository('admin', [MODEL]);
      const args = ['--model-repository', models, ...EXPLICIT, '--admin-address', '127.0.0.1:0'];
      server = await startServer([...args]);
      client = new Client(`127.0.0.1:${server.grpcPort}`, credentials.createInsecure());
    });
    after(async () => {
      client?.close();
      await server?.stop();
      folders.remove();
    });
    const codeOf = (method: string): Promise<number> =>
      new Promise((resolve) => {
        const same = (bytes: Buffer): Buffer => bytes;
        const path = `/inference.GRPCInferenceService/${method}`;
        const options = { deadline: Date.now() + DEADLINE_MS };
        client.makeUnaryRequest(path, same, same, Buffer.alloc(0), options, (error) =>
          resolve(error?.code ?? 0),
        );
      });

    it('for anybody', async () => {
      const admin = ['RepositoryIndex', 'RepositoryModelLoad', 'LogSettings', 'ModelStatistics'];
      for (const method of admin) assert.equal(await codeOf(method), 7, method);
      assert.equal(await codeOf('ServerReady'), 0);
      assert.notEqual(await codeOf('ModelInfer'), 7);
    });
  });
});
