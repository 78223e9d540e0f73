// Access rules of REST, and attempts to circumvent them: over both listeners, from loopback and
// from another address of this machine.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { digestOf } from '../../../ts/access/keys.js';
import { outsideAddress } from '../support/addresses.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { RawConnection, errorOf, exchange, type RawResponse } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = 'half_plus_three';
const TENSOR = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}';
const ROWS = '{"instances":[1.0]}';
const LOAD = `/v2/repository/models/${MODEL}/load`;
const EXPLICIT = ['--model-control-mode', 'explicit', '--load-model', MODEL];

/** Every route, with its group. */
const ROUTES: readonly (readonly [string, string, string, string])[] = [
  ['inference', 'POST', `/v2/models/${MODEL}/infer`, TENSOR],
  ['inference', 'POST', `/v2/models/${MODEL}/versions/123/infer`, TENSOR],
  ['inference', 'POST', `/v1/models/${MODEL}:predict`, ROWS],
  ['inference', 'POST', `/V1/models/${MODEL}:predict`, ROWS],
  ['inference', 'POST', `/v1/models/${MODEL}/versions/123:predict`, ROWS],
  ['inference', 'POST', '/v1/models/none:predict', ROWS],
  ['inference', 'POST', `/v2/models/${MODEL}/csv`, 'x\n1\n'],
  ['inference', 'POST', `/models/${MODEL}/transform`, '{}'],
  ['metadata', 'GET', '/v2', ''],
  ['metadata', 'GET', `/v2/models/${MODEL}`, ''],
  ['metadata', 'GET', `/v2/models/${MODEL}/versions/123`, ''],
  ['metadata', 'GET', `/v1/models/${MODEL}`, ''],
  ['metadata', 'GET', `/v1/models/${MODEL}/metadata`, ''],
  ['metadata', 'GET', '/v2/none', ''],
  ['metadata', 'GET', '/none', ''],
  ['metadata', 'GET', '/v1/models', ''],
  ['metadata', 'GET', '/v2/models', ''],
  ['metadata', 'GET', '/openapi.json', ''],
  ['model-config', 'GET', `/v2/models/${MODEL}/config`, ''],
  ['statistics', 'GET', `/v2/models/${MODEL}/stats`, ''],
  ['statistics', 'GET', '/v2/models/stats', ''],
  ['health', 'GET', '/v2/health/live', ''],
  ['health', 'GET', '/v2/health/ready', ''],
  ['health', 'GET', `/v2/models/${MODEL}/ready`, ''],
  ['metrics', 'GET', '/metrics', ''],
  ['control', 'POST', '/v2/repository/index', ''],
  ['control', 'POST', LOAD, ''],
  ['control', 'POST', '/v2/repository/models/none/unload', ''],
  ['control', 'POST', '/v2/repository/reload', ''],
  ['logging', 'GET', '/v2/logging', ''],
  ['logging', 'POST', '/v2/logging', '{}'],
];
const CHANGES = ROUTES.filter(
  ([group, method, path]) =>
    (group === 'control' && !path.endsWith('/index')) || (group === 'logging' && method === 'POST'),
);
const GROUPS = [...new Set(ROUTES.map(([group]) => group))];
const OPEN = new Set(['health', 'metrics']);
const keyOf = (group: string): string => `key-of-${group}`;
const bearer = (key: string): readonly string[] => [`Authorization: Bearer ${key}`];
const lineOf = (group: string, key = keyOf(group)): string =>
  `${group} sha256:${digestOf(key)} ${group}\n`;

