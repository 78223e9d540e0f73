// `serval gpu adopt`: which libraries of which environments are accepted, how they are placed, and
// what is refused.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { adoptedSources, readGpuFolder } from '../../../../ts/engine/gpu-folder.js';
import { adopt, type AdoptOptions } from '../../../../ts/cli/gpu/adopt/adopt.js';
import { install } from '../../../../ts/cli/gpu/install/install.js';
import { Progress } from '../../../../ts/cli/gpu/install/progress.js';
import { CUDA_WHEELS, TENSORRT_WHEELS } from '../../../../ts/models/placement/wheels.js';
import { zipOf } from '../../importers/plan/archive/archives.js';
import { tempFolder } from '../../temp-folder.js';
import {
  cudaPackages,
  installPackages,
  runtimePackage,
  sharedLibrary,
  tensorrtPackage,
  writeFiles,
  type FakePackage,
} from './fake-environment.js';
import { indexServer, wheelOf } from './index-server.js';

const WHOLE = [...cudaPackages(), runtimePackage()];
const CUDA_FILES = [
  ...['libcublas.so.13', 'libcublasLt.so.13', 'libcudart.so.13', 'libcudnn.so.9'],
  ...['libcudnn_cnn.so.9', 'libcudnn_engines_precompiled.so.9', 'libcudnn_graph.so.9'],
  ...['libcudnn_ops.so.9', 'libcufft.so.12', 'libcurand.so.10', 'libnvrtc-builtins.so.13.0'],
  ...['libnvrtc.so.13', 'libonnxruntime.so.1.30.0', 'libonnxruntime_providers_cuda.so'],
  ...['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_tensorrt.so'],
];
const UNREACHABLE = 'http://127.0.0.1:1/simple';

interface Setup {
  readonly env: string;
  readonly site: string;
  readonly folder: string;
  readonly lines: string[];
  readonly run: (changes?: Partial<AdoptOptions>) => Promise<number>;
}

function setUp(context: TestContext, packages: readonly FakePackage[]): Setup {
  const root = tempFolder(context);
  const env = join(root, 'env');
  const site = join(env, 'lib', 'python3.12', 'site-packages');
  installPackages(site, packages);
  const folder = join(root, 'gpu');
  const lines: string[] = [];
  const run: Setup['run'] = (changes = {}) =>
    adopt({
      ...{ dir: env, folder, cuda: CUDA_WHEELS, tensorrt: TENSORRT_WHEELS },
      ...{ needTensorrt: false, onnxruntime: undefined, copy: false, dryRun: false },
      ...{ indexes: [UNREACHABLE], env: {}, pauseMs: 1 },
      progress: new Progress({ write: () => true }),
      say: (line) => lines.push(line),
      ...changes,
    });
  return { env, site, folder, lines, run };
}

const librariesIn = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => name.startsWith('lib'));

test('links to the libraries of an environment, its site-packages or its folder nvidia', async (context) => {
  for (const below of [
    '.',
    'lib/python3.12/site-packages',
    'lib/python3.12/site-packages/nvidia',
  ]) {
    const { env, site, folder, run } = setUp(context, WHOLE);
    assert.equal(await run({ dir: join(env, below) }), 7);
    assert.deepEqual(librariesIn(folder), CUDA_FILES);
    const cudart = join(folder, 'libcudart.so.13');
    assert.ok(lstatSync(cudart).isSymbolicLink());
    assert.ok(!lstatSync(join(folder, 'libonnxruntime.so.1.30.0')).isSymbolicLink());
    assert.deepEqual(
      readFileSync(cudart),
      readFileSync(join(site, 'nvidia/cu13/lib/libcudart.so.13')),
    );
    assert.equal(
      readFileSync(join(folder, 'LICENSE.nvidia-cublas'), 'utf8'),
      'licence of nvidia-cublas',
    );
    const found = readGpuFolder(folder);
    assert.deepEqual(found?.broken, []);
    assert.equal(found?.runtime, join(folder, 'libonnxruntime.so.1.30.0'));
    assert.deepEqual(
      found?.packages.map(({ name, version, from }) => [name, version, from]),
      CUDA_WHEELS.map((wheel) => [wheel.package, wheel.version, join(env, below)]),
    );
  }
});

