// models.config's logging_config: requests of all protocols as PredictionLog records in TFRecord
// files, which are valid warm-up files. Source: tfserving.md 3.2, 3.6, 3.8.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { tempFolder } from '../../unit/temp-folder.js';
import { logLines, metric, plusModel, predict, put, infer, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { errorOf, exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import {
  Calls,
  filesOf,
  inferMessage,
  madeRequest,
  predictMessage,
  records,
  recordsOf,
} from './support.js';

/** One model, its configuration file, and the path of its log. */
class Logged {
  readonly folder: string;
  readonly logs: string;
  readonly file: string;

  constructor(context: TestContext) {
    this.folder = tempFolder(context);
    this.logs = join(this.folder, 'logs');
    this.file = join(this.folder, 'models.config');
    mkdirSync(this.logs);
    put(join(this.folder, 'plus', '1', 'model.onnx'), plusModel(1));
    put(join(this.folder, 'quiet', '1', 'model.onnx'), plusModel(2));
  }

  /** Writes TensorFlow Serving's text form. */
  configure(rate: number, prefix = join(this.logs, 'plus')): void {
    writeFileSync(
      this.file,
      `model_config_list: {
  config: {
    name: "plus",
    base_path: "${join(this.folder, 'plus')}",
    model_platform: "tensorflow"
    logging_config: {
      log_collector_config: {
        type: "file"
        filename_prefix: "${prefix}"
      }
      sampling_config: { sampling_rate: ${rate} }
    }
  }
  config { name: "quiet" base_path: "${join(this.folder, 'quiet')}" }
}
`.replace('model_platform: "tensorflow"', 'model_platform: "onnx"'),
    );
  }

  async start(context: TestContext, ...args: readonly string[]): Promise<ServalProcess> {
    const server = await startServer(['--model-config-file', this.file, ...args]);
    context.after(() => server.stop());
    return server;
  }
}

function calls(context: TestContext, server: ServalProcess): Calls {
  const made = new Calls(server.grpcPort);
  context.after(() => made.close());
  return made;
}

describe('logging_config', () => {
  it('writes gRPC requests with their answers, of this model alone', async (context) => {
    const logged = new Logged(context);
    logged.configure(1);
    const server = await logged.start(context);
    const client = calls(context, server);
    const sent = [[1], [2, 3], [4, 5, 6]].map((values) => predictMessage('plus', values));
    const answers: Buffer[] = [];
    for (const message of sent) answers.push(await client.predict(message));
    await client.predict(predictMessage('quiet', [7]));
    const found = await records(logged.logs, 'plus-', 3);
    assert.deepEqual(
      found.map((one) => one.predict_log),
      sent.map((request, i) => ({ request, response: answers[i] })),
    );
    for (const { log_metadata: metadata } of found) {
      assert.deepEqual(metadata.model_spec, { name: 'plus', version: { value: '1' } });
      assert.deepEqual(metadata.sampling_config, { sampling_rate: 1 });
      const seconds = Number(metadata.timestamp_secs);
      assert.ok(Math.abs(seconds - Date.now() / 1000) < 600, metadata.timestamp_secs);
    }
    const files = filesOf(logged.logs, '');
    assert.equal(files.length, 1);
    assert.match(files[0] ?? '', /\/plus-\d{8}T\d{9}Z\.tfrecord$/);
    assert.equal(statSync(files[0] ?? '').mode & 0o777, 0o600);
    const counted = (): Promise<number> => metric(server, 'serval_request_log_records_total');
    await until('the metric', async () => (await counted()) === 3);
  });

  it('writes files that are warm-up files as they are', async (context) => {
    const logged = new Logged(context);
    logged.configure(1);
    const server = await logged.start(context);
    const client = calls(context, server);
    await client.predict(predictMessage('plus', [1, 2]));
    await predict(server, 'plus', '{"instances":[1.5]}');
    await infer(server, 'plus', v2Body('x', [1, 2, 3]));
    await client.infer(inferMessage('plus', [4]));
    await records(logged.logs, 'plus-', 4);
    await server.stop();
    const extra = join(logged.folder, 'plus', '1', 'assets.extra');
    mkdirSync(extra);
    const [file = ''] = filesOf(logged.logs, 'plus-');
    copyFileSync(file, join(extra, 'tf_serving_warmup_requests'));
    const warmed = await logged.start(context);
    const line = logLines(warmed).find(
      (one) => one['message'] === 'warmed up' && one['model'] === 'plus',
    );
    assert.equal(line?.['requests'], 4, warmed.stderr);
  });

  it('makes PredictRequests of other protocols', async (context) => {
    const logged = new Logged(context);
    logged.configure(1);
    const server = await logged.start(context);
    const client = calls(context, server);
    await predict(server, 'plus', '{"instances":[1.5,2]}');
    await predict(server, 'plus', '{"inputs":{"x":[3]}}');
    await infer(server, 'plus', v2Body('x', [4]));
    const json = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2], parameters: { binary_data_size: 8 } }],
    });
    const data = Buffer.alloc(8);
    data.writeFloatLE(5, 0);
    data.writeFloatLE(6, 4);
    const headers = [`Inference-Header-Content-Length: ${json.length}`];
    const binary = Buffer.concat([Buffer.from(json), data]);
    const answer = await exchange(
      server.httpPort,
      'POST',
      '/v2/models/plus/infer',
      binary,
      headers,
    );
    assert.equal(answer.status, 200, answer.body.toString());
    await client.infer(inferMessage('plus', [7]));
    await client.stream([inferMessage('plus', [8]), inferMessage('plus', [9])]);
    const found = await records(logged.logs, 'plus-', 7);
    const made = (...values: readonly number[]): object => ({
      model: 'plus',
      dtype: 1,
      shape: [values.length],
      values,
      filter: [],
    });
    assert.deepEqual(
      found.map((one) => madeRequest(one.predict_log?.request)),
      [made(1.5, 2), made(3), made(4), made(5, 6), made(7), made(8), made(9)],
    );
  });

  for (const mode of [['--exec-mode=queued'], ['--enable-batching']] as const) {
    it(`writes requests that are queued: ${mode[0]}`, async (context) => {
      const logged = new Logged(context);
      logged.configure(1);
      const server = await logged.start(context, ...mode);
      const client = calls(context, server);
      const sent = Array.from({ length: 8 }, (_, i) => predictMessage('plus', [i]));
      await Promise.all([
        ...sent.map((message) => client.predict(message)),
        predict(server, 'plus', '{"instances":[100]}'),
      ]);
      const found = await records(logged.logs, 'plus-', 9);
      const asked = found.map((one) => one.predict_log?.request.toString('hex'));
      for (const message of sent) assert.ok(asked.includes(message.toString('hex')));
      assert.ok(found.every((one) => one.predict_log?.response !== undefined));
    });
  }

  it('leaves out failed requests', async (context) => {
    const logged = new Logged(context);
    logged.configure(1);
    const server = await logged.start(context);
    const refused = await predict(server, 'plus', '{"instances":["a"]}');
    assert.equal(refused.status, 400, errorOf(refused));
    await predict(server, 'plus', '{"instances":[1]}');
    const found = await records(logged.logs, 'plus-', 1);
    assert.equal(found.length, 1);
    assert.equal(await metric(server, 'serval_request_log_dropped_total'), 0);
  });

  it('samples: 30 of 100, the first among them', async (context) => {
    const logged = new Logged(context);
    logged.configure(0.3);
    const server = await logged.start(context);
    for (let i = 0; i < 100; i += 1) await predict(server, 'plus', `{"instances":[${i}]}`);
    server.signal('SIGTERM');
    await server.ended;
    const found = recordsOf(filesOf(logged.logs, 'plus-'));
    assert.equal(found.length, 30);
    const [first] = found.map((one) => madeRequest(one.predict_log?.request));
    assert.deepEqual((first as { values: number[] }).values, [0]);
  });

  it('is followed when the file changes', async (context) => {
    const logged = new Logged(context);
    logged.configure(0);
    const server = await logged.start(
      context,
      '--model-config-file-poll-wait-seconds=1',
      '--settle-ms=50',
    );
    const asked = async (path: string): Promise<boolean> => {
      await predict(server, 'plus', '{"instances":[1]}');
      return filesOf(logged.logs, path).length > 0;
    };
    assert.equal(await asked('plus-'), false);
    logged.configure(1);
    await until('requests are logged', () => asked('plus-'));
    logged.configure(1, join(logged.logs, 'elsewhere'));
    await until('requests are logged elsewhere', () => asked('elsewhere-'));
    const loads = logLines(server).filter((line) => line['message'] === 'model loaded');
    assert.equal(loads.length, 2, 'nothing was loaded for it');
  });

  it('that is wrong keeps its model from being served, and says why', async (context) => {
    const logged = new Logged(context);
    logged.configure(1.5, 'not/absolute');
    const server = await logged.start(context);
    assert.equal((await predict(server, 'plus', '{"instances":[1]}')).status, 404);
    assert.match(server.stderr, /sampling_rate: expected a number from 0 to 1, got 1.5/);
    assert.match(server.stderr, /filename_prefix: expected an absolute path/);
  });
});
