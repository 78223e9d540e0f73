// Every field of the other servers' configuration files, through the real readers: it has the
// effect that the tables state, and the tables cover every field.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldRow, FieldTable } from '../../../../ts/config/peers/field-row.js';
import {
  BATCHING_FIELDS,
  MODELS_CONFIG_FIELDS,
  MONITORING_FIELDS,
  SSL_FIELDS,
} from '../../../../ts/config/peers/serving-fields.js';
import { TRITON_FIELDS } from '../../../../ts/config/peers/triton-fields.js';
import {
  FIL_PARAMETERS,
  NULL_PARAMETERS,
  TRITON_PARAMETERS,
} from '../../../../ts/config/peers/triton-parameters.js';
import { parseBatchingParameters } from '../../../../ts/models/config/batching-parameters.js';
import { parseModelServerConfig } from '../../../../ts/models/config/models-config.js';
import { parseMonitoringConfig } from '../../../../ts/models/config/monitoring-config.js';
import { parseSslConfig } from '../../../../ts/models/config/ssl-config.js';
import {
  parseTritonConfig,
  tritonConfigFromJson,
} from '../../../../ts/models/config/triton-config.js';
import { MODEL_CONFIG } from '../../../../ts/protobuf/generated/model-config.js';
import {
  BATCHING_PARAMETERS,
  MONITORING_CONFIG,
  SSLCONFIG,
} from '../../../../ts/protobuf/generated/serving-config.js';
import { MODEL_SERVER_CONFIG } from '../../../../ts/protobuf/generated/tensorflow-serving.js';
import type { ConfigProblem } from '../../../../ts/protobuf/problem.js';
import type { MessageSchema } from '../../../../ts/protobuf/schema.js';

interface Read {
  readonly problems: readonly ConfigProblem[];
  readonly warnings?: readonly ConfigProblem[];
}

/** Message -> the text around its members, "@", and samples of them: "field: value" texts. */
type Samples = Readonly<Record<string, readonly [around: string, ...members: readonly string[]]>>;

const TENSOR = 'name: "x" data_type: TYPE_FP32 dims: [ 3, 4, 5 ]';
const COUNTS = 'target_name: "i" data_type: TYPE_INT32 source_input: "x"';
const SCATTER = 'target_name: "x" source_input: "x"';
const IO =
  'platform: "ensemble" input { name: "a" data_type: TYPE_FP32 dims: 1 } ' +
  'output { name: "b" data_type: TYPE_FP32 dims: 1 }';
const [IN_MAP, OUT_MAP] = [
  'input_map { key: "x" value: "a" }',
  'output_map { key: "y" value: "b" }',
];
const STEP = `step { model_name: "s" model_version: -1 ${IN_MAP} ${OUT_MAP} }`;
const CONTROL = 'name: "S" control { bool_false_true: [ false, true ] }';
const STATE = 'input_name: "a" output_name: "b" data_type: TYPE_FP32';
const WARMUP = 'inputs { key: "x" value { data_type: TYPE_FP32 dims: 1 zero_data: true } }';

