// The suite that needs a GPU; reports clearly if there is none.
//
//   node test/gpu/run.mjs [--fake] [--compiled] [PART...]
//
// PART: parts of the names of the files to run; none: all. --fake: uses libraries that the tests
// build, whose "GPU" is the CPU, to show that the suite runs. --compiled: the tests are compiled
// already. Exit code: 0 all passed, 1 something failed, 2 there is no GPU, and nothing was tested.
// bench/gpu finds its GPU here as well. Test time only.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { exitWhenWritten } from '../run/counts.mjs';
import { compileTests, compiledPath, testFilesIn } from '../run/suite.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const NO_GPU = 2;

/** Returns what models can run on, from `serval doctor`; a text if there is no GPU. */
export function realMachine() {
  const command = [join(root, 'bin', 'serval.mjs'), 'doctor', '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  let report;
  try {
    report = JSON.parse(stdout);
  } catch {
    return `serval doctor: ${stderr}`;
  }
  if (report.exitCode !== 0) return [report.verdict].flat().join(' ');
  const providers = report.providers
    .filter(({ name, loads }) => loads && name !== 'cpu')
    .map(({ name }) => name);
  const { runtime: library, devices, driver } = report;
  const names = devices.map(({ name }) => name);
  const found = { library, providers, devices: devices.length, names, driver: driver.module };
  return { ...found, isFake: false, env: {} };
}

/** Stand-ins, built in the existing folder `folder`. The tests are compiled. */
export async function fakeMachine(folder) {
  const helper = compiledPath(join(root, 'test', 'e2e', 'gpu', 'fake-libraries.ts'));
  const { buildLibrary } = await import(pathToFileURL(helper).href);
  const binding = compiledPath(join(root, 'ts', 'engine', 'binding.ts'));
  const { onnxruntimeLibrary } = await import(pathToFileURL(binding).href);
  const native = join(root, 'native');
  const flags = ['-std=c++20', `-I${native}`, `-I${join(native, 'third_party', 'onnxruntime')}`];
  buildLibrary(folder, 'libonnxruntime.so.1', 'fake_gpu_runtime.cc', flags);
  buildLibrary(folder, 'libcudart.so.13', 'fake_cudart.cc');
  // it replaces the driver's library, too
  symlinkSync('libcudart.so.13', join(folder, 'libcuda.so.1'));
  return {
    library: join(folder, 'libonnxruntime.so.1'),
    providers: ['cuda', 'tensorrt'],
    devices: 2,
    names: ['a stand-in', 'a stand-in'],
    driver: 'none',
    isFake: true,
    env: { FAKE_ORT_REAL: onnxruntimeLibrary(undefined), LD_LIBRARY_PATH: folder },
  };
}

async function main(args) {
  if (!args.includes('--compiled') && !compileTests()) return 1;
  const folder = mkdtempSync(join(tmpdir(), 'serval-fake-gpu-'));
  try {
    const machine = args.includes('--fake') ? await fakeMachine(folder) : realMachine();
    if (typeof machine === 'string') {
      process.stdout.write(`NOT TESTED, there is no GPU to test on: ${machine}\n`);
      return NO_GPU;
    }
    const { library, providers, devices, isFake } = machine;
    const on = isFake ? 'stand-ins, no GPU' : `${devices} GPUs`;
    process.stdout.write(`${on}, ${providers.join(' and ')}, ${library}\n`);
    const parts = args.filter((arg) => !arg.startsWith('--'));
    const files = testFilesIn(join(root, 'test', 'gpu'))
      .filter((file) => parts.length === 0 || parts.some((part) => basename(file).includes(part)))
      .map(compiledPath);
    if (files.length === 0) throw new Error(`no test of test/gpu is named ${parts.join(' or ')}`);
    const command = ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files];
    const env = { ...process.env, SERVAL_TEST_GPU: JSON.stringify(machine) };
    delete env.NODE_TEST_CONTEXT;
    const options = { cwd: root, env, stdio: 'inherit' };
    return spawnSync(process.execPath, command, options).status === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  exitWhenWritten(await main(process.argv.slice(2)));
}
