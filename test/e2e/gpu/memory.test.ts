// A server with models on a fake GPU (fake_gpu_runtime.cc, fake_cudart.cc): responses, batches, and
// the pool of pinned memory on the metrics page.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { onnxruntimeLibrary } from '../../../ts/engine/binding.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { infer, logLines, metric, put, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { buildLibrary, NATIVE, noCompiler } from './fake-libraries.js';

const MODEL = join(packageRoot(), 'examples', 'models', 'half_plus_three', '123', 'model.onnx');
const POOL = 1 << 20;
const LARGE = 40_000; // 160 kB: large blocks begin at 128 KiB

describe('models on a GPU', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-memory-'));
  const [gpu, models] = [join(root, 'gpu'), join(root, 'models')];
  let server: ServalProcess;
  before(async () => {
    buildLibrary(gpu, 'libonnxruntime.so.1', 'fake_gpu_runtime.cc', NATIVE);
    buildLibrary(gpu, 'libcudart.so.13', 'fake_cudart.cc');
    const config = (rest: string): string =>
      `max_batch_size: 64 instance_group { kind: KIND_GPU gpus: [ 0, 1 ] } ${rest}`;
    for (const [name, text] of [
      ['batched', config('dynamic_batching { max_queue_delay_microseconds: 2000 }')],
      ['single', config('')],
      ['large', 'instance_group { kind: KIND_GPU gpus: [ 0 ] }'],
      [
        'graphs',
        config(
          `dynamic_batching { max_queue_delay_microseconds: 2000 }
           optimization { cuda { graphs: true graph_spec { batch_size: 4 } } }`,
        ),
      ],
      ['on_cpu', 'instance_group { kind: KIND_CPU }'],
      ['starved', config('parameters { key: "gpu_mem_limit" value { string_value: "1" } }')],
    ] as const) {
      mkdirSync(join(models, name, '1'), { recursive: true });
      cpSync(MODEL, join(models, name, '1', 'model.onnx'));
      put(join(models, name, 'config.pbtxt'), text);
    }
    server = await startServer(
      [
        ...['--model-repository', models, '--pinned-memory-pool-byte-size', String(POOL)],
        ...['--onnxruntime-library', join(gpu, 'libonnxruntime.so.1'), '--log-format', 'json'],
        ...[
          '--strict-readiness',
          'false',
          '--isolate',
          'none',
          '--load-retry-interval-micros',
          '3600000000',
        ],
      ],
      { FAKE_ORT_REAL: onnxruntimeLibrary(undefined) },
    );
  });
  after(async () => {
    await server.stop();
    rmSync(root, { recursive: true });
  });

  const answers = async (model: string, first: number): Promise<void> => {
    const values = [first, first + 1];
    const response = await infer(server, model, v2Body('x', values));
    assert.equal(response.status, 200, String(response.body));
    assert.deepEqual(
      v2Values(response),
      values.map((value) => value / 2 + 3),
    );
  };

  it('that find no memory on the device fail alone, with what CUDA said', async () => {
    const failed = (): string | undefined =>
      logLines(server)
        .filter(({ message, model }) => message === 'model failed to load' && model === 'starved')
        .map(({ reason }) => String(reason))
        .at(-1);
    await until('it to fail', () => failed() !== undefined);
    assert.match(failed() ?? '', /execution provider "cuda": .*out of memory/);
    for (const model of ['single', 'batched', 'on_cpu']) {
      await until(`${model} to load`, () =>
        logLines(server).some(
          (line) => line['message'] === 'model loaded' && line['model'] === model,
        ),
      );
    }
  });

  it('say at their load how many nodes went to which provider', () => {
    const nodesOf = (name: string): unknown =>
      logLines(server).find(
        (line) => line['message'] === 'model loaded' && line['model'] === name,
      )?.['nodes'];
    assert.equal(nodesOf('single'), 'cpu 2'); // the fake providers take no nodes
    assert.equal(nodesOf('on_cpu'), undefined);
  });

  it('answer as on the CPU, one by one and many at once', async () => {
    for (const model of ['single', 'batched', 'graphs', 'on_cpu']) {
      for (let i = 0; i < 20; i++) await answers(model, i);
      await Promise.all(Array.from({ length: 64 }, (_, i) => answers(model, i * 10)));
    }
  });

  it('receive large tensors in pinned memory, once one had to be copied', async () => {
    const used = (): Promise<number> => metric(server, 'nv_pinned_memory_pool_used_bytes');
    const values = Array.from({ length: LARGE }, (_, i) => i % 10);
    const expected = values.map((value) => value / 2 + 3);
    const before = await used();
    // The first one is copied into its instance's pinned memory; later ones arrive there.
    await until('pinned memory for both', async () => {
      const response = await infer(server, 'large', v2Body('x', values));
      assert.equal(response.status, 200, String(response.body).slice(0, 200));
      assert.deepEqual(v2Values(response), expected);
      return (await used()) >= before + 2 * 4 * LARGE;
    });
    assert.equal(await metric(server, 'serval_pinned_memory_fallbacks_total'), 0);
  });

  it("have pinned memory, by Triton's names on the page of metrics", async () => {
    await answers('single', 1);
    assert.equal(await metric(server, 'nv_pinned_memory_pool_total_bytes'), POOL);
    const used = await metric(server, 'nv_pinned_memory_pool_used_bytes');
    assert.ok(used > 0 && used <= POOL, String(used));
    assert.equal(await metric(server, 'serval_pinned_memory_fallbacks_total'), 0);
  });
});