const TRITON_SAMPLES: Samples = {
  ModelConfig: [
    '@',
    'name: "m"',
    'platform: "onnxruntime_onnx"',
    'backend: "onnxruntime"',
    'runtime: "r"',
    'version_policy { all { } }',
    'max_batch_size: 4',
    `input { ${TENSOR} }`,
    `output { ${TENSOR} }`,
    `batch_input { ${COUNTS} } input { ${TENSOR} }`,
    `batch_output { ${SCATTER} } input { ${TENSOR} } output { ${TENSOR} }`,
    'optimization { graph { level: 1 } }',
    'dynamic_batching { }',
    'sequence_batching { }',
    `ensemble_scheduling { ${STEP} } ${IO}`,
    'instance_group { count: 2 }',
    'default_model_filename: "m.onnx"',
    'cc_model_filenames { key: "7.5" value: "m" }',
    'metric_tags { key: "a" value: "b" }',
    'parameters { key: "execution_mode" value { string_value: "1" } }',
    `model_warmup { name: "w" batch_size: 1 ${WARMUP} }`,
    'model_operations { op_library_filename: "l" }',
    'model_transaction_policy { decoupled: true }',
    'model_repository_agents { agents { name: "checksum" } }',
    'response_cache { enable: true }',
    'model_metrics { metric_control { metric_identifier { family: "f" } } }',
  ],
  ModelTransactionPolicy: ['model_transaction_policy { @ }', 'decoupled: true'],
  ModelOperations: ['model_operations { @ }', 'op_library_filename: "l.so"'],
  ModelResponseCache: ['response_cache { @ }', 'enable: true'],
  ModelEnsembling: [`${IO} ensemble_scheduling { @ }`, STEP, `max_inflight_requests: 4 ${STEP}`],
  'ModelEnsembling.Step': [
    `${IO} ensemble_scheduling { step { @ } }`,
    `model_name: "s" model_version: -1 ${IN_MAP} ${OUT_MAP}`,
    `model_version: 3 model_name: "s" ${IN_MAP} ${OUT_MAP}`,
    `${IN_MAP} model_name: "s" model_version: -1 ${OUT_MAP}`,
    `${OUT_MAP} model_name: "s" model_version: -1 ${IN_MAP}`,
    `model_namespace: "n" model_name: "s" model_version: -1 ${IN_MAP} ${OUT_MAP}`,
  ],
  ModelRepositoryAgents: ['model_repository_agents { @ }', 'agents { name: "checksum" }'],
  'ModelRepositoryAgents.Agent': [
    'model_repository_agents { agents { @ } }',
    'name: "checksum"',
    `parameters { key: "MD5:f" value: "${'0'.repeat(32)}" } name: "checksum"`,
  ],
  ModelVersionPolicy: [
    'version_policy { @ }',
    'latest { num_versions: 2 }',
    'all { }',
    'specific { versions: 1 }',
  ],
  'ModelVersionPolicy.Latest': ['version_policy { latest { @ } }', 'num_versions: 2'],
  'ModelVersionPolicy.All': ['version_policy { all { @ } }'],
  'ModelVersionPolicy.Specific': ['version_policy { specific { @ } }', 'versions: [1, 2]'],
  ModelInput: [
    'input { @ }',
    'name: "x" data_type: TYPE_FP32 dims: 1',
    'data_type: TYPE_FP32 name: "x" dims: 1',
    `format: FORMAT_NHWC ${TENSOR}`,
    'dims: [ -1 ] name: "x" data_type: TYPE_FP32',
    `reshape { shape: [ 60 ] } ${TENSOR}`,
    `is_shape_tensor: true ${TENSOR}`,
    `allow_ragged_batch: true ${TENSOR}`,
    `optional: true ${TENSOR}`,
    `is_non_linear_format_io: true ${TENSOR}`,
  ],
  ModelOutput: [
    'output { @ }',
    'name: "x" data_type: TYPE_FP32 dims: 1',
    'data_type: TYPE_FP32 name: "x" dims: 1',
    'dims: [ -1 ] name: "x" data_type: TYPE_FP32',
    `reshape { shape: [ 60 ] } ${TENSOR}`,
    `label_filename: "l.txt" ${TENSOR}`,
    `is_shape_tensor: true ${TENSOR}`,
    `is_non_linear_format_io: true ${TENSOR}`,
  ],
  BatchInput: [
    `input { ${TENSOR} } batch_input { @ }`,
    `kind: BATCH_ITEM_SHAPE ${COUNTS}`,
    COUNTS,
    `data_type: TYPE_FP32 target_name: "i" source_input: "x"`,
    `source_input: "x" target_name: "i" data_type: TYPE_INT32`,
  ],
  BatchOutput: [
    `input { ${TENSOR} } output { ${TENSOR} } batch_output { @ }`,
    SCATTER,
    `kind: BATCH_SCATTER_WITH_INPUT_SHAPE ${SCATTER}`,
    `source_input: "x" target_name: "x"`,
  ],
  ModelTensorReshape: [`input { ${TENSOR} reshape { @ } }`, 'shape: [ 12, 5 ]'],
  ModelOptimizationPolicy: [
    'instance_group { kind: KIND_GPU } optimization { @ }',
    'graph { level: 1 }',
    'priority: PRIORITY_MAX',
    'cuda { graphs: true }',
    'execution_accelerators { gpu_execution_accelerator { name: "cuda" } }',
    'input_pinned_memory { enable: true }',
    'output_pinned_memory { enable: true }',
    'gather_kernel_buffer_threshold: 1',
    'eager_batching: true',
  ],
  'ModelOptimizationPolicy.Graph': ['optimization { graph { @ } }', 'level: -1'],
  'ModelOptimizationPolicy.Cuda': [
    'max_batch_size: 4 optimization { cuda { @ } }',
    'graphs: true',
    'busy_wait_events: true',
    'graph_spec { batch_size: 3 } graphs: true',
    'output_copy_stream: true',
  ],
  'ModelOptimizationPolicy.Cuda.GraphSpec': [
    'max_batch_size: 4 optimization { cuda { graphs: true graph_spec { @ } } }',
    'batch_size: 2',
    'input { key: "x" value { dim: 2 } } batch_size: 2',
    'graph_lower_bound { batch_size: 1 } batch_size: 2',
  ],
  'ModelOptimizationPolicy.ExecutionAccelerators': [
    'instance_group { kind: KIND_GPU } optimization { execution_accelerators { @ } }',
    'gpu_execution_accelerator { name: "tensorrt" }',
    'cpu_execution_accelerator { name: "openvino" }',
  ],
  'ModelOptimizationPolicy.ExecutionAccelerators.Accelerator': [
    'optimization { execution_accelerators { cpu_execution_accelerator { @ } } }',
    'name: "openvino"',
    'parameters { key: "precision_mode" value: "FP16" } name: "openvino"',
  ],
  ModelDynamicBatching: [
    'max_batch_size: 8 dynamic_batching { @ }',
    'preferred_batch_size: [ 4, 8 ]',
    'max_queue_delay_microseconds: 100',
    'preserve_ordering: true',
    'priority_levels: 2 default_priority_level: 1',
    'default_priority_level: 1 priority_levels: 2',
    'default_queue_policy { max_queue_size: 2 }',
    'priority_queue_policy { key: 1 value { max_queue_size: 2 } }',
  ],
  ModelSequenceBatching: [
    'sequence_batching { @ }',
    'direct { }',
    'oldest { max_candidate_sequences: 1 }',
    'max_sequence_idle_microseconds: 9',
    `control_input { ${CONTROL} }`,
    `state { ${STATE} }`,
    `iterative_sequence: true state { ${STATE} } } parameters { key: "serval.done_output" value { string_value: "d" }`,
  ],
  'ModelSequenceBatching.StrategyDirect': [
    'sequence_batching { direct { @ } }',
    'max_queue_delay_microseconds: 9',
    'minimum_slot_utilization: 0.5',
  ],
  'ModelSequenceBatching.StrategyOldest': [
    'max_batch_size: 4 sequence_batching { oldest { @ } }',
    'max_candidate_sequences: 4',
    'preferred_batch_size: [ 2 ] max_candidate_sequences: 4',
    'max_queue_delay_microseconds: 9 max_candidate_sequences: 4',
    'preserve_ordering: true max_candidate_sequences: 4',
  ],
  'ModelSequenceBatching.ControlInput': [
    'sequence_batching { control_input { @ } }',
    CONTROL,
    'control { bool_false_true: [ false, true ] } name: "S"',
  ],
  'ModelSequenceBatching.Control': [
    'sequence_batching { control_input { name: "S" control { @ } } }',
    'kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ]',
    'int32_false_true: [ 0, 1 ]',
    'fp32_false_true: [ 0, 1 ]',
    'bool_false_true: [ false, true ]',
    'data_type: TYPE_INT64 kind: CONTROL_SEQUENCE_CORRID',
  ],
  'ModelSequenceBatching.State': [
    'sequence_batching { state { @ } }',
    `input_name: "a" output_name: "b" data_type: TYPE_FP32`,
    `output_name: "b" input_name: "a" data_type: TYPE_FP32`,
    `data_type: TYPE_FP32 input_name: "a" output_name: "b"`,
    `dims: 1 ${STATE}`,
    `initial_state { data_type: TYPE_FP32 zero_data: true } ${STATE}`,
    `use_same_buffer_for_input_output: true ${STATE}`,
    `use_growable_memory: true ${STATE}`,
  ],
  'ModelSequenceBatching.InitialState': [
    `sequence_batching { state { ${STATE} dims: 1 initial_state { @ } } }`,
    'data_type: TYPE_FP32 dims: 1 zero_data: true',
    'dims: 1 data_type: TYPE_FP32 zero_data: true',
    'zero_data: true data_type: TYPE_FP32 dims: 1',
    'data_file: "f" data_type: TYPE_FP32 dims: 1',
    'name: "n" data_type: TYPE_FP32 dims: 1 zero_data: true',
  ],
  ModelQueuePolicy: [
    'dynamic_batching { default_queue_policy { @ } }',
    'timeout_action: DELAY',
    'default_timeout_microseconds: 9',
    'allow_timeout_override: true',
    'max_queue_size: 2',
  ],
  ModelInstanceGroup: [
    'instance_group { @ }',
    'name: "g"',
    'kind: KIND_CPU',
    'count: 2',
    'rate_limiter { priority: 2 }',
    'gpus: [ 0 ] kind: KIND_GPU',
    'secondary_devices { device_id: 1 }',
    'profile: "p"',
    'passive: true',
    'host_policy: "h"',
  ],
  ModelRateLimiter: [
    'instance_group { rate_limiter { @ } }',
    'resources { name: "R" count: 1 }',
    'priority: 2',
  ],
  'ModelRateLimiter.Resource': [
    'instance_group { rate_limiter { resources { @ } } }',
    'name: "R"',
    'global: true name: "R"',
    'count: 1 name: "R"',
  ],
  ModelParameter: ['parameters { key: "execution_mode" value { @ } }', 'string_value: "1"'],
  ModelWarmup: [
    'model_warmup { @ }',
    `name: "w" batch_size: 1 ${WARMUP}`,
    `batch_size: 1 name: "w" ${WARMUP}`,
    `${WARMUP} batch_size: 1`,
    `count: 2 batch_size: 1 ${WARMUP}`,
  ],
  'ModelWarmup.Input': [
    'model_warmup { batch_size: 1 inputs { key: "x" value { @ } } }',
    'data_type: TYPE_FP32 dims: 1 zero_data: true',
    'dims: 1 data_type: TYPE_FP32 zero_data: true',
    'zero_data: true data_type: TYPE_FP32 dims: 1',
    'random_data: true data_type: TYPE_FP32 dims: 1',
    'input_data_file: "f" data_type: TYPE_FP32 dims: 1',
  ],
};

