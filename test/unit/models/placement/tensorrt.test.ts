// TensorRT engines: the ONNX model around one, and the load call for it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { InferenceSession } from 'onnxruntime-node';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { loadTensorRt, tensorRtProviders } from '../../../../ts/models/placement/tensorrt/load.js';
import {
  tensorRtModel,
  tensorRtProblem,
} from '../../../../ts/models/placement/tensorrt/wrapper.js';
import type { GpuFacts } from '../../../../ts/models/placement/placement.js';
import type { EngineControl, ModelSpec, TensorRtSpec } from '../../../../ts/model/engine-api.js';
import { tensorRtOf } from '../../../../ts/models/config/engine-settings.js';
import { parseTritonConfig } from '../../../../ts/models/config/triton-config.js';
import { readOnnxHeader } from '../../../../ts/importers/onnx/reader.js';
import { exactReader, type WireReader } from '../../../../ts/protobuf/reader.js';
import { loadedModel } from '../registry/fakes.js';
import { filledFolder, tempFolder } from '../../temp-folder.js';

const TENSORS: TensorRtSpec = {
  inputs: [
    { name: 'image', type: 'TYPE_FP32', dims: [-1, 3, 224, 224] },
    { name: 'mask', type: 'TYPE_BOOL', dims: [-1, -1] },
  ],
  outputs: [{ name: 'scores', type: 'TYPE_FP16', dims: [-1, 1000] }],
};
const GPU: GpuFacts = { devices: 1, obstacle: '', tensorrt: true };
const ENGINE = Buffer.concat([Buffer.from('ftrt'), Buffer.alloc(100, 7)]);

type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint)[]>;

/** The fields of one message. */
function fields(bytes: Uint8Array): Fields {
  const found = new Map<number, (Uint8Array | bigint)[]>();
  const reader = exactReader(bytes, 'onnx');
  while (reader.next()) {
    const list = found.get(reader.field) ?? [];
    found.set(reader.field, list);
    list.push(bytesOrNumber(reader));
  }
  return found;
}

function bytesOrNumber(reader: WireReader): Uint8Array | bigint {
  try {
    return reader.view().slice();
  } catch {
    return reader.int64();
  }
}

const message = (of: Fields, field: number, index = 0): Fields =>
  fields(of.get(field)?.[index] as Uint8Array);
const text = (of: Fields, field: number, index = 0): string =>
  Buffer.from((of.get(field)?.[index] ?? new Uint8Array()) as Uint8Array).toString();

test('the model is one EPContext node that names the file beside it', async (context) => {
  const bytes = tensorRtModel(TENSORS, 'model.plan');
  const folder = filledFolder(context, { 'model.onnx': bytes });
  const header = await readOnnxHeader(join(folder, 'model.onnx'));
  assert.deepEqual(header.opsets.map(({ domain }) => domain).sort(), ['', 'com.microsoft']);
  const graph = message(fields(bytes), 7);
  assert.equal(graph.get(1)?.length, 1);
  const node = message(graph, 1);
  assert.deepEqual([text(node, 4), text(node, 7)], ['EPContext', 'com.microsoft']);
  assert.deepEqual([text(node, 1), text(node, 1, 1), text(node, 2)], ['image', 'mask', 'scores']);
  const attributes = new Map(
    (node.get(5) ?? []).map((one) => {
      const attribute = fields(one as Uint8Array);
      const [number] = attribute.get(3) ?? [];
      return [text(attribute, 1), number ?? text(attribute, 4)];
    }),
  );
  assert.deepEqual(Object.fromEntries(attributes), {
    main_context: 1n,
    embed_mode: 0n,
    ep_cache_context: 'model.plan',
    source: 'TensorrtExecutionProvider',
  });
});

test('tensors have the types and dims of the configuration', () => {
  const graph = message(fields(tensorRtModel(TENSORS, 'model.plan')), 7);
  const tensor = (field: number, index: number): readonly unknown[] => {
    const value = message(graph, field, index);
    const type = message(message(value, 2), 1);
    const dims = (message(type, 2).get(1) ?? []).map((one) => {
      const dim = fields(one as Uint8Array);
      return dim.get(1)?.[0] ?? text(dim, 2);
    });
    return [text(value, 1), type.get(1)?.[0], dims];
  };
  assert.deepEqual(tensor(11, 0), ['image', 1n, ['image_0', 3n, 224n, 224n]]);
  assert.deepEqual(tensor(11, 1), ['mask', 9n, ['mask_0', 'mask_1']]);
  assert.deepEqual(tensor(12, 0), ['scores', 10n, ['scores_0', 1000n]]);
});

