// CUDA shared memory with Triton's unmodified Python clients: the steps of its examples, over HTTP
// and gRPC, against models on a GPU (in the server, and in its device's process) and on the CPU.
// Over stand-ins it also checks which copies were made, and that no handle stays open. Test time
// only.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { encodeModel, type OnnxModel } from '../../ts/importers/onnx/builder.js';
import { buildLibrary } from '../e2e/gpu/fake-libraries.js';
import { metric } from '../e2e/support/operating.js';
import { until } from '../e2e/support/polling.js';
import { findPerfAnalyzer, findPython, runPythonSuite } from '../e2e/support/python-suites.js';
import { exchange } from '../e2e/support/raw-http.js';
import { simpleModel } from '../e2e/shared-memory/simple-model.js';
import { cudaEnv, GpuServer, machineOf, ON_CPU, onGpu } from './machine.js';

const machine = machineOf();
const SUITES = ['cuda_shared_memory.test_http', 'cuda_shared_memory.test_grpc'];

const port = (name: string, dim: string) => ({ name, type: 'float', shape: [dim] }) as const;
const constant = (name: string, value: number) =>
  ({ name, type: 'float', dims: [], data: new Uint8Array(Float32Array.of(value).buffer) }) as const;

const HALF: OnnxModel = {
  graph: {
    name: 'half',
    inputs: [port('x', 'n')],
    outputs: [port('y', 'n')],
    initializers: [constant('half', 0.5), constant('three', 3)],
    nodes: [
      { op: 'Mul', inputs: ['x', 'half'], outputs: ['h'] },
      { op: 'Add', inputs: ['h', 'three'], outputs: ['y'] },
    ],
  },
};
const CHOSEN: OnnxModel = {
  graph: {
    name: 'chosen',
    inputs: [port('x', 'n')],
    outputs: [port('y', 'm')],
    initializers: [],
    nodes: [
      { op: 'Cast', inputs: ['x'], outputs: ['b'], attributes: { to: { int: 9 } } },
      { op: 'Compress', inputs: ['x', 'b'], outputs: ['y'] },
    ],
  },
};

const NEGATED: OnnxModel = {
  graph: {
    name: 'negated',
    inputs: [{ ...port('x', 'n'), type: 'int64' }],
    outputs: [{ ...port('y', 'n'), type: 'int64' }],
    initializers: [],
    nodes: [{ op: 'Neg', inputs: ['x'], outputs: ['y'] }],
  },
};
/** Tests of the suites in which every tensor is in a region on the models' own device. */
const ON_THE_DEVICE = ['test_example', 'test_places_in', 'test_shapes', 'test_int64', 'test_many'];