const ENTRY = 'name: "m" base_path: "/m"';
const POLICY = `model_config_list { config { ${ENTRY} model_version_policy { @ } } }`;
const LOGGING = `model_config_list { config { ${ENTRY} logging_config { @ } } }`;
const LOG_PLACE = 'log_collector_config { filename_prefix: "/l" }';
const MODELS_SAMPLES: Samples = {
  ModelServerConfig: ['@', `model_config_list { config { ${ENTRY} } }`, 'custom_model_config { }'],
  ModelConfigList: ['model_config_list { @ }', `config { ${ENTRY} }`],
  ModelConfig: [
    'model_config_list { config { @ } }',
    ENTRY,
    'base_path: "file:///m" name: "m"',
    `model_type: TENSORFLOW ${ENTRY}`,
    `model_platform: "tensorflow" ${ENTRY}`,
    `logging_config { } ${ENTRY}`,
    `model_version_policy { all { } } ${ENTRY}`,
    `version_labels { key: "l" value: 1 } ${ENTRY}`,
  ],
  ServableVersionPolicy: [
    POLICY,
    'latest { num_versions: 2 }',
    'all { }',
    'specific { versions: 1 }',
  ],
  Latest: [POLICY.replace('@', 'latest { @ }'), 'num_versions: 2'],
  All: [POLICY.replace('@', 'all { @ }')],
  Specific: [POLICY.replace('@', 'specific { @ }'), 'versions: 1'],
  LoggingConfig: [
    LOGGING,
    LOG_PLACE,
    `sampling_config { sampling_rate: 0.5 } ${LOG_PLACE}`,
    'custom_logging_config { }',
  ],
  LogCollectorConfig: [
    LOGGING.replace('@', 'log_collector_config { @ }'),
    'type: "file"',
    'filename_prefix: "/l"',
  ],
  SamplingConfig: [
    LOGGING.replace('@', `${LOG_PLACE} sampling_config { @ }`),
    'sampling_rate: 0.5',
    'attributes: 1',
  ],
};