test('ONNX Runtime takes the model as one, and lacks the node where there is not a TensorRT', async () => {
  const runtime = createRequire(import.meta.url)('onnxruntime-node') as {
    readonly InferenceSession: typeof InferenceSession;
  };
  await assert.rejects(
    runtime.InferenceSession.create(Buffer.from(tensorRtModel(TENSORS, 'model.plan'))),
    /EPContext/,
  );
});

test('a configuration without tensors, and types that TensorRT has not, are refused', () => {
  const refused = (spec: TensorRtSpec, pattern: RegExp): void => {
    assert.throws(
      () => tensorRtModel(spec, 'x'),
      (error) => {
        return (
          (error as ServalError).code === ErrorCode.ModelInvalid && pattern.test(String(error))
        );
      },
    );
  };
  refused({ inputs: [], outputs: TENSORS.outputs }, /config\.pbtxt: .* got 0 and 1/);
  refused({ inputs: TENSORS.inputs, outputs: [] }, /got 2 and 0/);
  for (const type of ['TYPE_STRING', 'TYPE_FP64', 'TYPE_INT16', 'TYPE_INVALID', '']) {
    const outputs = [{ name: 'y', type, dims: [1] }];
    refused({ ...TENSORS, outputs }, new RegExp(`output "y": .*got ${type}`));
  }
});

