// The conclusion of `serval doctor`: the first obstacle and its remedy.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { packageRoot } from '../../../../ts/base/package-files.js';
import { GPU_LIBRARIES } from '../../../../ts/models/placement/libraries.js';
import { CUDA_WHEELS, TENSORRT_WHEELS } from '../../../../ts/models/placement/wheels.js';
import {
  concluded,
  cudaVersion,
  doctorText,
  type Findings,
} from '../../../../ts/cli/gpu/doctor.js';

const WHOLE: Findings = {
  driver: { reason: '', cuda: '13.0', module: '580.65.06', init: 0 },
  devices: [{ name: 'NVIDIA H100', memoryBytes: 85_899_345_920, capability: '9.0' }],
  folder: { path: '/gpu', state: 'onnxruntime-gpu 1.30.0', sources: [] },
  runtime: '/gpu/libonnxruntime.so.1.30.0',
  libraries: GPU_LIBRARIES.map((one) => ({
    ...one,
    optional: one.optional === true,
    from: `/gpu/${one.soname}`,
    reason: '',
  })),
  providers: [
    { name: 'tensorrt', loads: true, reason: '' },
    { name: 'cuda', loads: true, reason: '' },
    { name: 'cpu', loads: true, reason: '' },
  ],
};
const onlyCpu = WHOLE.providers.map((one) => ({ ...one, loads: one.name === 'cpu' }));
const without = (soname: string): Findings => ({
  ...WHOLE,
  providers: onlyCpu,
  libraries: WHOLE.libraries.map((one) =>
    one.soname === soname
      ? { ...one, from: undefined, reason: 'cannot open shared object file' }
      : one,
  ),
});

test('a whole machine', () => {
  const { verdict, exitCode } = concluded(WHOLE);
  assert.deepEqual(verdict, [
    'verdict: models run on 1 GPU (NVIDIA H100) with CUDA and TensorRT',
    'next: serval serve PATH',
  ]);
  assert.equal(exitCode, 0);
});

test('reports a usable GPU without TensorRT', () => {
  const providers = WHOLE.providers.map((one) => ({ ...one, loads: one.name !== 'tensorrt' }));
  const { verdict, exitCode } = concluded({ ...WHOLE, providers });
  assert.match(verdict[0], /with CUDA$/);
  assert.match(verdict[1], /serval gpu install --tensorrt/);
  assert.equal(exitCode, 0);
});

test('names the first obstacle with its remedy', () => {
  const { driver } = WHOLE;
  const cases: readonly (readonly [Partial<Findings>, RegExp, RegExp])[] = [
    [{ driver: { ...driver, reason: 'no file' } }, /no driver is installed/, /driver 580/],
    [{ driver: { ...driver, init: 100 }, devices: [] }, /no device \(cuInit: 100\)/, /nvidia-smi/],
    [{ driver: { ...driver, cuda: '12.8' } }, /for CUDA 12\.8, expected 13\.0/, /driver 580/],
    [without('libcudnn.so.9'), /missing: libcudnn\.so\.9$/, /gpu adopt DIR, .*gpu install$/],
    [without('libcufft.so.12'), /the CUDA provider does not load/, /serval gpu install$/],
  ];
  for (const [changes, why, remedy] of cases) {
    const { verdict, exitCode } = concluded({ ...WHOLE, providers: onlyCpu, ...changes });
    assert.match(verdict[0], /^verdict: models run on the CPU: /);
    assert.match(verdict[0], why);
    assert.match(verdict[1], remedy);
    assert.equal(exitCode, 1);
  }
});

test('prints a line for each check', () => {
  const text = doctorText(concluded(without('libcudnn.so.9')));
  assert.match(text, /^driver {5}580\.65\.06, CUDA 13\.0$/m);
  assert.match(text, /^device 0 {3}NVIDIA H100, 80\.0 GiB, compute capability 9\.0$/m);
  assert.match(text, /^library {4}libcudnn\.so\.9 +missing: part of nvidia-cudnn-cu13$/m);
  assert.match(text, /^library {4}libcudart\.so\.13 +\/gpu\/libcudart\.so\.13$/m);
  assert.equal(text.match(/^library/gm)?.length, GPU_LIBRARIES.length);
});

test('versions of CUDA', () => {
  assert.deepEqual([13_000, 12_080, 0].map(cudaVersion), ['13.0', '12.8', '']);
});

test('the GPU guide lists each pinned package', () => {
  const page = readFileSync(join(packageRoot(), 'docs', 'guides', 'gpu.md'), 'utf8');
  for (const { package: name, version } of [...CUDA_WHEELS, ...TENSORRT_WHEELS]) {
    assert.ok(page.includes(`\n| ${name} | ${version} | `), name);
  }
});

test('each library comes from a pinned package', () => {
  const wheels = [...CUDA_WHEELS, ...TENSORRT_WHEELS];
  for (const { soname, package: name } of GPU_LIBRARIES) {
    const wheel = wheels.find((one) => one.package === name);
    const path = name.startsWith('tensorrt') ? `tensorrt_libs/${soname}` : `nvidia/lib/${soname}`;
    assert.match(path, wheel?.wanted ?? /^$/, name);
  }
  for (const { file, version, sha256 } of wheels) {
    assert.ok(file.includes(`-${version}-`), file);
    assert.match(sha256, /^[0-9a-f]{64}$/);
  }
});

test('says from where libraries were adopted, and notices when that place is gone or changed', () => {
  const from = '/opt/venv';
  const withSource = (exists: boolean, broken: readonly string[]): Findings => ({
    ...without('libcudnn.so.9'),
    folder: { ...WHOLE.folder, sources: [{ from, exists, broken }] },
  });
  const { folder } = withSource(true, []);
  assert.match(doctorText(concluded({ ...WHOLE, folder })), /^adopted +from \/opt\/venv$/m);
  const gone = concluded(withSource(false, ['libcudnn.so.9']));
  assert.match(gone.verdict[0], /: \/opt\/venv, which was adopted, is gone: libcudnn\.so\.9$/);
  assert.match(gone.verdict[1], /^next: serval gpu adopt DIR with its new place/);
  assert.match(doctorText(gone), /^adopted +\/opt\/venv, which was adopted, is gone: serval gpu/m);
  const changed = concluded(withSource(true, ['libcudnn.so.9']));
  assert.match(changed.verdict[0], /which was adopted, has changed: libcudnn\.so\.9$/);
});