overListeners('REST with keys', (flags) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let keyFile = '';
  before(async () => {
    const models = folders.repository('access', [MODEL]);
    keyFile = join(folders.folder, 'keys.txt');
    // metadata includes other groups: here each is tested alone.
    const groups = GROUPS.filter((group) => group !== 'metadata');
    writeFileSync(
      keyFile,
      groups.map((group) => lineOf(group)).join('') +
        `wide sha256:${digestOf(keyOf('metadata'))} metadata\n`,
    );
    const keys = ['--api-key-file', keyFile, '--api-key-header', 'X-Api-Key'];
    server = await startServer(['--model-repository', models, ...EXPLICIT, ...keys, ...flags]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });
  const ask = (method: string, path: string, body: string, headers: readonly string[] = []) =>
    exchange(server.httpPort, method, path, body, headers);

  it('every route asks for a key of its group, but the open ones', async () => {
    for (const [group, method, path, body] of ROUTES) {
      const what = `${method} ${path}`;
      const without = await ask(method, path, body);
      const wrong = await ask(method, path, body, bearer('nobody'));
      if (OPEN.has(group)) {
        assert.deepEqual([without.status, wrong.status], [200, 200], what);
        continue;
      }
      assert.deepEqual([without.status, wrong.status], [401, 401], what);
      assert.equal(without.headers.get('www-authenticate'), 'Bearer realm="serval"');
      assert.match(errorOf(without), new RegExp(`^${group} calls need a key: .*, got none$`));
      const right = await ask(method, path, body, bearer(keyOf(group)));
      assert.notEqual(right.status, 401, what);
      assert.notEqual(right.status, 403, what);
    }
  });

  it('a key of another group is 403, for each group', async () => {
    for (const [group, method, path, body] of ROUTES.filter(([one]) => !OPEN.has(one))) {
      for (const other of GROUPS) {
        const holds = other === group || (other === 'metadata' && /^model-|^stat/.test(group));
        if (holds) continue;
        const response = await ask(method, path, body, bearer(keyOf(other)));
        assert.equal(response.status, 403, `${other} on ${method} ${path}`);
        assert.equal(errorOf(response), `the key that was sent is not for ${group} calls`);
      }
    }
  });

  it('methods and spellings of a path open nothing', async () => {
    const infer = `/v2/models/${MODEL}/infer`;
    for (const [method, path] of [
      ['GET', infer],
      ['PUT', infer],
      ['BREW', infer],
      ['HEAD', `/v2/models/${MODEL}`],
      ['POST', '/v2/health/live/../../repository/index'],
      ['POST', `/v2//models/${MODEL}/infer`],
      ['POST', `/v2/models/${MODEL}/infer?x=/metrics`],
      ['POST', `/v2/models/${MODEL}/infer#/metrics`],
      ['GET', '/metrics/'],
      ['POST', '/V2/repository/index'],
      ['OPTIONS', '/v1/models/x'],
    ] as const) {
      const { status } = await ask(method, path, '').catch(() => ({ status: 0 }));
      assert.notEqual(status, 200, `${method} ${path}`);
    }
  });

  it('a key comes in two headers and in no other place', async () => {
    const key = keyOf('inference');
    const path = `/v2/models/${MODEL}/infer`;
    const status = async (where: string, ...headers: readonly string[]): Promise<number> =>
      (await ask('POST', where, TENSOR, headers)).status;
    assert.equal(await status(path, `X-Api-Key: ${key}`), 200);
    assert.equal(await status(path, `authorization: bearer ${key}`), 200);
    assert.equal(await status(path, `Authorization: ${key}`), 401);
    assert.equal(await status(path, `Authorization: Basic ${key}`), 401);
    assert.equal(await status(path, `Api-Key: ${key}`), 401);
    assert.equal(await status(path, `Cookie: authorization=${key}`), 401);
    assert.equal(await status(`${path}?api-key=${key}&authorization=Bearer%20${key}`), 401);
    assert.equal(await status(path, `Authorization: Bearer ${digestOf(key)}`), 401);
    assert.equal(await status(path, 'X-Forwarded-For: 127.0.0.1'), 401);
  });

  it('is answered before the body has come, and before it was read', async () => {
    const connection = await RawConnection.open(server.httpPort);
    await connection.write(
      `POST /v2/models/${MODEL}/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{`,
    );
    assert.equal((await connection.response()).status, 401);
    connection.close();
  });

  it('keys are reloaded when the file changes, and a broken file keeps the current ones', async () => {
    const path = `/v2/models/${MODEL}/infer`;
    const status = async (key: string): Promise<number> =>
      (await ask('POST', path, TENSOR, bearer(key))).status;
    const replace = (text: string): void => {
      writeFileSync(`${keyFile}.new`, text);
      renameSync(`${keyFile}.new`, keyFile);
    };
    const said = (text: string, times: number): Promise<void> =>
      server.printed(({ stderr }) => stderr.split(text).length > times);
    replace(lineOf('inference', 'second-key'));
    await said('API keys reloaded', 1);
    assert.deepEqual([await status('second-key'), await status(keyOf('inference'))], [200, 401]);
    replace('inference second-key inference\n');
    await said('failed to reload API keys', 1);
    assert.equal(await status('second-key'), 200);
    assert.ok(!server.stderr.includes('second-key'), 'a log line has a key');
    replace(lineOf('inference', 'third-key'));
    server.signal('SIGHUP');
    await said('API keys reloaded', 2);
    assert.deepEqual([await status('third-key'), await status('second-key')], [200, 401]);
  });

  it('a removed key stops working, also on connections that used it before', async () => {
    const replace = async (key: string): Promise<void> => {
      const before = server.stderr.split('API keys reloaded').length;
      writeFileSync(`${keyFile}.new`, lineOf('inference', key));
      renameSync(`${keyFile}.new`, keyFile);
      server.signal('SIGHUP');
      const anew = (text: string): number => text.split('API keys reloaded').length;
      await server.printed(({ stderr }) => anew(stderr) > before);
    };
    const connection = await RawConnection.open(server.httpPort);
    const status = async (key: string): Promise<number> => {
      const head = `Host: x\r\nContent-Length: ${TENSOR.length}\r\nAuthorization: Bearer ${key}`;
      const path = `/v2/models/${MODEL}/infer`;
      await connection.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n${TENSOR}`);
      return (await connection.response()).status;
    };
    await replace('one-of-these');
    for (let i = 0; i < 3; i += 1) assert.equal(await status('one-of-these'), 200);
    assert.equal(await status('one-of-thes'), 401);
    await replace('two-of-these');
    assert.equal(await status('one-of-these'), 401);
    for (let i = 0; i < 3; i += 1) assert.equal(await status('two-of-these'), 200);
    await replace('one-of-these');
    assert.deepEqual([await status('two-of-these'), await status('one-of-these')], [401, 200]);
    connection.close();
  });

  it('says at the start what is open, and no key', () => {
    const { access } = JSON.parse(server.stdout.split('\n')[0] ?? '') as { access: unknown };
    assert.deepEqual(access, {
      open: ['health', 'metrics'],
      changesFromAnywhere: [],
      changesFromHere: [],
      keys: GROUPS.length,
      byHeader: [],
    });
  });
});

overListeners("REST with Triton's restrictions", (flags) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const models = folders.repository('restricted', [MODEL]);
    server = await startServer([
      ...['--model-repository', models, ...EXPLICIT, ...flags],
      ...['--http-restricted-api', 'model-repository,health:Admin-Key=admin-value'],
      ...['--http-restricted-api', 'inference:infer-key=infer-value'],
    ]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });
  const status = async (method: string, path: string, ...headers: readonly string[]) =>
    (await exchange(server.httpPort, method, path, path.includes('infer') ? TENSOR : '', headers))
      .status;

  it('asks for the header of the group', async () => {
    const infer = `/v2/models/${MODEL}/infer`;
    assert.equal(await status('GET', `/v2/models/${MODEL}`), 200);
    assert.equal(await status('POST', infer), 403);
    assert.equal(await status('POST', infer, 'infer-key: infer-value'), 200);
    assert.equal(await status('POST', infer, 'Infer-Key: infer-value'), 200);
    assert.equal(await status('POST', infer, 'infer-key: infer-valu'), 403);
    assert.equal(await status('POST', infer, 'admin-key: admin-value'), 403);
    assert.equal(await status('POST', infer, 'triton-grpc-protocol-infer-key: infer-value'), 403);
    assert.equal(await status('GET', '/v2/health/live'), 403);
    assert.equal(await status('GET', '/v2/health/live', 'admin-key: admin-value'), 200);
    assert.equal(await status('POST', LOAD), 403);
    assert.equal(await status('POST', LOAD, 'admin-key: admin-value'), 200);
    const response = await exchange(server.httpPort, 'GET', '/v2/health/live');
    assert.equal(errorOf(response), "This API is restricted, expecting header 'admin-key'");
  });
});

const outside = outsideAddress();
const skip = outside === undefined && 'this machine has no address but loopback';

overListeners('REST from another machine', (flags) => {
  describe('over its address', { skip }, () => {
    const folders = new ModelFolders();
    const servers: ServalProcess[] = [];
    const start = async (...more: readonly string[]): Promise<ServalProcess> => {
      const models = folders.repository(`remote${servers.length}`, [MODEL]);
      const args = ['--model-repository', models, ...EXPLICIT, '--host', '0.0.0.0', ...flags];
      const server = await startServer([...args, ...more]);
      servers.push(server);
      return server;
    };
    after(async () => {
      for (const server of servers) await server.stop();
      folders.remove();
    });
    const ask = (
      server: ServalProcess,
      [, method, path, body]: (typeof ROUTES)[number],
      ...headers: readonly string[]
    ): Promise<RawResponse> => exchange(server.httpPort, method, path, body, headers, outside);

    it('reads and infers; changes nothing, whatever its headers say', async () => {
      const server = await start();
      for (const route of ROUTES) {
        const response = await ask(server, route);
        assert.equal(response.status === 403, CHANGES.includes(route), `${route[1]} ${route[2]}`);
      }
      for (const route of CHANGES) {
        for (const header of [
          'X-Forwarded-For: 127.0.0.1',
          'Forwarded: for=127.0.0.1',
          'X-Real-IP: ::1',
          'Authorization: Bearer x',
        ]) {
          const response = await ask(server, route, header);
          assert.equal(response.status, 403, header);
          assert.match(
            errorOf(response),
            /call changes the server: without a key it is accepted from/,
          );
        }
        const [, method, path, body] = route;
        const local = await exchange(server.httpPort, method, path, body);
        assert.notEqual(local.status, 403, path);
      }
    });

    it('changes with --allow-remote-control', async () => {
      const server = await start('--allow-remote-control');
      for (const route of CHANGES) assert.notEqual((await ask(server, route)).status, 403);
      assert.equal((await ask(server, ['control', 'POST', LOAD, ''])).status, 200);
    });

    it('changes with a key', async () => {
      const keyFile = join(folders.folder, 'keys');
      writeFileSync(keyFile, lineOf('control'));
      const server = await start('--api-key-file', keyFile);
      const load = ['control', 'POST', LOAD, ''] as const;
      assert.equal((await ask(server, load)).status, 401);
      assert.equal((await ask(server, load, ...bearer(keyOf('control')))).status, 200);
      const logging = ['logging', 'POST', '/v2/logging', '{}'] as const;
      assert.equal((await ask(server, logging, ...bearer(keyOf('control')))).status, 403);
    });
  });
});
