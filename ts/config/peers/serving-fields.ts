// All fields of TensorFlow Serving's configuration files, and what becomes of each. Control plane;
// data only.
// Source: tfserving.md 3.2, 3.5, 3.7, 3.8.
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
    logging_config: worksBut('PredictionLog records in TFRecord files: docs/request-logging.md'),
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
    attributes: noEffect('the origin and criticality of requests are not known here'),
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
    num_batch_threads: worksBut('instance threads of each model'),
    thread_pool_name: noEffect('each model has instance threads of its own'),
    ...works('allowed_batch_sizes', 'pad_variable_length_inputs', 'enable_large_batch_splitting'),
    max_execution_batch_size: worksBut('with enable_large_batch_splitting'),
  },
};

/** --monitoring_config_file */
export const MONITORING_FIELDS: FieldTable = {
  MonitoringConfig: works('prometheus_config'),
  PrometheusConfig: works('enable', 'path'),
};

/** --ssl_config_file */
export const SSL_FIELDS: FieldTable = {
  SSLConfig: works('server_key', 'server_cert', 'custom_ca', 'client_verify'),
};
