// The access log has every answered request, over each listener: those that reached no model, with
// the reason that their client got, and requests other than inference.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, after, describe, it } from 'node:test';
import { digestOf } from '../../../ts/access/keys.js';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, predict, putDelayModel, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange, RawConnection, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const TIMES = ['time', 'queue_us', 'input_us', 'infer_us', 'output_us', 'total_us'];
const INFER = '/inference.GRPCInferenceService/ModelInfer';
const PREDICT = '/tensorflow.serving.PredictionService/Predict';
const HOSTILE = 'no\u009bsuch\u202emodel\n';
const types = messageTypes();

type Line = Readonly<Record<string, unknown>>;

const folders = new ModelFolders();
after(() => folders.remove());
const models = folders.repository('seen', ['half_plus_three']);
putDelayModel(
  models,
  'slow',
  2000,
  'dynamic_batching { default_queue_policy { max_queue_size: 1 } }',
);

const v2Message = (model: string): Buffer =>
  encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    id: 'known',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [1] } }],
  });

let files = 0;

class Log {
  readonly path: string;

  constructor() {
    files += 1;
    this.path = join(folders.folder, `access-${files}.log`);
  }

  text(): string {
    return existsSync(this.path) ? readFileSync(this.path, 'utf8') : '';
  }

  lines(): readonly Line[] {
    const lines = this.text().split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Line);
  }

  /** Waits for the only line that matches. */
  async one(what: string, says: (line: Line) => boolean): Promise<Line> {
    const found = await until(
      what,
      () => (this.lines().some(says) ? this.lines().filter(says) : undefined),
      () => this.text(),
    );
    assert.equal(found.length, 1, JSON.stringify(found));
    return Object.fromEntries(
      Object.entries(found[0] ?? {}).filter(([name]) => !TIMES.includes(name)),
    );
  }
}

async function started(
  context: TestContext,
  flags: readonly string[] = [],
): Promise<{ server: ServalProcess; log: Log }> {
  const log = new Log();
  const server = await startServer([models, '--access-log', log.path, ...flags]);
  context.after(() => server.stop());
  return { server, log };
}

const isOf =
  (call: string) =>
  (line: Line): boolean =>
    line['call'] === call;

