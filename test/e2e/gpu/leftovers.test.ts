// TensorRT engine files of a killed server are removed by the next one, and those of a running one
// are kept: over a runtime that runs engines on the CPU (fake_contexts.h).
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { onnxruntimeLibrary } from '../../../ts/engine/binding.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { processesOf } from '../isolation/support.js';
import { infer, logLines, put, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { buildLibrary, NATIVE, noCompiler } from './fake-libraries.js';

const HALF = join(packageRoot(), 'examples', 'models', 'half_plus_three', '123', 'model.onnx');
const CONFIG = `backend: "tensorrt"
  input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
  output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }`;

describe('folders of TensorRT engines', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-leftovers-'));
  const [gpu, models] = [join(root, 'gpu'), join(root, 'models')];
  before(() => {
    buildLibrary(gpu, 'libonnxruntime.so.1', 'fake_gpu_runtime.cc', NATIVE);
    buildLibrary(gpu, 'libcudart.so.13', 'fake_cudart.cc');
    const engine = Buffer.concat([Buffer.from('ftrt'), readFileSync(HALF)]);
    put(join(models, 'engine', '1', 'model.plan'), engine);
    put(join(models, 'engine', 'config.pbtxt'), CONFIG);
  });
  after(() => rmSync(root, { recursive: true }));

  const answers = async (server: ServalProcess): Promise<boolean> => {
    const response = await infer(server, 'engine', v2Body('x', [1, 2]));
    if (response.status === 200) assert.deepEqual(v2Values(response), [3.5, 4]);
    return response.status === 200;
  };

  for (const cached of [true, false]) {
    const where = cached ? 'below --model-cache' : 'among temporary files';
    it(`${where} outlive no server, and those of a running one stay`, async () => {
      const temporary = join(root, cached ? 'cached' : 'plain');
      mkdirSync(temporary);
      const place = cached ? join(temporary, 'tensorrt', 'plans') : temporary;
      const folders = (): readonly string[] =>
        readdirSync(place)
          .filter((name) => /^(serval-plans|server)-/.test(name))
          .map((name) => join(place, name));
      const start = (): Promise<ServalProcess> =>
        startServer(
          [
            ...['--model-repository', models, '--providers', 'tensorrt', '--log-format', 'json'],
            ...['--onnxruntime-library', join(gpu, 'libonnxruntime.so.1')],
            ...(cached ? ['--model-cache', temporary] : []),
          ],
          { FAKE_ORT_REAL: onnxruntimeLibrary(undefined), TMPDIR: temporary },
        );
      const running = await start();
      const servers = [running];
      try {
        assert.ok(await answers(running));
        const [kept = ''] = folders();
        const killed = await start();
        servers.push(killed);
        assert.equal(folders().length, 2, 'each has its own');
        const left = folders().find((folder) => folder !== kept) ?? '';
        killed.signal('SIGKILL');
        await killed.ended;
        assert.ok(folders().includes(left));

        const next = await start();
        servers.push(next);
        await until('what was left to go', () => !folders().includes(left));
        const told = (): readonly unknown[] =>
          logLines(next)
            .filter(({ message }) => message === 'removed leftovers of a killed server')
            .map(({ folder }) => folder);
        await until('its line in the log', () => told().length > 0);
        assert.deepEqual(told(), [left]);
        assert.ok(folders().includes(kept));
        process.kill(processesOf(running)[0] ?? 0, 'SIGKILL');
        await until('the engine to be loaded again', () => answers(running));

        for (const server of [running, next]) {
          server.signal('SIGTERM');
          assert.equal((await server.ended).code, 0);
        }
        assert.deepEqual(folders(), []);
      } finally {
        for (const server of servers) await server.stop();
      }
    });
  }
});
