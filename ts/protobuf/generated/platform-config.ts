// Generated from proto/wire/platform_config.proto by proto/generate-wire.mjs; do not edit.
import { OPAQUE, many, map, message, one } from '../schema.js';
import type { MessageSchema } from '../schema.js';
import { ANY } from './any.js';
import { BATCHING_PARAMETERS } from './serving-config.js';
import { INT64_VALUE } from './wrappers.js';

export const PLATFORM_CONFIG_MAP: MessageSchema = message('PlatformConfigMap', () => ({
  platform_configs: map(1, 'string', PLATFORM_CONFIG),
}));

const PLATFORM_CONFIG: MessageSchema = message('PlatformConfig', () => ({
  source_adapter_config: one(1, ANY),
}));

export const SAVED_MODEL_BUNDLE_SOURCE_ADAPTER_CONFIG: MessageSchema = message('SavedModelBundleSourceAdapterConfig', () => ({
  legacy_config: one(1000, SESSION_BUNDLE_CONFIG),
}));

const SESSION_BUNDLE_CONFIG: MessageSchema = message('SessionBundleConfig', () => ({
  session_target: one(1, 'string'),
  session_config: one(2, CONFIG_PROTO),
  batching_parameters: one(3, BATCHING_PARAMETERS),
  session_run_load_threadpool_index: one(4, INT64_VALUE),
  experimental_transient_ram_bytes_during_load: one(5, 'uint64'),
  saved_model_tags: many(6, 'string'),
  experimental_fixed_input_tensors: many(778, OPAQUE),
  enable_model_warmup: one(779, 'bool'),
  model_warmup_options: one(780, MODEL_WARMUP_OPTIONS),
  enable_session_metadata: one(781, 'bool'),
  remove_unused_fields_from_bundle_metagraph: one(782, 'bool'),
}));

const CONFIG_PROTO: MessageSchema = message('ConfigProto', () => ({
  device_count: map(1, 'string', 'int32'),
  intra_op_parallelism_threads: one(2, 'int32'),
  placement_period: one(3, 'int32'),
  device_filters: many(4, 'string'),
  inter_op_parallelism_threads: one(5, 'int32'),
  gpu_options: one(6, OPAQUE),
  allow_soft_placement: one(7, 'bool'),
  log_device_placement: one(8, 'bool'),
  use_per_session_threads: one(9, 'bool'),
  graph_options: one(10, OPAQUE),
  operation_timeout_in_ms: one(11, 'int64'),
  session_inter_op_thread_pool: many(12, OPAQUE),
  rpc_options: one(13, OPAQUE),
  cluster_def: one(14, OPAQUE),
  isolate_session_state: one(15, 'bool'),
  experimental: one(16, OPAQUE),
  share_cluster_devices_in_session: one(17, 'bool'),
  pluggable_device_options: one(18, OPAQUE),
}));

const MODEL_WARMUP_OPTIONS: MessageSchema = message('ModelWarmupOptions', () => ({
  num_request_iterations: one(1, INT64_VALUE),
  num_model_warmup_threads: one(2, INT64_VALUE),
}));
