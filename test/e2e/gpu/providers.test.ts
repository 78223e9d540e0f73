// Automatic placement of models, over a fake driver and CUDA provider: a model placed on a GPU
// fails with that provider's name, others serve, and the log gives the reason.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { until } from '../support/polling.js';
import { logLines } from '../support/operating.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { buildLibrary, installRuntime, noCompiler } from './fake-libraries.js';

const MODEL = join(packageRoot(), 'examples', 'models', 'half_plus_three', '123', 'model.onnx');

describe('models are placed', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-placed-'));
  const [driver, gpu, models] = ['driver', 'gpu', 'models'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  before(() => {
    buildLibrary(driver, 'libcuda.so.1', 'fake_cuda.cc');
    installRuntime(gpu);
    writeFileSync(join(gpu, 'libonnxruntime_providers_cuda.so'), '');
    for (const [name, config] of [
      ['free', ''],
      ['on_cpu', 'instance_group { kind: KIND_CPU }'],
    ] as const) {
      mkdirSync(join(models, name, '1'), { recursive: true });
      cpSync(MODEL, join(models, name, '1', 'model.onnx'));
      if (config !== '') writeFileSync(join(models, name, 'config.pbtxt'), config);
    }
  });
  after(() => rmSync(root, { recursive: true }));

  type Line = Readonly<Record<string, unknown>>;
  /** The log lines about each model once both are settled. */
  const outcome = async (server: ServalProcess): Promise<ReadonlyMap<unknown, Line>> => {
    const told = (): readonly Line[] =>
      logLines(server).filter(({ message }) =>
        /^model (failed to load|loaded)$/.test(`${message}`),
      );
    await until(
      'both models to settle',
      () => new Set(told().map((one) => one['model'])).size === 2,
    );
    return new Map(told().map((line) => [line['model'], line]));
  };
  const answers = async (server: ServalProcess, model: string): Promise<number> => {
    const url = `http://127.0.0.1:${server.httpPort}/v1/models/${model}:predict`;
    const response = await fetch(url, { method: 'POST', body: '{"instances": [1, 2]}' });
    await response.arrayBuffer();
    return response.status;
  };
  const args = ['--model-repository', models, '--load-retry-interval-micros', '3600000000'];

  it('on a GPU where one is found, but for KIND_CPU', async () => {
    const env = { SERVAL_GPU_FOLDER: gpu, LD_LIBRARY_PATH: driver };
    const server = await startServer(args, env);
    try {
      const lines = await outcome(server);
      assert.match(String(lines.get('free')?.['reason']), /execution provider "cuda"/);
      const { providers, why } = lines.get('on_cpu') ?? {};
      assert.deepEqual([providers, why], ['cpu', 'its configuration says KIND_CPU']);
      assert.equal(await answers(server, 'on_cpu'), 200);
    } finally {
      await server.stop();
    }
  });

  it('on the CPU where the driver finds no device, with the reason', async () => {
    const env = { SERVAL_GPU_FOLDER: gpu, LD_LIBRARY_PATH: driver, FAKE_CUDA_NO_DEVICE: '1' };
    const server = await startServer(args, env);
    try {
      const { providers, why } = (await outcome(server)).get('free') ?? {};
      assert.deepEqual([providers, why], ['cpu', 'the driver finds no GPU']);
      assert.equal(await answers(server, 'free'), 200);
    } finally {
      await server.stop();
    }
  });

  it('on the CPU with --providers auto and no libraries, with what brings them', async () => {
    const env = { SERVAL_GPU_FOLDER: join(root, 'nothing') };
    const server = await startServer([...args, '--providers', 'auto'], env);
    try {
      const lines = await outcome(server);
      assert.match(String(lines.get('free')?.['why']), /serval gpu install$/);
      assert.equal(await answers(server, 'free'), 200);
    } finally {
      await server.stop();
    }
  });

  it('are unchanged if no GPU is configured', async () => {
    const server = await startServer(args, { SERVAL_GPU_FOLDER: join(root, 'nothing') });
    try {
      const line = (await outcome(server)).get('free') ?? {};
      assert.deepEqual([line['message'], line['providers']], ['model loaded', undefined]);
    } finally {
      await server.stop();
    }
  });
});
