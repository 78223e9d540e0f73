// TensorFlow Serving's own sample files, unchanged except for their paths (and the platform: the
// models here are ONNX): models.config, batching, monitoring. Source: tfserving.md 3.2, 3.5, 3.7,
// 9. The samples are beside the checkout; SERVAL_TFSERVING_CONFIGS names another folder.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { floatBytes, type OnnxModel } from '../../ts/importers/onnx/builder.js';
import { packageRoot } from '../../ts/base/package-files.js';
import { ModelFolders } from './support/model-folders.js';
import { errorOf, exchange, jsonOf } from './support/raw-http.js';
import { runServal, startServer, type ServalProcess } from './support/serval-process.js';

const SAMPLES =
  process.env['SERVAL_TFSERVING_CONFIGS'] ??
  join(packageRoot(), '..', 'shared', 'models', 'tfserving', 'configs');
const ANY_PORTS = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
const ROWS = '{"instances":[1.0,2.0,5.0]}';

interface Status {
  readonly model_version_status: readonly {
    readonly version: string;
    readonly state: string;
    readonly status: { readonly error_code: string; readonly error_message: string };
  }[];
}

/** y = x / 2 + 2. */
function halfPlusTwo(): OnnxModel {
  const port = (name: string) => ({ name, type: 'float', shape: ['batch'] }) as const;
  const value = (name: string, data: number) =>
    ({ name, type: 'float', dims: [], data: floatBytes([data]) }) as const;
  return {
    graph: {
      name: 'half_plus_two',
      inputs: [port('x')],
      outputs: [port('y')],
      initializers: [value('half', 0.5), value('two', 2)],
      nodes: [
        { op: 'Mul', inputs: ['x', 'half'], outputs: ['scaled'] },
        { op: 'Add', inputs: ['scaled', 'two'], outputs: ['y'] },
      ],
    },
  };
}

