// Generated from proto/wire/model_config.proto by proto/generate-wire.mjs; do not edit.
import { choice, many, map, message, one, oneOf } from '../schema.js';
import type { MessageSchema } from '../schema.js';

export const MODEL_CONFIG: MessageSchema = message('ModelConfig', () => ({
  name: one(1, 'string'),
  platform: one(2, 'string'),
  backend: one(17, 'string'),
  runtime: one(25, 'string'),
  version_policy: one(3, MODEL_VERSION_POLICY),
  max_batch_size: one(4, 'int32'),
  input: many(5, MODEL_INPUT),
  output: many(6, MODEL_OUTPUT),
  batch_input: many(20, BATCH_INPUT),
  batch_output: many(21, BATCH_OUTPUT),
  optimization: one(12, MODEL_OPTIMIZATION_POLICY),
  dynamic_batching: oneOf('scheduling_choice', 11, MODEL_DYNAMIC_BATCHING),
  sequence_batching: oneOf('scheduling_choice', 13, MODEL_SEQUENCE_BATCHING),
  ensemble_scheduling: oneOf('scheduling_choice', 15, MODEL_ENSEMBLING),
  instance_group: many(7, MODEL_INSTANCE_GROUP),
  default_model_filename: one(8, 'string'),
  cc_model_filenames: map(9, 'string', 'string'),
  metric_tags: map(10, 'string', 'string'),
  parameters: map(14, 'string', MODEL_PARAMETER),
  model_warmup: many(16, MODEL_WARMUP),
  model_operations: one(18, MODEL_OPERATIONS),
  model_transaction_policy: one(19, MODEL_TRANSACTION_POLICY),
  model_repository_agents: one(23, MODEL_REPOSITORY_AGENTS),
  response_cache: one(24, MODEL_RESPONSE_CACHE),
  model_metrics: one(26, MODEL_METRICS),
}));

const MODEL_VERSION_POLICY: MessageSchema = message('ModelVersionPolicy', () => ({
  latest: oneOf('policy_choice', 1, MODEL_VERSION_POLICY_LATEST),
  all: oneOf('policy_choice', 2, MODEL_VERSION_POLICY_ALL),
  specific: oneOf('policy_choice', 3, MODEL_VERSION_POLICY_SPECIFIC),
}));

const MODEL_VERSION_POLICY_LATEST: MessageSchema = message('ModelVersionPolicy.Latest', () => ({
  num_versions: one(1, 'uint32'),
}));

const MODEL_VERSION_POLICY_ALL: MessageSchema = message('ModelVersionPolicy.All', () => ({
}));

const MODEL_VERSION_POLICY_SPECIFIC: MessageSchema = message('ModelVersionPolicy.Specific', () => ({
  versions: many(1, 'int64'),
}));

const MODEL_INPUT: MessageSchema = message('ModelInput', () => ({
  name: one(1, 'string'),
  data_type: one(2, DATA_TYPE),
  format: one(3, MODEL_INPUT_FORMAT),
  dims: many(4, 'int64'),
  reshape: one(5, MODEL_TENSOR_RESHAPE),
  is_shape_tensor: one(6, 'bool'),
  allow_ragged_batch: one(7, 'bool'),
  optional: one(8, 'bool'),
  is_non_linear_format_io: one(9, 'bool'),
}));

const DATA_TYPE = choice({
  TYPE_INVALID: 0,
  TYPE_BOOL: 1,
  TYPE_UINT8: 2,
  TYPE_UINT16: 3,
  TYPE_UINT32: 4,
  TYPE_UINT64: 5,
  TYPE_INT8: 6,
  TYPE_INT16: 7,
  TYPE_INT32: 8,
  TYPE_INT64: 9,
  TYPE_FP16: 10,
  TYPE_FP32: 11,
  TYPE_FP64: 12,
  TYPE_STRING: 13,
  TYPE_BF16: 14,
});

const MODEL_INPUT_FORMAT = choice({
  FORMAT_NONE: 0,
  FORMAT_NHWC: 1,
  FORMAT_NCHW: 2,
});

const MODEL_TENSOR_RESHAPE: MessageSchema = message('ModelTensorReshape', () => ({
  shape: many(1, 'int64'),
}));

const MODEL_OUTPUT: MessageSchema = message('ModelOutput', () => ({
  name: one(1, 'string'),
  data_type: one(2, DATA_TYPE),
  dims: many(3, 'int64'),
  reshape: one(5, MODEL_TENSOR_RESHAPE),
  label_filename: one(4, 'string'),
  is_shape_tensor: one(6, 'bool'),
  is_non_linear_format_io: one(7, 'bool'),
}));

