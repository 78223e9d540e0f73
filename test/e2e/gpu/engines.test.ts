// ONNX files whose nodes contain TensorRT engines (EPContext), over a runtime that runs them on the
// CPU (fake_contexts.h): where they run, from which files, and why one is not served.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { onnxruntimeLibrary } from '../../../ts/engine/binding.js';
import { encodeModel, int64Bytes, type OnnxAttribute } from '../../../ts/importers/onnx/builder.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { processesOf } from '../isolation/support.js';
import { infer, logLines, put, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { buildLibrary, NATIVE, noCompiler } from './fake-libraries.js';

const HALF = join(packageRoot(), 'examples', 'models', 'half_plus_three', '123', 'model.onnx');
const ENGINE = Buffer.concat([Buffer.from('ftrt'), readFileSync(HALF)]);
const TENSORRT = 'TensorrtExecutionProvider';
const ONLY_ON = 'which runs on TensorRT only (serval gpu install --tensorrt)';

type Attributes = Readonly<Record<string, OnnxAttribute>>;

/** y = EPContext(x). `guarded`: followed by an operator for which the model is rewritten. */
function contextModel(attributes: Attributes, guarded = false): Uint8Array {
  const value = { type: 'float', shape: ['n'] } as const;
  const engine = { op: 'EPContext', name: 'N', domain: 'com.microsoft', attributes, inputs: ['x'] };
  const top = { op: 'TopK', name: 'T', inputs: ['h', 'k'], outputs: ['y', 'places'] };
  const k = { name: 'k', type: 'int64', dims: [1], data: int64Bytes([1]) } as const;
  return encodeModel({
    opsets: { '': 17, 'com.microsoft': 1 },
    graph: {
      name: 'g',
      inputs: [{ ...value, name: 'x' }],
      outputs: [{ ...value, name: 'y' }],
      nodes: [{ ...engine, outputs: [guarded ? 'h' : 'y'] }, ...(guarded ? [top] : [])],
      initializers: guarded ? [k] : [],
    },
  });
}

const byFile = (file: string, source = TENSORRT): Attributes => ({
  embed_mode: { int: 0 },
  ep_cache_context: { string: file },
  ...(source === '' ? {} : { source: { string: source } }),
});
const embedded: Attributes = {
  embed_mode: { int: 1 },
  ep_cache_context: { string: ENGINE },
  source: { string: TENSORRT },
};

describe('ONNX files of TensorRT engines', { skip: noCompiler }, () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-engines-'));
  const at = (name: string): string => join(root, name);
  const [driver, gpu, bare, models] = ['driver', 'gpu', 'bare', 'models'].map(at) as [
    string,
    string,
    string,
    string,
  ];

  const add = (name: string, model: Uint8Array, config = ''): string => {
    const folder = join(models, name, '1');
    put(join(folder, 'model.onnx'), model);
    if (config !== '') put(join(models, name, 'config.pbtxt'), config);
    return folder;
  };

  before(() => {
    buildLibrary(driver, 'libcuda.so.1', 'fake_cuda.cc');
    for (const folder of [gpu, bare]) {
      buildLibrary(folder, 'libonnxruntime.so.1', 'fake_gpu_runtime.cc', NATIVE);
      buildLibrary(folder, 'libcudart.so.13', 'fake_cudart.cc');
      writeFileSync(join(folder, 'libonnxruntime_providers_cuda.so'), '');
    }
    buildLibrary(gpu, 'libnvinfer.so.10');
    writeFileSync(join(gpu, 'libonnxruntime_providers_tensorrt.so'), '');

    put(join(add('by_file', contextModel(byFile('engines/e.engine'))), 'engines/e.engine'), ENGINE);
    put(join(add('guarded', contextModel(byFile('e.engine'), true)), 'e.engine'), ENGINE);
    put(join(add('no_source', contextModel(byFile('e.engine', ''))), 'e.engine'), ENGINE);
    add('embedded', contextModel(embedded));
    add('plain', readFileSync(HALF));

    put(join(add('on_cpu', contextModel(byFile('e')), KIND_CPU), 'e'), ENGINE);
    put(join(models, 'outside', 'e'), ENGINE);
    add('outside', contextModel(byFile('../e')));
    add('absolute', contextModel(byFile(join(models, 'outside', 'e'))));
    symlinkSync('../../outside/e', join(add('linked', contextModel(byFile('e'))), 'e'));
    add('absent', contextModel(byFile('engines/e.engine')));
    add('qnn', contextModel(byFile('e', 'QNNExecutionProvider')));
    put(join(add('no_engine', contextModel(byFile('e'))), 'e'), 'no engine');
  });
  after(() => rmSync(root, { recursive: true }));

  const KIND_CPU = 'instance_group { kind: KIND_CPU }';
  const SERVED = ['by_file', 'guarded', 'no_source', 'embedded', 'plain'] as const;
  const REFUSED = [
    'on_cpu',
    'outside',
    'absolute',
    'linked',
    'absent',
    'qnn',
    'no_engine',
  ] as const;
  type Lines = ReadonlyMap<unknown, Readonly<Record<string, unknown>>>;

  /** The log lines about each model, once all are settled. */
  const outcome = async (server: ServalProcess): Promise<Lines> => {
    const told = (): Lines =>
      new Map(
        logLines(server)
          .filter(({ message }) => /^model (failed to load|loaded)$/.test(`${message}`))
          .map((line) => [line['model'], line]),
      );
    await until('all to settle', () => told().size === SERVED.length + REFUSED.length);
    return told();
  };
  const withServer = async (
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    use: (server: ServalProcess, lines: Lines) => Promise<void>,
  ): Promise<void> => {
    const quick = ['--load-retry-interval-micros', '3600000000', '--log-format', 'json'];
    const always = ['--model-repository', models, '--strict-readiness', 'false', ...quick];
    const server = await startServer([...always, ...args], env);
    try {
      await use(server, await outcome(server));
    } finally {
      await server.stop();
    }
  };
  const runtime = (folder: string): readonly string[] => [
    '--onnxruntime-library',
    join(folder, 'libonnxruntime.so.1'),
  ];
  const env = { LD_LIBRARY_PATH: driver, FAKE_ORT_REAL: onnxruntimeLibrary(undefined) };
  const answers = async (server: ServalProcess, model: string): Promise<void> => {
    const response = await infer(server, model, v2Body('x', [1, 2]));
    assert.equal(response.status, 200, `${model}: ${String(response.body)}`);
    assert.deepEqual(v2Values(response), [3.5, 4], model);
  };
  const file = (model: string): string => join(models, model, '1', 'model.onnx');
  const holds = (model: string, source = TENSORRT): string =>
    `model file ${file(model)}: node 'N' (EPContext) holds an engine of ${source}`;
  const outsideFolder = "expected a file in the model's folder, by a path without '..'";

  it('run on TensorRT, in their process, from their own folder', async () => {
    const cache = ['--model-cache', at('cache')];
    await withServer([...runtime(gpu), ...cache], env, async (server, lines) => {
      for (const model of SERVED) {
        const { providers, why, reason } = lines.get(model) ?? {};
        if (model !== 'plain') {
          const expected = ['tensorrt, cuda', 'holds TensorRT engines (EPContext)'];
          assert.deepEqual([providers, why], expected, String(reason));
        }
        await answers(server, model);
      }
      const pids = processesOf(server);
      assert.equal(pids.length, 1);
      process.kill(pids[0] ?? 0, 'SIGKILL');
      for (const model of SERVED) {
        await until(`${model} to be loaded again`, async () => {
          const { status } = await infer(server, model, v2Body('x', [1, 2]));
          return status === 200;
        });
      }
    });
  });

  it('report the file and the fault if one cannot run; the others serve', async () => {
    await withServer([...runtime(gpu), '--isolate', 'none'], env, async (server, lines) => {
      const reason = (model: string): string => String(lines.get(model)?.['reason']);
      const expected: Readonly<Record<(typeof REFUSED)[number], string>> = {
        on_cpu: `${holds('on_cpu')}, ${ONLY_ON}: expected no KIND_CPU in its configuration`,
        outside: `${holds('outside')} in the file '../e': ${outsideFolder}`,
        absolute: `${holds('absolute')} in the file '${join(models, 'outside', 'e')}': ${outsideFolder}`,
        linked: `${holds('linked')} in the file 'e': is a link out of the model's folder`,
        absent: `${holds('absent')} in the file 'engines/e.engine': No such file or directory (${join(models, 'absent', '1', 'engines', 'e.engine')})`,
        qnn: `${holds('qnn', 'QNNExecutionProvider')}: no provider of this server runs that: it needs qnn, which this ONNX Runtime library does not have; it has ${TENSORRT}, CUDAExecutionProvider, CPUExecutionProvider`,
        no_engine: `model file ${file('no_engine')}: TensorRT EP could not deserialize engine`,
      };
      for (const model of REFUSED) assert.equal(reason(model), expected[model]);
      for (const model of SERVED) await answers(server, model);
    });
  });

  it('are errors without TensorRT, and where others are chosen for all models', async () => {
    const got = (providers: string): string =>
      `expected tensorrt among the model's providers, got ${providers}: serval gpu install --tensorrt`;
    for (const [args, why] of [
      [runtime(bare), `, ${ONLY_ON}: TensorRT is not installed`],
      [[...runtime(gpu), '--providers', 'cuda'], `: ${got('cuda')}`],
      [[...runtime(gpu), '--providers', 'cpu'], `: ${got('cpu')}`],
      [[], `: ${got('cpu')}`],
    ] as const) {
      const own = args.length === 0 ? { SERVAL_GPU_FOLDER: at('nothing') } : env;
      await withServer(args, own, async (server, lines) => {
        for (const model of ['by_file', 'guarded', 'embedded']) {
          assert.equal(lines.get(model)?.['reason'], `${holds(model)}${why}`, args.join(' '));
        }
        await answers(server, 'plain');
      });
    }
  });
});
