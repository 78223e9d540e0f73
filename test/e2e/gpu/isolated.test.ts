// GPU models run in processes of their devices by default (fake_gpu_runtime.cc, fake_cudart.cc): a
// device whose process is down gets no requests, a sticky CUDA error ends that process and no
// other, and the metrics page has the numbers of both.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { onnxruntimeLibrary } from '../../../ts/engine/binding.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { processesOf } from '../isolation/support.js';
import { infer, logLines, metric, put, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { buildLibrary, NATIVE, noCompiler } from './fake-libraries.js';

const MODEL = join(packageRoot(), 'examples', 'models', 'half_plus_three', '123', 'model.onnx');
const POOL = 1 << 20;
const WEIGHTS = 5 << 20;
const POISON = 666;

describe('models on GPUs, in processes of their devices', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-isolated-'));
  const [gpu, models] = [join(root, 'gpu'), join(root, 'models')];
  let server: ServalProcess;

  before(async () => {
    buildLibrary(gpu, 'libonnxruntime.so.1', 'fake_gpu_runtime.cc', NATIVE);
    buildLibrary(gpu, 'libcudart.so.13', 'fake_cudart.cc');
    const none = 'parameters { key: "isolation" value { string_value: "none" } }';
    for (const [name, text] of [
      ['both', 'instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }'],
      ['first', 'instance_group { kind: KIND_GPU gpus: [ 0 ] }'],
      ['here', `instance_group { kind: KIND_GPU gpus: [ 0 ] } ${none}`],
      [
        'graphs',
        `max_batch_size: 8 instance_group { kind: KIND_GPU gpus: [ 0 ] }
         dynamic_batching { max_queue_delay_microseconds: 2000 }
         optimization { cuda { graphs: true graph_spec { batch_size: 4 } } }`,
      ],
      ['on_cpu', 'instance_group { kind: KIND_CPU }'],
    ] as const) {
      mkdirSync(join(models, name, '1'), { recursive: true });
      cpSync(MODEL, join(models, name, '1', 'model.onnx'));
      put(join(models, name, 'config.pbtxt'), text);
    }
    server = await startServer(
      [
        ...['--model-repository', models, '--pinned-memory-pool-byte-size', String(POOL)],
        ...['--onnxruntime-library', join(gpu, 'libonnxruntime.so.1'), '--log-format', 'json'],
        ...['--model-control-mode', 'explicit', '--load-model', '*'],
        // Concurrent loads would be counted as this model's.
        ...['--num-load-threads', '1'],
        // Graphs use device memory too: only one model has them here.
        '--cuda-graphs=false',
      ],
      {
        FAKE_ORT_REAL: onnxruntimeLibrary(undefined),
        FAKE_ORT_DEVICE_BYTES: String(WEIGHTS),
        FAKE_CUDA_POISON: String(POISON),
      },
    );
  });
  after(async () => {
    await server.stop();
    rmSync(root, { recursive: true });
  });

  const statusOf = async (model: string, first = 1): Promise<number> => {
    const response = await infer(server, model, v2Body('x', [first, 2]));
    if (response.status === 200) assert.deepEqual(v2Values(response), [first / 2 + 3, 4]);
    return response.status;
  };
  const of = (name: string, device: number): Promise<number> =>
    metric(server, `serval_isolated_${name}`, `device="${device}"`);
  const isUp = (device: number, up: 0 | 1): Promise<boolean> =>
    until('a process to change', async () => (await of('up', device)) === up);

  // After its process has started, with the first model that it has reloaded.
  const answersAgain = (model: string): Promise<boolean> =>
    until(`${model} to answer again`, async () => (await statusOf(model)) === 200);

  it('have one process for each device, which all of its models share', async () => {
    for (const model of ['both', 'first', 'here', 'on_cpu'])
      assert.equal(await statusOf(model), 200);
    const pids = await Promise.all([of('pid', 0), of('pid', 1)]);
    assert.deepEqual([...processesOf(server)].sort(), [...pids].sort());
  });

  it('pin as much as the server was told to, and show it on its page', async () => {
    const total = (): Promise<number> => metric(server, 'nv_pinned_memory_pool_total_bytes');
    // The server's own pool, for the model that is not isolated, and those of the two devices: the
    // first run on each pins it.
    await until('a run on each device', async () => {
      const many = await Promise.all(Array.from({ length: 32 }, () => statusOf('both')));
      assert.deepEqual(many, new Array(32).fill(200));
      return (await total()) >= 3 * POOL;
    });
    assert.equal(await total(), 3 * POOL);
    const used = await metric(server, 'nv_pinned_memory_pool_used_bytes');
    assert.ok(used >= 3 * 256 && used < POOL, String(used));
    assert.equal(await metric(server, 'serval_pinned_memory_fallbacks_total'), 0);
  });

  it('have CUDA graphs there, whose answers are each its own', async () => {
    for (let i = 0; i < 20; i++) assert.equal(await statusOf('graphs', i), 200);
    const many = await Promise.all(Array.from({ length: 64 }, (_, i) => statusOf('graphs', i)));
    assert.deepEqual(many, new Array(64).fill(200));
  });

  it('report the device memory that they use', async () => {
    const bytes = (model: string): Promise<number> =>
      metric(server, 'serval_model_device_memory_bytes', `model="${model}",version="1"`);
    assert.equal(await bytes('both'), 2 * WEIGHTS);
    assert.equal(await bytes('first'), WEIGHTS);
    assert.equal(await bytes('here'), WEIGHTS);
    const page = (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
    assert.ok(!page.includes('serval_model_device_memory_bytes{model="on_cpu"'));
  });

  it('go on with the other device while one is down', async () => {
    // Each death doubles the pause before the next start.
    for (let death = 0; death < 4; death++) {
      await isUp(0, 1);
      process.kill(await of('pid', 0), 'SIGKILL');
      await isUp(0, 0);
    }
    for (let i = 0; i < 20; i++) assert.equal(await statusOf('both', i), 200);
    const many = await Promise.all(Array.from({ length: 64 }, (_, i) => statusOf('both', i)));
    assert.deepEqual(many, new Array(64).fill(200));
    for (const model of ['here', 'on_cpu']) assert.equal(await statusOf(model), 200);
    await answersAgain('first');
  });

  it('an error that sticks ends the process of its device alone, and is the reason', async () => {
    const others = await of('pid', 1);
    const poisoned = await infer(server, 'first', v2Body('x', [POISON, 2]));
    const text = poisoned.body.toString();
    assert.equal(poisoned.status, 503, text);
    assert.match(
      text,
      /model 'first': (GPU 0: an illegal memory access was encountered \(700\)|its process)/,
    );
    const reason = 'GPU 0: an illegal memory access was encountered (700)';
    await until('its line in the log', () =>
      logLines(server).some(
        (line) => line['message'] === 'the process of models ended' && line['reason'] === reason,
      ),
    );
    assert.equal(await statusOf('both'), 200);
    await answersAgain('first');
    assert.equal(await of('pid', 1), others);
    assert.match(
      readFileSync(`/proc/${others}/cmdline`, 'utf8'),
      new RegExp(`\0${POOL}\0`),
      'the size of the pool is handed on',
    );
  });

  const repository = (call: string, model: string) =>
    exchange(server.httpPort, 'POST', `/v2/repository/models/${model}/${call}`, '{}');
  const pids = (): Promise<readonly number[]> => Promise.all([of('pid', 0), of('pid', 1)]);

  it('keep the others when one runs out of memory during its load', async () => {
    const before = await pids();
    mkdirSync(join(models, 'starved', '1'), { recursive: true });
    cpSync(MODEL, join(models, 'starved', '1', 'model.onnx'));
    put(
      join(models, 'starved', 'config.pbtxt'),
      `instance_group { kind: KIND_GPU gpus: [ 0 ] }
       parameters { key: "gpu_mem_limit" value { string_value: "1" } }`,
    );
    const refused = await repository('load', 'starved');
    assert.notEqual(refused.status, 200);
    assert.match(refused.body.toString(), /'starved'.*out of memory/);
    for (const model of ['both', 'first', 'here', 'on_cpu'])
      assert.equal(await statusOf(model), 200);
    assert.deepEqual(await pids(), before);
  });

  it('end with the last model that they run', async () => {
    const [zero] = await pids();
    assert.equal((await repository('unload', 'both')).status, 200);
    await until('one process', () => processesOf(server).join(' ') === String(zero));
    assert.equal(await statusOf('first'), 200);
    assert.equal((await repository('load', 'both')).status, 200);
    assert.equal(await statusOf('both'), 200);
    assert.equal(processesOf(server).length, 2);
  });

  it('are in the server where --isolate=none says so', async () => {
    const plain = await startServer(
      [
        ...['--model-repository', models, '--isolate', 'none'],
        ...['--onnxruntime-library', join(gpu, 'libonnxruntime.so.1')],
      ],
      { FAKE_ORT_REAL: onnxruntimeLibrary(undefined) },
    );
    try {
      assert.equal((await infer(plain, 'both', v2Body('x', [1, 2]))).status, 200);
      assert.deepEqual(processesOf(plain), []);
    } finally {
      await plain.stop();
    }
  });
});