const BATCH_INPUT: MessageSchema = message('BatchInput', () => ({
  kind: one(1, BATCH_INPUT_KIND),
  target_name: many(2, 'string'),
  data_type: one(3, DATA_TYPE),
  source_input: many(4, 'string'),
}));

const BATCH_INPUT_KIND = choice({
  BATCH_ELEMENT_COUNT: 0,
  BATCH_ACCUMULATED_ELEMENT_COUNT: 1,
  BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO: 2,
  BATCH_MAX_ELEMENT_COUNT_AS_SHAPE: 3,
  BATCH_ITEM_SHAPE: 4,
  BATCH_ITEM_SHAPE_FLATTEN: 5,
});

const BATCH_OUTPUT: MessageSchema = message('BatchOutput', () => ({
  target_name: many(1, 'string'),
  kind: one(2, BATCH_OUTPUT_KIND),
  source_input: many(3, 'string'),
}));

const BATCH_OUTPUT_KIND = choice({
  BATCH_SCATTER_WITH_INPUT_SHAPE: 0,
});

const MODEL_OPTIMIZATION_POLICY: MessageSchema = message('ModelOptimizationPolicy', () => ({
  graph: one(1, MODEL_OPTIMIZATION_POLICY_GRAPH),
  priority: one(2, MODEL_OPTIMIZATION_POLICY_MODEL_PRIORITY),
  cuda: one(3, MODEL_OPTIMIZATION_POLICY_CUDA),
  execution_accelerators: one(4, MODEL_OPTIMIZATION_POLICY_EXECUTION_ACCELERATORS),
  input_pinned_memory: one(5, MODEL_OPTIMIZATION_POLICY_PINNED_MEMORY_BUFFER),
  output_pinned_memory: one(6, MODEL_OPTIMIZATION_POLICY_PINNED_MEMORY_BUFFER),
  gather_kernel_buffer_threshold: one(7, 'uint32'),
  eager_batching: one(8, 'bool'),
}));

const MODEL_OPTIMIZATION_POLICY_GRAPH: MessageSchema = message('ModelOptimizationPolicy.Graph', () => ({
  level: one(1, 'int32'),
}));

const MODEL_OPTIMIZATION_POLICY_MODEL_PRIORITY = choice({
  PRIORITY_DEFAULT: 0,
  PRIORITY_MAX: 1,
  PRIORITY_MIN: 2,
});

const MODEL_OPTIMIZATION_POLICY_CUDA: MessageSchema = message('ModelOptimizationPolicy.Cuda', () => ({
  graphs: one(1, 'bool'),
  busy_wait_events: one(2, 'bool'),
  graph_spec: many(3, MODEL_OPTIMIZATION_POLICY_CUDA_GRAPH_SPEC),
  output_copy_stream: one(4, 'bool'),
}));

const MODEL_OPTIMIZATION_POLICY_CUDA_GRAPH_SPEC: MessageSchema = message('ModelOptimizationPolicy.Cuda.GraphSpec', () => ({
  batch_size: one(1, 'int32'),
  input: map(2, 'string', MODEL_OPTIMIZATION_POLICY_CUDA_GRAPH_SPEC_SHAPE),
  graph_lower_bound: one(3, MODEL_OPTIMIZATION_POLICY_CUDA_GRAPH_SPEC_LOWER_BOUND),
}));

const MODEL_OPTIMIZATION_POLICY_CUDA_GRAPH_SPEC_SHAPE: MessageSchema = message('ModelOptimizationPolicy.Cuda.GraphSpec.Shape', () => ({
  dim: many(1, 'int64'),
}));

const MODEL_OPTIMIZATION_POLICY_CUDA_GRAPH_SPEC_LOWER_BOUND: MessageSchema = message('ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound', () => ({
  batch_size: one(1, 'int32'),
  input: map(2, 'string', MODEL_OPTIMIZATION_POLICY_CUDA_GRAPH_SPEC_SHAPE),
}));

const MODEL_OPTIMIZATION_POLICY_EXECUTION_ACCELERATORS: MessageSchema = message('ModelOptimizationPolicy.ExecutionAccelerators', () => ({
  gpu_execution_accelerator: many(1, MODEL_OPTIMIZATION_POLICY_EXECUTION_ACCELERATORS_ACCELERATOR),
  cpu_execution_accelerator: many(2, MODEL_OPTIMIZATION_POLICY_EXECUTION_ACCELERATORS_ACCELERATOR),
}));

const MODEL_OPTIMIZATION_POLICY_EXECUTION_ACCELERATORS_ACCELERATOR: MessageSchema = message('ModelOptimizationPolicy.ExecutionAccelerators.Accelerator', () => ({
  name: one(1, 'string'),
  parameters: map(2, 'string', 'string'),
}));

const MODEL_OPTIMIZATION_POLICY_PINNED_MEMORY_BUFFER: MessageSchema = message('ModelOptimizationPolicy.PinnedMemoryBuffer', () => ({
  enable: one(1, 'bool'),
}));

