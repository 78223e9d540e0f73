// The engine settings that result from configurations.
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import {
  autoBatching,
  batchingSettings,
  engineSettings,
} from '../../../../ts/models/config/engine-settings.js';
import {
  parseTritonConfig,
  tritonConfigFromJson,
} from '../../../../ts/models/config/triton-config.js';
import type { BatchingParameters } from '../../../../ts/model/batching-parameters.js';
import type { ModelSpec } from '../../../../ts/model/engine-api.js';

const TENSORS = `
  input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
  output [ { name: "y" data_type: TYPE_STRING dims: [ -1 ] } ]`;
const OFF = {
  mode: 'off',
  rowsMax: 0,
  requestRowsMax: 0,
  preferredRows: [],
  allowedRows: [],
  anyRows: false,
  delayUs: 0,
  split: false,
  padInner: false,
  preserveOrdering: false,
  onlyIfBatchable: false,
} as const;

function settings(
  text: string,
  labels: ReadonlyMap<string, readonly string[]> = new Map(),
  auto = 0,
): Partial<ModelSpec> {
  const { config, problems } = parseTritonConfig(text, 'f');
  assert.deepEqual(problems, []);
  assert.ok(config);
  return engineSettings(config, labels, auto);
}

test('max_batch_size without a batcher: the batch dim, and no larger request', () => {
  assert.deepEqual(settings(`max_batch_size: 8 ${TENSORS}`), {
    batchDim: true,
    batch: { ...OFF, rowsMax: 8, requestRowsMax: 8 },
    inputs: [
      { name: 'x', dims: [-1, 4], modelDims: [], labels: [], optional: false, ragged: false },
    ],
    outputs: [
      { name: 'y', dims: [-1, -1], modelDims: [], labels: [], optional: false, ragged: false },
    ],
  });
});

test('no max_batch_size: dims are the whole shape', () => {
  assert.deepEqual(settings(TENSORS), {
    batchDim: false,
    batch: OFF,
    inputs: [{ name: 'x', dims: [4], modelDims: [], labels: [], optional: false, ragged: false }],
    outputs: [{ name: 'y', dims: [-1], modelDims: [], labels: [], optional: false, ragged: false }],
  });
});

test('extended_v2: only where it is true', () => {
  const withValue = (value: string): Partial<ModelSpec> =>
    settings(`${TENSORS} parameters { key: "extended_v2" value { string_value: "${value}" } }`);
  assert.equal(withValue('true').extendedV2, true);
  assert.equal(withValue('false').extendedV2, undefined);
  assert.equal(settings(TENSORS).extendedV2, undefined);
  assert.equal(settings(`${TENSORS} response_cache { enable: true }`).responseCache, true);
  assert.equal(settings(`${TENSORS} response_cache { enable: false }`).responseCache, undefined);
});

test('dynamic_batching', () => {
  const { batch, batchDim, queuePolicy, priorityLevels } = settings(`max_batch_size: 8 ${TENSORS}
    dynamic_batching { preferred_batch_size: [8, 2, 4, 2] max_queue_delay_microseconds: 150
      preserve_ordering: true }`);
  assert.deepEqual(batch, {
    ...OFF,
    mode: 'on',
    rowsMax: 8,
    requestRowsMax: 8,
    preferredRows: [2, 4, 8],
    delayUs: 150,
    preserveOrdering: true,
  });
  assert.equal(batchDim, true);
  assert.deepEqual(queuePolicy, {
    timeoutAction: 'reject',
    defaultTimeoutUs: 0,
    allowTimeoutOverride: false,
    requestsMax: 0,
  });
  assert.equal(priorityLevels, 0);
});

test('queue policies and priorities, for models that do not batch as well', () => {
  const spec = settings(`${TENSORS} dynamic_batching { priority_levels: 3 default_priority_level: 2
    default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 50
      allow_timeout_override: true max_queue_size: 7 }
    priority_queue_policy { key: 3 value { max_queue_size: 1
      default_timeout_microseconds: 18446744073709551615 } }
    priority_queue_policy { key: 1 value { timeout_action: DELAY } } }`);
  assert.deepEqual(spec.batch, OFF);
  assert.deepEqual(spec.queuePolicy, {
    timeoutAction: 'delay',
    defaultTimeoutUs: 50,
    allowTimeoutOverride: true,
    requestsMax: 7,
  });
  assert.deepEqual([spec.priorityLevels, spec.defaultPriority], [3, 2]);
  const plain = {
    timeoutAction: 'reject',
    defaultTimeoutUs: 0,
    allowTimeoutOverride: false,
    requestsMax: 0,
  };
  assert.deepEqual(spec.priorityPolicies, [
    { level: 1, policy: { ...plain, timeoutAction: 'delay' } },
    {
      level: 3,
      policy: {
        ...plain,
        requestsMax: 1,
        defaultTimeoutUs: Number.MAX_SAFE_INTEGER,
      },
    },
  ]);
});