const BATCHING_SAMPLES: Samples = {
  BatchingParameters: [
    '@',
    'max_batch_size { value: 8 }',
    'batch_timeout_micros { value: 8 }',
    'max_enqueued_batches { value: 8 }',
    'num_batch_threads { value: 8 }',
    'thread_pool_name { value: "p" }',
    'allowed_batch_sizes: [ 4, 1000 ]',
    'pad_variable_length_inputs: true',
    'enable_large_batch_splitting { value: true }',
    'max_execution_batch_size { value: 8 } enable_large_batch_splitting { value: true }',
  ],
};

const MONITORING_SAMPLES: Samples = {
  MonitoringConfig: ['@', 'prometheus_config { enable: true }'],
  PrometheusConfig: ['prometheus_config { @ }', 'enable: true', 'path: "/p"'],
};

const PAIR = 'server_key: "k" server_cert: "c"';
const SSL_SAMPLES: Samples = {
  SSLConfig: [
    '@',
    PAIR,
    'server_cert: "c" server_key: "k"',
    `custom_ca: "a" ${PAIR}`,
    `client_verify: true custom_ca: "a" ${PAIR}`,
  ],
};

const files: readonly {
  readonly what: string;
  readonly root: MessageSchema;
  readonly table: FieldTable;
  readonly samples: Samples;
  readonly read: (text: string) => Read;
}[] = [
  {
    what: 'config.pbtxt',
    root: MODEL_CONFIG,
    table: TRITON_FIELDS,
    samples: TRITON_SAMPLES,
    read: (text) => parseTritonConfig(text, 'f'),
  },
  {
    what: 'models.config',
    root: MODEL_SERVER_CONFIG,
    table: MODELS_CONFIG_FIELDS,
    samples: MODELS_SAMPLES,
    read: (text) => parseModelServerConfig(text, 'f'),
  },
  {
    what: 'the batching file',
    root: BATCHING_PARAMETERS,
    table: BATCHING_FIELDS,
    samples: BATCHING_SAMPLES,
    read: (text) => parseBatchingParameters(text, 'f'),
  },
  {
    what: 'the monitoring file',
    root: MONITORING_CONFIG,
    table: MONITORING_FIELDS,
    samples: MONITORING_SAMPLES,
    read: (text) => parseMonitoringConfig(text, 'f'),
  },
  {
    what: "TLS's file",
    root: SSLCONFIG,
    table: SSL_FIELDS,
    samples: SSL_SAMPLES,
    read: (text) => {
      parseSslConfig(text, 'f');
      return { problems: [] };
    },
  },
];