overListeners('the access log of HTTP', (flags, kind) => {
  it('has requests for unknown models, paths and methods', async (context) => {
    const { server, log } = await started(context, flags);
    const name = encodeURIComponent(HOSTILE);
    assert.equal((await infer(server, name, v2Body('x', [1]))).status, 404);
    assert.equal((await predict(server, 'none', '{"instances":[1]}')).status, 404);
    assert.equal((await exchange(server.httpPort, 'GET', '/nowhere?secret=1')).status, 404);
    assert.equal((await exchange(server.httpPort, 'DELETE', '/v2/models/none')).status, 405);
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/live')).status, 200);
    const missing = await log.one('the V2 line', isOf(`POST /v2/models/${name}/infer`));
    assert.equal(missing['model'], HOSTILE);
    assert.equal(missing['code'], 'MODEL_NOT_FOUND');
    assert.equal(missing['status'], 404);
    assert.match(String(missing['reason']), /unknown model|not found/i);
    const v1 = await log.one('the V1 line', isOf('POST /v1/models/none:predict'));
    assert.equal(v1['protocol'], 'v1-rest');
    assert.equal(v1['model'], 'none');
    assert.notEqual(v1['reason'], undefined);
    const nowhere = await log.one('the path', isOf('GET /nowhere'));
    assert.equal(nowhere['code'], 'PATH_NOT_FOUND');
    const method = await log.one('the method', isOf('DELETE /v2/models/none'));
    assert.equal(method['code'], 'METHOD_NOT_ALLOWED');
    const live = await log.one('the probe', isOf('GET /v2/health/live'));
    assert.deepEqual([live['code'], live['status'], live['reason']], ['OK', 200, undefined]);
    // No escape code, no reversed text, no forged line.
    assert.doesNotMatch(log.text(), /[\u007f-\u009f]|\p{Cf}/u);
    assert.ok(!log.text().includes('secret=1'), 'queries are not in the log');
  });

  it('has bodies that were refused', async (context) => {
    const { server, log } = await started(context, [...flags, '--body-bytes-max', '1000']);
    const place = '/v2/models/half_plus_three/infer';
    const post = (body: string, headers: readonly string[] = []) =>
      exchange(server.httpPort, 'POST', place, body, headers);
    assert.equal((await post('x'.repeat(2000))).status, 413);
    const large = await log.one('too large', (line) => line['status'] === 413);
    assert.equal(large['code'], 'BODY_TOO_LARGE');
    assert.equal(large['model'], 'half_plus_three');
    assert.match(String(large['reason']), /over the limit of 1000 bytes/);
    assert.equal((await post('{', ['Content-Encoding: br'])).status, 415);
    const coded = await log.one('an encoding', (line) => line['status'] === 415);
    assert.equal(coded['code'], 'UNSUPPORTED_ENCODING');
    assert.equal((await post('{"inputs":')).status, 400);
    const bad = await log.one('bad JSON', (line) => line['status'] === 400);
    assert.equal(bad['protocol'], 'v2-rest');
    assert.equal(bad['version'], '123');
    assert.notEqual(bad['reason'], undefined);
    const framing = ['Transfer-Encoding: gzip, chunked'];
    const status = kind === 'native' ? 501 : 400;
    assert.equal((await post('0\r\n\r\n', framing)).status, status);
    const framed = await log.one('framing', (line) =>
      String(line['reason']).startsWith('Transfer-Encoding'),
    );
    assert.equal(framed['call'], `POST ${place}`);
  });

  it('has malformed requests that the server itself answers', async (context) => {
    const { server, log } = await started(context, flags);
    const connection = await RawConnection.open(server.httpPort);
    context.after(() => connection.close());
    await connection.write(Buffer.from('GET / HTTP/1.0 \u0000\r\n\r\n'));
    if (kind === 'uws') return; // it answers by itself
    const line = await log.one('no request', (one) => one['protocol'] === 'http');
    assert.ok(line['status'] === 400 || line['status'] === 505, JSON.stringify(line));
    assert.match(String(line['reason']), /not an HTTP\/1.1 request/);
    assert.equal(line['call'], undefined);
  });

  it('has requests without a valid key', async (context) => {
    const keys = join(folders.folder, `keys-${kind}`);
    writeFileSync(keys, `somebody sha256:${digestOf('a key')} inference\n`, { mode: 0o600 });
    const { server, log } = await started(context, [...flags, '--api-key-file', keys]);
    assert.equal((await infer(server, 'half_plus_three', v2Body('x', [1]))).status, 401);
    const line = await log.one('the refusal', (one) => one['status'] === 401);
    assert.equal(line['code'], 'UNAUTHENTICATED');
    assert.equal(line['model'], 'half_plus_three');
    assert.notEqual(line['reason'], undefined);
  });

  it('has clients that left, and requests that met a full queue', async (context) => {
    const { server, log } = await started(context, flags);
    const first = await RawConnection.open(server.httpPort);
    const body = v2Body('x', [1]);
    const bytes = requestBytes('POST', '/v2/models/slow/infer', body);
    await first.write(bytes);
    const refused = await until('a full queue', async () => {
      const waiting = await RawConnection.open(server.httpPort);
      context.after(() => waiting.close());
      await waiting.write(bytes);
      const line = log.lines().find((one) => one['code'] === 'QUEUE_FULL');
      return line;
    });
    assert.equal(refused['status'], 503);
    assert.match(String(refused['reason']), /queue is full \(limit 1/);
    // Half a body, then the client leaves.
    const half = await RawConnection.open(server.httpPort);
    const whole = requestBytes('POST', '/v2/models/half_plus_three/infer', body);
    await half.write(whole.subarray(0, whole.length - 5));
    await exchange(server.httpPort, 'GET', '/v2/health/live');
    half.close();
    const left = await log.one('a client that left', isOf('POST /v2/models/half_plus_three/infer'));
    assert.deepEqual([left['code'], left['status']], ['CANCELLED', 499]);
    first.close();
    const cancelled = await until('a cancelled request', () =>
      log.lines().find((one) => one['code'] === 'CANCELLED' && one['model'] === 'slow'),
    );
    assert.equal(cancelled['reason'], 'the client went away');
  });

  it('has failures alone with --access-log-errors-only, whatever is sampled', async (context) => {
    const errors = ['--access-log-errors-only', '--access-log-one-in', '100'];
    const { server, log } = await started(context, [...flags, ...errors]);
    assert.equal((await infer(server, 'half_plus_three', v2Body('x', [1]))).status, 200);
    await exchange(server.httpPort, 'GET', '/v2/health/live');
    for (let i = 0; i < 3; i += 1) {
      assert.equal((await infer(server, 'half_plus_three', '{"inputs":[]}')).status, 400);
      assert.equal((await infer(server, 'none', v2Body('x', [1]))).status, 404);
    }
    server.signal('SIGTERM');
    assert.equal((await server.ended).code, 0);
    assert.deepEqual(
      log.lines().map((line) => line['status']),
      [400, 404, 400, 404, 400, 404],
    );
  });
});

describe('the access log of gRPC', () => {
  const connected = (context: TestContext, server: ServalProcess): RawClient => {
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    return client;
  };

  it('has calls of unknown models, and calls that name no model', async (context) => {
    const { server, log } = await started(context);
    const client = connected(context, server);
    assert.equal((await client.unary(INFER, v2Message('nope'))).code, 5);
    const missing = await log.one('an unknown model', (line) => line['model'] === 'nope');
    assert.equal(missing['protocol'], 'v2-grpc');
    assert.deepEqual([missing['code'], missing['status']], ['MODEL_NOT_FOUND', 5]);
    assert.equal(missing['id'], 'known');
    assert.equal(missing['reason'], "model 'nope' is not here");
    assert.equal((await client.unary('/no.Service/Method', Buffer.alloc(0))).code, 12);
    const unknown = await log.one('an unknown method', isOf('/no.Service/Method'));
    assert.deepEqual([unknown['code'], unknown['status']], ['UNIMPLEMENTED', 12]);
    assert.match(String(unknown['reason']), /does not implement/);
    const live = '/inference.GRPCInferenceService/ServerLive';
    assert.equal((await client.unary(live, Buffer.alloc(0))).code, 0);
    const ok = await log.one('a probe', isOf(live));
    assert.deepEqual([ok['code'], ok['status'], ok['reason']], ['OK', 0, undefined]);
    assert.equal((await client.unary(INFER, Buffer.from('garbage'))).code, 3);
    const garbage = await log.one('no message', (line) => line['code'] === 'MALFORMED_BODY');
    assert.equal(garbage['status'], 3);
    assert.notEqual(garbage['reason'], undefined);
    const predicted = encode(types, 'tensorflow.serving.PredictRequest', {
      model_spec: { name: 'gone', version: { value: 7 } },
    });
    assert.equal((await client.unary(PREDICT, predicted)).code, 5);
    const tf = await log.one('TensorFlow Serving', (line) => line['model'] === 'gone');
    assert.deepEqual([tf['protocol'], tf['version'], tf['status']], ['tf-grpc', '7', 5]);
    assert.equal((await client.unary(INFER, v2Message('half_plus_three'))).code, 0);
    const served = await log.one('an answer', (line) => line['model'] === 'half_plus_three');
    assert.deepEqual([served['code'], served['status']], ['OK', 0]);
  });

  it('has callers without a key', async (context) => {
    const keys = join(folders.folder, `keys-grpc`);
    writeFileSync(keys, `somebody sha256:${digestOf('a key')} inference\n`, { mode: 0o600 });
    const { server, log } = await started(context, ['--api-key-file', keys]);
    const client = connected(context, server);
    assert.equal((await client.unary(INFER, v2Message('half_plus_three'))).code, 16);
    const refused = await log.one('a refusal', (line) => line['status'] === 16);
    assert.deepEqual([refused['call'], refused['code']], [INFER, 'UNAUTHENTICATED']);
    assert.notEqual(refused['reason'], undefined);
  });

  it('has each request of a stream, and a stream that failed', async (context) => {
    const { server, log } = await started(context);
    const client = connected(context, server);
    const stream = client.stream('/inference.GRPCInferenceService/ModelStreamInfer');
    stream.call.write(v2Message('half_plus_three'));
    stream.call.write(v2Message('none'));
    await stream.reply(1);
    stream.call.end();
    await stream.ended;
    const served = await log.one('a served one', (line) => line['model'] === 'half_plus_three');
    assert.equal(served['protocol'], 'v2-grpc-stream');
    const missing = await log.one('a missing model', (line) => line['model'] === 'none');
    assert.deepEqual([missing['code'], missing['id']], ['MODEL_NOT_FOUND', 'known']);
    assert.equal(log.lines().length, 2);
  });
});
