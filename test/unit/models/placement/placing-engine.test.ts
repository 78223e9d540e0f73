// The engine's load calls for placed models, on machines that the test defines.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { NO_BATCHING } from '../../../../ts/models/config/batching-parameters.js';
import { placingEngine, type DriverProbe } from '../../../../ts/models/placement/placing-engine.js';
import { tensorRtModel } from '../../../../ts/models/placement/tensorrt/wrapper.js';
import type { EngineControl, LoadedModel, ModelSpec } from '../../../../ts/model/engine-api.js';
import { loadedModel } from '../registry/fakes.js';
import { tempFolder } from '../../temp-folder.js';

const DEVICE = { name: 'Fake', memory: 1, major: 9, minor: 0 };
const DRIVER: DriverProbe = { library: '', init: 0, version: 13_000, devices: [DEVICE] };

const PROVIDER = 'libonnxruntime_providers_cuda.so';

interface Machine {
  readonly load: (changes?: Partial<ModelSpec>) => Promise<LoadedModel>;
  readonly asked: ModelSpec[];
  readonly probes: () => number;
  readonly folder: string;
}

function machine(
  context: TestContext,
  files: readonly string[],
  driver = DRIVER,
  cache = false,
  cudaGraphs?: boolean,
): Machine {
  const folder = tempFolder(context);
  for (const name of files) writeFileSync(join(folder, name), '');
  writeFileSync(join(folder, 'model.onnx'), 'model');
  const asked: ModelSpec[] = [];
  let probes = 0;
  const engine: Partial<EngineControl> = {
    load: (spec) => {
      asked.push(spec);
      const { providers = [] } = spec;
      if (!files.includes(PROVIDER) && providers.some(({ name }) => name === 'cuda')) {
        const text = 'Failed to load library';
        return Promise.reject(new ServalError(ErrorCode.RuntimeUnavailable, text));
      }
      return Promise.resolve(loadedModel(1));
    },
  };
  const placing = placingEngine(engine as EngineControl, {
    runtime: join(folder, 'libonnxruntime.so.1.30.0'),
    cacheFolder: cache ? join(folder, 'cache') : '',
    cudaGraphs: cudaGraphs ?? false,
    binding: {
      probeDriver: () => {
        probes += 1;
        return JSON.stringify(driver);
      },
      probeLibrary: () => 'not there',
      lockFile: () => 0,
    },
  });
  const path = join(folder, 'model.onnx');
  const base = { name: 'm', version: '1', backend: 'onnxruntime', path } as const;
  return {
    load: (changes = {}) => placing.load({ ...base, ...changes }),
    asked,
    probes: () => probes,
    folder,
  };
}

const X = { name: 'x', type: 'TYPE_FP32', dims: [1] };
const CUDA = ['libonnxruntime_providers_cuda.so'];
const ALL = [...CUDA, 'libonnxruntime_providers_tensorrt.so', 'libnvinfer.so.10'];
const auto = { providers: [{ name: 'auto', options: {} }] };
const onTensorrt = { providers: [{ name: 'tensorrt', options: { device_id: '0' } }] };

test('on a machine without a word of GPUs a load goes through as it is', async (context) => {
  const { load, asked, probes } = machine(context, []);
  const loaded = await load();
  assert.equal(loaded.placed, undefined);
  assert.equal(asked[0]?.providers, undefined);
  assert.equal(probes(), 0);
});

test('auto is never handed on, and says why it is the CPU', async (context) => {
  const none = machine(context, []);
  assert.match((await none.load(auto)).placed?.why ?? '', /no CUDA provider: serval gpu install/);
  assert.deepEqual(none.asked[0]?.providers, []);
  for (const [driver, why] of [
    [{ ...DRIVER, library: 'no file', devices: [] }, /no NVIDIA driver/],
    [{ ...DRIVER, devices: [] }, /finds no GPU/],
    [{ ...DRIVER, version: 12_080 }, /older than 580/],
  ] as const) {
    const { load, asked } = machine(context, CUDA, driver);
    const { placed } = await load();
    assert.equal(placed?.providers, 'cpu');
    assert.match(placed?.why ?? '', why);
    assert.deepEqual(asked[0]?.providers, []);
  }
});

test('with a GPU it is the default, and the machine is looked at once', async (context) => {
  const { load, asked, probes } = machine(context, ALL);
  for (const changes of [{}, auto]) assert.equal((await load(changes)).placed?.providers, 'cuda');
  assert.deepEqual(asked[1]?.providers, [{ name: 'cuda', options: {} }]);
  assert.equal(probes(), 1);
  const cpu = { providers: [{ name: 'cpu', options: {} }] };
  assert.equal((await load(cpu)).placed, undefined);
  assert.deepEqual(asked[2]?.providers, cpu.providers);
});

test('the options of CUDA graphs alone are refused, with the way that there is', async (context) => {
  const { load, asked } = machine(context, ALL);
  const graphs = (name: string, key: string, value: string) =>
    load({ providers: [{ name, options: { [key]: value } }] });
  for (const [name, key] of [
    ['cuda', 'enable_cuda_graph'],
    ['tensorrt', 'trt_cuda_graph_enable'],
  ] as const) {
    for (const value of ['1', 'true', 'True']) {
      await assert.rejects(graphs(name, key, value), new RegExp(`${name}: expected no ${key}`));
    }
    assert.equal(asked.length, 0);
    await graphs(name, key, '0');
    asked.length = 0;
  }
});