/**
 * google.protobuf's Int64Value and the like: they share the row of the field that contains them.
 */
const isWrapper = ({ name }: MessageSchema): boolean => /^[A-Z]\w*Value$/.test(name);

/** "Message.field" of everything that is reachable through supported fields. */
function reached(root: MessageSchema, table: FieldTable): Set<string> {
  const found = new Set<string>();
  const waiting = [root];
  const seen = new Set<MessageSchema>();
  for (let schema = waiting.pop(); schema !== undefined; schema = waiting.pop()) {
    if (seen.has(schema) || isWrapper(schema)) continue;
    seen.add(schema);
    for (const [name, { type }] of Object.entries(schema.fields)) {
      found.add(`${schema.name}.${name}`);
      const row = table[schema.name]?.[name];
      if (row?.state === 'works' && type.kind === 'message') waiting.push(type);
    }
  }
  return found;
}

const rowsOf = (table: FieldTable): ReadonlyMap<string, FieldRow> =>
  new Map(
    Object.entries(table).flatMap(([message, rows]) =>
      Object.entries(rows).map(([field, row]) => [`${message}.${field}`, row] as const),
    ),
  );

/** "Message.field" -> a whole file. The field is the first word of its sample. */
const textsOf = (samples: Samples): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(samples).flatMap(([message, [around, ...members]]) =>
      members.map((member) => {
        const field = /^\w+/.exec(member)?.[0] ?? '';
        return [`${message}.${field}`, around.replace('@', member)] as const;
      }),
    ),
  );

const messages = (problems: readonly ConfigProblem[] = []): readonly string[] =>
  problems.map((one) => one.message);

