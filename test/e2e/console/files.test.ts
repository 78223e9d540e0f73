// The console's files over HTTP, their addresses, and lists of models; over both HTTP listeners.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const FILES = [
  ['/', 'text/html; charset=utf-8'],
  ['/console/console.js', 'text/javascript; charset=utf-8'],
  ['/console/style.css', 'text/css; charset=utf-8'],
  ['/console/icon.svg', 'image/svg+xml'],
] as const;
const ADMIN = ['--admin-address', '127.0.0.1:0'];

overListeners('The console', (flags) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const models = folders.repository('console', ['half_plus_three', 'mlp']);
    server = await startServer([models, ...flags]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  it('has its files, for this page only, with a tag', async () => {
    for (const [path, type] of FILES) {
      const { status, headers, body } = await exchange(server.httpPort, 'GET', path);
      assert.deepEqual([status, headers.get('content-type')], [200, type], path);
      assert.ok(body.length > 100, path);
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|\*|http/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      const tag = headers.get('etag') ?? '';
      assert.match(tag, /^"[\w-]{22}"$/);
      const again = await exchange(server.httpPort, 'GET', path, '', [
        `If-None-Match: "a", ${tag}`,
      ]);
      assert.deepEqual([again.status, again.body.length, again.headers.get('etag')], [304, 0, tag]);
      const other = await exchange(server.httpPort, 'GET', path, '', ['If-None-Match: "a"']);
      assert.equal(other.status, 200);
    }
  });

  it('has no others', async () => {
    for (const path of [
      '/console/',
      '/console',
      '/console/files.json',
      '/console/../v2',
      '/index',
    ]) {
      assert.equal((await exchange(server.httpPort, 'GET', path)).status, 404, path);
    }
  });

  it('names no other host in any file', async () => {
    for (const [path] of FILES) {
      const text = (await exchange(server.httpPort, 'GET', path)).body.toString();
      const hosts = text.match(/https?:\/\/[\w.-]+/g) ?? [];
      const others = hosts.filter((host) => host !== 'http://www.w3.org');
      assert.deepEqual(others, [], path);
    }
  });

  it('has lists of models in both protocols', async () => {
    const [v1, v2] = await Promise.all(
      ['/v1/models', '/v2/models'].map(async (path) =>
        jsonOf(await exchange(server.httpPort, 'GET', path)),
      ),
    );
    const names = ['half_plus_three', 'mlp'];
    assert.deepEqual((v1 as { models: unknown }).models, names);
    assert.deepEqual((v2 as { models: unknown }).models, names);
    const page = await exchange(server.httpPort, 'GET', '/v2/models?limit=1&after=half_plus_three');
    assert.deepEqual((jsonOf(page) as { models: unknown }).models, ['mlp']);
    for (const path of ['/v1/models?limit=0', '/v2/models?limit=0', '/v2/models?x=1']) {
      assert.equal((await exchange(server.httpPort, 'GET', path)).status, 400, path);
    }
  });
});

describe('The address of the console', () => {
  const folders = new ModelFolders();
  const models = folders.repository('console-place', ['half_plus_three']);
  after(() => folders.remove());

  it('on the admin address where there is one, and needs no key', async () => {
    const keys = join(folders.folder, 'keys.txt');
    writeFileSync(keys, `ops sha256:${'0'.repeat(64)} all\n`);
    const server = await startServer([models, ...ADMIN, '--api-key-file', keys]);
    try {
      const admin = server.ready?.admin?.port ?? 0;
      assert.equal((await exchange(admin, 'GET', '/')).status, 200);
      assert.equal((await exchange(server.httpPort, 'GET', '/')).status, 403);
      assert.equal((await exchange(admin, 'GET', '/v2/models')).status, 401);
    } finally {
      await server.stop();
    }
  });

  it('nowhere with --console=false', async () => {
    const server = await startServer([models, '--console=false']);
    try {
      for (const [path] of FILES) {
        assert.equal((await exchange(server.httpPort, 'GET', path)).status, 404, path);
      }
    } finally {
      await server.stop();
    }
  });
});
