// A configuration against the loaded model, and the complete configuration of a served one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  encodeModelConfig,
  parseTritonConfig,
} from '../../../../ts/models/config/triton-config.js';
import { checkAgainstModel, completeConfig } from '../../../../ts/models/config/triton-model.js';
import type { TritonConfig } from '../../../../ts/models/config/types.js';
import type { LoadedModel } from '../../../../ts/model/engine-api.js';
import type { Datatype, TensorInfo } from '../../../../ts/model/snapshot.js';

function tensor(name: string, datatype: Datatype, shape: readonly number[]): TensorInfo {
  return { name, datatype, shape, symbols: shape.map(() => ''), unknownRank: false };
}

function loaded(change: Partial<LoadedModel> = {}): LoadedModel {
  const signature = {
    name: 'serving_default',
    inputs: [tensor('x', 'FP32', [-1, 4]), tensor('ids', 'INT64', [-1])],
    outputs: [tensor('y', 'BYTES', [-1, 2]), tensor('z', 'BF16', [-1, -1, 3])],
  };
  return {
    handle: 1,
    signatures: [signature],
    producer: '',
    graphName: '',
    description: '',
    domain: '',
    modelVersion: '1',
    metadata: {},
    fileBytes: 1,
    loadUs: 1,
    providers: ['CPUExecutionProvider'],
    batchMode: 'off',
    inputsBatchable: true,
    batchProof: 'untried',
    batchFinding: '',
    ...change,
  };
}

function config(text: string): TritonConfig {
  const parsed = parseTritonConfig(text, 'f');
  assert.deepEqual(parsed.problems, []);
  assert.ok(parsed.config);
  return parsed.config;
}

function problemsOf(text: string, model = loaded()): readonly string[] {
  return checkAgainstModel(config(text), model).map(({ place, message }) => `${place}: ${message}`);
}

const X = 'input { name: "x" data_type: TYPE_FP32 dims: 4 }';
const IDS = 'input { name: "ids" data_type: TYPE_INT64 dims: 1 reshape { shape: [] } }';

test('a configuration that fits', () => {
  for (const text of [
    '',
    'max_batch_size: 8',
    `max_batch_size: 8 ${X} ${IDS}`,
    'output { name: "z" data_type: TYPE_BF16 dims: [5, 6, 3] }',
    'output { name: "y" data_type: TYPE_STRING dims: [-1, -1] }',
    `max_batch_size: 8 ${IDS} input { name: "x" data_type: TYPE_FP32 dims: [2, 2]
      reshape { shape: 4 } }`,
  ]) {
    assert.deepEqual(problemsOf(text), [], text);
  }
});

test("a model that already shows the configuration's dims fits", () => {
  const shown = loaded({
    signatures: [
      {
        name: 'serving_default',
        outputs: [],
        inputs: [tensor('x', 'FP32', [-1, 2, 2])],
      },
    ],
  });
  const text = `max_batch_size: 8
    input { name: "x" data_type: TYPE_FP32 dims: [2, 2] reshape { shape: 4 } }`;
  assert.deepEqual(problemsOf(text, shown), []);
});

test('names, types and dims that contradict the model', () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      'output { name: "w" data_type: TYPE_FP32 dims: 1 }',
      'output "w": the model has no such output; it has y, z',
    ],
    [
      'output { name: "y" data_type: TYPE_FP32 dims: [-1, 2] }',
      'output "y": data_type: the model has TYPE_STRING, got TYPE_FP32',
    ],
    [
      'output { name: "y" data_type: TYPE_STRING dims: [-1, 3] }',
      'output "y": dims: the model has [-1, 2], got [-1, 3]',
    ],
    [
      'output { name: "y" data_type: TYPE_STRING dims: [2] }',
      'output "y": dims: the model has [-1, 2], got [2]',
    ],
    [
      `max_batch_size: 4 ${IDS} input { name: "x" data_type: TYPE_FP32 dims: [-1, 4] }`,
      'input "x": dims: the model has [4], got [-1, 4]',
    ],
    [`max_batch_size: 4 ${X}`, 'input: expected every input of the model, x, ids; got none of ids'],
  ];
  for (const [text, expected] of cases) {
    assert.deepEqual(problemsOf(text), [`model configuration: ${expected}`]);
  }
});