test('the configuration is what the tensors are', () => {
  const { config, problems } = parseTritonConfig(
    `platform: "tensorrt_plan" max_batch_size: 8
     input { name: "x" data_type: TYPE_FP32 dims: 3 }
     output { name: "y" data_type: TYPE_INT32 dims: 1 reshape { shape: [] } }`,
    'config.pbtxt',
    'm',
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(tensorRtOf(config ?? {}), {
    inputs: [{ name: 'x', type: 'TYPE_FP32', dims: [-1, 3] }],
    outputs: [{ name: 'y', type: 'TYPE_INT32', dims: [-1] }],
  });
});

test('recognizes an engine by its first bytes', () => {
  const wrapped = Buffer.concat([Buffer.from([2, 0, 0, 0]), Buffer.from('{}ptrt....')]);
  for (const good of [ENGINE, Buffer.from('ptrt'), wrapped]) {
    assert.equal(tensorRtProblem(good, good.length), undefined);
  }
  const long = Buffer.concat([Buffer.from([0, 0, 1, 0]), Buffer.alloc(508, 0x7b)]);
  assert.equal(tensorRtProblem(long, 1 << 20), undefined); // The engine's data begins further on.
  assert.equal(tensorRtProblem(Buffer.alloc(0), 0), 'is empty');
  for (const bad of ['onnx', '\b\u0007\u0012', 'f', '....{}no..']) {
    assert.match(tensorRtProblem(Buffer.from(bad), bad.length) ?? '', /is not a TensorRT engine/);
  }
});

const LOCKS = { lockFile: () => 0 };
/** The folders that loads left in the process's own folder. */
const foldersIn = (cache: string): readonly string[] => {
  const root = join(cache, 'tensorrt', 'plans');
  const [own = ''] = readdirSync(root);
  return readdirSync(join(root, own)).filter((name) => name !== 'lock');
};

interface Loading {
  readonly load: (changes?: Partial<ModelSpec>, facts?: GpuFacts) => Promise<unknown>;
  readonly asked: ModelSpec[];
  readonly path: string;
  readonly cache: string;
  fail: string;
  keepsFolder: boolean;
}

function loading(context: TestContext, content: string | Uint8Array = ENGINE): Loading {
  const folder = filledFolder(context, { '1/model.plan': content });
  const cache = tempFolder(context);
  const path = join(folder, '1', 'model.plan');
  const asked: ModelSpec[] = [];
  const engine: Partial<EngineControl> = {
    load: (spec) => {
      asked.push(spec);
      const given = readFileSync(spec.path ?? '');
      assert.deepEqual(given, Buffer.from(tensorRtModel(TENSORS, 'model.plan')));
      const beside = join(dirname(spec.path ?? ''), 'model.plan');
      assert.deepEqual(readFileSync(beside), readFileSync(path));
      return state.fail === ''
        ? Promise.resolve(
            state.keepsFolder ? { ...loadedModel(1), keepsFolder: true } : loadedModel(1),
          )
        : Promise.reject(
            new ServalError(ErrorCode.ModelInvalid, state.fail.replaceAll('ENGINE', beside)),
          );
    },
  };
  const base = {
    name: 'm',
    version: '1',
    backend: 'onnxruntime',
    path,
    tensorRt: TENSORS,
  } as const;
  const state: Loading = {
    load: (changes = {}, facts = GPU) =>
      loadTensorRt(engine as EngineControl, { ...base, ...changes }, () => facts, cache, LOCKS),
    asked,
    path,
    cache,
    fail: '',
    keepsFolder: false,
  };
  return state;
}

test('gives the engine the model in a folder that is removed after the load', async (context) => {
  const { load, asked, cache } = loading(context);
  const loaded = await load();
  assert.deepEqual(loaded, {
    ...loadedModel(1),
    producer: 'tensorrt',
    fileBytes: ENGINE.length,
    placed: { providers: 'tensorrt, cuda', why: 'it is a TensorRT engine' },
  });
  const [spec] = asked;
  assert.equal(spec?.tensorRt, undefined);
  assert.equal(spec?.graphOptimization, 0);
  assert.deepEqual(spec?.providers, [
    { name: 'tensorrt', options: {} },
    { name: 'cuda', options: {} },
  ]);
  assert.equal(basename(spec?.path ?? ''), 'model.onnx');
  assert.equal(existsSync(dirname(spec?.path ?? '')), false);
  assert.deepEqual(foldersIn(cache), []);
});

test('a folder that the engine keeps stays, whole', async (context) => {
  const state = loading(context);
  state.keepsFolder = true;
  await state.load();
  const folder = state.asked[0]?.ownFolder ?? '';
  assert.equal(dirname(state.asked[0]?.path ?? ''), folder);
  assert.deepEqual(readdirSync(folder).sort(), ['model.onnx', 'model.plan']);
});

test('what the engine says of the folder names the file instead', async (context) => {
  const state = loading(context);
  state.fail = 'could not deserialize ENGINE';
  await assert.rejects(state.load(), { message: `could not deserialize ${state.path}` });
  assert.deepEqual(foldersIn(state.cache), []);
});

test('no engine, and no file, are errors that name the file', async (context) => {
  const { load, path, asked } = loading(context, 'something else');
  await assert.rejects(load(), { message: new RegExp(`^model file ${path}: is not a TensorRT`) });
  writeFileSync(path, '');
  await assert.rejects(load(), { message: `model file ${path}: is empty` });
  await assert.rejects(load({ path: '/nowhere/model.plan' }), { message: /ENOENT/ });
  assert.equal(asked.length, 0);
});

test('it runs on TensorRT or not at all, and the error says what is missing', () => {
  const base = { name: 'm', version: '1', backend: 'onnxruntime' } as const;
  const given = (changes: Partial<ModelSpec>, facts = GPU): readonly string[] =>
    tensorRtProviders({ ...base, ...changes }, () => facts).map(
      ({ name, options }) => `${name} ${JSON.stringify(options)}`,
    );
  const placement = {
    kind: 'auto',
    cuda: {},
    profiles: {},
    open: [],
    tensorrt: undefined,
  } as const;
  const options = { trt_profile_min_shapes: 'x:1', trt_dla_core: '0' };
  assert.deepEqual(given({ placement: { ...placement, tensorrt: options } }), [
    'tensorrt {"trt_dla_core":"0"}',
    'cuda {}',
  ]);
  const cuda = { name: 'cuda', options: { device_id: '1' } };
  assert.deepEqual(given({ providers: [cuda] }), [
    'tensorrt {"device_id":"1"}',
    'cuda {"device_id":"1"}',
  ]);
  assert.deepEqual(given({ providers: [{ name: 'tensorrt', options }] }, NOT_ASKED), [
    'tensorrt {"trt_dla_core":"0"}',
    'cuda {}',
  ]);
  const auto = [{ name: 'auto', options: {} }];
  const why = (changes: Partial<ModelSpec>, facts: GpuFacts): string => {
    try {
      return given(changes, facts).join();
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.match(why({ providers: auto }, { ...GPU, obstacle: 'no driver' }), /GPU only: no driver$/);
  assert.match(why({}, { ...GPU, tensorrt: false }), /no TensorRT: serval gpu install --tensorrt$/);
  assert.match(why({ placement: { ...placement, kind: 'cpu' } }, GPU), /expected no KIND_CPU/);
  assert.match(why({ providers: [{ name: 'cpu', options: {} }] }, GPU), /got cpu$/);
});

/** A machine that must not be examined. */
const NOT_ASKED: GpuFacts = { devices: 0, obstacle: 'asked', tensorrt: false };
