// All fields of TensorFlow Serving's configuration files and how Serval handles each. Control
// plane; data only. Source: tfserving.md 3.2, 3.5, 3.7, 3.8.
import { noEffect, notHere, works, worksBut, type FieldTable } from './field-row.js';

/** --model_config_file, and HandleReloadConfigRequest. */
export const MODELS_CONFIG_FIELDS: FieldTable = {
  ModelServerConfig: {
    ...works('model_config_list'),
    custom_model_config: notHere('not supported; expected model_config_list', true),
  },
  ModelConfigList: works('config'),
  ModelConfig: {
    ...works('name'),
    base_path: worksBut('absolute, or file://'),
    model_type: worksBut('TENSORFLOW'),
    ...works('model_platform'),
    logging_config: worksBut(
      'PredictionLog records in TFRecord files: docs/guides/request-logging.md',
    ),
    ...works('model_version_policy', 'version_labels'),
  },
  LoggingConfig: {
    ...works('log_collector_config', 'sampling_config'),
    custom_logging_config: notHere('not supported; expected log_collector_config', true),
  },
  LogCollectorConfig: {
    type: worksBut('"file" or nothing'),
    filename_prefix: worksBut('absolute; a time and .tfrecord follow'),
  },
  SamplingConfig: {
    ...works('sampling_rate'),
    attributes: noEffect('Serval does not know the origin and criticality of requests'),
  },
  ServableVersionPolicy: works('latest', 'all', 'specific'),
  Latest: works('num_versions'),
  All: {},
  Specific: works('versions'),
};

/** --batching_parameters_file, and batching_params.pbtxt. */
export const BATCHING_FIELDS: FieldTable = {
  BatchingParameters: {
    ...works('max_batch_size', 'batch_timeout_micros', 'max_enqueued_batches'),
    num_batch_threads: worksBut('number of instance threads per model'),
    thread_pool_name: noEffect('each model has its own instance threads'),
    ...works('allowed_batch_sizes', 'pad_variable_length_inputs', 'enable_large_batch_splitting'),
    max_execution_batch_size: worksBut('with enable_large_batch_splitting'),
  },
};

/** --monitoring_config_file */
export const MONITORING_FIELDS: FieldTable = {
  MonitoringConfig: works('prometheus_config'),
  PrometheusConfig: works('enable', 'path'),
};

const NO_TENSORFLOW = 'Serval does not contain TensorFlow';
const NO_DEVICES = 'models run on the devices of --providers';

/** --platform_config_file */
export const PLATFORM_FIELDS: FieldTable = {
  PlatformConfigMap: { platform_configs: worksBut('for the platform "tensorflow"') },
  PlatformConfig: { source_adapter_config: worksBut('SavedModelBundleSourceAdapterConfig') },
  SavedModelBundleSourceAdapterConfig: works('legacy_config'),
  SessionBundleConfig: {
    session_target: notHere('Serval contains the runtime: omit this field'),
    ...works('session_config'),
    batching_parameters: worksBut('as in --batching_parameters_file'),
    session_run_load_threadpool_index: noEffect('loads have their own threads', true),
    experimental_transient_ram_bytes_during_load: noEffect('loads do not wait for memory'),
    saved_model_tags: worksBut('default ["serve"]'),
    experimental_fixed_input_tensors: notHere('make the tensors constants of the model'),
    enable_model_warmup: worksBut('default true; TensorFlow Serving: false'),
    ...works('model_warmup_options'),
    enable_session_metadata: noEffect(NO_TENSORFLOW),
    remove_unused_fields_from_bundle_metagraph: noEffect(
      'a SavedModel is compiled; its meta graph is not kept',
    ),
  },
  ModelWarmupOptions: {
    ...works('num_request_iterations'),
    num_model_warmup_threads: noEffect('warm-up requests run one after the other', true),
  },
  ConfigProto: {
    device_count: noEffect(NO_DEVICES),
    intra_op_parallelism_threads: worksBut('threads of the pool that all models share'),
    placement_period: noEffect(NO_DEVICES),
    device_filters: noEffect(NO_DEVICES),
    inter_op_parallelism_threads: worksBut('above 0 each model has its own pools'),
    gpu_options: noEffect(
      'ONNX Runtime allocates GPU memory as needed; --providers=cuda:gpu_mem_limit=BYTES limits it',
    ),
    allow_soft_placement: noEffect(NO_DEVICES),
    log_device_placement: noEffect(NO_DEVICES),
    use_per_session_threads: noEffect('one thread pool is shared by all models'),
    graph_options: noEffect('ONNX Runtime optimizes: --graph-optimization'),
    operation_timeout_in_ms: noEffect(
      'use --rest-api-timeout-in-ms and gRPC deadlines, which end runs',
    ),
    session_inter_op_thread_pool: noEffect('one thread pool is shared by all models'),
    rpc_options: noEffect(NO_TENSORFLOW),
    cluster_def: notHere('models run in one process'),
    isolate_session_state: noEffect('no state is shared between models'),
    experimental: noEffect(NO_TENSORFLOW),
    share_cluster_devices_in_session: noEffect('models run in one process'),
    pluggable_device_options: noEffect(NO_DEVICES),
  },
};

/** --ssl_config_file */
export const SSL_FIELDS: FieldTable = {
  SSLConfig: works('server_key', 'server_cert', 'custom_ca', 'client_verify'),
};