test('max_batch_size needs a free first dim', () => {
  const fixed = loaded({
    signatures: [
      {
        name: 'serving_default',
        inputs: [tensor('x', 'FP32', [1, 4])],
        outputs: [],
      },
    ],
  });
  assert.deepEqual(problemsOf(`max_batch_size: 4 ${X}`, fixed), [
    'model configuration: input "x": ' +
      "max_batch_size: expected 0, because the first dim of the model's tensor is not dynamic:  " +
      '[1, 4]',
  ]);
  const open = { ...tensor('x', 'FP32', []), unknownRank: true };
  const unknown = loaded({ signatures: [{ name: 's', inputs: [open], outputs: [] }] });
  assert.deepEqual(problemsOf(`max_batch_size: 4 ${X}`, unknown), []);
});

// Source: v2-protocol.md 11 (the fields that perf_analyzer reads); the form is Triton's JSON.
test('nothing written, batched by itself: the whole configuration', () => {
  const auto = { maxBatchSize: 4 };
  const complete = completeConfig('m', undefined, loaded({ batchMode: 'auto' }), auto);
  const input = {
    format: 'FORMAT_NONE',
    is_shape_tensor: false,
    allow_ragged_batch: false,
    optional: false,
    is_non_linear_format_io: false,
  };
  const output = { label_filename: '', is_shape_tensor: false, is_non_linear_format_io: false };
  assert.deepEqual(complete, {
    name: 'm',
    platform: 'onnxruntime_onnx',
    backend: 'onnxruntime',
    runtime: '',
    version_policy: { latest: { num_versions: 1 } },
    max_batch_size: 4,
    input: [
      { ...input, name: 'x', data_type: 'TYPE_FP32', dims: [4] },
      { ...input, name: 'ids', data_type: 'TYPE_INT64', dims: [1], reshape: { shape: [] } },
    ],
    output: [
      { ...output, name: 'y', data_type: 'TYPE_STRING', dims: [2] },
      { ...output, name: 'z', data_type: 'TYPE_BF16', dims: [-1, 3] },
    ],
    batch_input: [],
    batch_output: [],
    optimization: {
      priority: 'PRIORITY_DEFAULT',
      input_pinned_memory: { enable: true },
      output_pinned_memory: { enable: true },
      gather_kernel_buffer_threshold: 0,
      eager_batching: false,
    },
    dynamic_batching: {
      preferred_batch_size: [4],
      max_queue_delay_microseconds: 0,
      preserve_ordering: false,
      priority_levels: 0,
      default_priority_level: 0,
      priority_queue_policy: {},
    },
    instance_group: [
      {
        name: 'm',
        kind: 'KIND_CPU',
        count: 1,
        gpus: [],
        secondary_devices: [],
        profile: [],
        passive: false,
        host_policy: '',
      },
    ],
    default_model_filename: 'model.onnx',
    cc_model_filenames: {},
    metric_tags: {},
    parameters: {},
    model_warmup: [],
  });
  assert.doesNotThrow(() => JSON.stringify(complete));
  assert.ok(encodeModelConfig(complete).length > 0);
});

test('a model that does not batch shows its whole dims', () => {
  const still = loaded({
    inputsBatchable: false,
    signatures: [
      {
        name: 'serving_default',
        outputs: [tensor('y', 'FP64', [])],
        inputs: [{ ...tensor('x', 'BOOL', []), unknownRank: true }, tensor('i', 'UINT8', [2, -1])],
      },
    ],
  });
  const complete = completeConfig('m', undefined, still, { maxBatchSize: 4, instances: 3 });
  const shown = (list: string): unknown =>
    (complete[list] as Record<string, unknown>[]).map((one) => [
      one['name'],
      one['data_type'],
      one['dims'],
      one['reshape'],
    ]);
  assert.equal(complete['max_batch_size'], 0);
  assert.equal(complete['dynamic_batching'], undefined);
  assert.deepEqual(shown('input'), [
    ['x', 'TYPE_BOOL', [-1], undefined],
    ['i', 'TYPE_UINT8', [2, -1], undefined],
  ]);
  assert.deepEqual(shown('output'), [['y', 'TYPE_FP64', [1], undefined]]);
  const [group] = complete['instance_group'] as Record<string, unknown>[];
  assert.equal(group?.['count'], 3);
});

