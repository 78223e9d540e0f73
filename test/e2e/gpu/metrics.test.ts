// GPUs on the metrics page under Triton's names, from a management library that the test builds;
// and a page without them if there is none.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { startServer } from '../support/serval-process.js';
import { buildLibrary, noCompiler } from './fake-libraries.js';

const MODEL = join(packageRoot(), 'examples', 'models', 'half_plus_three');

describe('metrics of GPUs', { skip: noCompiler }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-nvml-'));
  after(() => rmSync(folder, { recursive: true }));

  it('are the values of the management library for each device', async () => {
    buildLibrary(folder, 'libnvidia-ml.so.1', 'fake_nvml.cc');
    const server = await startServer([MODEL], { LD_LIBRARY_PATH: folder });
    try {
      const page = async (): Promise<string> =>
        (await fetch(`http://127.0.0.1:${server.httpPort}/metrics`)).text();
      const first = await page();
      for (const line of [
        '# TYPE nv_gpu_utilization gauge',
        'nv_gpu_utilization{gpu_uuid="GPU-0"} 0.37',
        'nv_gpu_utilization{gpu_uuid="GPU-1"} 0.37',
        'nv_gpu_memory_total_bytes{gpu_uuid="GPU-0"} 1000',
        'nv_gpu_memory_used_bytes{gpu_uuid="GPU-0"} 550',
        '# TYPE serval_gpu_memory_reserved_bytes gauge',
        'serval_gpu_memory_reserved_bytes{gpu_uuid="GPU-0"} 50',
        'nv_gpu_power_usage{gpu_uuid="GPU-1"} 71.5',
        'nv_gpu_power_limit{gpu_uuid="GPU-0"} 700',
        '# TYPE nv_energy_consumption counter',
        'nv_energy_consumption{gpu_uuid="GPU-0"} 0',
      ]) {
        assert.ok(first.split('\n').includes(line), `${line}\n${first}`);
      }
      assert.doesNotMatch(first, /memory_(used|reserved)_bytes\{gpu_uuid="GPU-1"/);
      assert.match(await page(), /^nv_energy_consumption\{gpu_uuid="GPU-1"\} 1\.5$/m);
    } finally {
      await server.stop();
    }
  });

  for (const [which, flags, env] of [
    ['an old library', ['-DFAKE_NVML_OLD'], {}],
    ['a library that refuses the second version', [], { FAKE_NVML_REFUSES: '1' }],
  ] as const) {
    it(`count reserved memory as used with ${which}`, async () => {
      const old = join(folder, which.replaceAll(' ', '-'));
      buildLibrary(old, 'libnvidia-ml.so.1', 'fake_nvml.cc', flags);
      const server = await startServer([MODEL], { LD_LIBRARY_PATH: old, ...env });
      try {
        const page = await (await fetch(`http://127.0.0.1:${server.httpPort}/metrics`)).text();
        assert.match(page, /^nv_gpu_memory_total_bytes\{gpu_uuid="GPU-0"\} 1000$/m);
        assert.match(page, /^nv_gpu_memory_used_bytes\{gpu_uuid="GPU-0"\} 600$/m);
        assert.doesNotMatch(page, /memory_reserved/);
      } finally {
        await server.stop();
      }
    });
  }

  it('are absent without the library', async () => {
    const empty = join(folder, 'empty');
    // A library with this name but without its functions counts as missing, even on a machine with
    // a GPU.
    buildLibrary(empty, 'libnvidia-ml.so.1');
    const server = await startServer([MODEL], { LD_LIBRARY_PATH: empty });
    try {
      const page = await (await fetch(`http://127.0.0.1:${server.httpPort}/metrics`)).text();
      assert.doesNotMatch(page, /nv_gpu|nv_energy/);
      assert.match(page, /nv_cpu_utilization/);
    } finally {
      await server.stop();
    }
  });
});