test('TensorRT gets folders below --model-cache, unless it is told others', async (context) => {
  const plain = machine(context, ALL);
  await plain.load(onTensorrt);
  assert.deepEqual(plain.asked[0]?.providers, onTensorrt.providers);
  const { load, asked, folder } = machine(context, ALL, DRIVER, true);
  await load(onTensorrt);
  const options = asked[0]?.providers?.[0]?.options ?? {};
  assert.equal(options['device_id'], '0');
  assert.equal(options['trt_engine_cache_enable'], '1');
  const path = options['trt_engine_cache_path'] ?? '';
  assert.ok(path.startsWith(join(folder, 'cache', 'tensorrt')) && existsSync(path), path);
  writeFileSync(join(folder, 'model.onnx'), 'another model');
  await load(onTensorrt);
  assert.notEqual(asked[1]?.providers?.[0]?.options['trt_engine_cache_path'], path);
  const own = { name: 'tensorrt', options: { trt_engine_cache_enable: '0' } };
  await load({ providers: [own] });
  assert.equal(asked[2]?.providers?.[0]?.options['trt_engine_cache_enable'], '0');
});

test('a file of TensorRT engines is told by its bytes, and runs from its own folder', async (context) => {
  const { load, asked, folder } = machine(context, ALL, DRIVER, true);
  const path = join(folder, 'model.onnx');
  const tensors = { inputs: [X], outputs: [{ ...X, name: 'y' }] };
  writeFileSync(path, tensorRtModel(tensors, 'model.plan'));
  for (const changes of [{}, auto]) {
    const { placed } = await load(changes);
    assert.deepEqual(placed, {
      providers: 'tensorrt, cuda',
      why: 'holds TensorRT engines (EPContext)',
    });
    assert.equal(asked.at(-1)?.path, path);
    assert.deepEqual(
      asked.at(-1)?.providers?.map(({ name }) => name),
      ['tensorrt', 'cuda'],
    );
  }
  const cuda = { providers: [{ name: 'cuda', options: {} }] };
  assert.equal((await load(cuda)).placed, undefined);
  assert.deepEqual(asked.at(-1)?.providers, cuda.providers, 'whoever loads it says what it needs');
  const without = machine(context, CUDA);
  writeFileSync(join(without.folder, 'model.onnx'), tensorRtModel(tensors, 'model.plan'));
  await assert.rejects(without.load(), /'EPContext'.*--tensorrt\): TensorRT is not installed$/);
  assert.equal(without.asked.length, 0);
});

test('models on CUDA get graphs unless their configuration mentions them', async (context) => {
  const { load, asked } = machine(context, ALL, DRIVER, false, true);
  const graphs = (): readonly unknown[] => [asked.at(-1)?.graphRows, asked.at(-1)?.graphUse];
  const policy = { ...NO_BATCHING, rowsMax: 6 };
  const rows = [1, 2, 4, 6];
  await load(auto);
  assert.deepEqual(graphs(), [[0], 'known']);
  for (const mode of ['auto', 'on'] as const) {
    await load({ ...auto, batch: { ...policy, mode } });
    assert.deepEqual(graphs(), [rows, 'known']);
  }
  for (const graphRows of [[3], []]) {
    await load({ ...auto, graphRows });
    assert.deepEqual(graphs(), [graphRows, undefined]);
  }
  await load({ ...onTensorrt, batch: { ...policy, mode: 'on' } });
  assert.deepEqual(graphs(), [undefined, undefined], 'TensorRT runs its own way');
  await load({ providers: [{ name: 'cpu', options: {} }] });
  assert.equal(asked.at(-1)?.graphRows, undefined);
});

test('instances that would exclude each other get no graphs', async (context) => {
  const { load, asked } = machine(context, ALL, DRIVER, false, true);
  const graphs = async (changes: Partial<ModelSpec>): Promise<boolean> => {
    await load({ ...auto, ...changes });
    return asked.at(-1)?.graphRows !== undefined;
  };
  assert.equal(await graphs({ instances: 2 }), false);
  assert.equal(await graphs({ instances: 2, devices: [0, 1] }), true);
  const batch = { ...NO_BATCHING, mode: 'on', rowsMax: 8 } as const;
  assert.equal(await graphs({ instances: 2, batch }), true);
});

test('--cuda-graphs=false leaves models without', async (context) => {
  const { load, asked } = machine(context, ALL, DRIVER, false, false);
  await load(auto);
  assert.equal(asked.at(-1)?.graphRows, undefined);
  await load({ ...auto, graphRows: [1, 2] });
  assert.deepEqual(asked.at(-1)?.graphRows, [1, 2]);
});

test('a model on a GPU that this machine cannot run says what to install', async (context) => {
  const cuda = { providers: [{ name: 'cuda', options: {} }] };
  const driver = { ...DRIVER, library: 'libcuda.so.1: not found', devices: [] };
  for (const [probe, advice] of [
    [
      DRIVER,
      /^Failed to load library; this ONNX Runtime has no CUDA provider: `serval gpu install`/,
    ],
    [driver, /^Failed to load library; no NVIDIA driver is installed; .*`serval gpu install`/],
  ] as const) {
    const { load } = machine(context, [], probe);
    await assert.rejects(load(cuda), (error: ServalError) => {
      assert.equal(error.code, ErrorCode.RuntimeUnavailable);
      assert.match(error.message, advice);
      assert.match(error.message, /`serval gpu adopt`/);
      return true;
    });
  }
});
