// Batched requests, over the wire: by Triton's dynamic_batching and by TensorFlow Serving's
// parameters file. Statistics and metrics show the runs. Source: tfserving.md 3.5; v2-protocol.md
// 2, 3; docs/guides/batching.md.
import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import {
  infer,
  metric,
  predict,
  put,
  putDelayModel,
  statistics,
  v2Values,
  type Statistics,
} from '../support/operating.js';
import { errorOf, exchange, jsonOf, type RawResponse } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

/** Longer than a busy machine takes to send a few requests; a full batch does not wait for it. */
const WINDOW_US = 2_000_000;
/** A run's time: the other requests of the test arrive during it. */
const BUSY_MS = 1000;

const tensors = (
  input: string,
  output: string,
  type: string,
): string => `input { name: "${input}" data_type: ${type} dims: [ -1 ] }
output { name: "${output}" data_type: ${type} dims: [ -1 ] }
`;

/** [rows, columns] of FP32, row by row. */
function rowsBody(input: string, rows: readonly (readonly number[])[]): string {
  const shape = [rows.length, rows[0]?.length ?? 0];
  return JSON.stringify({ inputs: [{ name: input, datatype: 'FP32', shape, data: rows.flat() }] });
}

/** The model's runs, by number of rows. */
function runs(stats: Statistics): readonly (readonly [number, number])[] {
  return stats.batch_stats
    .map((one) => [one.batch_size, one.compute_infer.count] as const)
    .sort(([a], [b]) => a - b);
}