test('copies on request, and then needs the environment no more', async (context) => {
  const { env, folder, run } = setUp(context, WHOLE);
  assert.equal(await run(), 7);
  assert.equal(await run({ copy: true }), 7);
  rmSync(env, { recursive: true });
  assert.ok(!lstatSync(join(folder, 'libcudart.so.13')).isSymbolicLink());
  assert.deepEqual(readGpuFolder(folder)?.broken, []);
});

test('a second run changes nothing, and --dry-run never does', async (context) => {
  const { folder, lines, run } = setUp(context, WHOLE);
  assert.equal(await run({ dryRun: true }), 7);
  assert.ok(!existsSync(folder));
  assert.match(lines[0] ?? '', /^nvidia-cuda-runtime +13\.0\.96, \/.*\/nvidia\/cu13\/lib$/);
  await run();
  const before = lstatSync(join(folder, 'libcudart.so.13')).ino;
  assert.equal(await run(), 0);
  assert.equal(lstatSync(join(folder, 'libcudart.so.13')).ino, before);
});

test('follows an environment that was updated, and removes what it no longer has', async (context) => {
  const { site, folder, lines, run } = setUp(context, WHOLE);
  await run();
  const lib = join(site, 'nvidia/cu13/lib');
  rmSync(join(lib, 'libnvrtc-builtins.so.13.0'));
  rmSync(join(site, 'nvidia_cuda_nvrtc-13.0.88.dist-info'), { recursive: true });
  const newer = sharedLibrary({ soname: 'libnvrtc-builtins.so.13.2' });
  const nvrtc = readFileSync(join(lib, 'libnvrtc.so.13'));
  installPackages(site, [
    {
      name: 'nvidia-cuda-nvrtc',
      version: '13.2.51',
      files: {
        'nvidia/cu13/lib/libnvrtc.so.13': nvrtc,
        'nvidia/cu13/lib/libnvrtc-builtins.so.13.2': newer,
      },
    },
  ]);
  assert.deepEqual(readGpuFolder(folder)?.broken, [
    'libnvrtc-builtins.so.13.0',
    'LICENSE.nvidia-cuda-nvrtc',
  ]);
  lines.length = 0;
  assert.equal(await run(), 1);
  assert.match(lines.join('\n'), /13\.2\.51, .*\(warning: newer than 13\.0\.88, with which/);
  assert.ok(!librariesIn(folder).includes('libnvrtc-builtins.so.13.0'));
  assert.deepEqual(readGpuFolder(folder)?.broken, []);
});

test('names each library that is missing or of another CUDA, and changes nothing', async (context) => {
  const old = (name: string, version: string, path: string): FakePackage => ({
    ...{ name, version },
    files: { [path]: sharedLibrary({ soname: path.slice(path.lastIndexOf('/') + 1) }) },
  });
  const { folder, lines, run } = setUp(context, [
    old('nvidia-cuda-runtime-cu12', '12.8.90', 'nvidia/cuda_runtime/lib/libcudart.so.12'),
    old('nvidia-cudnn-cu12', '9.10.2.21', 'nvidia/cudnn/lib/libcudnn.so.9'),
    ...cudaPackages().filter(({ name }) => ['nvidia-cublas', 'nvidia-cufft'].includes(name)),
  ]);
  await assert.rejects(
    run(),
    /cannot be adopted: it lacks nvidia-cuda-runtime, nvidia-cuda-nvrtc, nvidia-curand, nvidia-cudnn-cu13; nothing was changed\. .*pip install nvidia-cuda-runtime==13\.0\.96 /,
  );
  assert.ok(!existsSync(folder));
  const lineOf = (name: string): string => lines.find((line) => line.startsWith(`${name} `)) ?? '';
  assert.match(
    lineOf('nvidia-cuda-runtime'),
    /MISSING: expected libcudart\.so\.13, 13\.0 or newer, below 14; found libcudart\.so\.12 of nvidia-cuda-runtime-cu12 12\.8\.90 in \//,
  );
  assert.match(
    lineOf('nvidia-cudnn-cu13'),
    /cudnn-cu12 9\.10\.2\.21 in \/.*, which is for CUDA 12$/,
  );
  assert.match(lineOf('nvidia-curand'), /found none$/);
  assert.match(lineOf('nvidia-cublas'), /^nvidia-cublas +13\.1\.0\.3, \//);
});

test('accepts other minor versions with a warning, and refuses older ones than CUDA 13.0', async (context) => {
  const warns = async (versions: Readonly<Record<string, string>>): Promise<string> => {
    const { lines, run } = setUp(context, [...cudaPackages(versions), runtimePackage()]);
    await run({ dryRun: true });
    return lines.filter((line) => line.includes('warning')).join('\n');
  };
  assert.equal(await warns({ 'nvidia-cuda-runtime': '13.0.48' }), '');
  assert.match(
    await warns({ 'nvidia-cudnn-cu13': '9.21.0.1' }),
    /warning: newer than 9\.19\.0\.56/,
  );
  assert.match(await warns({ 'nvidia-cublas': '13.0.0.19' }), /warning: older than 13\.1\.0\.3/);
  for (const versions of [{ 'nvidia-curand': '10.3.9.90' }, { 'nvidia-cublas': '14.0.0.1' }]) {
    await assert.rejects(warns(versions), /cannot be adopted: it lacks nvidia-cu(?:rand|blas);/);
  }
});

test('refuses files that are not what their names say', async (context) => {
  const lib = 'nvidia/cu13/lib';
  for (const [path, content, text] of [
    [
      `${lib}/libcudart.so.13`,
      sharedLibrary({ soname: 'libcudart.so.12' }),
      /libcudart\.so\.13: expected this soname, got libcudart\.so\.12/,
    ],
    [`${lib}/libcublas.so.13`, 'half of it', /libcublas\.so\.13: expected \d+ bytes, got 10/],
    [
      `${lib}/libcurand.so.10`,
      sharedLibrary({ soname: 'libcurand.so.10', machine: 183 }),
      /is for aarch64/,
    ],
  ] as const) {
    const { site, lines, run } = setUp(context, WHOLE);
    writeFileSync(join(site, path), content);
    await assert.rejects(run(), /cannot be adopted/);
    assert.match(lines.join('\n'), text);
  }
});

test('optional libraries may be absent; --tensorrt requires TensorRT', async (context) => {
  const some = WHOLE.filter(({ name }) => name !== 'nvidia-cufft');
  const without = setUp(context, some);
  assert.equal(await without.run(), 6);
  assert.match(without.lines.join('\n'), /nvidia-cufft +not adopted, optional: .*found none/);
  await assert.rejects(without.run({ needTensorrt: true }), /lacks tensorrt-cu13-libs/);
  const { folder, run } = setUp(context, [...WHOLE, tensorrtPackage()]);
  assert.equal(await run({ needTensorrt: true }), 8);
  const names = librariesIn(folder).filter((name) => name.startsWith('libnv'));
  assert.deepEqual(names, [
    ...['libnvinfer.so.10', 'libnvinfer_builder_resource_sm90.so.10.16.1'],
    ...['libnvinfer_plugin.so.10', 'libnvonnxparser.so.10'],
    ...['libnvrtc-builtins.so.13.0', 'libnvrtc.so.13'],
  ]);
});

test('downloads only ONNX Runtime if the environment has no usable one', async (context) => {
  const { folder, lines, run } = setUp(context, [...cudaPackages(), runtimePackage('1.22.0')]);
  await assert.rejects(run(), /without a network, fetch it elsewhere .*pass --onnxruntime onnx/);
  const index = await indexServer(context);
  const files = Object.entries(runtimePackage().files).map(([name, content]) => ({
    name,
    content,
  }));
  const real = CUDA_WHEELS.find((wheel) => wheel.package === 'onnxruntime-gpu');
  assert.ok(real !== undefined);
  const { wheel, bytes } = wheelOf('onnxruntime-gpu', files, real.wanted);
  const pinned = { ...wheel, version: '1.30.0', least: '1.30.0' };
  index.files.set(wheel.file, bytes);
  const cuda = CUDA_WHEELS.map((one) => (one === real ? pinned : one));
  lines.length = 0;
  assert.equal(await run({ cuda, indexes: [index.url] }), 1);
  assert.match(lines.join('\n'), /onnxruntime-gpu +1\.30\.0, to be downloaded \(\d/);
  assert.deepEqual(index.asked, [
    'GET /simple/onnxruntime-gpu/',
    `GET /files/${wheel.file}`,
    `GET /store/${wheel.file}`,
  ]);
  assert.deepEqual(librariesIn(folder), CUDA_FILES);
  assert.equal(await run({ cuda, indexes: [index.url] }), 0);
});

test('--onnxruntime names a folder, or a wheel that was fetched elsewhere', async (context) => {
  const { env, site, folder, run } = setUp(context, WHOLE);
  const capi = join(env, 'elsewhere');
  cpSync(join(site, 'onnxruntime', 'capi'), capi, { recursive: true });
  rmSync(join(site, 'onnxruntime'), { recursive: true });
  assert.equal(await run({ onnxruntime: capi }), 7);
  const packages = (): readonly (readonly [string, string | undefined])[] =>
    readGpuFolder(folder)?.packages.map(({ name, from }) => [name, from] as const) ?? [];
  assert.deepEqual(packages().at(-1), ['onnxruntime-gpu', capi]);

  const path = join(env, 'onnxruntime_gpu-1.30.0-cp311-cp311-manylinux_2_28_x86_64.whl');
  const entries = Object.entries(runtimePackage().files).map(([name, content]) => ({
    name,
    content,
  }));
  writeFileSync(path, zipOf(entries));
  assert.equal(await run({ onnxruntime: path }), 1);
  assert.deepEqual(packages().at(-1), ['onnxruntime-gpu', path]);
  assert.ok(!lstatSync(join(folder, 'libonnxruntime.so.1.30.0')).isSymbolicLink());
  assert.deepEqual(librariesIn(folder), CUDA_FILES);
  assert.equal(await run({ onnxruntime: path }), 0);
});

test('--onnxruntime refuses another version, another CUDA and another hash', async (context) => {
  const { env, site, run } = setUp(context, [
    ...cudaPackages(),
    runtimePackage('1.30.0', ['libcublas.so.12']),
  ]);
  await assert.rejects(
    run({ onnxruntime: env }),
    /providers_cuda\.so is built for libcublas\.so\.12/,
  );
  await assert.rejects(run({ onnxruntime: join(env, 'none') }), /none does not exist/);
  const wheel = (name: string): string => {
    const path = join(site, name);
    writeFileSync(path, zipOf([{ name: 'onnxruntime/capi/x', content: 'x' }]));
    return path;
  };
  const other = wheel('onnxruntime_gpu-1.22.0-cp311-cp311-manylinux_2_28_x86_64.whl');
  await assert.rejects(run({ onnxruntime: other }), /expected a wheel onnxruntime_gpu-1\.30\.0-/);
  const pinned = wheel(CUDA_WHEELS.at(-1)?.file ?? '');
  await assert.rejects(run({ onnxruntime: pinned }), /expected sha256 6acc0f4b\w+, got \w{64}/);
  const empty = wheel('onnxruntime_gpu-1.30.0-cp311-cp311-manylinux_2_28_x86_64.whl');
  await assert.rejects(run({ onnxruntime: empty }), /contains none of the expected files/);
});

test('a conda environment and an installation of CUDA', async (context) => {
  const root = tempFolder(context);
  const libraries = [...cudaPackages(), runtimePackage()].flatMap(({ files }) =>
    Object.entries(files),
  );
  const flat = (below: string) =>
    Object.fromEntries(
      libraries.map(([path, content]) => [`${below}/${path.split('/').at(-1)}`, content]),
    );
  const conda = join(root, 'conda');
  writeFiles(conda, flat('lib'));
  const meta = (
    name: string,
    version: string,
    files: readonly string[],
    depends: readonly string[],
  ) => ({
    [`conda-meta/${name}-${version}-0.json`]: JSON.stringify({ name, version, files, depends }),
  });
  writeFiles(conda, {
    ...meta('libcublas', '13.1.0.3', ['lib/libcublas.so.13', 'lib/libcublasLt.so.13'], []),
    ...meta('cudnn', '9.19.0.56', ['lib/libcudnn.so.9'], ['cuda-version >=12,<13.0a0']),
  });
  const { lines, run } = setUp(context, []);
  const more = { dir: conda, dryRun: true };
  await assert.rejects(run(more), /it lacks nvidia-cudnn-cu13;/);
  assert.match(
    lines.join('\n'),
    /libcudnn\.so\.9 of cudnn 9\.19\.0\.56 in .*, which is for CUDA 12/,
  );
  writeFiles(
    conda,
    meta('cudnn', '9.19.0.56', ['lib/libcudnn.so.9'], ['cuda-version >=13,<14.0a0']),
  );
  lines.length = 0;
  assert.equal(await run(more), 7);
  assert.match(lines.join('\n'), /^nvidia-cublas +13\.1\.0\.3, \S+$/m);
  assert.match(lines.join('\n'), /^nvidia-curand +unknown version, .*its version is not known/m);

  const toolkit = join(root, 'cuda');
  writeFiles(toolkit, flat('targets/x86_64-linux/lib'));
  const lib = join(toolkit, 'targets/x86_64-linux/lib');
  renameSync(join(lib, 'libcurand.so.10'), join(lib, 'libcurand.so.10.4.0.35'));
  symlinkSync('libcurand.so.10.4.0.35', join(lib, 'libcurand.so.10'));
  lines.length = 0;
  assert.equal(await run({ ...more, dir: toolkit }), 7);
  assert.match(lines.join('\n'), /^nvidia-curand +10\.4\.0\.35, \S+$/m);
});

test('an environment that is gone is named, and gpu install replaces only what is broken', async (context) => {
  const { env, folder, run } = setUp(context, WHOLE);
  await run();
  const options = { folder, indexes: [UNREACHABLE], env: {}, pauseMs: 1 };
  const said: string[] = [];
  const progress = new Progress({ write: (text) => said.push(text) });
  assert.equal(await install({ ...options, wheels: CUDA_WHEELS, progress }), 0);
  assert.match(said[0] ?? '', /nvidia-cuda-runtime 13\.0\.96 is adopted from \//);
  rmSync(env, { recursive: true });
  const found = readGpuFolder(folder);
  assert.ok(found !== undefined);
  const [source] = adoptedSources(found);
  assert.deepEqual([source?.from, source?.exists], [env, false]);
  assert.ok(source?.broken.includes('libcudart.so.13'));
  await assert.rejects(
    install({ ...options, wheels: CUDA_WHEELS, progress }),
    /nvidia-cuda-runtime 13\.0\.96: no index has/,
  );
  await assert.rejects(run(), /env does not exist/);
});
