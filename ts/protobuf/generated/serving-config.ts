// Generated from proto/wire/serving_config.proto by proto/generate-wire.mjs; do not edit.
import { many, message, one } from '../schema.js';
import type { MessageSchema } from '../schema.js';
import { BOOL_VALUE, INT64_VALUE, STRING_VALUE } from './wrappers.js';

export const BATCHING_PARAMETERS: MessageSchema = message('BatchingParameters', () => ({
  max_batch_size: one(1, INT64_VALUE),
  batch_timeout_micros: one(2, INT64_VALUE),
  max_enqueued_batches: one(3, INT64_VALUE),
  num_batch_threads: one(4, INT64_VALUE),
  thread_pool_name: one(5, STRING_VALUE),
  allowed_batch_sizes: many(6, 'int64'),
  pad_variable_length_inputs: one(7, 'bool'),
  enable_large_batch_splitting: one(8, BOOL_VALUE),
  max_execution_batch_size: one(9, INT64_VALUE),
}));

export const MONITORING_CONFIG: MessageSchema = message('MonitoringConfig', () => ({
  prometheus_config: one(1, PROMETHEUS_CONFIG),
}));

const PROMETHEUS_CONFIG: MessageSchema = message('PrometheusConfig', () => ({
  enable: one(1, 'bool'),
  path: one(2, 'string'),
}));

export const SSLCONFIG: MessageSchema = message('SSLConfig', () => ({
  server_key: one(1, 'string'),
  server_cert: one(2, 'string'),
  custom_ca: one(3, 'string'),
  client_verify: one(4, 'bool'),
}));
