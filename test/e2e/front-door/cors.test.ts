// Web pages of other origins: the headers that they get if they are allowed, and that they get none
// otherwise. Over both HTTP listeners and on the admin address. Source: Fetch 3.2; tfserving.md
// 1.1.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { digestOf } from '../../../ts/access/keys.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { exchange, type RawResponse } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const APP = 'https://app.example';
const INFER = '/v2/models/half_plus_three/infer';
const TENSOR = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}';
const UNLOAD = '/v2/repository/models/half_plus_three/unload';
const LOAD = '/v2/repository/models/half_plus_three/load';
const EXPLICIT = ['--model-control-mode', 'explicit', '--load-model', '*'];
/** A route of each kind, and an unknown one. */
const PATHS = [INFER, '/v1/models/half_plus_three:predict', '/v2', UNLOAD, '/metrics', '/none'];

const from = (origin: string): string => `Origin: ${origin}`;
const preflight = (headers: string): readonly string[] => [
  'Access-Control-Request-Method: POST',
  `Access-Control-Request-Headers: ${headers}`,
];
const allowed = (response: RawResponse): string | undefined =>
  response.headers.get('access-control-allow-origin');
const corsHeaders = (response: RawResponse): readonly string[] =>
  [...response.headers.keys()].filter((name) => /^access-control-|^vary$/.test(name));
/** The words of a list header, in lower case. */
const wordsOf = (response: RawResponse, header: string): readonly string[] =>
  (response.headers.get(header) ?? '').toLowerCase().split(/, */);