describe('dynamic batching', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const repository = folders.repository('batching', []);
    const copy = (source: string, name: string, config: string): void => {
      cpSync(join(folders.models, source), join(repository, name), { recursive: true });
      writeFileSync(join(repository, name, 'config.pbtxt'), config);
    };
    const delayed = `dynamic_batching { max_queue_delay_microseconds: ${WINDOW_US} }\n`;
    copy(
      'identity_fp32',
      'joined',
      `max_batch_size: 4\n${tensors('input', 'output', 'TYPE_FP32')}${delayed}`,
    );
    copy(
      'identity_fp32',
      'preferred',
      `max_batch_size: 8
${tensors('input', 'output', 'TYPE_FP32')}dynamic_batching {
  preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 60000000
}
`,
    );
    copy(
      'identity_fp32',
      'single',
      `max_batch_size: 4\n${tensors('input', 'output', 'TYPE_FP32')}`,
    );
    copy(
      'fails_at_run',
      'gather',
      `max_batch_size: 3
input { name: "index" data_type: TYPE_INT64 dims: [ 1 ] reshape { shape: [ ] } }
output { name: "y" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } }
${delayed}`,
    );
    putDelayModel(repository, 'busy', BUSY_MS, 'max_batch_size: 8\ndynamic_batching { }\n');
    server = await startServer(['--model-repository', repository]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const ask = (model: string, rows: readonly (readonly number[])[], input = 'input') =>
    infer(server, model, rowsBody(input, rows));

  it('runs requests that come together as one batch, and gives each its rows', async () => {
    const answers = await Promise.all(
      [
        [[1, 2]],
        [
          [3, 4],
          [5, 6],
        ],
        [[7, 8]],
      ].map((rows) => ask('joined', rows)),
    );
    assert.deepEqual(answers.map(v2Values), [
      [1, 2],
      [3, 4, 5, 6],
      [7, 8],
    ]);
    const stats = await statistics(server, 'joined');
    assert.deepEqual([stats.inference_count, stats.execution_count], [4, 1]);
    assert.deepEqual(runs(stats), [[4, 1]]);
    assert.equal(stats.inference_stats['success']?.count, 3);
    assert.equal(await metric(server, 'nv_inference_count', 'model="joined"'), 4);
    assert.equal(await metric(server, 'nv_inference_exec_count', 'model="joined"'), 1);
  });

  it('sends a preferred size off without waiting for the delay', async () => {
    const answers = await Promise.all([1, 2, 3].map((value) => ask('preferred', [[value]])));
    assert.deepEqual(answers.map(v2Values), [[1], [2], [3]]);
    assert.deepEqual(runs(await statistics(server, 'preferred')), [[3, 1]]);
  });

  it('runs other inner shapes in batches of their own', async () => {
    const before = await statistics(server, 'joined');
    const requests = [
      [
        [1, 2],
        [3, 4],
      ],
      [[5], [6]],
      [
        [7, 8],
        [9, 10],
      ],
      [[11], [12]],
    ];
    const answers = await Promise.all(requests.map((rows) => ask('joined', rows)));
    assert.deepEqual(answers.map(v2Values), [
      [1, 2, 3, 4],
      [5, 6],
      [7, 8, 9, 10],
      [11, 12],
    ]);
    const after = await statistics(server, 'joined');
    assert.equal(after.execution_count - before.execution_count, 2);
    assert.equal(after.inference_count - before.inference_count, 8);
  });

  it('refuses an invalid request without harm to the others in its batch', async () => {
    const before = await statistics(server, 'joined');
    const wrong = '{"inputs":[{"name":"input","datatype":"INT32","shape":[1,1],"data":[7]}]}';
    const answers = await Promise.all([
      ask('joined', [[1]]),
      infer(server, 'joined', wrong),
      infer(server, 'joined', '{"inputs":['),
      ask('joined', [[2], [3], [4]]),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400, 400, 200],
    );
    assert.deepEqual(
      [answers[0], answers[3]].map((one) => v2Values(one!)),
      [[1], [2, 3, 4]],
    );
    const after = await statistics(server, 'joined');
    assert.equal(after.execution_count - before.execution_count, 1);
    const fails = (stats: Statistics): number => stats.inference_stats['fail']?.count ?? 0;
    assert.equal(fails(after) - fails(before), 2);
  });

  it('runs a batch that fails again one by one: only the guilty request fails', async () => {
    const index = (value: number) =>
      infer(
        server,
        'gather',
        JSON.stringify({
          inputs: [{ name: 'index', datatype: 'INT64', shape: [1, 1], data: [value] }],
        }),
      );
    const answers: readonly RawResponse[] = await Promise.all([0, 99, 2].map(index));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400, 200],
    );
    assert.deepEqual(
      [answers[0], answers[2]].map((one) => v2Values(one!)),
      [[1], [3]],
    );
    assert.match(errorOf(answers[1]!), /99/);
  });

  it('refuses more rows than max_batch_size, batching or not', async () => {
    for (const model of ['joined', 'single']) {
      const five = await ask(model, [[1], [2], [3], [4], [5]]);
      assert.equal(five.status, 400, model);
      assert.equal(
        errorOf(five),
        `inference request batch-size must be <= 4 for '${model}', got 5`,
      );
      assert.equal((await ask(model, [[1], [2], [3], [4]])).status, 200);
    }
    const stats = await statistics(server, 'single');
    assert.deepEqual([stats.inference_count, stats.execution_count], [4, 1]);
  });

  it('joins what waits while the model is busy, with no delay set', async () => {
    const answers = await Promise.all(Array.from({ length: 9 }, (_, i) => ask('busy', [[i]], 'x')));
    assert.deepEqual(
      answers.map(v2Values),
      Array.from({ length: 9 }, (_, i) => [i]),
    );
    const stats = await statistics(server, 'busy');
    assert.equal(stats.inference_count, 9);
    assert.ok(stats.execution_count < 5, `${stats.execution_count} runs of 9 requests`);
  });
});

