// Triton's model configuration, inference.ModelConfig of model_config.proto, as data: every field
// with its number, in the proto's order. Data only; control plane. What Serval does with the fields
// is ts/model-config/triton-checks.ts's and engine-settings.ts's to say.
// Source: triton-inference-server/common, protobuf/model_config.proto.
import { choice, many, map, message, one, oneOf, scalar } from '../protobuf/schema.js';
import type { FieldSchema, FieldType, MessageSchema } from '../protobuf/schema.js';

const INT32 = scalar('int32');
const INT64 = scalar('int64');
const UINT32 = scalar('uint32');
const UINT64 = scalar('uint64');
const FLOAT = scalar('float');
const DOUBLE = scalar('double');
const BOOL = scalar('bool');
const STRING = scalar('string');

const type = (name: string, fields: Readonly<Record<string, FieldSchema>>): FieldType =>
  message({ name, fields });

const LATEST = type('ModelVersionPolicy.Latest', { num_versions: one(1, UINT32) });
const ALL = type('ModelVersionPolicy.All', {});
const SPECIFIC = type('ModelVersionPolicy.Specific', { versions: many(1, INT64) });
const MODEL_VERSION_POLICY = type('ModelVersionPolicy', {
  latest: oneOf('policy_choice', 1, LATEST),
  all: oneOf('policy_choice', 2, ALL),
  specific: oneOf('policy_choice', 3, SPECIFIC),
});
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
const FORMAT = choice({ FORMAT_NONE: 0, FORMAT_NHWC: 1, FORMAT_NCHW: 2 });
const MODEL_TENSOR_RESHAPE = type('ModelTensorReshape', { shape: many(1, INT64) });
const MODEL_INPUT = type('ModelInput', {
  name: one(1, STRING),
  data_type: one(2, DATA_TYPE),
  format: one(3, FORMAT),
  dims: many(4, INT64),
  reshape: one(5, MODEL_TENSOR_RESHAPE),
  is_shape_tensor: one(6, BOOL),
  allow_ragged_batch: one(7, BOOL),
  optional: one(8, BOOL),
  is_non_linear_format_io: one(9, BOOL),
});
const MODEL_OUTPUT = type('ModelOutput', {
  name: one(1, STRING),
  data_type: one(2, DATA_TYPE),
  dims: many(3, INT64),
  reshape: one(5, MODEL_TENSOR_RESHAPE),
  label_filename: one(4, STRING),
  is_shape_tensor: one(6, BOOL),
  is_non_linear_format_io: one(7, BOOL),
});
const BATCH_INPUT_KIND = choice({
  BATCH_ELEMENT_COUNT: 0,
  BATCH_ACCUMULATED_ELEMENT_COUNT: 1,
  BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO: 2,
  BATCH_MAX_ELEMENT_COUNT_AS_SHAPE: 3,
  BATCH_ITEM_SHAPE: 4,
  BATCH_ITEM_SHAPE_FLATTEN: 5,
});
const BATCH_INPUT = type('BatchInput', {
  kind: one(1, BATCH_INPUT_KIND),
  target_name: many(2, STRING),
  data_type: one(3, DATA_TYPE),
  source_input: many(4, STRING),
});
const BATCH_OUTPUT_KIND = choice({ BATCH_SCATTER_WITH_INPUT_SHAPE: 0 });
const BATCH_OUTPUT = type('BatchOutput', {
  target_name: many(1, STRING),
  kind: one(2, BATCH_OUTPUT_KIND),
  source_input: many(3, STRING),
});
const GRAPH = type('ModelOptimizationPolicy.Graph', { level: one(1, INT32) });
const MODEL_PRIORITY = choice({ PRIORITY_DEFAULT: 0, PRIORITY_MAX: 1, PRIORITY_MIN: 2 });
const SHAPE = type('ModelOptimizationPolicy.Cuda.GraphSpec.Shape', { dim: many(1, INT64) });
const LOWER_BOUND = type('ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound', {
  batch_size: one(1, INT32),
  input: map(2, 'string', SHAPE),
});
const GRAPH_SPEC = type('ModelOptimizationPolicy.Cuda.GraphSpec', {
  batch_size: one(1, INT32),
  input: map(2, 'string', SHAPE),
  graph_lower_bound: one(3, LOWER_BOUND),
});
const CUDA = type('ModelOptimizationPolicy.Cuda', {
  graphs: one(1, BOOL),
  busy_wait_events: one(2, BOOL),
  graph_spec: many(3, GRAPH_SPEC),
  output_copy_stream: one(4, BOOL),
});
const ACCELERATOR = type('ModelOptimizationPolicy.ExecutionAccelerators.Accelerator', {
  name: one(1, STRING),
  parameters: map(2, 'string', STRING),
});
const EXECUTION_ACCELERATORS = type('ModelOptimizationPolicy.ExecutionAccelerators', {
  gpu_execution_accelerator: many(1, ACCELERATOR),
  cpu_execution_accelerator: many(2, ACCELERATOR),
});
const PINNED_MEMORY_BUFFER = type('ModelOptimizationPolicy.PinnedMemoryBuffer', {
  enable: one(1, BOOL),
});
const MODEL_OPTIMIZATION_POLICY = type('ModelOptimizationPolicy', {
  graph: one(1, GRAPH),
  priority: one(2, MODEL_PRIORITY),
  cuda: one(3, CUDA),
  execution_accelerators: one(4, EXECUTION_ACCELERATORS),
  input_pinned_memory: one(5, PINNED_MEMORY_BUFFER),
  output_pinned_memory: one(6, PINNED_MEMORY_BUFFER),
  gather_kernel_buffer_threshold: one(7, UINT32),
  eager_batching: one(8, BOOL),
});
const TIMEOUT_ACTION = choice({ REJECT: 0, DELAY: 1 });
const MODEL_QUEUE_POLICY = type('ModelQueuePolicy', {
  timeout_action: one(1, TIMEOUT_ACTION),
  default_timeout_microseconds: one(2, UINT64),
  allow_timeout_override: one(3, BOOL),
  max_queue_size: one(4, UINT32),
});
const MODEL_DYNAMIC_BATCHING = type('ModelDynamicBatching', {
  preferred_batch_size: many(1, INT32),
  max_queue_delay_microseconds: one(2, UINT64),
  preserve_ordering: one(3, BOOL),
  priority_levels: one(4, UINT64),
  default_priority_level: one(5, UINT64),
  default_queue_policy: one(6, MODEL_QUEUE_POLICY),
  priority_queue_policy: map(7, 'uint64', MODEL_QUEUE_POLICY),
});
const STRATEGY_DIRECT = type('ModelSequenceBatching.StrategyDirect', {
  max_queue_delay_microseconds: one(1, UINT64),
  minimum_slot_utilization: one(2, FLOAT),
});
const STRATEGY_OLDEST = type('ModelSequenceBatching.StrategyOldest', {
  max_candidate_sequences: one(1, INT32),
  preferred_batch_size: many(2, INT32),
  max_queue_delay_microseconds: one(3, UINT64),
  preserve_ordering: one(4, BOOL),
});
const CONTROL_KIND = choice({
  CONTROL_SEQUENCE_START: 0,
  CONTROL_SEQUENCE_READY: 1,
  CONTROL_SEQUENCE_END: 2,
  CONTROL_SEQUENCE_CORRID: 3,
});
const CONTROL = type('ModelSequenceBatching.Control', {
  kind: one(1, CONTROL_KIND),
  int32_false_true: many(2, INT32),
  fp32_false_true: many(3, FLOAT),
  bool_false_true: many(5, BOOL),
  data_type: one(4, DATA_TYPE),
});
const CONTROL_INPUT = type('ModelSequenceBatching.ControlInput', {
  name: one(1, STRING),
  control: many(2, CONTROL),
});
const INITIAL_STATE = type('ModelSequenceBatching.InitialState', {
  data_type: one(1, DATA_TYPE),
  dims: many(2, INT64),
  zero_data: oneOf('state_data', 3, BOOL),
  data_file: oneOf('state_data', 4, STRING),
  name: one(5, STRING),
});
const STATE = type('ModelSequenceBatching.State', {
  input_name: one(1, STRING),
  output_name: one(2, STRING),
  data_type: one(3, DATA_TYPE),
  dims: many(4, INT64),
  initial_state: many(5, INITIAL_STATE),
  use_same_buffer_for_input_output: one(6, BOOL),
  use_growable_memory: one(7, BOOL),
});
const MODEL_SEQUENCE_BATCHING = type('ModelSequenceBatching', {
  direct: oneOf('strategy_choice', 3, STRATEGY_DIRECT),
  oldest: oneOf('strategy_choice', 4, STRATEGY_OLDEST),
  max_sequence_idle_microseconds: one(1, UINT64),
  control_input: many(2, CONTROL_INPUT),
  state: many(5, STATE),
  iterative_sequence: one(6, BOOL),
});
const STEP = type('ModelEnsembling.Step', {
  model_name: one(1, STRING),
  model_version: one(2, INT64),
  input_map: map(3, 'string', STRING),
  output_map: map(4, 'string', STRING),
  model_namespace: one(5, STRING),
});
const MODEL_ENSEMBLING = type('ModelEnsembling', {
  step: many(1, STEP),
  max_inflight_requests: one(2, UINT32),
});
const MODEL_INSTANCE_GROUP_KIND = choice({ KIND_AUTO: 0, KIND_GPU: 1, KIND_CPU: 2, KIND_MODEL: 3 });
const RESOURCE = type('ModelRateLimiter.Resource', {
  name: one(1, STRING),
  global: one(2, BOOL),
  count: one(3, UINT32),
});
const MODEL_RATE_LIMITER = type('ModelRateLimiter', {
  resources: many(1, RESOURCE),
  priority: one(2, UINT32),
});
const SECONDARY_DEVICE_KIND = choice({ KIND_NVDLA: 0 });
const SECONDARY_DEVICE = type('ModelInstanceGroup.SecondaryDevice', {
  kind: one(1, SECONDARY_DEVICE_KIND),
  device_id: one(2, INT64),
});
const MODEL_INSTANCE_GROUP = type('ModelInstanceGroup', {
  name: one(1, STRING),
  kind: one(4, MODEL_INSTANCE_GROUP_KIND),
  count: one(2, INT32),
  rate_limiter: one(6, MODEL_RATE_LIMITER),
  gpus: many(3, INT32),
  secondary_devices: many(8, SECONDARY_DEVICE),
  profile: many(5, STRING),
  passive: one(7, BOOL),
  host_policy: one(9, STRING),
});
const MODEL_PARAMETER = type('ModelParameter', { string_value: one(1, STRING) });
const INPUT = type('ModelWarmup.Input', {
  data_type: one(1, DATA_TYPE),
  dims: many(2, INT64),
  zero_data: oneOf('input_data_type', 3, BOOL),
  random_data: oneOf('input_data_type', 4, BOOL),
  input_data_file: oneOf('input_data_type', 5, STRING),
});
const MODEL_WARMUP = type('ModelWarmup', {
  name: one(1, STRING),
  batch_size: one(2, UINT32),
  inputs: map(3, 'string', INPUT),
  count: one(4, UINT32),
});
const MODEL_OPERATIONS = type('ModelOperations', { op_library_filename: many(1, STRING) });
const MODEL_TRANSACTION_POLICY = type('ModelTransactionPolicy', { decoupled: one(1, BOOL) });
const AGENT = type('ModelRepositoryAgents.Agent', {
  name: one(1, STRING),
  parameters: map(2, 'string', STRING),
});
const MODEL_REPOSITORY_AGENTS = type('ModelRepositoryAgents', { agents: many(1, AGENT) });
const MODEL_RESPONSE_CACHE = type('ModelResponseCache', { enable: one(1, BOOL) });
const METRIC_IDENTIFIER = type('ModelMetrics.MetricControl.MetricIdentifier', {
  family: one(1, STRING),
});
const HISTOGRAM_OPTIONS = type('ModelMetrics.MetricControl.HistogramOptions', {
  buckets: many(1, DOUBLE),
});
const METRIC_CONTROL = type('ModelMetrics.MetricControl', {
  metric_identifier: one(1, METRIC_IDENTIFIER),
  histogram_options: oneOf('metric_options', 2, HISTOGRAM_OPTIONS),
});
const MODEL_METRICS = type('ModelMetrics', { metric_control: many(1, METRIC_CONTROL) });

