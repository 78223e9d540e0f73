// `serval doctor` and `serval gpu` on the command line, on a machine without a GPU and with
// libraries that pretend that there is one.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { GPU_LIBRARIES } from '../../../ts/models/placement/libraries.js';
import type { DoctorReport } from '../../../ts/cli/gpu/doctor.js';
import { runServal } from '../support/serval-process.js';
import { buildLibrary, installRuntime, noCompiler } from './fake-libraries.js';

describe('serval doctor with libraries that say that there is a GPU', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-gpu-'));
  const [driver, gpu] = [join(root, 'driver'), join(root, 'gpu')];
  const doctor = async (
    env: Readonly<Record<string, string>>,
    ...args: string[]
  ): Promise<{ code: number | null; report: DoctorReport }> => {
    const whole = { LD_LIBRARY_PATH: driver, SERVAL_GPU_FOLDER: gpu, ...env };
    const { code, stdout, stderr } = await runServal(['doctor', '--json', ...args], whole);
    assert.equal(stderr, '');
    return { code, report: JSON.parse(stdout) as DoctorReport };
  };
  before(() => {
    buildLibrary(driver, 'libcuda.so.1', 'fake_cuda.cc');
    installRuntime(gpu);
    for (const { soname, provider } of GPU_LIBRARIES) {
      if (provider === 'cuda' && soname !== 'libcudnn.so.9') buildLibrary(gpu, soname);
    }
  });
  after(() => rmSync(root, { recursive: true }));

  it('names devices, libraries and missing parts', async () => {
    const { code, report } = await doctor({});
    assert.equal(code, 1);
    assert.deepEqual(report.driver, {
      reason: '',
      cuda: '13.0',
      module: report.driver.module,
      init: 0,
    });
    assert.deepEqual(report.devices, [
      { name: 'Fake "A"', memoryBytes: 2 ** 33, capability: '9.0' },
      { name: 'Fake B', memoryBytes: 2 ** 33, capability: '9.0' },
    ]);
    assert.equal(report.runtime, join(gpu, 'libonnxruntime.so.1.30.0'));
    assert.match(report.folder.state, /onnxruntime-gpu 1\.30\.0/);
    const missing = report.libraries.filter(({ from }) => from === undefined);
    const names = missing.map(({ soname, package: name }) => `${soname} ${name}`);
    assert.ok(names.includes('libcudnn.so.9 nvidia-cudnn-cu13'), names.join());
    assert.ok(!names.some((name) => name.startsWith('libcudart')), names.join());
    assert.match(report.verdict[0], /on the CPU: missing: libcudnn\.so\.9/);
    assert.match(report.verdict[1], /^next: serval gpu adopt DIR, .*; else serval gpu install$/);
  });

  it('says of each provider whether it loads', async () => {
    const { report } = await doctor({});
    const [tensorrt, cuda, cpu] = report.providers;
    assert.deepEqual([tensorrt?.name, cuda?.name], ['tensorrt', 'cuda']);
    assert.equal(cuda?.loads, false);
    assert.match(cuda?.reason ?? '', /execution provider "cuda"/);
    assert.deepEqual(cpu, { name: 'cpu', loads: true, reason: '' });
  });

  it('an old driver, and one without a device', async () => {
    const old = await doctor({ FAKE_CUDA_OLD: '1' });
    assert.match(old.report.verdict[0], /driver is for CUDA 12\.8, expected 13\.0 or newer/);
    const none = await doctor({ FAKE_CUDA_NO_DEVICE: '1' });
    assert.equal(none.report.devices.length, 0);
    assert.match(none.report.verdict[0], /no device \(cuInit: 100\)/);
  });
});

describe('serval doctor and serval gpu', () => {
  it('without anything: two last lines are the verdict', async () => {
    const env = { SERVAL_GPU_FOLDER: '/nonexistent', LD_LIBRARY_PATH: '' };
    const { code, stdout } = await runServal(['doctor'], env);
    assert.match(stdout, /^folder +\/nonexistent: does not exist$/m);
    assert.match(stdout, /\nverdict: models run on .*\nnext: .*\n$/);
    assert.equal(
      code,
      /^device 0/m.test(stdout) && /^provider +cuda +loads$/m.test(stdout) ? 0 : 1,
    );
  });

  for (const [args, text] of [
    [['gpu'], /expected `serval gpu adopt DIR/],
    [['gpu', 'remove'], /got "remove"/],
    [['gpu', 'adopt'], /got "adopt"/],
    [['gpu', 'adopt', ''], /got "adopt" ""/],
    [['gpu', 'adopt', '/a', '/b'], /got "adopt"/],
    [['gpu', 'install', '--copy'], /--copy is a flag of `serval gpu adopt`/],
    [['gpu', 'install', '--tensort'], /unknown flag .* did you mean --tensorrt/],
    [['gpu', 'install', '--tensorrt=maybe'], /expected true/],
    [['doctor', 'all'], /expected no arguments/],
  ] as const) {
    it(`serval ${args.join(' ')} is a wrong command line`, async () => {
      const { code, stderr } = await runServal([...args]);
      assert.equal(code, 2);
      assert.match(stderr, text);
    });
  }

  it('an index that is not there is an error that names it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'serval-gpu-'));
    const args = ['gpu', 'install', '--to', folder, '--index-url', 'http://127.0.0.1:1/simple'];
    const { code, stderr } = await runServal(args);
    rmSync(folder, { recursive: true });
    assert.equal(code, 1);
    assert.match(stderr, /nvidia-cuda-runtime 13\.0\.96: no index has .*127\.0\.0\.1:1/);
  });
});