describe("TensorFlow Serving's batching parameters", () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const base = join(folders.folder, 'base');
    const models = ['padded', 'split', 'ragged', 'own'];
    for (const name of models) {
      cpSync(join(folders.models, 'identity_fp32'), join(base, name), { recursive: true });
    }
    put(
      join(base, 'split', '1', 'batching_params.pbtxt'),
      `max_batch_size { value: 100 }
max_execution_batch_size { value: 8 }
enable_large_batch_splitting { value: true }
allowed_batch_sizes: 2 allowed_batch_sizes: 8
num_batch_threads { value: 1 }
`,
    );
    put(
      join(base, 'ragged', '1', 'batching_params.pbtxt'),
      `max_batch_size { value: 2 }
batch_timeout_micros { value: ${WINDOW_US} }
pad_variable_length_inputs: true
num_batch_threads { value: 1 }
`,
    );
    put(join(base, 'own', '1', 'batching_params.pbtxt'), 'max_batch_size { value: "many" }\n');
    const parameters = join(folders.folder, 'batching.config');
    writeFileSync(
      parameters,
      `max_batch_size { value: 8 }
batch_timeout_micros { value: ${WINDOW_US} }
allowed_batch_sizes: [ 2, 4, 8 ]
num_batch_threads { value: 1 }
`,
    );
    const config = join(folders.folder, 'models.config');
    const entries = models.map(
      (name) => `config { name: "${name}" base_path: "${join(base, name)}" }`,
    );
    writeFileSync(config, `model_config_list { ${entries.join('\n')} }\n`);
    server = await startServer([
      '--model-config-file',
      config,
      '--enable-batching',
      '--batching-parameters-file',
      parameters,
      '--enable-per-model-batching-parameters',
    ]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const ask = (model: string, rows: readonly (readonly number[])[]) =>
    predict(server, model, JSON.stringify({ instances: rows }));
  const numbered = (count: number) => Array.from({ length: count }, (_, i) => [i, -i - 1]);
  const padding = (model: string) =>
    metric(server, 'serval_batch_padding_rows', `model="${model}"`);

  it('pads a batch up to the next allowed size, and nobody sees it', async () => {
    const answers = await Promise.all([[[1], [2]], [[3]]].map((rows) => ask('padded', rows)));
    assert.deepEqual(answers.map(jsonOf), [{ predictions: [[1], [2]] }, { predictions: [[3]] }]);
    const stats = await statistics(server, 'padded');
    assert.deepEqual([stats.inference_count, stats.execution_count], [3, 1]);
    assert.equal(await padding('padded'), 1);
    const five = await ask('padded', numbered(5));
    assert.deepEqual(jsonOf(five), { predictions: numbered(5) });
    assert.equal(await padding('padded'), 1 + 3);
  });

  it("refuses a larger request in TensorFlow Serving's words", async () => {
    const nine = await ask('padded', numbered(9));
    assert.deepEqual(
      [nine.status, errorOf(nine)],
      [400, 'Task size 9 is larger than maximum input batch size 8'],
    );
    assert.equal((await ask('padded', numbered(8))).status, 200);
  });

  it('splits a larger request if it is configured to', async () => {
    const before = await statistics(server, 'split');
    const twenty = await ask('split', numbered(21));
    assert.deepEqual(jsonOf(twenty), { predictions: numbered(21) });
    const after = await statistics(server, 'split');
    assert.equal(after.execution_count - before.execution_count, 3);
    assert.equal(after.inference_count - before.inference_count, 21);
    // 8 + 8 + 5, the last of which is padded to 8.
    assert.equal(await padding('split'), 3);
  });

  it('pads inner dimensions if it is configured to', async () => {
    const answers = await Promise.all([[[1, 2, 3]], [[4]]].map((rows) => ask('ragged', rows)));
    const [long, short] = answers.map(
      (one) => (jsonOf(one) as { predictions: readonly (readonly number[])[] }).predictions,
    );
    assert.deepEqual(long, [[1, 2, 3]]);
    assert.deepEqual(short, [[4, 0, 0]]);
    assert.equal((await statistics(server, 'ragged')).execution_count, 1);
  });

  it("a model's own file that is wrong is that model's error, with its place", async () => {
    assert.equal((await ask('own', [[1]])).status, 404);
    const status = await exchange(server.httpPort, 'GET', '/v1/models/own');
    assert.match(status.body.toString(), /batching_params\.pbtxt:1:\d+/);
  });
});
