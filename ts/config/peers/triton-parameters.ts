// Names under `parameters` of config.pbtxt that are known, of all backends that are here, and what
// becomes of each. Control plane; data only. Their values: ts/model-config/triton-checks.ts.
// Source: READMEs of Triton's ONNX Runtime and TensorFlow backends.
import { noEffect, works, worksBut, type FieldRow } from './field-row.js';

const ONE_POOL = noEffect('one pool of threads is shared by all models: --intra-op-threads');

/** Of config.pbtxt itself. */
export const TRITON_PARAMETERS: Readonly<Record<string, FieldRow>> = {
  ...works('intra_op_thread_count', 'inter_op_thread_count', 'execution_mode'),
  ...works('enable_mem_arena', 'enable_mem_pattern'),
  'memory.enable_memory_arena_shrinkage': noEffect('the arena is not shrunk behind a request'),
  cudnn_conv_algo_search: worksBut('on GPUs'),
  gpu_mem_limit: worksBut('on GPUs'),
  arena_extend_strategy: worksBut('on GPUs'),
  do_copy_in_default_stream: worksBut('on GPUs'),
  ...works('extended_v2', 'TF_GRAPH_TAG', 'TF_SIGNATURE_DEF'),
  TF_NUM_INTRA_THREADS: ONE_POOL,
  TF_NUM_INTER_THREADS: ONE_POOL,
  TF_USE_PER_SESSION_THREADS: ONE_POOL,
  MAX_SESSION_SHARE_COUNT: noEffect('instances of a model share its session'),
  TF_INIT_OPS_FILE: noEffect('a SavedModel says itself how it is initialised'),
  ...works('schema', 'timezone', 'verification'),
  ...works('isolation', 'isolation_group'),
  ...works('serval.split', 'serval.pad_inner', 'serval.allowed_rows', 'serval.allow_random'),
};

/** Of the null backend alone. */
export const NULL_PARAMETERS: Readonly<Record<string, FieldRow>> = works('mode', 'delay_us');

/** ONNX Runtime's own, passed on as they are; newer runtimes have more, which are passed on too.
 * Source: onnxruntime_session_options_config_keys.h. */
export const SESSION_PREFIX = 'session.';
export const SESSION_KEYS: readonly string[] = [
  'session.allow_released_opsets_only',
  'session.collect_node_memory_stats_to_file',
  'session.debug_layout_transformation',
  'session.disable_aot_function_inlining',
  'session.disable_cpu_ep_fallback',
  'session.disable_double_qdq_remover',
  'session.disable_prepacking',
  'session.disable_quant_qdq',
  'session.dynamic_block_base',
  'session.enable_quant_qdq_cleanup',
  'session.force_spinning_stop',
  'session.inter_op.allow_spinning',
  'session.intra_op.allow_spinning',
  'session.intra_op_thread_affinities',
  'session.load_model_format',
  'session.model_external_initializers_file_folder_path',
  'session.node_partition_config_file',
  'session.optimized_model_external_initializers_file_name',
  'session.optimized_model_external_initializers_min_size_in_bytes',
  'session.qdq_matmulnbits_accuracy_level',
  'session.qdqisint8allowed',
  'session.resource_cuda_partitioning_settings',
  'session.save_external_prepacked_constant_initializers',
  'session.save_model_format',
  'session.set_denormal_as_zero',
  'session.strict_shape_type_inference',
  'session.use_device_allocator_for_initializers',
  'session.use_env_allocators',
  'session.use_ort_model_bytes_directly',
  'session.use_ort_model_bytes_for_initializers',
  'session.x64quantprecision',
];