describe("TensorFlow Serving's sample files", () => {
  const folders = new ModelFolders();
  const base = folders.repository('base', ['half_plus_three', 'versions']);
  folders.add(base, 'half_plus_two', halfPlusTwo());
  after(() => folders.remove());

  const sample = (context: TestContext, name: string): string | undefined => {
    const path = join(SAMPLES, name);
    if (existsSync(path)) return readFileSync(path, 'utf8');
    context.skip(`no ${path}: set SERVAL_TFSERVING_CONFIGS`);
    return undefined;
  };
  const written = (name: string, text: string): string => {
    const folder = join(folders.folder, 'configs');
    mkdirSync(folder, { recursive: true });
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const withPaths = (text: string): string =>
    text
      .replace('${TEST_HALF_PLUS_TWO_DIR}', join(base, 'half_plus_two'))
      .replace('${TEST_HALF_PLUS_THREE_DIR}', join(base, 'half_plus_three'));
  const started = async (context: TestContext, args: readonly string[]): Promise<ServalProcess> => {
    const server = await startServer(args);
    context.after(() => server.stop());
    return server;
  };
  const predict = (server: ServalProcess, model: string, body = ROWS) =>
    exchange(server.httpPort, 'POST', `/v1/models/${model}:predict`, body);
  const statusOf = async (server: ServalProcess, model: string) => {
    const answer = await exchange(server.httpPort, 'GET', `/v1/models/${model}`);
    return (jsonOf(answer) as Status).model_version_status[0];
  };

  it('models.config serves both of its models', async (context) => {
    const text = sample(context, 'good_model_config.txt');
    if (text === undefined) return;
    const onnx = withPaths(text).replaceAll('"tensorflow"', '"onnx"');
    const server = await started(context, ['--model_config_file', written('good.config', onnx)]);
    assert.deepEqual(jsonOf(await predict(server, 'half_plus_two')), {
      predictions: [2.5, 3, 4.5],
    });
    assert.deepEqual(jsonOf(await predict(server, 'half_plus_three')), {
      predictions: [3.5, 4, 5.5],
    });
  });

  it('a platform that contradicts the files is an error of that model', async (context) => {
    const text = sample(context, 'good_model_config.txt');
    if (text === undefined) return;
    const half = withPaths(text).replace('"tensorflow"', '"onnx"');
    const file = written('platform.config', half);
    const server = await started(context, ['--model_config_file', file]);
    assert.equal((await predict(server, 'half_plus_two')).status, 200);
    const status = await statusOf(server, 'half_plus_three');
    assert.equal(status?.state, 'END');
    assert.match(status?.status.error_message ?? '', /tensorflow/);
  });

  it('a file that is no text proto stops the start unless it is polled', async (context) => {
    const text = sample(context, 'bad_model_config.txt');
    if (text === undefined) return;
    const file = written('bad.config', text);
    const polled = ['--model_config_file', file, '--model_config_file_poll_wait_seconds=1'];
    for (const args of [polled.slice(0, 2), [...polled, '--exit-on-error']]) {
      const run = await runServal(['serve', ...ANY_PORTS, ...args]);
      assert.equal(run.code, 1, run.stderr);
      assert.match(run.stderr, /bad\.config:1:\d+/);
    }
    const server = await started(context, polled);
    assert.match(server.stderr, /bad\.config:1:\d+/);
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/ready')).status, 400);
  });

  it('the batching file is the limit of a request', async (context) => {
    const text = sample(context, 'batching_config.txt');
    if (text === undefined) return;
    const server = await started(context, [
      '--model_name=half_plus_three',
      `--model_base_path=${join(base, 'half_plus_three')}`,
      '--enable_batching',
      `--batching_parameters_file=${written('batching.config', text)}`,
    ]);
    const rows = (count: number): string => JSON.stringify({ instances: new Array(count).fill(1) });
    const good = await predict(server, 'half_plus_three', rows(128));
    assert.deepEqual(jsonOf(good), { predictions: new Array(128).fill(3.5) });
    const large = await predict(server, 'half_plus_three', rows(129));
    assert.equal(large.status, 400);
    assert.match(errorOf(large), /^Task size 129 is larger than maximum input batch size 128/);
  });

  it('the batching file without --enable-batching is an error', async (context) => {
    const text = sample(context, 'batching_config.txt');
    if (text === undefined) return;
    const run = await runServal([
      'serve',
      ...ANY_PORTS,
      base,
      `--batching_parameters_file=${written('alone.config', text)}`,
    ]);
    assert.equal(run.code, 2);
    assert.match(run.stderr, /enable-batching/);
  });

  it('the monitoring file gives the metrics their path', async (context) => {
    const text = sample(context, 'monitoring_config.txt');
    if (text === undefined) return;
    const server = await started(context, [
      '--model_name=half_plus_three',
      `--model_base_path=${join(base, 'half_plus_three')}`,
      `--monitoring_config_file=${written('monitoring.config', text)}`,
    ]);
    await predict(server, 'half_plus_three');
    const page = await exchange(server.httpPort, 'GET', '/monitoring/prometheus/metrics');
    assert.equal(page.status, 200);
    assert.match(
      page.body.toString(),
      /^:tensorflow:serving:request_count\{model_name="half_plus_three",status="OK"\} 1$/m,
    );
  });

  it('labels, policies and odd spellings', async (context) => {
    const file = written(
      'labels.config',
      `# a comment
model_config_list: {
  config {
    name: 'versions', base_path: "${join(base, 'versions')}"; model_platform: "onnx"
    model_version_policy: { specific { versions: [1, 2] } }
    version_labels { key: "stable" value: 1 }
    version_labels: { key: 'canary', value: 2 }
    version_labels { key: "later" value: 7 }
  }
}
`,
    );
    const server = await started(context, ['--model_config_file', file]);
    const at = (place: string) => predict(server, `versions/${place}`, '{"instances":[0.0]}');
    assert.deepEqual(jsonOf(await at('labels/stable')), { predictions: [1] });
    assert.deepEqual(jsonOf(await at('labels/canary')), { predictions: [2] });
    assert.deepEqual(jsonOf(await at('versions/2')), { predictions: [2] });
    assert.equal((await at('labels/later')).status, 400);
    assert.equal((await at('versions/10')).status, 404);
  });
});
