// Dynamic batching of a model whose convolutions are planned for each shape, on a fake GPU where a
// run takes 1 ms and a plan 100 ms: batches of changing sizes serve as many rows as batches of one
// size, because each size has a CUDA graph or a session.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { onnxruntimeLibrary } from '../../../ts/engine/binding.js';
import { encodeModel, floatBytes } from '../../../ts/importers/onnx/builder.js';
import { infer, logLines, metric, put, v2Values } from '../support/operating.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { buildLibrary, NATIVE, noCompiler } from './fake-libraries.js';

const ROWS_MAX = 16;
const CLIENTS = 32;
const ROUNDS = 3;
const SECONDS = 0.7;
const PLAN_MS = '100';
const RUN_MS = '1';

/** y = 2 x + 1 over images of one pixel. */
function convolution(): Uint8Array {
  const port = (name: string) => ({ name, type: 'float', shape: ['n', 1, 1, 1] }) as const;
  const constant = (name: string, dims: readonly number[], value: number) =>
    ({ name, type: 'float', dims, data: floatBytes([value]) }) as const;
  return encodeModel({
    graph: {
      name: 'convolution',
      inputs: [port('x')],
      outputs: [port('y')],
      initializers: [constant('w', [1, 1, 1, 1], 2), constant('one', [1], 1)],
      nodes: [{ op: 'Conv', inputs: ['x', 'w', 'one'], outputs: ['y'] }],
    },
  });
}

const off = 'optimization { cuda { graphs: false } }';
const rows = (text: string): string =>
  `parameters { key: "serval.allowed_rows" value { string_value: "${text}" } }`;
const MODELS = {
  graphs: '',
  sessions: off,
  fixed: `${off} ${rows(String(ROWS_MAX))}`,
  any: `${off} ${rows('any')}`,
} as const;
type Name = keyof typeof MODELS;

describe('batches of a model that is planned by shape', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-sizes-'));
  const [gpu, models] = [join(root, 'gpu'), join(root, 'models')];
  let server: ServalProcess;

  before(async () => {
    buildLibrary(gpu, 'libonnxruntime.so.1', 'fake_gpu_runtime.cc', NATIVE);
    buildLibrary(gpu, 'libcudart.so.13', 'fake_cudart.cc');
    for (const [name, rest] of Object.entries(MODELS)) {
      put(join(models, name, '1', 'model.onnx'), convolution());
      put(
        join(models, name, 'config.pbtxt'),
        `max_batch_size: ${ROWS_MAX} dynamic_batching { max_queue_delay_microseconds: 500 }
         instance_group { kind: KIND_GPU gpus: [ 0 ] } ${rest}`,
      );
    }
    server = await startServer(
      [
        ...['--model-repository', models, '--log-format', 'json'],
        ...['--onnxruntime-library', join(gpu, 'libonnxruntime.so.1')],
      ],
      {
        FAKE_ORT_REAL: onnxruntimeLibrary(undefined),
        FAKE_ORT_PLAN_MS: PLAN_MS,
        FAKE_ORT_RUN_MS: RUN_MS,
      },
    );
  });
  after(async () => {
    await server.stop();
    rmSync(root, { recursive: true });
  });

  const answers = async (model: string, value: number): Promise<void> => {
    const body = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1, 1, 1], data: [value] }] };
    const response = await infer(server, model, JSON.stringify(body));
    assert.equal(response.status, 200, response.body.toString());
    assert.deepEqual(v2Values(response), [2 * value + 1]);
  };

  /** Requests in SECONDS by clients that come and go, so that batches have changing sizes. */
  const served = async (model: Name): Promise<number> => {
    const end = Date.now() + SECONDS * 1000;
    let requests = 0;
    const client = async (index: number): Promise<void> => {
      while (Date.now() < end) {
        await answers(model, requests);
        requests += 1;
        if (requests % 3 === index % 3) await new Promise((wake) => setTimeout(wake, index % 4));
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)));
    return requests;
  };

  const loadLine = (model: Name) =>
    logLines(server).find((line) => line['message'] === 'model loaded' && line['model'] === model);

  it('says at load which sizes have a graph, a session, or why there is neither', async () => {
    assert.match(String(loadLine('graphs')?.['graphs']), /^1, 2, 4, 8, 16 \(\d+ MiB\)$/);
    assert.equal(loadLine('graphs')?.['runs'], undefined);
    assert.equal(loadLine('sessions')?.['sizes'], '1, 4, 16');
    assert.equal(loadLine('sessions')?.['runs'], 'Conv is planned for each shape');
    assert.equal(loadLine('fixed')?.['sizes'], String(ROWS_MAX));
    assert.equal(loadLine('any')?.['sizes'], undefined);
    const graphs = (model: Name): Promise<number> =>
      metric(server, 'serval_cuda_graphs', `model="${model}",version="1"`);
    assert.equal(await graphs('graphs'), 5);
    assert.equal(await graphs('sessions'), 0);
  });

  it('serves at least 0.8 of the rows of one fixed size', async () => {
    const best: Record<Name, number> = { graphs: 0, sessions: 0, fixed: 0, any: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const model of Object.keys(MODELS) as Name[]) {
        best[model] = Math.max(best[model], await served(model));
      }
    }
    const { fixed } = best;
    for (const model of ['graphs', 'sessions'] as const) {
      assert.ok(best[model] >= 0.8 * fixed, JSON.stringify(best));
    }
    // Otherwise the stand-in plans nothing, and this test shows nothing.
    assert.ok(best.any < 0.5 * fixed, JSON.stringify(best));
  });
});