const MODEL_DYNAMIC_BATCHING: MessageSchema = message('ModelDynamicBatching', () => ({
  preferred_batch_size: many(1, 'int32'),
  max_queue_delay_microseconds: one(2, 'uint64'),
  preserve_ordering: one(3, 'bool'),
  priority_levels: one(4, 'uint64'),
  default_priority_level: one(5, 'uint64'),
  default_queue_policy: one(6, MODEL_QUEUE_POLICY),
  priority_queue_policy: map(7, 'uint64', MODEL_QUEUE_POLICY),
}));

const MODEL_QUEUE_POLICY: MessageSchema = message('ModelQueuePolicy', () => ({
  timeout_action: one(1, MODEL_QUEUE_POLICY_TIMEOUT_ACTION),
  default_timeout_microseconds: one(2, 'uint64'),
  allow_timeout_override: one(3, 'bool'),
  max_queue_size: one(4, 'uint32'),
}));

const MODEL_QUEUE_POLICY_TIMEOUT_ACTION = choice({
  REJECT: 0,
  DELAY: 1,
});

const MODEL_SEQUENCE_BATCHING: MessageSchema = message('ModelSequenceBatching', () => ({
  direct: oneOf('strategy_choice', 3, MODEL_SEQUENCE_BATCHING_STRATEGY_DIRECT),
  oldest: oneOf('strategy_choice', 4, MODEL_SEQUENCE_BATCHING_STRATEGY_OLDEST),
  max_sequence_idle_microseconds: one(1, 'uint64'),
  control_input: many(2, MODEL_SEQUENCE_BATCHING_CONTROL_INPUT),
  state: many(5, MODEL_SEQUENCE_BATCHING_STATE),
  iterative_sequence: one(6, 'bool'),
}));

const MODEL_SEQUENCE_BATCHING_STRATEGY_DIRECT: MessageSchema = message('ModelSequenceBatching.StrategyDirect', () => ({
  max_queue_delay_microseconds: one(1, 'uint64'),
  minimum_slot_utilization: one(2, 'float'),
}));

const MODEL_SEQUENCE_BATCHING_STRATEGY_OLDEST: MessageSchema = message('ModelSequenceBatching.StrategyOldest', () => ({
  max_candidate_sequences: one(1, 'int32'),
  preferred_batch_size: many(2, 'int32'),
  max_queue_delay_microseconds: one(3, 'uint64'),
  preserve_ordering: one(4, 'bool'),
}));

const MODEL_SEQUENCE_BATCHING_CONTROL_INPUT: MessageSchema = message('ModelSequenceBatching.ControlInput', () => ({
  name: one(1, 'string'),
  control: many(2, MODEL_SEQUENCE_BATCHING_CONTROL),
}));

const MODEL_SEQUENCE_BATCHING_CONTROL: MessageSchema = message('ModelSequenceBatching.Control', () => ({
  kind: one(1, MODEL_SEQUENCE_BATCHING_CONTROL_KIND),
  int32_false_true: many(2, 'int32'),
  fp32_false_true: many(3, 'float'),
  bool_false_true: many(5, 'bool'),
  data_type: one(4, DATA_TYPE),
}));

const MODEL_SEQUENCE_BATCHING_CONTROL_KIND = choice({
  CONTROL_SEQUENCE_START: 0,
  CONTROL_SEQUENCE_READY: 1,
  CONTROL_SEQUENCE_END: 2,
  CONTROL_SEQUENCE_CORRID: 3,
});

const MODEL_SEQUENCE_BATCHING_STATE: MessageSchema = message('ModelSequenceBatching.State', () => ({
  input_name: one(1, 'string'),
  output_name: one(2, 'string'),
  data_type: one(3, DATA_TYPE),
  dims: many(4, 'int64'),
  initial_state: many(5, MODEL_SEQUENCE_BATCHING_INITIAL_STATE),
  use_same_buffer_for_input_output: one(6, 'bool'),
  use_growable_memory: one(7, 'bool'),
}));

const MODEL_SEQUENCE_BATCHING_INITIAL_STATE: MessageSchema = message('ModelSequenceBatching.InitialState', () => ({
  data_type: one(1, DATA_TYPE),
  dims: many(2, 'int64'),
  zero_data: oneOf('state_data', 3, 'bool'),
  data_file: oneOf('state_data', 4, 'string'),
  name: one(5, 'string'),
}));

const MODEL_ENSEMBLING: MessageSchema = message('ModelEnsembling', () => ({
  step: many(1, MODEL_ENSEMBLING_STEP),
  max_inflight_requests: one(2, 'uint32'),
}));

