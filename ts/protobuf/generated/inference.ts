// Generated from proto/wire/inference.proto by proto/generate-wire.mjs; do not edit.
import { many, map, message, one, oneOf } from '../schema.js';
import type { MessageSchema } from '../schema.js';

export const LOG_SETTINGS_RESPONSE: MessageSchema = message('LogSettingsResponse', () => ({
  settings: map(1, 'string', LOG_SETTINGS_RESPONSE_SETTING_VALUE),
}));

const LOG_SETTINGS_RESPONSE_SETTING_VALUE: MessageSchema = message('LogSettingsResponse.SettingValue', () => ({
  bool_param: oneOf('parameter_choice', 1, 'bool'),
  uint32_param: oneOf('parameter_choice', 2, 'uint32'),
  string_param: oneOf('parameter_choice', 3, 'string'),
}));

export const TRACE_SETTING_RESPONSE: MessageSchema = message('TraceSettingResponse', () => ({
  settings: map(1, 'string', TRACE_SETTING_RESPONSE_SETTING_VALUE),
}));

const TRACE_SETTING_RESPONSE_SETTING_VALUE: MessageSchema = message('TraceSettingResponse.SettingValue', () => ({
  value: many(1, 'string'),
}));

export const MODEL_METADATA_RESPONSE: MessageSchema = message('ModelMetadataResponse', () => ({
  name: one(1, 'string'),
  versions: many(2, 'string'),
  platform: one(3, 'string'),
  inputs: many(4, MODEL_METADATA_RESPONSE_TENSOR_METADATA),
  outputs: many(5, MODEL_METADATA_RESPONSE_TENSOR_METADATA),
  properties: map(6, 'string', 'string'),
}));

const MODEL_METADATA_RESPONSE_TENSOR_METADATA: MessageSchema = message('ModelMetadataResponse.TensorMetadata', () => ({
  name: one(1, 'string'),
  datatype: one(2, 'string'),
  shape: many(3, 'int64'),
}));

export const MODEL_READY_RESPONSE: MessageSchema = message('ModelReadyResponse', () => ({
  ready: one(1, 'bool'),
}));

export const MODEL_STATISTICS_RESPONSE: MessageSchema = message('ModelStatisticsResponse', () => ({
  model_stats: many(1, MODEL_STATISTICS),
}));

const MODEL_STATISTICS: MessageSchema = message('ModelStatistics', () => ({
  name: one(1, 'string'),
  version: one(2, 'string'),
  last_inference: one(3, 'uint64'),
  inference_count: one(4, 'uint64'),
  execution_count: one(5, 'uint64'),
  inference_stats: one(6, INFER_STATISTICS),
  batch_stats: many(7, INFER_BATCH_STATISTICS),
  memory_usage: many(8, MEMORY_USAGE),
  response_stats: map(9, 'string', INFER_RESPONSE_STATISTICS),
}));

const INFER_STATISTICS: MessageSchema = message('InferStatistics', () => ({
  success: one(1, STATISTIC_DURATION),
  fail: one(2, STATISTIC_DURATION),
  queue: one(3, STATISTIC_DURATION),
  compute_input: one(4, STATISTIC_DURATION),
  compute_infer: one(5, STATISTIC_DURATION),
  compute_output: one(6, STATISTIC_DURATION),
  cache_hit: one(7, STATISTIC_DURATION),
  cache_miss: one(8, STATISTIC_DURATION),
}));

const STATISTIC_DURATION: MessageSchema = message('StatisticDuration', () => ({
  count: one(1, 'uint64'),
  ns: one(2, 'uint64'),
}));

const INFER_BATCH_STATISTICS: MessageSchema = message('InferBatchStatistics', () => ({
  batch_size: one(1, 'uint64'),
  compute_input: one(2, STATISTIC_DURATION),
  compute_infer: one(3, STATISTIC_DURATION),
  compute_output: one(4, STATISTIC_DURATION),
}));

const MEMORY_USAGE: MessageSchema = message('MemoryUsage', () => ({
  type: one(1, 'string'),
  id: one(2, 'int64'),
  byte_size: one(3, 'uint64'),
}));

const INFER_RESPONSE_STATISTICS: MessageSchema = message('InferResponseStatistics', () => ({
  compute_infer: one(1, STATISTIC_DURATION),
  compute_output: one(2, STATISTIC_DURATION),
  success: one(3, STATISTIC_DURATION),
  fail: one(4, STATISTIC_DURATION),
  empty_response: one(5, STATISTIC_DURATION),
  cancel: one(6, STATISTIC_DURATION),
}));

export const REPOSITORY_INDEX_RESPONSE: MessageSchema = message('RepositoryIndexResponse', () => ({
  models: many(1, REPOSITORY_INDEX_RESPONSE_MODEL_INDEX),
}));

const REPOSITORY_INDEX_RESPONSE_MODEL_INDEX: MessageSchema = message('RepositoryIndexResponse.ModelIndex', () => ({
  name: one(1, 'string'),
  version: one(2, 'string'),
  state: one(3, 'string'),
  reason: one(4, 'string'),
}));

export const SERVER_LIVE_RESPONSE: MessageSchema = message('ServerLiveResponse', () => ({
  live: one(1, 'bool'),
}));

export const SERVER_METADATA_RESPONSE: MessageSchema = message('ServerMetadataResponse', () => ({
  name: one(1, 'string'),
  version: one(2, 'string'),
  extensions: many(3, 'string'),
}));

export const SERVER_READY_RESPONSE: MessageSchema = message('ServerReadyResponse', () => ({
  ready: one(1, 'bool'),
}));

export const SYSTEM_SHARED_MEMORY_STATUS_RESPONSE: MessageSchema = message('SystemSharedMemoryStatusResponse', () => ({
  regions: map(1, 'string', SYSTEM_SHARED_MEMORY_STATUS_RESPONSE_REGION_STATUS),
}));

const SYSTEM_SHARED_MEMORY_STATUS_RESPONSE_REGION_STATUS: MessageSchema = message('SystemSharedMemoryStatusResponse.RegionStatus', () => ({
  name: one(1, 'string'),
  key: one(2, 'string'),
  offset: one(3, 'uint64'),
  byte_size: one(4, 'uint64'),
}));

export const CUDA_SHARED_MEMORY_STATUS_RESPONSE: MessageSchema = message('CudaSharedMemoryStatusResponse', () => ({
  regions: map(1, 'string', CUDA_SHARED_MEMORY_STATUS_RESPONSE_REGION_STATUS),
}));

const CUDA_SHARED_MEMORY_STATUS_RESPONSE_REGION_STATUS: MessageSchema = message('CudaSharedMemoryStatusResponse.RegionStatus', () => ({
  name: one(1, 'string'),
  device_id: one(2, 'uint64'),
  byte_size: one(3, 'uint64'),
}));