/** The stand-in CUDA runtime's report about a process. */
function reportOf(folder: string, pid: number): ReadonlyMap<string, number> {
  const file = join(folder, String(pid));
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** Standard output of perf_analyzer, whose CUDA runtime has another version than the server's. */
async function analyzed(program: string, args: readonly string[]): Promise<string> {
  const beside = join(dirname(program), 'lib');
  const folder = mkdtempSync(join(tmpdir(), 'serval-cudart12-'));
  try {
    if (machine.isFake) buildLibrary(folder, 'libcudart.so.12', 'fake_cudart.cc');
    const env = { ...process.env, LD_LIBRARY_PATH: `${folder}:${beside}` };
    const options = { timeout: 120_000, env };
    const { stdout } = await promisify(execFile)(`${program}.bin`, [...args], options);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const isolate of ['device', 'none'] as const) {
  describe(`CUDA shared memory, models ${isolate === 'none' ? 'in the server' : 'in processes'}`, () => {
    const reports = mkdtempSync(join(tmpdir(), 'serval-cuda-reports-'));
    const gpu = new GpuServer({ FAKE_CUDA_REPORT: reports });
    const { python, missing } = findPython();
    before(async () => {
      for (const [suffix, config] of [
        ['gpu', onGpu('cuda')],
        ['cpu', ON_CPU],
      ] as const) {
        gpu.add(`half_${suffix}`, encodeModel(HALF), config);
        gpu.add(`chosen_${suffix}`, encodeModel(CHOSEN), config);
        gpu.add(`negated_${suffix}`, encodeModel(NEGATED), config);
        const batched = 'max_batch_size: 8 dynamic_batching { }';
        gpu.add(`simple_${suffix}`, encodeModel(simpleModel()), `${batched} ${config}`);
      }
      const where = ['--isolate', isolate === 'none' ? 'none' : 'half_cpu,chosen_cpu'];
      await gpu.start('--allow-client-shm=true', ...where);
    });
    after(async () => {
      await gpu.stop();
      rmSync(reports, { recursive: true, force: true });
    });
    /** Copies between host and device, in all processes that run models. */
    const hostCopies = (): number => {
      const pids = readdirSync(reports).map(Number).filter(Number.isInteger);
      const told = pids.map((pid) => reportOf(reports, pid));
      const both = (one: ReadonlyMap<string, number>): number =>
        (one.get('to device') ?? 0) + (one.get('from device') ?? 0);
      return told.reduce((sum, one) => sum + both(one), 0);
    };
    /** The count once the runs of earlier tests have ended, whose clients may have left. */
    const settledCopies = async (): Promise<number> => {
      let [seen, times] = [-1, 0];
      await until('no more copies', () => {
        const now = hostCopies();
        times = now === seen ? times + 1 : 0;
        seen = now;
        return times >= 10;
      });
      return seen;
    };
    const env = (): NodeJS.ProcessEnv => ({
      ...cudaEnv(),
      SERVAL_CUDA_MODELS: 'gpu,cpu',
      SERVAL_CUDA_DEVICES: String(machine.devices),
      ...(isolate === 'device' && { SERVAL_CUDA_PROCESSES: '1' }),
    });

    for (const suite of SUITES) {
      it(suite, async (context) => {
        if (missing !== '') return context.skip(missing);
        await runPythonSuite(context, python, suite, gpu.server, env());
        assert.ok(gpu.server.running, gpu.server.stderr);
      });
    }

    it('no byte of a model on a GPU goes through the host', async (context) => {
      if (!machine.isFake) return context.skip('the real runtime does not tell');
      if (missing !== '') return context.skip(missing);
      const before = await settledCopies();
      for (const [i, test] of ON_THE_DEVICE.entries()) {
        const more = { ...env(), SERVAL_CUDA_MODELS: 'gpu', SERVAL_PYTHON_TESTS: test };
        await runPythonSuite(context, python, SUITES[i % 2] ?? '', gpu.server, more);
        assert.equal(hostCopies(), before, `${test}: ${gpu.server.stderr}`);
      }
    });

    for (const protocol of ['http', 'grpc'] as const) {
      it(`perf_analyzer --shared-memory cuda, ${protocol}`, async (context) => {
        const { program, missing: why } = findPerfAnalyzer();
        if (why !== '') return context.skip(why);
        const to = protocol === 'http' ? gpu.server.httpPort : gpu.server.grpcPort;
        const shared = ['--shared-memory', 'cuda', '--output-shared-memory-size', '4096'];
        const load = ['--shape', 'x:64', '--concurrency-range', '4', '--request-count', '400'];
        const args = ['-m', 'half_gpu', '-i', protocol, '-u', `127.0.0.1:${to}`];
        const before = hostCopies();
        const report = await analyzed(program, [...args, ...shared, ...load]);
        const requests = Number(/Request count: *(\d+)/.exec(report)?.[1] ?? 0);
        assert.ok(requests > 0, report);
        if (machine.isFake) assert.equal(hostCopies(), before, report);
      });
    }

    it('works on when the process of the device was killed', async (context) => {
      if (missing !== '') return context.skip(missing);
      if (isolate === 'none') return context.skip('there is none');
      const pid = await metric(gpu.server, 'serval_isolated_pid', 'device="0"');
      process.kill(pid, 'SIGKILL');
      const isReady = async (): Promise<boolean> => {
        const now = await metric(gpu.server, 'serval_isolated_pid', 'device="0"');
        const { status } = await exchange(
          gpu.server.httpPort,
          'GET',
          '/v2/models/simple_gpu/ready',
        );
        return now !== pid && now !== 0 && status === 200;
      };
      await until('another process', isReady);
      const more = { ...env(), SERVAL_PYTHON_TESTS: 'test_example' };
      const [suite = ''] = SUITES;
      await runPythonSuite(context, python, suite, gpu.server, more);
    });

    it('leaves no handle open', async (context) => {
      if (!machine.isFake) return context.skip('the real runtime does not tell');
      if (missing !== '') return context.skip(missing);
      const pids = [gpu.server.ready?.pid ?? 0];
      if (isolate === 'device') {
        pids.push(await metric(gpu.server, 'serval_isolated_pid', 'device="0"'));
      }
      for (const pid of pids) {
        const opened = reportOf(reports, pid).get('cudaIpcOpenMemHandle') ?? 0;
        assert.ok(opened > 0, `${pid} opened some`);
        await until(`${pid} to close all`, () => reportOf(reports, pid).get('ipc open') === 0);
      }
    });
  });
}