const MODEL_ENSEMBLING_STEP: MessageSchema = message('ModelEnsembling.Step', () => ({
  model_name: one(1, 'string'),
  model_version: one(2, 'int64'),
  input_map: map(3, 'string', 'string'),
  output_map: map(4, 'string', 'string'),
  model_namespace: one(5, 'string'),
}));

const MODEL_INSTANCE_GROUP: MessageSchema = message('ModelInstanceGroup', () => ({
  name: one(1, 'string'),
  kind: one(4, MODEL_INSTANCE_GROUP_KIND),
  count: one(2, 'int32'),
  rate_limiter: one(6, MODEL_RATE_LIMITER),
  gpus: many(3, 'int32'),
  secondary_devices: many(8, MODEL_INSTANCE_GROUP_SECONDARY_DEVICE),
  profile: many(5, 'string'),
  passive: one(7, 'bool'),
  host_policy: one(9, 'string'),
}));

const MODEL_INSTANCE_GROUP_KIND = choice({
  KIND_AUTO: 0,
  KIND_GPU: 1,
  KIND_CPU: 2,
  KIND_MODEL: 3,
});

const MODEL_RATE_LIMITER: MessageSchema = message('ModelRateLimiter', () => ({
  resources: many(1, MODEL_RATE_LIMITER_RESOURCE),
  priority: one(2, 'uint32'),
}));

const MODEL_RATE_LIMITER_RESOURCE: MessageSchema = message('ModelRateLimiter.Resource', () => ({
  name: one(1, 'string'),
  global: one(2, 'bool'),
  count: one(3, 'uint32'),
}));

const MODEL_INSTANCE_GROUP_SECONDARY_DEVICE: MessageSchema = message('ModelInstanceGroup.SecondaryDevice', () => ({
  kind: one(1, MODEL_INSTANCE_GROUP_SECONDARY_DEVICE_SECONDARY_DEVICE_KIND),
  device_id: one(2, 'int64'),
}));

const MODEL_INSTANCE_GROUP_SECONDARY_DEVICE_SECONDARY_DEVICE_KIND = choice({
  KIND_NVDLA: 0,
});

const MODEL_PARAMETER: MessageSchema = message('ModelParameter', () => ({
  string_value: one(1, 'string'),
}));

const MODEL_WARMUP: MessageSchema = message('ModelWarmup', () => ({
  name: one(1, 'string'),
  batch_size: one(2, 'uint32'),
  inputs: map(3, 'string', MODEL_WARMUP_INPUT),
  count: one(4, 'uint32'),
}));

const MODEL_WARMUP_INPUT: MessageSchema = message('ModelWarmup.Input', () => ({
  data_type: one(1, DATA_TYPE),
  dims: many(2, 'int64'),
  zero_data: oneOf('input_data_type', 3, 'bool'),
  random_data: oneOf('input_data_type', 4, 'bool'),
  input_data_file: oneOf('input_data_type', 5, 'string'),
}));

const MODEL_OPERATIONS: MessageSchema = message('ModelOperations', () => ({
  op_library_filename: many(1, 'string'),
}));

const MODEL_TRANSACTION_POLICY: MessageSchema = message('ModelTransactionPolicy', () => ({
  decoupled: one(1, 'bool'),
}));

const MODEL_REPOSITORY_AGENTS: MessageSchema = message('ModelRepositoryAgents', () => ({
  agents: many(1, MODEL_REPOSITORY_AGENTS_AGENT),
}));

const MODEL_REPOSITORY_AGENTS_AGENT: MessageSchema = message('ModelRepositoryAgents.Agent', () => ({
  name: one(1, 'string'),
  parameters: map(2, 'string', 'string'),
}));

const MODEL_RESPONSE_CACHE: MessageSchema = message('ModelResponseCache', () => ({
  enable: one(1, 'bool'),
}));

const MODEL_METRICS: MessageSchema = message('ModelMetrics', () => ({
  metric_control: many(1, MODEL_METRICS_METRIC_CONTROL),
}));

const MODEL_METRICS_METRIC_CONTROL: MessageSchema = message('ModelMetrics.MetricControl', () => ({
  metric_identifier: one(1, MODEL_METRICS_METRIC_CONTROL_METRIC_IDENTIFIER),
  histogram_options: oneOf('metric_options', 2, MODEL_METRICS_METRIC_CONTROL_HISTOGRAM_OPTIONS),
}));

const MODEL_METRICS_METRIC_CONTROL_METRIC_IDENTIFIER: MessageSchema = message('ModelMetrics.MetricControl.MetricIdentifier', () => ({
  family: one(1, 'string'),
}));

const MODEL_METRICS_METRIC_CONTROL_HISTOGRAM_OPTIONS: MessageSchema = message('ModelMetrics.MetricControl.HistogramOptions', () => ({
  buckets: many(1, 'double'),
}));
