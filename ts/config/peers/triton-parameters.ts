// Known names under `parameters` of config.pbtxt, for all backends that Serval has, and how it
// handles each. Control plane; data only. ts/models/config/triton-checks.ts checks their values.
// Source: READMEs of Triton's ONNX Runtime and TensorFlow backends.
import { noEffect, works, worksBut, type FieldRow } from './field-row.js';

const ONE_POOL = noEffect('one thread pool is shared by all models: --intra-op-threads');

/** Parameters of config.pbtxt itself. */
export const TRITON_PARAMETERS: Readonly<Record<string, FieldRow>> = {
  ...works('intra_op_thread_count', 'inter_op_thread_count', 'execution_mode'),
  ...works('enable_mem_arena', 'enable_mem_pattern'),
  'memory.enable_memory_arena_shrinkage': noEffect('the arena is not shrunk after a request'),
  cudnn_conv_algo_search: worksBut('on GPUs'),
  gpu_mem_limit: worksBut('on GPUs'),
  arena_extend_strategy: worksBut('on GPUs'),
  do_copy_in_default_stream: worksBut('on GPUs'),
  ...works('extended_v2', 'TF_GRAPH_TAG', 'TF_SIGNATURE_DEF'),
  TF_NUM_INTRA_THREADS: ONE_POOL,
  TF_NUM_INTER_THREADS: ONE_POOL,
  TF_USE_PER_SESSION_THREADS: ONE_POOL,
  MAX_SESSION_SHARE_COUNT: noEffect('instances of a model share its session'),
  TF_INIT_OPS_FILE: noEffect('a SavedModel declares how it is initialised'),
  ...works('schema', 'timezone', 'spark.ansi', 'verification', 'explain_background'),
  ...works('isolation', 'isolation_group'),
  ...works('serval.split', 'serval.pad_inner', 'serval.allowed_rows', 'serval.allow_random'),
  ...works('serval.retry', 'serval.done_output', 'serval.steps_max'),
  ...works('load_mode'),
  ...works('pin'),
  ...works('min_idle_seconds'),
  ...works('memory_priority'),
  ...works('max_in_flight', 'requests_per_second', 'rows_per_second'),
  ...works('weight'),
};

const ONE_LAYOUT = noEffect('forests have one layout, and run on CPUs');
const ON_CPUS = noEffect('forests run on CPUs');

/** Parameters of the FIL backend only. */
export const FIL_PARAMETERS: Readonly<Record<string, FieldRow>> = {
  model_type: worksBut('xgboost, xgboost_json, xgboost_ubj, lightgbm; the content decides'),
  ...works('is_classifier', 'output_class', 'predict_proba', 'threshold'),
  xgboost_allow_unknown_field: noEffect('fields that a file need not have are always ignored'),
  storage_type: ONE_LAYOUT,
  algo: ONE_LAYOUT,
  layout: ONE_LAYOUT,
  blocks_per_sm: ON_CPUS,
  threads_per_tree: ON_CPUS,
  chunk_size: ON_CPUS,
  transfer_threshold: ON_CPUS,
  use_experimental_optimizations: noEffect('all optimizations are always on'),
  cpu_nthread: ONE_POOL,
};

/** Parameters of the null backend only. */
export const NULL_PARAMETERS: Readonly<Record<string, FieldRow>> = works('mode', 'delay_us');

/**
 * Prefix of ONNX Runtime's own options: those in its table (ts/model/generated/runtime-options.ts)
 * are passed on.
 */
export const SESSION_PREFIX = 'session.';