test('a configuration that leaves the tensors to the model batches as one without', () => {
  assert.deepEqual(settings('name: "m"', new Map(), 4).batch, autoBatching(4).batch);
  assert.deepEqual(settings('name: "m"').batch, OFF);
  assert.equal(settings(TENSORS, new Map(), 4).batch?.mode, 'off');
  const delayed = settings('dynamic_batching { max_queue_delay_microseconds: 9 }', new Map(), 4);
  assert.deepEqual(delayed.batch, {
    ...OFF,
    mode: 'on',
    rowsMax: 4,
    delayUs: 9,
    onlyIfBatchable: true,
  });
  const open = settings('max_batch_size: 8');
  assert.deepEqual(
    [open.batchDim, open.batch],
    [true, { ...OFF, mode: 'auto', rowsMax: 8, requestRowsMax: 8, onlyIfBatchable: true }],
  );
  assert.equal(settings('max_batch_size: 1').batch?.mode, 'off');
});

test('a max_batch_size of 0 is obeyed where it is written', () => {
  const text = settings('max_batch_size: 0', new Map(), 4);
  assert.deepEqual([text.batch, text.batchDim], [OFF, false]);
  const queued = settings(
    `max_batch_size: 0
    dynamic_batching { priority_levels: 2 default_priority_level: 1 }`,
    new Map(),
    4,
  );
  assert.deepEqual([queued.batch, queued.priorityLevels], [OFF, 2]);
  const json = tritonConfigFromJson('{"max_batch_size": 0}', 'config').config;
  assert.ok(json);
  assert.deepEqual(engineSettings(json, new Map(), 4).batch, OFF);
  const none = tritonConfigFromJson('{}', 'config').config;
  assert.ok(none);
  assert.equal(engineSettings(none, new Map(), 4).batch?.mode, 'auto');
});

test("Serval's own parameters", () => {
  const parameter = (name: string, value: string): string =>
    `parameters { key: "serval.${name}" value { string_value: "${value}" } }`;
  const { batch } = settings(`max_batch_size: 8 ${TENSORS} dynamic_batching { }
    ${parameter('split', 'true')} ${parameter('pad_inner', '1')}
    ${parameter('allowed_rows', '2, 4,8')}`);
  assert.deepEqual(batch, {
    ...OFF,
    mode: 'on',
    rowsMax: 8,
    requestRowsMax: 0,
    allowedRows: [2, 4, 8],
    split: true,
    padInner: true,
  });
  const not = settings(`max_batch_size: 8 ${TENSORS} ${parameter('split', 'False')}`).batch;
  assert.deepEqual([not?.split, not?.requestRowsMax], [false, 8]);
  const unasked = [
    `max_batch_size: 8 ${parameter('pad_inner', '1')}`,
    parameter('pad_inner', '1'),
  ].map((text) => settings(text, new Map(), 4).batch);
  assert.deepEqual(
    unasked.map((one) => [one?.mode, one?.padInner]),
    [
      ['auto', false],
      ['auto', false],
    ],
    'a proof is of rows of one shape',
  );
});

test('a weight is the share of the cores', () => {
  const weight = (text: string): string =>
    `parameters { key: "weight" value { string_value: "${text}" } }`;
  assert.equal(settings('').turnWeight, undefined);
  assert.equal(settings(weight('300')).turnWeight, 300);
});

test('a rate limiter has resources and a priority', () => {
  const group = (text: string): ReturnType<typeof settings> =>
    settings(`instance_group { count: 2 rate_limiter { ${text} } }`);
  assert.equal(settings('instance_group { count: 2 }').rateResources, undefined);
  assert.deepEqual(group('').rateResources, []);
  assert.deepEqual([group('').ratePriority, group('priority: 3').ratePriority], [1, 3]);
  assert.deepEqual(
    group('resources [ { name: "A" count: 4 }, { name: "B" global: true count: 1 } ]')
      .rateResources,
    [
      { name: 'A', global: false, count: 4 },
      { name: 'B', global: true, count: 1 },
    ],
  );
});

