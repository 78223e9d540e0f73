// `serval gpu adopt` on the command line: an environment whose libraries have NVIDIA's names, what
// `serval doctor` says of it, and a server that runs a model with its ONNX Runtime.
import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { onnxruntimeLibrary } from '../../../ts/engine/binding.js';
import { GPU_LIBRARIES } from '../../../ts/models/placement/libraries.js';
import type { DoctorReport } from '../../../ts/cli/gpu/doctor.js';
import { runServal, startServer } from '../support/serval-process.js';
import { buildLibrary, NATIVE, noCompiler } from './fake-libraries.js';

const MODEL = join(packageRoot(), 'examples', 'models', 'half_plus_three');

describe('serval gpu adopt', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-adopt-'));
  const [driver, gpu, env] = [join(root, 'driver'), join(root, 'gpu'), join(root, 'env')];
  const site = join(env, 'lib', 'python3.12', 'site-packages');
  const variables = {
    ...{ LD_LIBRARY_PATH: driver, SERVAL_GPU_FOLDER: gpu },
    FAKE_ORT_REAL: onnxruntimeLibrary(undefined),
  };
  const doctor = async (): Promise<DoctorReport> => {
    const { stdout, stderr } = await runServal(['doctor', '--json'], variables);
    assert.equal(stderr, '');
    return JSON.parse(stdout) as DoctorReport;
  };
  before(() => {
    buildLibrary(driver, 'libcuda.so.1', 'fake_cuda.cc');
    for (const { soname, provider } of GPU_LIBRARIES) {
      if (provider === 'tensorrt' || soname === 'libcurand.so.10') continue;
      const folder = soname.includes('cudnn') ? 'cudnn' : 'cu13';
      const source = soname.startsWith('libcudart') ? 'fake_cudart.cc' : undefined;
      buildLibrary(join(site, 'nvidia', folder, 'lib'), soname, source);
    }
    const capi = join(site, 'onnxruntime', 'capi');
    for (const name of ['shared', 'cuda', 'tensorrt']) {
      buildLibrary(capi, `libonnxruntime_providers_${name}.so`);
    }
    buildLibrary(capi, 'libonnxruntime.so.1.30.0', 'fake_gpu_runtime.cc', NATIVE);
  });
  after(() => rmSync(root, { recursive: true }));

  it('refuses an environment that lacks a library, names it, and changes nothing', async () => {
    const { code, stdout, stderr } = await runServal(['gpu', 'adopt', env], variables);
    assert.equal(code, 1);
    assert.match(stdout, /^nvidia-curand +MISSING: expected libcurand\.so\.10, .*found none$/m);
    assert.match(stderr, /^serval: \S+ cannot be adopted: it lacks nvidia-curand; .*pip install/);
    assert.equal(lstatSync(gpu, { throwIfNoEntry: false }), undefined);
  });

  it('links to a whole one; serval doctor and a server use it', async () => {
    buildLibrary(join(site, 'nvidia', 'cu13', 'lib'), 'libcurand.so.10');
    const dry = await runServal(['gpu', 'adopt', env, '--dry-run'], variables);
    assert.equal(dry.code, 0, dry.stderr);
    assert.match(dry.stdout, /\ndry run: 7 packages of .* would change; nothing was changed\n$/);
    const { code, stdout, stderr } = await runServal(['gpu', 'adopt', env], variables);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /\n7 packages adopted in .*: servers find it automatically; run `serval/);
    const report = await doctor();
    assert.deepEqual(report.folder.sources, [{ from: env, exists: true, broken: [] }]);
    assert.equal(report.runtime, join(gpu, 'libonnxruntime.so.1.30.0'));
    const cuda = report.libraries.filter(({ provider }) => provider === 'cuda');
    assert.deepEqual(
      cuda.map(({ from }) => from),
      cuda.map(({ soname }) => join(gpu, soname)),
    );
    // CUDA's runtime is nowhere else: the server finds it beside its ONNX Runtime.
    const args = [MODEL, '--isolate', 'none', '--providers', 'cuda'];
    const server = await startServer(args, variables);
    try {
      const url = `http://127.0.0.1:${server.httpPort}/v1/models/half_plus_three:predict`;
      const body = JSON.stringify({ instances: [2] });
      const answer = await (await fetch(url, { method: 'POST', body })).json();
      assert.deepEqual(answer, { predictions: [4] });
    } finally {
      await server.stop();
    }
  });

  it('serval doctor notices when the environment is gone', async () => {
    mkdirSync(join(root, 'moved'));
    renameSync(env, join(root, 'moved', 'env'));
    const { folder, verdict } = await doctor();
    assert.match(folder.state, /^incomplete: libcudart\.so\.13, /);
    assert.equal(folder.sources[0]?.exists, false);
    assert.match(verdict[0], /env, which was adopted, is gone: libcudart\.so\.13, /);
    const moved = join(root, 'moved', 'env');
    const { code, stderr } = await runServal(['gpu', 'adopt', moved], variables);
    assert.equal(code, 0, stderr);
    assert.deepEqual((await doctor()).folder.sources, [{ from: moved, exists: true, broken: [] }]);
  });
});
