// All reachable fields of config.pbtxt (inference.ModelConfig) and how Serval handles each. Control
// plane; data only. triton-parameters.ts has the table of parameters. Source:
// triton-inference-server/common protobuf/model_config.proto; v2-protocol.md 3.
import { noEffect, notHere, works, worksBut, type FieldTable } from './field-row.js';

const IN_PLACE = noEffect('tensors are read and written in place');
const SHAPE_TENSORS = notHere(
  'expected false: only TensorRT engines have shape tensors, and Serval loads engines without them',
);
const NON_LINEAR = notHere(
  'expected false: only TensorRT engines have such formats, and Serval gives an engine linear tensors',
);

export const TRITON_FIELDS: FieldTable = {
  ModelConfig: {
    ...works('name', 'platform', 'backend'),
    runtime: noEffect('platform, backend and the files determine what runs the model'),
    ...works('version_policy', 'max_batch_size', 'input', 'output'),
    ...works('batch_input', 'batch_output'),
    ...works('optimization', 'dynamic_batching'),
    ...works('sequence_batching'),
    ...works('ensemble_scheduling', 'instance_group', 'default_model_filename'),
    cc_model_filenames: noEffect('the file does not depend on the compute capability'),
    metric_tags: noEffect('metrics have the labels model and version'),
    ...works('parameters', 'model_warmup'),
    ...works('model_operations'),
    ...works('model_transaction_policy'),
    model_repository_agents: worksBut('only the agent checksum, with MD5 and SHA256'),
    response_cache: worksBut('the server needs --cache-config; no effect with preserve_ordering'),
    model_metrics: noEffect('histograms have the same buckets for all models'),
  },
  ModelTransactionPolicy: {
    decoupled: worksBut(
      'streams and generate serve the model; ModelInfer and /infer refuse it; an ensemble is decoupled if one of its steps is',
    ),
  },
  ModelOperations: {
    op_library_filename: worksBut(
      'ONNX models in their own processes; the server needs --operator-libraries',
    ),
  },
  ModelResponseCache: works('enable'),
  ModelRepositoryAgents: works('agents'),
  'ModelRepositoryAgents.Agent': works('name', 'parameters'),
  ModelVersionPolicy: works('latest', 'all', 'specific'),
  'ModelVersionPolicy.Latest': works('num_versions'),
  'ModelVersionPolicy.All': {},
  'ModelVersionPolicy.Specific': works('versions'),
  ModelInput: {
    ...works('name', 'data_type'),
    format: worksBut('only checked against the dims, as in Triton'),
    ...works('dims', 'reshape'),
    is_shape_tensor: SHAPE_TENSORS,
    allow_ragged_batch: worksBut(
      'not for tabular models, ensembles, sequences and optional inputs',
    ),
    optional: worksBut('the load is refused if the model cannot run without the input'),
    is_non_linear_format_io: NON_LINEAR,
  },
  ModelOutput: {
    ...works('name', 'data_type', 'dims', 'reshape', 'label_filename'),
    is_shape_tensor: SHAPE_TENSORS,
    is_non_linear_format_io: NON_LINEAR,
  },
  BatchInput: {
    kind: worksBut(
      'a request is refused if data_type cannot hold a number exactly; a tensor of BATCH_MAX_ELEMENT_COUNT_AS_SHAPE has zeros',
    ),
    ...works('target_name', 'data_type', 'source_input'),
  },
  BatchOutput: {
    target_name: worksBut('all names; Triton applies the first only'),
    ...works('kind', 'source_input'),
  },
  ModelTensorReshape: works('shape'),
  ModelOptimizationPolicy: {
    ...works('graph'),
    priority: noEffect('models share the CPU equally'),
    ...works('cuda'),
    ...works('execution_accelerators'),
    input_pinned_memory: IN_PLACE,
    output_pinned_memory: IN_PLACE,
    gather_kernel_buffer_threshold: IN_PLACE,
    eager_batching: noEffect('a batch is formed when an instance is free'),
  },
  'ModelOptimizationPolicy.Graph': works('level'),
  'ModelOptimizationPolicy.Cuda': {
    ...works('graphs', 'graph_spec'),
    busy_wait_events: noEffect('an instance sleeps until its copies are complete'),
    output_copy_stream: noEffect('each instance has its own stream for its copies'),
  },
  'ModelOptimizationPolicy.Cuda.GraphSpec': {
    ...works('batch_size'),
    input: noEffect('dims come from the inputs of the configuration'),
    graph_lower_bound: noEffect('batches are padded up to the next size that has a graph'),
  },
  'ModelOptimizationPolicy.ExecutionAccelerators': {
    gpu_execution_accelerator: worksBut('tensorrt and cuda, on instance groups of KIND_GPU'),
    cpu_execution_accelerator: worksBut('openvino'),
  },
  'ModelOptimizationPolicy.ExecutionAccelerators.Accelerator': {
    ...works('name'),
    parameters: worksBut("with Triton's or ONNX Runtime's names"),
  },
  ModelDynamicBatching: works(
    'preferred_batch_size',
    'max_queue_delay_microseconds',
    'preserve_ordering',
    'priority_levels',
    'default_priority_level',
    'default_queue_policy',
    'priority_queue_policy',
  ),
  ModelSequenceBatching: {
    ...works('direct', 'oldest', 'max_sequence_idle_microseconds', 'control_input', 'state'),
    iterative_sequence: worksBut(
      'a model with states runs until its output of the parameter serval.done_output is true; one response',
    ),
  },
  'ModelSequenceBatching.StrategyDirect': works(
    'max_queue_delay_microseconds',
    'minimum_slot_utilization',
  ),
  'ModelSequenceBatching.StrategyOldest': works(
    'max_candidate_sequences',
    'preferred_batch_size',
    'max_queue_delay_microseconds',
    'preserve_ordering',
  ),
  'ModelSequenceBatching.ControlInput': {
    ...works('name'),
    control: worksBut('one control for each input'),
  },
  'ModelSequenceBatching.Control': works(
    'kind',
    'int32_false_true',
    'fp32_false_true',
    'bool_false_true',
    'data_type',
  ),
  'ModelSequenceBatching.State': {
    ...works('input_name', 'output_name', 'data_type', 'dims'),
    initial_state: worksBut('at most one; without it the state begins with zeros'),
    use_same_buffer_for_input_output: noEffect('a state is copied after each run'),
    use_growable_memory: noEffect('a state has the memory that its shape needs'),
  },
  'ModelSequenceBatching.InitialState': works(
    'data_type',
    'dims',
    'zero_data',
    'data_file',
    'name',
  ),
  ModelQueuePolicy: works(
    'timeout_action',
    'default_timeout_microseconds',
    'allow_timeout_override',
    'max_queue_size',
  ),
  ModelInstanceGroup: {
    ...works('name', 'kind', 'count'),
    rate_limiter: worksBut('with --rate-limit=execution_count; the same in all groups of a model'),
    ...works('gpus'),
    secondary_devices: notHere('expected none: they are NVDLA cores of Jetson boards'),
    profile: notHere('expected none: only TensorRT engines have profiles'),
    passive: notHere('expected false: passive instances get no requests from the scheduler'),
    host_policy: noEffect('bind the process with taskset or numactl'),
  },
  ModelRateLimiter: works('resources', 'priority'),
  'ModelRateLimiter.Resource': works('name', 'global', 'count'),
  ModelEnsembling: {
    ...works('step'),
    max_inflight_requests: noEffect(
      'it limits the responses of decoupled steps, which have one response for each request here',
    ),
  },
  'ModelEnsembling.Step': {
    ...works('model_name'),
    model_version: worksBut('-1: the newest; unlike in Triton, it may not be left out'),
    ...works('input_map', 'output_map'),
    model_namespace: notHere('expected none: Triton reserves it for itself'),
  },
  ModelParameter: works('string_value'),
  ModelWarmup: works('name', 'batch_size', 'inputs', 'count'),
  'ModelWarmup.Input': works('data_type', 'dims', 'zero_data', 'random_data', 'input_data_file'),
};