test('instances are counted over groups and GPUs', () => {
  assert.equal(settings('').instances, undefined);
  assert.equal(settings('instance_group { }').instances, 1);
  const cpu = settings(
    'instance_group [ { count: 2 kind: KIND_CPU }, { count: 3 }, ' + '{ kind: KIND_MODEL } ]',
  );
  assert.deepEqual([cpu.instances, cpu.providers, cpu.devices], [6, undefined, undefined]);
  const gpu = settings(
    'instance_group [ { count: 2 kind: KIND_GPU gpus: [0, 1] }, ' +
      '{ kind: KIND_GPU gpus: [1] }, { kind: KIND_GPU } ]',
  );
  assert.deepEqual(
    [gpu.instances, gpu.devices, gpu.providers],
    [6, [0, 1], [{ name: 'cuda', options: {} }]],
  );
});

test("TensorRT and CUDA options by ONNX Runtime's names", () => {
  const accelerator = `optimization { execution_accelerators { gpu_execution_accelerator [
    { name: "tensorrt" parameters { key: "precision_mode" value: "FP16" }
      parameters { key: "max_workspace_size_bytes" value: "1073741824" }
      parameters { key: "trt_engine_cache_enable" value: "1" } },
    { name: "cuda" parameters { key: "use_tf32" value: "0" } } ] } }
    parameters { key: "cudnn_conv_algo_search" value { string_value: "1" } }
    parameters { key: "gpu_mem_limit" value { string_value: "5000" } }
    parameters { key: "arena_extend_strategy" value { string_value: "1" } }`;
  assert.deepEqual(settings(`instance_group { kind: KIND_GPU } ${accelerator}`).providers, [
    {
      name: 'tensorrt',
      options: {
        trt_fp16_enable: '1',
        trt_max_workspace_size: '1073741824',
        trt_engine_cache_enable: '1',
      },
    },
    {
      name: 'cuda',
      options: {
        cudnn_conv_algo_search: 'HEURISTIC',
        gpu_mem_limit: '5000',
        arena_extend_strategy: 'kSameAsRequested',
        use_tf32: '0',
      },
    },
  ]);
  assert.equal(settings(`instance_group { kind: KIND_CPU } ${accelerator}`).providers, undefined);
  const plain = settings(`instance_group { kind: KIND_GPU } optimization { execution_accelerators {
    gpu_execution_accelerator { name: "tensorrt"
      parameters { key: "precision_mode" value: "FP32" } } } }`);
  assert.deepEqual(plain.providers, [
    { name: 'tensorrt', options: {} },
    { name: 'cuda', options: {} },
  ]);
});

test('OpenVINO on the CPU', () => {
  const text = `optimization { execution_accelerators {
    cpu_execution_accelerator { name: "openvino" } } }`;
  assert.deepEqual(settings(text).providers, [
    { name: 'openvino', options: { device_type: 'CPU' } },
  ]);
});

test('threads, execution mode, session options', () => {
  const parameters = (pairs: Readonly<Record<string, string>>): Partial<ModelSpec> =>
    settings(
      Object.entries(pairs)
        .map(([key, value]) => `parameters { key: "${key}" value { string_value: "${value}" } }`)
        .join(' '),
    );
  const threads = ({ intraOpThreads, interOpThreads }: Partial<ModelSpec>): unknown => [
    intraOpThreads,
    interOpThreads,
  ];
  assert.deepEqual(threads(parameters({})), [undefined, undefined]);
  assert.deepEqual(threads(parameters({ intra_op_thread_count: '3' })), [3, undefined]);
  assert.deepEqual(threads(parameters({ inter_op_thread_count: '3' })), [undefined, undefined]);
  assert.deepEqual(threads(parameters({ execution_mode: '0', inter_op_thread_count: '3' })), [
    undefined,
    0,
  ]);
  assert.deepEqual(threads(parameters({ execution_mode: '1', inter_op_thread_count: '3' })), [
    undefined,
    3,
  ]);
  assert.deepEqual(threads(parameters({ execution_mode: '1' })), [
    undefined,
    availableParallelism(),
  ]);
  assert.deepEqual(
    parameters({
      enable_mem_arena: 'FALSE',
      enable_mem_pattern: '1',
      'session.set_denormal_as_zero': '1',
      x: 'y',
    }).sessionConfig,
    { enable_mem_arena: '0', enable_mem_pattern: '1', 'session.set_denormal_as_zero': '1' },
  );
  assert.equal(parameters({ x: 'y' }).sessionConfig, undefined);
});

