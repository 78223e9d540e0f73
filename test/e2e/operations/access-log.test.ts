// --access-log: one line of JSON for each request, or for one in N, without the contents of
// requests. test/e2e/seen covers requests that reach no model. Source: docs/reference/metrics.md.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, predict, put, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const SECRET = 'a-secret-of-the-client-4711';
const TIMES = ['queue_us', 'input_us', 'infer_us', 'output_us', 'total_us'];
const FAILING = `backend: "serval_null"
input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }
parameters { key: "mode" value { string_value: "fail" } }
`;
const types = messageTypes();

type Line = Readonly<Record<string, unknown>>;

const parsed = (text: string): readonly Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

describe('the access log', () => {
  const folders = new ModelFolders();
  const models = folders.repository('logged', [
    'half_plus_three',
    'identity_bytes',
    'identity_fp32',
    'mlp',
  ]);
  mkdirSync(join(models, 'failing', '1'), { recursive: true });
  put(join(models, 'failing', 'config.pbtxt'), FAILING);
  after(() => folders.remove());

  const log = (name: string): string => join(folders.folder, name);
  const started = async (
    context: TestContext,
    ...args: readonly string[]
  ): Promise<ServalProcess> => {
    const server = await startServer([models, ...args]);
    context.after(() => server.stop());
    return server;
  };
  const lines = (path: string, count: number) =>
    until(
      `${count} lines`,
      () => {
        const all = existsSync(path) ? parsed(readFileSync(path, 'utf8')) : [];
        return all.length >= count ? all : undefined;
      },
      () => (existsSync(path) ? readFileSync(path, 'utf8') : 'no file'),
    );
  const grpcInfer = async (server: ServalProcess): Promise<number> => {
    const client = new RawClient(server.grpcPort);
    const { code } = await client.unary(
      '/inference.GRPCInferenceService/ModelInfer',
      encode(types, 'inference.ModelInferRequest', {
        model_name: 'half_plus_three',
        id: 'over gRPC',
        inputs: [{ name: 'x', datatype: 'FP32', shape: [2], contents: { fp32_contents: [1, 2] } }],
      }),
    );
    client.close();
    return code;
  };

  it('has a line per request, with its outcome', async (context) => {
    const path = log('all.log');
    const server = await started(context, '--access-log', path);
    const rows = '{"instances":[[1.0],[2.0],[5.0]]}';
    assert.equal((await predict(server, 'identity_fp32', rows)).status, 200);
    const ok = JSON.stringify({ ...(JSON.parse(v2Body('x', [1])) as object), id: 'an "id"\n' });
    assert.equal((await infer(server, 'half_plus_three', ok)).status, 200);
    assert.equal(await grpcInfer(server), 0);
    assert.equal((await infer(server, 'half_plus_three', '{"inputs":[]}')).status, 400);
    assert.equal((await infer(server, 'failing', v2Body('x', [1, 2]))).status, 500);
    const found = await lines(path, 5);
    assert.deepEqual(
      found.map(({ protocol, model, version, id, code }) => [protocol, model, version, id, code]),
      [
        ['v1-rest', 'identity_fp32', '1', undefined, 'OK'],
        ['v2-rest', 'half_plus_three', '123', 'an "id"\n', 'OK'],
        ['v2-grpc', 'half_plus_three', '123', 'over gRPC', 'OK'],
        ['v2-rest', 'half_plus_three', '123', undefined, 'INVALID_ARGUMENT'],
        ['v2-rest', 'failing', '1', undefined, 'BACKEND_FAILED'],
      ],
    );
    assert.deepEqual(
      found.map((line) => line['status']),
      [200, 200, 0, 400, 500],
    );
    assert.deepEqual(
      found.map((line) => line['reason'] !== undefined),
      [false, false, false, true, true],
    );
    // A model whose shapes have no batch counts as one item.
    assert.deepEqual(
      found.slice(0, 3).map((line) => line['rows']),
      [3, 1, 1],
    );
    for (const line of found) {
      assert.ok(Math.abs(Date.now() - Date.parse(String(line['time']))) < 60_000, 'its time');
      const times = TIMES.map((name) => line[name] as number);
      assert.ok(
        times.every((us) => us >= 0),
        JSON.stringify(line),
      );
      const parts = times.slice(0, -1).reduce((sum, us) => sum + us, 0);
      assert.ok(parts <= (times.at(-1) ?? 0) + 1, JSON.stringify(line));
    }
    assert.deepEqual(found[0]?.['request_bytes'], rows.length);
    assert.ok(Number(found[0]?.['response_bytes']) > 0);
  });

  it('never shows what requests carry', async (context) => {
    const path = log('secret.log');
    // A reason may quote what its client sent: a flag omits that as well.
    const quiet = ['--log-level', 'debug', '--access-log-reasons=false'];
    const server = await started(context, '--access-log', path, ...quiet);
    const text = (data: unknown) =>
      JSON.stringify({
        id: 'known',
        inputs: [{ name: 'input', datatype: 'BYTES', shape: [1, 1], data }],
      });
    const ask = (body: string) =>
      exchange(server.httpPort, 'POST', '/v2/models/identity_bytes/infer', body, [
        `Authorization: Bearer ${SECRET}`,
      ]);
    const good = await ask(text([SECRET]));
    assert.ok(good.body.toString().includes(SECRET));
    // The error may echo it to the client that sent it, and to no other.
    assert.equal((await ask(text({ [SECRET]: SECRET }))).status, 400);
    const number = text([SECRET]).replace('BYTES', 'FP32');
    assert.equal((await infer(server, 'identity_fp32', number)).status, 400);
    assert.equal((await predict(server, 'mlp', `{"instances":["${SECRET}"]}`)).status, 400);
    assert.equal((await infer(server, 'identity_fp32', `{"${SECRET}`)).status, 400);
    await lines(path, 5);
    assert.ok(!readFileSync(path, 'utf8').includes(SECRET), readFileSync(path, 'utf8'));
    assert.ok(!server.stderr.includes(SECRET), server.stderr);
  });

  it('has every N-th request with --access-log-one-in', async (context) => {
    const path = log('sampled.log');
    const server = await started(
      context,
      '--access-log',
      path,
      '--access-log-one-in',
      '10',
      '--exec-mode',
      'inline',
    );
    for (let i = 0; i < 45; i += 1) {
      assert.equal((await infer(server, 'half_plus_three', v2Body('x', [1]))).status, 200);
    }
    await lines(path, 4);
    server.signal('SIGTERM');
    assert.equal((await server.ended).code, 0);
    assert.equal(parsed(readFileSync(path, 'utf8')).length, 4);
  });

  it('is complete when the server has drained, even without metrics', async (context) => {
    const path = log('drained.log');
    const server = await started(context, '--access-log', path, '--allow-metrics=false');
    await Promise.all(
      Array.from({ length: 20 }, () => infer(server, 'half_plus_three', v2Body('x', [1]))),
    );
    server.signal('SIGTERM');
    assert.equal((await server.ended).code, 0);
    assert.equal(parsed(readFileSync(path, 'utf8')).length, 20);
  });

  it('is reopened after SIGHUP', async (context) => {
    const path = log('moved.log');
    const server = await started(context, '--access-log', path);
    await infer(server, 'half_plus_three', v2Body('x', [1]));
    await lines(path, 1);
    renameSync(path, `${path}.1`);
    server.signal('SIGHUP');
    await until('the file is there again', () => existsSync(path));
    await infer(server, 'half_plus_three', v2Body('x', [1]));
    await lines(path, 1);
    assert.equal(parsed(readFileSync(`${path}.1`, 'utf8')).length, 1);
  });

  it('goes to stderr as "-"', async (context) => {
    const server = await started(context, '--access-log', '-', '--log-level', 'off');
    await infer(server, 'half_plus_three', v2Body('x', [1]));
    await server.printed(({ stderr }) => stderr.includes('\n'));
    assert.deepEqual(
      parsed(server.stderr).map(({ model, code }) => [model, code]),
      [['half_plus_three', 'OK']],
    );
  });

  it('that cannot be opened stops the start', async () => {
    const run = await runServal([
      'serve',
      '--host',
      '127.0.0.1',
      '--http-port',
      '0',
      '--grpc-port',
      '0',
      models,
      '--access-log',
      '/nowhere/access.log',
    ]);
    assert.equal(run.code, 1, run.stderr);
    assert.equal(run.stdout, '');
    assert.match(run.stderr, /cannot open the access log \/nowhere\/access\.log/);
  });
});
