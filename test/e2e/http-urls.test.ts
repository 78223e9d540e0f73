// Methods, queries and names of both REST protocols as sent on the wire, through raw sockets and
// through curl. Source: tfserving.md 1.1, 1.2; v2-protocol.md 1.1, 1.2; RFC 9110.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { overListeners } from './support/http-listeners.js';
import { ModelFolders } from './support/model-folders.js';
import { RawConnection, errorOf, exchange, jsonOf, requestBytes } from './support/raw-http.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

const ROWS = '{"instances":[1.0,2.0,5.0]}';
const TENSOR = '{"inputs":[{"name":"x","datatype":"FP32","shape":[3],"data":[1,2,5]}]}';
const VALUES = [3.5, 4, 5.5];
/** Names of folders: with a blank, a percent sign, a plus, an umlaut, a kanji. */
const NAMES = ['half plus three', '50%25', 'a+b', 'zwölf', '漢字', 'a;b=c', "it's"];

overListeners('HTTP methods and URLs', (flags) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let port = 0;
  before(async () => {
    const models = folders.repository('urls', ['half_plus_three']);
    for (const name of NAMES) {
      cpSync(join(models, 'half_plus_three'), join(models, name), { recursive: true });
    }
    server = await startServer([models, ...flags]);
    port = server.httpPort;
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const ask = (method: string, path: string, body = '', headers: readonly string[] = []) =>
    exchange(port, method, path, body, headers);

  describe('V2', () => {
    for (const [path, allowed] of [
      ['/v2', 'GET'],
      ['/v2/health/live', 'GET'],
      ['/v2/health/ready', 'GET'],
      ['/v2/models/half_plus_three', 'GET'],
      ['/v2/models/half_plus_three/ready', 'GET'],
      ['/v2/models/half_plus_three/infer', 'POST'],
      ['/v2/models/half_plus_three/versions/1/infer', 'POST'],
    ] as const) {
      it(`answers METHOD_NOT_ALLOWED with Allow: ${allowed} on ${path}`, async () => {
        const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'BREW'];
        for (const method of methods.filter((one) => one !== allowed)) {
          const response = await ask(method, path);
          assert.deepEqual(
            [response.status, errorOf(response)],
            [405, `method ${method} is not allowed here, expected ${allowed}`],
          );
          assert.equal(response.headers.get('allow'), allowed);
          assert.equal(response.headers.get('content-type'), 'application/json');
        }
      });
    }

    it('answers PATH_NOT_FOUND elsewhere', async () => {
      for (const path of [
        '/v2/',
        '/v3',
        '/v1',
        '/v2/model',
        '/v2/health',
        '/v2/models/half_plus_three/',
        '/v2/models/half_plus_three/infer/',
        '/v2/models/half_plus_three/versions/',
        '/v2/models//infer',
        '/favicon.ico',
      ]) {
        const response = await ask('GET', path);
        assert.deepEqual(
          [response.status, errorOf(response)],
          [404, `no such endpoint: GET ${path}`],
        );
      }
    });

    it('does not mind a query', async () => {
      const path = '/v2/models/half_plus_three/infer?trace=1&x=%zz';
      const { outputs } = jsonOf(await ask('POST', path, TENSOR)) as { outputs: [{ data: [] }] };
      assert.deepEqual(outputs[0].data, VALUES);
      assert.equal((await ask('GET', '/v2/health/live?')).status, 200);
    });

    it('decodes names, and knows none that cannot be decoded', async () => {
      for (const name of NAMES) {
        const path = `/v2/models/${encodeURIComponent(name)}`;
        assert.equal((jsonOf(await ask('GET', path)) as { name: string }).name, name);
        const reply = jsonOf(await ask('POST', `${path}/infer`, TENSOR)) as {
          model_name: string;
          outputs: [{ data: [] }];
        };
        assert.deepEqual([reply.model_name, reply.outputs[0].data], [name, VALUES]);
      }
      for (const name of ['half%zz', '%', '%E4%', '%FF', '%00', '..', '%2e%2e', '__proto__']) {
        const response = await ask('GET', `/v2/models/${name}`);
        assert.equal(response.status, 404, name);
        assert.match(errorOf(response), /^Request for unknown model: /);
      }
    });
  });

  describe('V1', () => {
    it('answers other methods as TensorFlow Serving does', async () => {
      for (const method of ['PUT', 'DELETE', 'PATCH']) {
        const path = '/v1/models/half_plus_three';
        const response = await ask(method, path);
        assert.deepEqual(
          [response.status, errorOf(response)],
          [400, `Malformed request: ${method} ${path}`],
        );
      }
    });

    it('answers OPTIONS to browsers', async () => {
      for (const [headers, status] of [
        [['Origin: http://page'], 200],
        [['Origin: https://page'], 200],
        [['Origin: null http://page'], 200],
        [[], 400],
        [['Origin: null'], 400],
      ] as const) {
        const response = await ask('OPTIONS', '/v1/models/half_plus_three:predict', '', headers);
        assert.deepEqual([response.status, response.body.length], [status, 0]);
      }
    });

    it('treats a query as a part of the path', async () => {
      const path = '/v1/models/half_plus_three:predict?x=1';
      const response = await ask('POST', path, ROWS);
      assert.deepEqual(
        [response.status, errorOf(response)],
        [400, `Malformed request: POST ${path}`],
      );
    });

    it('decodes names', async () => {
      for (const name of NAMES) {
        const path = `/v1/models/${encodeURIComponent(name)}`;
        assert.equal((await ask('GET', path)).status, 200, name);
        const reply = await ask('POST', `${path}:predict`, ROWS);
        assert.deepEqual(jsonOf(reply), { predictions: VALUES });
      }
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/metadata'],
        ['POST', ':predict'],
      ]) {
        const response = await ask(method ?? '', `/v1/models/half%zz${path}`, ROWS);
        assert.equal(response.status, 400);
        assert.match(errorOf(response), /^Malformed request: /);
      }
    });
  });

  it('answers HEAD without a body, so that the next answer is not misread', async () => {
    const connection = await RawConnection.open(port);
    for (const path of [
      '/v2/health/live',
      '/v2',
      '/v1/models/half_plus_three',
      '/nowhere',
      '/v2/models/half_plus_three/infer',
    ]) {
      await connection.write(requestBytes('HEAD', path));
      const response = await connection.response(true);
      assert.ok([400, 404, 405].includes(response.status));
      await connection.write(requestBytes('GET', '/v2/health/live'));
      assert.deepEqual(jsonOf(await connection.response()), { live: true });
    }
    assert.equal(connection.unread, 0);
    connection.close();
  });

  describe('curl', () => {
    const curl = async (...args: string[]): Promise<string> => {
      const options = ['--silent', '--show-error', '--max-time', '60', ...args];
      return (await promisify(execFile)('curl', options, { maxBuffer: 64 << 20 })).stdout;
    };
    const url = (path: string): string => `http://127.0.0.1:${port}${path}`;

    it('posts a form, as `curl -d` does', async () => {
      const reply = await curl('-d', ROWS, url('/v1/models/half_plus_three:predict'));
      assert.deepEqual(JSON.parse(reply), { predictions: VALUES });
    });

    it('sends a large body with Expect: 100-continue, and a chunked one', async () => {
      const numbers = Array.from({ length: 200_000 }, (_, i) => i);
      const body = join(folders.folder, 'large.json');
      writeFileSync(body, JSON.stringify({ instances: numbers }));
      for (const header of ['Expect: 100-continue', 'Transfer-Encoding: chunked']) {
        const reply = await curl(
          '-H',
          header,
          '--data-binary',
          `@${body}`,
          url('/v1/models/half_plus_three:predict'),
        );
        const { predictions } = JSON.parse(reply) as { predictions: number[] };
        assert.deepEqual(
          predictions,
          numbers.map((i) => i / 2 + 3),
        );
      }
    });

    it('decompresses the response with --compressed', async () => {
      const reply = await curl(
        '--compressed',
        '-d',
        TENSOR,
        url('/v2/models/half_plus_three/infer'),
      );
      const { outputs } = JSON.parse(reply) as { outputs: [{ data: number[] }] };
      assert.deepEqual(outputs[0].data, VALUES);
    });

    it('follows `curl -I` and --fail', async () => {
      assert.match(await curl('-I', url('/v2/health/live')), /^HTTP\/1\.1 405 /);
      await curl('--fail', url('/v2/health/ready'));
      await assert.rejects(curl('--fail', url('/v2/models/nope/ready')), /404/);
    });
  });
});