for (const { what, root, table, samples, read } of files) {
  test(`${what}: every field that is reached has a row and a sample`, () => {
    const rows = [...rowsOf(table).keys()].sort();
    assert.deepEqual(rows, [...reached(root, table)].sort());
    assert.deepEqual(rows, [...textsOf(samples).keys()].sort());
  });

  test(`${what}: each field is what its row says`, () => {
    const texts = textsOf(samples);
    for (const [name, { state, note }] of rowsOf(table)) {
      const text = texts.get(name) ?? assert.fail(name);
      const { problems, warnings } = read(text);
      const said = [`${name.slice(name.lastIndexOf('.') + 1)}: ${note}`];
      assert.deepEqual(messages(problems), state === 'not here' ? said : [], text);
      assert.deepEqual(messages(warnings), state === 'no effect' ? said : [], text);
      for (const { place } of [...problems, ...(warnings ?? [])]) assert.match(place, /^f:1:\d+$/);
    }
  });
}

test('in JSON, in a list, two of them', () => {
  const { problems, warnings } = tritonConfigFromJson(
    JSON.stringify({
      instance_group: [{ host_policy: 'a' }, { name: 'g', host_policy: 'b' }],
      optimization: { cuda: { busy_wait_events: true }, eager_batching: false },
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1], is_shape_tensor: true }],
    }),
    'j',
  );
  const places = (found: readonly ConfigProblem[]): readonly string[] =>
    found.map(({ place }) => place);
  assert.deepEqual(places(problems), ['j: input[0].is_shape_tensor']);
  assert.deepEqual(places(warnings), [
    'j: instance_group[0].host_policy',
    'j: instance_group[1].host_policy',
    'j: optimization.cuda.busy_wait_events',
  ]);
});

/** A valid value if 1 is not one. */
const PARAMETER_VALUES: Readonly<Record<string, string>> = {
  load_mode: 'lazy',
  verification: 'warn',
  mode: 'echo',
  isolation: 'process',
  'serval.allowed_rows': '2,4',
  model_type: 'xgboost_ubj',
};

/** Parameters that have no meaning without another. */
const PARAMETER_NEEDS = new Map([
  ['isolation_group', ['isolation']],
  ...Object.keys(FIL_PARAMETERS)
    .filter((name) => !['is_classifier', 'output_class'].includes(name))
    .map((name) => [name, ['is_classifier']] as const),
  ['serval.steps_max', ['serval.done_output']],
] as readonly (readonly [string, string[]])[]);

/** The rest of the configuration that a parameter is for. */
const besides = (name: string): string =>
  ['serval.done_output', 'serval.steps_max'].includes(name)
    ? `sequence_batching { iterative_sequence: true state { ${STATE} } }`
    : '';

test('every parameter of config.pbtxt is what its row says', () => {
  const parameter = (name: string): string =>
    `parameters { key: "${name}" value { string_value: "${PARAMETER_VALUES[name] ?? '1'}" } } `;
  const read = (name: string, backend: string, needs = PARAMETER_NEEDS.get(name) ?? []): Read =>
    parseTritonConfig(
      `backend: "${backend}" max_batch_size: 4 ${[name, ...needs].map(parameter).join('')}
       ${besides(name)}`,
      'f',
    );
  const all = [
    ...Object.entries(TRITON_PARAMETERS).map((row) => [...row, 'onnxruntime'] as const),
    ...Object.entries(FIL_PARAMETERS).map((row) => [...row, 'fil'] as const),
    ...Object.entries(NULL_PARAMETERS).map((row) => [...row, 'serval_null'] as const),
  ];
  for (const [name, { state, note }, backend] of all) {
    const { problems, warnings } = read(name, backend);
    assert.deepEqual(messages(problems), [], name);
    assert.deepEqual(messages(warnings), state === 'works' ? [] : [`${name}: ${note}`]);
  }
  const warned = (name: string): readonly string[] => messages(read(name, 'onnxruntime').warnings);
  const session = read('session.disable_prepacking', 'onnxruntime');
  assert.deepEqual([session.problems, session.warnings], [[], []]);
  assert.deepEqual(warned('EXECUTION_ENV_PATH'), [
    'EXECUTION_ENV_PATH: no backend of Serval reads this parameter',
  ]);
  assert.deepEqual(messages(read('isolation_group', 'onnxruntime', []).warnings), [
    'isolation_group: no effect without the parameter isolation: process',
  ]);
  assert.deepEqual(warned('toString'), ['toString: no backend of Serval reads this parameter']);
});
