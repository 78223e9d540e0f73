// Warm-up requests, recorded (TensorFlow Serving's file) and configured (Triton's model_warmup):
// they run before a version becomes available, and a failing one keeps it from being served.
// Source: tfserving.md 3.6; v2-protocol.md 3; docs/guides/model-control.md.
import assert from 'node:assert/strict';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import {
  exampleInput,
  exampleRecord,
  multiRecord,
  tfRecordFile,
  warmupFiles,
} from '../../unit/models/warmup/support.js';
import { ModelFolders } from '../support/model-folders.js';
import {
  control,
  index,
  logLines,
  metric,
  plusModel,
  predict,
  put,
  putDelayModel,
  v1Versions,
} from '../support/operating.js';
import { until } from '../support/polling.js';
import { errorOf, exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const ZERO = '{"instances":[0.0]}';
const FILES = warmupFiles();
const BAD = Object.keys(FILES).filter((name) => !name.startsWith('good-'));
/** The reasons for invalid files. */
const REASONS: Readonly<Record<string, RegExp>> = {
  'bad-checksum': /checksum|CRC/i,
  'bad-truncated': /tf_serving_warmup_requests/,
  'bad-too-many-records': /1000/,
  'bad-message': /^warmup record 1: /,
  'bad-signature': /^warmup record 0: .*other/,
  'bad-input': /^warmup record 0: .*unknown/,
  'bad-dtype': /^warmup record 0: /,
  'bad-classify': /^warmup record 1: .*classification/,
  'bad-regress': /^warmup record 1: .*regression/,
};

/** The warm-up requests of a model in the log, load by load. */
function warmups(server: ServalProcess, model: string): readonly unknown[] {
  return logLines(server)
    .filter((line) => line['message'] === 'warmed up' && line['model'] === model)
    .map(({ requests }) => requests);
}

describe('recorded warmup requests', () => {
  const folders = new ModelFolders();
  const file = join(folders.folder, 'models.config');
  const putVersion = (model: string, version: number, recorded?: string): void => {
    const folder = join(folders.folder, 'base', model, String(version));
    put(join(folder, 'model.onnx'), plusModel(version));
    const bytes = recorded === undefined ? undefined : FILES[recorded];
    if (bytes === undefined) return;
    put(join(folder, 'assets.extra', 'tf_serving_warmup_requests'), bytes);
  };
  before(() => {
    const models = ['plain', 'good', 'good-empty', ...BAD];
    for (const model of models) {
      putVersion(model, 1, model === 'good' ? 'good-three-records' : undefined);
    }
    const entries = models.map(
      (model) =>
        `  config { name: "${model}" base_path: "${join(folders.folder, 'base', model)}" }\n`,
    );
    writeFileSync(file, `model_config_list {\n${entries.join('')}}\n`);
  });
  after(() => folders.remove());

  const started = async (
    context: TestContext,
    ...args: readonly string[]
  ): Promise<ServalProcess> => {
    const server = await startServer([
      '--model-config-file',
      file,
      '--settle-ms=50',
      '--file-system-poll-wait-seconds=0',
      ...args,
    ]);
    context.after(() => server.stop());
    return server;
  };

  it('are run and logged, and are no requests of clients', async (context) => {
    const server = await started(context, '--num-request-iterations-for-warmup=2');
    assert.deepEqual(warmups(server, 'good'), [6]);
    assert.deepEqual(warmups(server, 'plain'), []);
    const loaded = logLines(server).findIndex(
      (line) => line['message'] === 'model loaded' && line['model'] === 'good',
    );
    const warm = logLines(server).findIndex((line) => line['message'] === 'warmed up');
    assert.ok(warm >= 0 && warm < loaded, 'warmed up before it is loaded');
    assert.equal(await metric(server, 'nv_inference_request_success', 'model="good"'), 0);
    assert.deepEqual(jsonOf(await predict(server, 'good', ZERO)), { predictions: [1] });
  });

  it('that fail end the version with the reason; the old one serves', async (context) => {
    const server = await started(context);
    for (const model of BAD) putVersion(model, 2, model);
    putVersion('good', 2, 'good-three-records');
    putVersion('good-empty', 2, 'good-empty');
    await control(server, '/v2/repository/reload');
    assert.deepEqual(jsonOf(await predict(server, 'good', ZERO)), { predictions: [2] });
    assert.deepEqual(jsonOf(await predict(server, 'good-empty', ZERO)), { predictions: [2] });
    const entries = await index(server);
    const base = join(folders.folder, 'base', '/');
    // Clients read a reason on one line.
    const textOf = (full: unknown): string =>
      String(full)
        .replaceAll(base, '')
        .replaceAll(/\s*\n\s*/g, ' ')
        .trim();
    for (const model of BAD) {
      const versions = await v1Versions(server, model);
      const reason = versions.get('2')?.status.error_message ?? '';
      assert.equal(versions.get('2')?.state, 'END', model);
      assert.match(reason, REASONS[model] ?? /^warmup record 1: /, model);
      assert.equal(versions.get('1')?.state, 'AVAILABLE', model);
      assert.deepEqual(jsonOf(await predict(server, model, ZERO)), { predictions: [1] });
      const entry = entries.find((one) => one.name === model && one.version === '2');
      assert.equal(entry?.state, 'UNAVAILABLE');
      assert.ok(entry.reason?.includes(reason), entry.reason);
      assert.ok(
        logLines(server).some((line) => textOf(line['reason']) === reason),
        model,
      );
    }
    assert.equal(await metric(server, 'serval_model_load_failures'), BAD.length);
  });

  it('are left alone with --enable-model-warmup=false', async (context) => {
    for (const model of BAD) putVersion(model, 2, model);
    const server = await started(context, '--enable-model-warmup=false');
    for (const model of BAD) {
      assert.deepEqual(jsonOf(await predict(server, model, ZERO)), { predictions: [2] }, model);
    }
    assert.ok(!server.stderr.includes('warmed up'));
  });
});

const SAVED_MODEL = resolve('../shared/models/tfserving/saved_model_half_plus_two_cpu/00000123');

describe('recorded warmup requests of a TensorFlow model', () => {
  const task = (signature: string, verb: string): object => ({
    model_spec: { name: 'another', signature_name: signature },
    method_name: `tensorflow/serving/${verb}`,
  });
  const input = exampleInput(2);
  const log = (kind: 'classify' | 'regress', signature: string): Buffer =>
    exampleRecord(kind, { model_spec: { signature_name: signature }, input });
  const BOTH = multiRecord({
    tasks: [task('classify_x_to_y', 'classify'), task('regress_x_to_y', 'regress')],
    input,
  });
  const GOOD = [log('classify', 'classify_x_to_y'), log('regress', 'regress_x_to_y2'), BOTH];

  for (const [what, records, expected] of [
    ['of every kind are run', GOOD, 4],
    [
      'of a signature of another kind fail the load',
      [...GOOD, log('classify', 'regress_x_to_y')],
      /^warmup record 3: /,
    ],
    [
      'of an unknown signature fail the load',
      [log('regress', 'none')],
      /^warmup record 0: No signature was found with the name: none/,
    ],
  ] as const) {
    it(what, async (context) => {
      if (!existsSync(SAVED_MODEL)) {
        context.skip(`no ${SAVED_MODEL}`);
        return;
      }
      const folders = new ModelFolders();
      context.after(() => folders.remove());
      const base = join(folders.folder, 'tensorflow');
      cpSync(SAVED_MODEL, join(base, '1'), { recursive: true });
      put(join(base, '1', 'assets.extra', 'tf_serving_warmup_requests'), tfRecordFile(records));
      const server = await startServer(['--model-name=tf', '--model-base-path', base]);
      context.after(() => server.stop());
      const state = (await v1Versions(server, 'tf')).get('1');
      if (typeof expected === 'number') {
        assert.equal(state?.state, 'AVAILABLE', state?.status.error_message);
        assert.deepEqual(warmups(server, 'tf'), [expected]);
      } else {
        assert.equal(state?.state, 'END');
        assert.match(state.status.error_message, expected);
      }
    });
  }
});

const TENSORS = `max_batch_size: 8
input { name: "input" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ 2 ] }
`;
const sample = (input: string, more = 'batch_size: 4'): string =>
  `${TENSORS}model_warmup { name: "first" ${more} inputs { ${input} } }\n`;
const tensor = (key: string, data: string, type = 'TYPE_FP32'): string =>
  `key: "${key}" value { data_type: ${type} dims: [ 2 ] ${data} }`;

describe('model_warmup in config.pbtxt', () => {
  const folders = new ModelFolders();
  let repository = '';
  let server: ServalProcess;
  before(async () => {
    repository = folders.repository('warmups', ['identity_fp32']);
    writeFileSync(join(repository, 'identity_fp32', 'config.pbtxt'), TENSORS);
    const data = join(repository, 'identity_fp32', 'warmup');
    put(join(data, 'pair'), Buffer.from(Float32Array.of(1, 2).buffer));
    put(join(data, 'short'), Buffer.alloc(7));
    putDelayModel(
      repository,
      'delaying',
      150,
      `max_batch_size: 0
model_warmup { name: "slow" batch_size: 1 count: 2
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] random_data: true } } }
`,
    );
    server = await startServer([
      '--model-repository',
      repository,
      '--model-control-mode',
      'explicit',
      '--load-model',
      'identity_fp32',
    ]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const load = (config: string) => {
    writeFileSync(join(repository, 'identity_fp32', 'config.pbtxt'), config);
    return exchange(server.httpPort, 'POST', '/v2/repository/models/identity_fp32/load');
  };

  for (const [what, input, more, requests] of [
    ['zeros', tensor('input', 'zero_data: true'), 'batch_size: 4', 1],
    [
      'random data, several times',
      tensor('input', 'random_data: true'),
      'batch_size: 8 count: 3',
      3,
    ],
    ['a file', tensor('input', 'input_data_file: "pair"'), 'batch_size: 2', 1],
  ] as const) {
    it(`${what} are run before the model is served`, async () => {
      const before = warmups(server, 'identity_fp32').length;
      assert.equal((await load(sample(input, more))).status, 200);
      assert.deepEqual(warmups(server, 'identity_fp32').slice(before), [requests]);
    });
  }

  for (const [what, input, reason] of [
    ['an unknown input', tensor('inptu', 'zero_data: true'), /model_warmup 'first': .*inptu/],
    [
      'another datatype',
      tensor('input', 'zero_data: true', 'TYPE_INT32'),
      /model_warmup 'first': .*INT32/,
    ],
    [
      'a file that is not there',
      tensor('input', 'input_data_file: "none"'),
      /model_warmup 'first': .*none/,
    ],
    [
      'a file that is too short',
      tensor('input', 'input_data_file: "short"'),
      /model_warmup 'first': .*short/,
    ],
    ['no data', tensor('input', ''), /model_warmup/],
    ['more rows than a batch has', tensor('input', 'zero_data: true'), /model_warmup 'first': .*8/],
  ] as const) {
    it(`${what}: the load fails with the reason, and what served before still does`, async () => {
      assert.equal((await load(TENSORS)).status, 200);
      const more = what.startsWith('more rows') ? 'batch_size: 9' : 'batch_size: 4';
      const answer = await load(sample(input, more));
      assert.ok(answer.status >= 400, answer.body.toString());
      assert.match(errorOf(answer), reason);
      const entry = (await index(server)).find((one) => one.name === 'identity_fp32');
      assert.equal(entry?.state, 'READY');
      assert.match(entry.reason ?? '', reason);
      const body = '{"instances":[[1.5,2.5]]}';
      assert.deepEqual(jsonOf(await predict(server, 'identity_fp32', body)), {
        predictions: [[1.5, 2.5]],
      });
    });
  }

  it('a model is not ready while it is warmed up', async () => {
    const ready = async (): Promise<number> =>
      (await exchange(server.httpPort, 'GET', '/v2/models/delaying/ready')).status;
    const loading = control(server, '/v2/repository/models/delaying/load');
    await until('it is loading', async () =>
      (await index(server)).some((one) => one.name === 'delaying' && one.state === 'LOADING'),
    );
    assert.equal(await ready(), 400);
    await loading;
    assert.equal(await ready(), 200);
    assert.deepEqual(warmups(server, 'delaying'), [2]);
  });
});
