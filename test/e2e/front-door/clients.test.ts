// HTTP/1 clients and load programs of others, unmodified, against the default listener: curl, wrk,
// h2load, ab, Python's requests and aiohttp. Browsers: console/click-through.test.ts; tritonclient:
// tritonclient.test.ts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { missingProgram, programFile } from './framing/proxy-servers.js';
import { Certificates } from '../support/certificates.js';
import { ModelFolders } from '../support/model-folders.js';
import { findPython, runPythonSuite } from '../support/python-suites.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const PREDICT = '/v1/models/half_plus_three:predict';
const ROWS = '{"instances":[1.0,2.0,5.0]}';
const PREDICTIONS = { predictions: [3.5, 4, 5.5] };
const BODY_BYTES_MAX = 4 << 20;
const JSON_TYPE = 'application/json';

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], input = ''): Promise<Ran> {
  const options = { timeout: 60_000, maxBuffer: 64 << 20 };
  return new Promise((resolve) => {
    const file = programFile(program) ?? program;
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    child.stdin?.on('error', () => undefined); // the child need not read it
    child.stdin?.end(input);
  });
}

describe('clients of HTTP/1', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let models = '';
  before(async () => {
    models = folders.repository('clients', ['half_plus_three']);
    server = await startServer([models, '--body-bytes-max', String(BODY_BYTES_MAX)]);
    writeFileSync(join(folders.folder, 'rows.json'), ROWS);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const url = (path: string): string => `http://127.0.0.1:${server.httpPort}${path}`;
  const file = (name: string): string => join(folders.folder, name);
  const curl = async (args: readonly string[], input = ''): Promise<string> => {
    const { code, stdout, stderr } = await run('curl', ['-sS', '-m', '60', ...args], input);
    assert.equal(code, 0, stderr);
    return stdout;
  };

  describe('curl', () => {
    it('speaks HTTP/1.0, and keeps the connection where it asks for that', async () => {
      const wanted = ['--http1.0', '-d', ROWS, url(PREDICT), url(PREDICT), '-w', '%{num_connects}'];
      assert.match(await curl(wanted), /^(\{[^}]*\}1)\1$/s);
      const keeps = ['-H', 'Connection: keep-alive', ...wanted];
      assert.match(await curl(keeps), /^(\{[^}]*\})1\1[0]$/s);
    });

    it('keeps its connection over answers, errors and chunks', async () => {
      const next = ['--next', '-sS', '-w', '\n%{http_code} %{num_connects}\n'];
      const printed = await curl([
        ...['-w', '\n%{http_code} %{num_connects}\n', '-d', ROWS, url(PREDICT)],
        ...[...next, '-d', '{', url(PREDICT)],
        ...[...next, url('/v2/models/none')],
        ...[...next, '-H', 'Transfer-Encoding: chunked', '-d', ROWS, url(PREDICT)],
        ...[...next, url('/v2/health/live')],
      ]);
      const counts = [...printed.matchAll(/^(\d{3}) (\d)$/gm)].map(([text]) => text);
      assert.deepEqual(counts, ['200 1', '400 0', '404 0', '200 0', '200 0']);
    });

    it('uploads what it reads (-T -), in chunks', async () => {
      const numbers = Array.from({ length: 100_000 }, (_, i) => i);
      const body = JSON.stringify({ instances: numbers });
      const reply = await curl(['-X', 'POST', '-T', '-', url(PREDICT)], body);
      const { predictions } = JSON.parse(reply) as { predictions: number[] };
      assert.deepEqual(
        predictions,
        numbers.map((i) => i / 2 + 3),
      );
    });

    it('sends nothing of a body that is refused by its length', async () => {
      writeFileSync(file('large'), Buffer.alloc(BODY_BYTES_MAX + 1, ' '));
      const shown = ['-o', file('reply'), '-w', '%{http_code} %{size_upload}'];
      const printed = await curl([...shown, '--data-binary', `@${file('large')}`, url(PREDICT)]);
      assert.equal(printed, '413 0');
    });

    it('shows a client certificate over TLS, and compresses', async () => {
      const certificates = new Certificates();
      const { authority, client } = certificates;
      const pair = ['--tls-cert', certificates.server.certificate];
      pair.push('--tls-key', certificates.server.key, '--tls-client-ca', authority.certificate);
      const secured = await startServer([models, ...pair]);
      try {
        const address = `https://localhost:${secured.httpPort}${PREDICT}`;
        const trust = ['-4', '--cacert', authority.certificate];
        const shows = ['--cert', client.certificate, '--key', client.key];
        const compressed = ['--compressed', '--http1.1', '-d', ROWS, address];
        const reply = await curl([...trust, ...shows, ...compressed]);
        assert.deepEqual(JSON.parse(reply), PREDICTIONS);
        const refused = await run('curl', ['-sS', ...trust, address]);
        assert.notEqual(refused.code, 0);
      } finally {
        await secured.stop();
        certificates.remove();
      }
    });
  });

  it('wrk gets nothing but 200', { skip: missingProgram('wrk', 'wrk') }, async () => {
    const script = file('post.lua');
    const lines = ["wrk.method = 'POST'", `wrk.body = '${ROWS}'`];
    writeFileSync(script, lines.join('\n'));
    for (const args of [['-s', script, url(PREDICT)], [url('/v2/health/live')]]) {
      const { code, stdout, stderr } = await run('wrk', ['-t1', '-c8', '-d1s', ...args]);
      assert.equal(code, 0, stderr);
      assert.doesNotMatch(stdout, /Non-2xx|Socket errors/);
      assert.ok(Number(/(\d+) requests in/.exec(stdout)?.[1]) > 10, stdout);
    }
  });

  it('h2load --h1 gets nothing but 200, pipelined too', {
    skip: missingProgram('h2load', 'nghttp2-client'),
  }, async () => {
    for (const more of [[], ['-m', '4'], ['-d', file('rows.json')]]) {
      const path = more[0] === '-d' ? PREDICT : '/v2/health/live';
      const { stdout } = await run('h2load', ['--h1', '-n', '1000', '-c', '8', ...more, url(path)]);
      assert.match(stdout, /1000 done, 1000 succeeded, 0 failed/);
      assert.match(stdout, /status codes: 1000 2xx/);
    }
  });

  it('ab gets nothing but 200, over HTTP/1.0 with and without keep-alive', {
    skip: missingProgram('ab', 'apache2-utils'),
  }, async () => {
    const body = ['-p', file('rows.json'), '-T', JSON_TYPE];
    for (const keeps of [[], ['-k']]) {
      const { stdout } = await run('ab', ['-n', '500', '-c', '8', ...keeps, ...body, url(PREDICT)]);
      assert.match(stdout, /Complete requests: +500\n/);
      assert.match(stdout, /Failed requests: +0\n/);
      assert.doesNotMatch(stdout, /Non-2xx/);
      if (keeps.length > 0) assert.match(stdout, /Keep-Alive requests: +500\n/);
    }
  });

  const { python, missing } = findPython();
  it('requests and aiohttp', { skip: missing !== '' && missing }, (context) =>
    runPythonSuite(context, python, 'transport.test_http_clients', server),
  );
});