overListeners('Pages of other origins', (flags) => {
  const folders = new ModelFolders();
  const models = folders.repository('pages', ['half_plus_three']);
  const keyFile = join(folders.folder, 'keys.txt');
  writeFileSync(keyFile, `ops sha256:${digestOf('secret')} all\n`);
  after(() => folders.remove());

  const serving = (name: string, more: readonly string[], tests: (at: At) => void): void => {
    describe(name, () => {
      let server: ServalProcess;
      before(async () => {
        server = await startServer([models, ...EXPLICIT, ...flags, ...more]);
      });
      after(() => server.stop());
      tests({ http: () => server.httpPort, admin: () => server.ready?.admin?.port ?? 0 });
    });
  };
  interface At {
    readonly http: () => number;
    readonly admin: () => number;
  }

  serving('that are listed', ['--cors-origins', `${APP},http://localhost:3000`], ({ http }) => {
    it('read answers and errors of all routes', async () => {
      for (const origin of [APP, 'http://localhost:3000']) {
        const inferred = await exchange(http(), 'POST', INFER, TENSOR, [from(origin)]);
        assert.deepEqual([inferred.status, allowed(inferred)], [200, origin]);
        for (const path of PATHS) {
          const response = await exchange(http(), 'GET', path, '', [from(origin)]);
          assert.equal(allowed(response), origin, path);
          assert.equal(response.headers.get('vary'), 'Origin', path);
          const exposed = wordsOf(response, 'access-control-expose-headers');
          for (const name of [
            'inference-header-content-length',
            'retry-after',
            'serval-load-wait-ms',
          ]) {
            assert.ok(exposed.includes(name), name);
          }
        }
      }
    });

    it('have their preflights answered on every path, before any key', async () => {
      for (const path of PATHS) {
        const asked = [from(APP), ...preflight('content-type,authorization')];
        const response = await exchange(http(), 'OPTIONS', path, '', asked);
        assert.deepEqual([response.status, response.body.length], [200, 0], path);
        assert.equal(allowed(response), APP);
        assert.equal(response.headers.get('vary'), 'Origin');
        assert.deepEqual(wordsOf(response, 'access-control-allow-methods'), [
          'get',
          'post',
          'options',
        ]);
        const headers = wordsOf(response, 'access-control-allow-headers');
        for (const name of [
          ...['accept-encoding', 'authorization', 'content-encoding', 'content-type'],
          ...['inference-header-content-length', 'traceparent'],
        ]) {
          assert.ok(headers.includes(name), `${path}: ${name}`);
        }
        assert.equal(response.headers.get('access-control-max-age'), '7200');
      }
    });

    it('change nothing: without a key that is for pages of the server only', async () => {
      for (const path of [UNLOAD, LOAD, '/v2/repository/reload']) {
        const response = await exchange(http(), 'POST', path, '', [from(APP)]);
        assert.deepEqual([response.status, allowed(response)], [403, APP], path);
      }
      assert.equal((await exchange(http(), 'GET', '/v2/health/ready')).status, 200);
    });

    it('and no others, nor programs, are permitted anything', async () => {
      for (const origin of ['https://evil.example', 'null', `${APP}.evil.example`, `${APP}:444`]) {
        for (const method of ['GET', 'OPTIONS']) {
          const asked = [from(origin), ...preflight('content-type')];
          const response = await exchange(http(), method, '/v2', '', asked);
          assert.deepEqual(corsHeaders(response), ['vary'], origin);
          assert.equal(response.status, method === 'GET' ? 200 : 405);
        }
      }
      assert.deepEqual(corsHeaders(await exchange(http(), 'GET', '/v2')), ['vary']);
    });
  });

  const locked = ['--api-key-file', keyFile, '--api-key-header', 'X-Api-Key'];
  const admin = ['--admin-address', '127.0.0.1:0'];
  serving('with keys', ['--cors-origins', APP, ...locked, ...admin], (at) => {
    it('may send the key, in its header too, and read why they are refused', async () => {
      for (const port of [at.http(), at.admin()]) {
        const asked = [from(APP), ...preflight('x-api-key')];
        const response = await exchange(port, 'OPTIONS', UNLOAD, '', asked);
        assert.equal(response.status, 200);
        assert.ok(wordsOf(response, 'access-control-allow-headers').includes('x-api-key'));
        const refused = await exchange(port, 'POST', UNLOAD, '', [from(APP)]);
        assert.equal(allowed(refused), APP);
        assert.equal(refused.status, port === at.http() ? 403 : 401);
      }
    });

    it('change the server with a key, and pages of strangers do not', async () => {
      const key = 'Authorization: Bearer secret';
      const site = 'Sec-Fetch-Site: cross-site';
      const call = async (path: string, origin: string): Promise<number> =>
        (await exchange(at.admin(), 'POST', path, '', [key, site, from(origin)])).status;
      assert.equal(await call(UNLOAD, 'https://evil.example'), 403);
      assert.equal(await call(UNLOAD, APP), 200);
      assert.equal(await call(LOAD, APP), 200);
      const inferred = await exchange(at.http(), 'POST', INFER, TENSOR, [key, from(APP)]);
      assert.deepEqual([inferred.status, allowed(inferred)], [200, APP]);
    });
  });

  serving("as TensorFlow Serving's flag has it", ['--rest_api_enable_cors_support'], ({ http }) => {
    it('are any, on every answer', async () => {
      for (const [path, status] of [
        ['/v1/models/half_plus_three', 200],
        ['/v1/models/none', 404],
      ] as const) {
        const response = await exchange(http(), 'GET', path);
        assert.deepEqual([response.status, allowed(response)], [status, '*']);
        const methods = wordsOf(response, 'access-control-allow-methods');
        assert.ok(methods.includes('post') && methods.includes('get'));
        const headers = wordsOf(response, 'access-control-allow-headers');
        assert.ok(headers.includes('content-type'));
        assert.equal(response.headers.get('vary'), undefined);
      }
      const asked = [from('https://some.example'), ...preflight('content-type')];
      const response = await exchange(http(), 'OPTIONS', '/v1/models/half_plus_three', '', asked);
      assert.deepEqual([response.status, allowed(response)], [200, '*']);
      assert.equal((await exchange(http(), 'OPTIONS', '/v1/models/x')).status, 400);
    });
  });

  serving('without the flag', [], ({ http }) => {
    it('get no CORS headers', async () => {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const asked = [from(APP), ...preflight('content-type')];
        const response = await exchange(http(), method, INFER, TENSOR, asked);
        assert.deepEqual(corsHeaders(response), [], method);
        assert.equal(response.status, method === 'POST' ? 200 : 405);
      }
    });
  });
});