test('keeps what was configured', () => {
  const written = config(`platform: "onnx_onnxv1" default_model_filename: "other.onnx"
    version_policy { specific { versions: [1, 3] } } max_batch_size: 16 ${X} ${IDS}
    output { name: "y" data_type: TYPE_STRING dims: 2 label_filename: "l.txt" }
    dynamic_batching { preferred_batch_size: [4] default_queue_policy { max_queue_size: 2 } }
    optimization { input_pinned_memory { enable: false } graph { level: 1 } }
    instance_group [ { count: 2 }, { name: "g" kind: KIND_MODEL } ]
    parameters { key: "a" value { string_value: "b" } }`);
  const complete = completeConfig('m', written, loaded({ batchMode: 'on' }), { maxBatchSize: 16 });
  const of = (name: string): unknown => complete[name];
  assert.deepEqual(
    [of('platform'), of('backend'), of('default_model_filename')],
    ['onnx_onnxv1', 'onnxruntime', 'other.onnx'],
  );
  assert.deepEqual(of('version_policy'), { specific: { versions: [1, 3] } });
  assert.equal(of('max_batch_size'), 16);
  assert.equal((of('output') as unknown[]).length, 1);
  const batching = of('dynamic_batching') as Record<string, unknown>;
  assert.deepEqual(batching['preferred_batch_size'], [4]);
  assert.deepEqual((of('optimization') as Record<string, unknown>)['input_pinned_memory'], {
    enable: false,
  });
  assert.deepEqual((of('optimization') as Record<string, unknown>)['graph'], { level: 1 });
  const groups = (of('instance_group') as Record<string, unknown>[]).map((group) => [
    group['name'],
    group['kind'],
    group['count'],
  ]);
  assert.deepEqual(groups, [
    ['m_0', 'KIND_CPU', 2],
    ['g', 'KIND_MODEL', 1],
  ]);
  assert.deepEqual(of('parameters'), { a: { string_value: 'b' } });
});

test('reports models without batching', () => {
  const auto = { maxBatchSize: 0 };
  const facts = (text: string | undefined, change: Partial<LoadedModel> = {}): unknown => {
    const written = text === undefined ? undefined : config(text);
    const complete = completeConfig('m', written, loaded(change), auto);
    const { max_batch_size: rows, dynamic_batching: batching } = complete;
    return [rows, batching];
  };
  assert.deepEqual(facts(undefined, { batchProof: 'contradicted' }), [0, undefined]);
  assert.deepEqual(facts('max_batch_size: 0'), [0, undefined]);
  assert.deepEqual(facts('max_batch_size: 0 dynamic_batching { }'), [0, undefined]);
  // Rows of a request still count; requests are not batched.
  assert.deepEqual(facts('max_batch_size: 8'), [8, undefined]);
  const [rows, batching] = facts(
    'max_batch_size: 8 dynamic_batching { default_queue_policy { max_queue_size: 2 } }',
  ) as [number, Record<string, unknown>];
  assert.equal(rows, 8);
  assert.deepEqual(batching['preferred_batch_size'], []);
});

test('on a GPU, the null backend, latest 0, and a batch of one', () => {
  const onGpu = completeConfig(
    'm',
    undefined,
    loaded({ providers: ['CUDAExecutionProvider', 'CPUExecutionProvider'] }),
    { maxBatchSize: 1 },
  );
  assert.equal((onGpu['instance_group'] as Record<string, unknown>[])[0]?.['kind'], 'KIND_GPU');
  assert.deepEqual([onGpu['max_batch_size'], onGpu['dynamic_batching']], [1, undefined]);
  const written = config('backend: "serval_null" version_policy { latest { } }');
  const nothing = completeConfig('n', written, loaded(), { maxBatchSize: 0 });
  assert.deepEqual(
    [nothing['platform'], nothing['backend'], nothing['default_model_filename']],
    ['', 'serval_null', ''],
  );
  assert.deepEqual(nothing['version_policy'], { latest: { num_versions: 1 } });
  assert.equal(nothing['max_batch_size'], 0);
});