export const MODEL_CONFIG: MessageSchema = {
  name: 'ModelConfig',
  fields: {
    name: one(1, STRING),
    platform: one(2, STRING),
    backend: one(17, STRING),
    runtime: one(25, STRING),
    version_policy: one(3, MODEL_VERSION_POLICY),
    max_batch_size: one(4, INT32),
    input: many(5, MODEL_INPUT),
    output: many(6, MODEL_OUTPUT),
    batch_input: many(20, BATCH_INPUT),
    batch_output: many(21, BATCH_OUTPUT),
    optimization: one(12, MODEL_OPTIMIZATION_POLICY),
    dynamic_batching: oneOf('scheduling_choice', 11, MODEL_DYNAMIC_BATCHING),
    sequence_batching: oneOf('scheduling_choice', 13, MODEL_SEQUENCE_BATCHING),
    ensemble_scheduling: oneOf('scheduling_choice', 15, MODEL_ENSEMBLING),
    instance_group: many(7, MODEL_INSTANCE_GROUP),
    default_model_filename: one(8, STRING),
    cc_model_filenames: map(9, 'string', STRING),
    metric_tags: map(10, 'string', STRING),
    parameters: map(14, 'string', MODEL_PARAMETER),
    model_warmup: many(16, MODEL_WARMUP),
    model_operations: one(18, MODEL_OPERATIONS),
    model_transaction_policy: one(19, MODEL_TRANSACTION_POLICY),
    model_repository_agents: one(23, MODEL_REPOSITORY_AGENTS),
    response_cache: one(24, MODEL_RESPONSE_CACHE),
    model_metrics: one(26, MODEL_METRICS),
  },
};
