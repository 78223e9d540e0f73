// Operations on a GPU node: models are loaded and unloaded during traffic, one finds no memory, a
// device's process is killed, the metrics page. Test time only.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  control,
  infer,
  logLines,
  metric,
  plusModel,
  v2Body,
  v2Values,
} from '../e2e/support/operating.js';
import { SteadyLoad, until } from '../e2e/support/polling.js';
import { exchange } from '../e2e/support/raw-http.js';
import { GpuServer, machineOf, ON_CPU, onGpu } from './machine.js';

const machine = machineOf();
const BODY = v2Body('x', [1, 2]);
const starved = (limit: number): string =>
  `${onGpu('cuda')} parameters { key: "gpu_mem_limit" value { string_value: "${limit}" } }`;

describe('models on a GPU', () => {
  const gpu = new GpuServer();
  before(async () => {
    gpu.add('steady', plusModel(1), onGpu('cuda'));
    gpu.add('changed', plusModel(2), onGpu('cuda'));
    gpu.add('large', plusModel(3, 64 << 20), starved(1));
    gpu.add('on_cpu', plusModel(4), ON_CPU);
    await gpu.start('--model-control-mode', 'explicit', '--load-model', '*');
  });
  after(() => gpu.stop());

  const values = async (model: string): Promise<readonly number[]> =>
    v2Values(await infer(gpu.server, model, BODY));

  it('are placed there, and say so', async () => {
    assert.deepEqual(await values('steady'), [2, 3]);
    const line = logLines(gpu.server).find(
      (one) => one['message'] === 'model loaded' && one['model'] === 'steady',
    );
    assert.match(String(line?.['nodes']), machine.isFake ? /^cpu 1$/ : /^cuda 1$/);
  });

  it('come and go under load, and nobody loses a request', async () => {
    const load = new SteadyLoad(gpu.server.httpPort, '/v2/models/steady/infer', BODY);
    for (let version = 2; version < 6; version += 1) {
      gpu.add('changed', plusModel(version * 10), onGpu('cuda'), version);
      await control(gpu.server, '/v2/repository/models/changed/load', '{}');
      assert.deepEqual(await values('changed'), [1 + version * 10, 2 + version * 10]);
      await control(gpu.server, '/v2/repository/models/changed/unload', '{}');
      await control(gpu.server, '/v2/repository/models/changed/load', '{}');
      await load.more(10);
    }
    await load.stop();
    assert.deepEqual(load.failures, []);
  });

  it('one that finds no memory fails alone', async () => {
    assert.equal((await infer(gpu.server, 'large', BODY)).status, 503);
    const reason = await until('it to fail', () =>
      logLines(gpu.server)
        .filter(({ message, model }) => message === 'model failed to load' && model === 'large')
        .map((line) => String(line['reason']))
        .at(-1),
    );
    assert.match(reason, /memory/i);
    for (const model of ['steady', 'on_cpu']) assert.equal((await values(model)).length, 2);
  });

  it('come back when the process of their device is killed', async () => {
    const process0 = (name: string) => metric(gpu.server, `serval_isolated_${name}`, 'device="0"');
    const pid = await process0('pid');
    assert.ok(pid > 0, 'they have one');
    process.kill(pid, 'SIGKILL');
    assert.deepEqual(await values('on_cpu'), [5, 6]);
    await until(
      'steady to answer',
      async () => (await infer(gpu.server, 'steady', BODY)).status === 200,
    );
    assert.notEqual(await process0('pid'), pid);
  });

  it('are on the page of metrics', async () => {
    const page = (await exchange(gpu.server.httpPort, 'GET', '/metrics')).body.toString();
    assert.match(page, /^nv_pinned_memory_pool_total_bytes [1-9]/m);
    if (machine.isFake) return;
    for (const name of ['utilization', 'memory_total_bytes', 'memory_used_bytes', 'power_usage']) {
      assert.match(page, new RegExp(`^nv_gpu_${name}\\{gpu_uuid="[^"]+"\\} `, 'm'));
    }
    assert.match(page, /^serval_model_device_memory_bytes\{/m);
  });
});
