// CUDA graphs that are recorded during other work of the process, on a fake GPU: loads of other
// models and requests to them succeed.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { onnxruntimeLibrary } from '../../../ts/engine/binding.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { control, infer, logLines, put, v2Body, v2Values } from '../support/operating.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { buildLibrary, NATIVE, noCompiler } from './fake-libraries.js';

const MODEL = join(packageRoot(), 'examples', 'models', 'half_plus_three', '123', 'model.onnx');
const EACH = 6;
const RECORD_MS = '20';
const CYCLES = 10;

describe('CUDA graphs being recorded', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-recordings-'));
  const [gpu, models] = [join(root, 'gpu'), join(root, 'models')];
  let server: ServalProcess;
  before(async () => {
    buildLibrary(gpu, 'libonnxruntime.so.1', 'fake_gpu_runtime.cc', NATIVE);
    buildLibrary(gpu, 'libcudart.so.13', 'fake_cudart.cc');
    const config = (rest: string): string =>
      `max_batch_size: 16 dynamic_batching { } instance_group { kind: KIND_GPU gpus: [ 0 ] } ${rest}`;
    for (let i = 0; i < EACH; i += 1) {
      for (const [name, rest] of [
        ['graphs', 'optimization { cuda { graphs: true } }'],
        ['plain', ''],
      ] as const) {
        mkdirSync(join(models, `${name}${i}`, '1'), { recursive: true });
        cpSync(MODEL, join(models, `${name}${i}`, '1', 'model.onnx'));
        put(join(models, `${name}${i}`, 'config.pbtxt'), config(rest));
      }
    }
    server = await startServer(
      [
        ...['--model-repository', models, '--model-control-mode', 'explicit', '--load-model', '*'],
        ...['--onnxruntime-library', join(gpu, 'libonnxruntime.so.1'), '--log-format', 'json'],
        ...['--strict-readiness', 'false', '--isolate', 'none'],
      ],
      { FAKE_ORT_REAL: onnxruntimeLibrary(undefined), FAKE_ORT_RECORD_MS: RECORD_MS },
    );
  });
  after(async () => {
    await server.stop();
    rmSync(root, { recursive: true });
  });

  const answers = async (model: string, first: number): Promise<void> => {
    const response = await infer(server, model, v2Body('x', [first, first + 1]));
    assert.equal(response.status, 200, `${model}: ${response.body}`);
    assert.deepEqual(v2Values(response), [first / 2 + 3, (first + 1) / 2 + 3]);
  };

  it('lets every model that starts with them load and answer', async () => {
    const failed = logLines(server).filter(({ message }) => message === 'model failed to load');
    assert.deepEqual(failed, []);
    for (let i = 0; i < EACH; i += 1) {
      await answers(`graphs${i}`, i);
      await answers(`plain${i}`, i);
    }
  });

  it('costs no request of another model while one is loaded and unloaded', async () => {
    let asked = 0;
    let cycling = true;
    const others = Array.from({ length: 4 }, async (_, i) => {
      while (cycling) {
        await answers(`plain${i}`, asked);
        asked += 1;
      }
    });
    try {
      for (let i = 0; i < CYCLES; i += 1) {
        await control(server, '/v2/repository/models/graphs0/unload');
        await control(server, '/v2/repository/models/graphs0/load');
        await answers('graphs0', i);
      }
    } finally {
      cycling = false;
      await Promise.all(others);
    }
    assert.ok(asked >= CYCLES, `${asked} requests of other models`);
  });
});
