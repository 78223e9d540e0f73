// Generated from proto/wire/tensorflow_serving.proto by proto/generate-wire.mjs; do not edit.
import { choice, many, map, message, one, oneOf } from '../schema.js';
import type { MessageSchema } from '../schema.js';
import { ANY } from './any.js';

export const MODEL_SERVER_CONFIG: MessageSchema = message('ModelServerConfig', () => ({
  model_config_list: oneOf('config', 1, MODEL_CONFIG_LIST),
  custom_model_config: oneOf('config', 2, ANY),
}));

const MODEL_CONFIG_LIST: MessageSchema = message('ModelConfigList', () => ({
  config: many(1, MODEL_CONFIG),
}));

const MODEL_CONFIG: MessageSchema = message('ModelConfig', () => ({
  name: one(1, 'string'),
  base_path: one(2, 'string'),
  model_type: one(3, MODEL_TYPE),
  model_platform: one(4, 'string'),
  logging_config: one(6, LOGGING_CONFIG),
  model_version_policy: one(7, FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY),
  version_labels: map(8, 'string', 'int64'),
}));

const MODEL_TYPE = choice({
  MODEL_TYPE_UNSPECIFIED: 0,
  TENSORFLOW: 1,
  OTHER: 2,
});

const LOGGING_CONFIG: MessageSchema = message('LoggingConfig', () => ({
  log_collector_config: one(1, LOG_COLLECTOR_CONFIG),
  sampling_config: one(2, SAMPLING_CONFIG),
  custom_logging_config: one(3, ANY),
}));

const LOG_COLLECTOR_CONFIG: MessageSchema = message('LogCollectorConfig', () => ({
  type: one(1, 'string'),
  filename_prefix: one(2, 'string'),
}));

const SAMPLING_CONFIG: MessageSchema = message('SamplingConfig', () => ({
  sampling_rate: one(1, 'double'),
  attributes: one(2, 'int32'),
}));

const FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY: MessageSchema = message('ServableVersionPolicy', () => ({
  latest: oneOf('policy_choice', 100, FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY_LATEST),
  all: oneOf('policy_choice', 101, FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY_ALL),
  specific: oneOf('policy_choice', 102, FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY_SPECIFIC),
}));

const FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY_LATEST: MessageSchema = message('Latest', () => ({
  num_versions: one(1, 'uint32'),
}));

const FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY_ALL: MessageSchema = message('All', () => ({
}));

const FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG_SERVABLE_VERSION_POLICY_SPECIFIC: MessageSchema = message('Specific', () => ({
  versions: many(1, 'int64'),
}));