test('graph levels', () => {
  const level = (text: string): unknown => settings(`optimization { ${text} }`).graphOptimization;
  assert.equal(level(''), undefined);
  assert.deepEqual(
    ['-1', '0', '1', '2', '7'].map((one) => level(`graph { level: ${one} }`)),
    [1, 99, 2, 0, 99],
  );
});

test('inputs that a request may omit', () => {
  const { inputs } = settings(`
    input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }
    input { name: "bias" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
    output { name: "y" data_type: TYPE_FP32 dims: [ 1 ] }`);
  assert.deepEqual(
    inputs?.map(({ name, optional }) => [name, optional]),
    [
      ['x', false],
      ['bias', true],
    ],
  );
});

test('reshapes and labels', () => {
  const text = `max_batch_size: 8
    input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } }
    output { name: "y" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: [ 4 ] } }`;
  const { inputs, outputs } = settings(
    text,
    new Map([
      ['y', ['cat', 'dog']],
      ['x', ['no']],
    ]),
  );
  assert.deepEqual(inputs, [
    { name: 'x', dims: [-1, 1], modelDims: [-1], labels: [], optional: false, ragged: false },
  ]);
  assert.deepEqual(outputs, [
    {
      name: 'y',
      dims: [-1, 2, 2],
      modelDims: [-1, 4],
      labels: ['cat', 'dog'],
      optional: false,
      ragged: false,
    },
  ]);
});

test('the null backend has the signature that the configuration describes', () => {
  const spec = settings(`backend: "serval_null" max_batch_size: 2
    input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] reshape { shape: [ 2, 2 ] } }
    output { name: "y" data_type: TYPE_STRING dims: [ -1 ] }
    parameters { key: "mode" value { string_value: "delay" } }
    parameters { key: "delay_us" value { string_value: "1500" } }
    parameters { key: "intra_op_thread_count" value { string_value: "2" } }`);
  assert.deepEqual(
    [spec.backend, spec.nullMode, spec.nullDelayUs, spec.intraOpThreads],
    ['null', 'delay', 1500, undefined],
  );
  const base = { symbols: ['', '', ''], unknownRank: false };
  assert.deepEqual(spec.nullSignature, {
    name: 'serving_default',
    inputs: [{ ...base, name: 'x', datatype: 'FP32', shape: [-1, 2, 2] }],
    outputs: [{ ...base, name: 'y', datatype: 'BYTES', shape: [-1, -1], symbols: ['', ''] }],
  });
  assert.equal(settings('backend: "serval_null"').nullMode, 'echo');
});

test("TensorFlow Serving's batching parameters", () => {
  const parameters: BatchingParameters = {
    maxBatchSize: 128,
    batchTimeoutMicros: 500,
    maxEnqueuedBatches: 10,
    numBatchThreads: 3,
    allowedBatchSizes: [32, 128],
    padVariableLengthInputs: true,
    enableLargeBatchSplitting: false,
    maxExecutionBatchSize: 128,
  };
  assert.deepEqual(batchingSettings(parameters), {
    instances: 3,
    queueRequestsMax: 1280,
    batch: {
      ...OFF,
      mode: 'on',
      rowsMax: 128,
      requestRowsMax: 128,
      allowedRows: [32, 128],
      delayUs: 500,
      padInner: true,
      onlyIfBatchable: true,
    },
  });
  const split = batchingSettings({
    ...parameters,
    enableLargeBatchSplitting: true,
    maxExecutionBatchSize: 32,
    maxEnqueuedBatches: 1_000_000,
  });
  assert.deepEqual(
    [split.batch?.rowsMax, split.batch?.requestRowsMax, split.batch?.split],
    [32, 0, true],
  );
  assert.equal(split.queueRequestsMax, 1_000_000);
});

test('without a configuration', () => {
  assert.deepEqual(autoBatching(4), {
    batch: { ...OFF, mode: 'auto', rowsMax: 4, onlyIfBatchable: true },
  });
  assert.deepEqual([autoBatching(0), autoBatching(1)], [{ batch: OFF }, { batch: OFF }]);
});
