// The options of ONNX Runtime that a model's configuration may set, with the values that each
// accepts, for both languages: the table, and the files that are written from it. An option that is
// not listed is refused. Build time only.
// Source: onnxruntime_session_options_config_keys.h, cuda_execution_provider_info.cc,
// tensorrt_execution_provider_info.cc and openvino_provider_factory.cc of ONNX Runtime 1.30.

const row = (scope, kind, names, rest = {}) =>
  names.map((name) => ({ scope, name, kind, min: 0, max: 0, words: [], ...rest }));
const whole = (scope, name, min, max) => row(scope, 'int', [name], { min, max });
const words = (scope, name, ...list) => row(scope, 'words', [name], { words: list });

// Not listed because they name files: session.optimized_model_filepath and its neighbours,
// session.enable_profiling, session.collect_node_memory_stats_to_file,
// session.node_partition_config_file, session.resource_cuda_partitioning_settings,
// session.model_external_initializers_file_folder_path, session.debug_layout_transformation. Not
// listed because the engine sets them: threads, levels, arenas.
const SESSION = [
  ...row('session', 'switch', [
    'enable_mem_arena',
    'enable_mem_pattern',
    'session.allow_released_opsets_only',
    'session.disable_aot_function_inlining',
    'session.disable_cpu_ep_fallback',
    'session.disable_double_qdq_remover',
    'session.disable_prepacking',
    'session.disable_qdq_constant_folding',
    'session.disable_quant_qdq',
    'session.enable_dq_matmulnbits_fusion',
    'session.enable_quant_qdq_cleanup',
    'session.force_spinning_stop',
    'session.inter_op.allow_spinning',
    'session.intra_op.allow_spinning',
    'session.qdqisint8allowed',
    'session.set_denormal_as_zero',
    'session.strict_shape_type_inference',
    'session.use_deterministic_compute',
    'session.use_device_allocator_for_initializers',
    'session.use_env_allocators',
    'session.x64quantprecision',
  ]),
  ...whole('session', 'session.dynamic_block_base', 0, 65_536),
  ...whole('session', 'session.graph_optimizations_loop_level', 0, 2),
  ...whole('session', 'session.inter_op.spin_duration_us', 0, 1_000_000),
  ...whole('session', 'session.intra_op.spin_duration_us', 0, 1_000_000),
  ...whole('session', 'session.qdq_matmulnbits_accuracy_level', 0, 4),
  ...words(
    'session',
    'session.qdq_matmulnbits_block_size',
    '-1',
    '0',
    '16',
    '32',
    '64',
    '128',
    '256',
  ),
  ...words('session', 'session.load_model_format', 'ONNX'),
  ...row('session', 'affinities', ['session.intra_op_thread_affinities']),
];

// Addresses of memory (user_compute_stream, gpu_external_alloc and the like) are never listed. CUDA
// graphs have a separate field: the option alone would replay another request's inputs.
const CUDA = [
  ...whole('cuda', 'device_id', 0, 255),
  ...whole('cuda', 'gpu_mem_limit', 0, Number.MAX_SAFE_INTEGER),
  ...words('cuda', 'arena_extend_strategy', 'kNextPowerOfTwo', 'kSameAsRequested'),
  ...words('cuda', 'cudnn_conv_algo_search', 'EXHAUSTIVE', 'HEURISTIC', 'DEFAULT'),
  ...row('cuda', 'bool', [
    'do_copy_in_default_stream',
    'cudnn_conv_use_max_workspace',
    'cudnn_conv1d_pad_to_nc1d',
    'enable_skip_layer_norm_strict_mode',
    'fuse_conv_bias',
    'prefer_nhwc',
    'tunable_op_enable',
    'tunable_op_tuning_enable',
    'use_ep_level_unified_stream',
    'use_tf32',
  ]),
  ...whole('cuda', 'tunable_op_max_tuning_duration_ms', 0, 3_600_000),
  ...whole('cuda', 'sdpa_kernel', 0, 65_535),
  ...words('cuda', 'enable_cuda_graph', '0', 'false'),
];

// Libraries (trt_extra_plugin_lib_paths, trt_engine_decryption_lib_path) are code and are never
// listed; nor are options that write a copy of the model (trt_dump_*).
const TENSORRT = [
  ...whole('tensorrt', 'device_id', 0, 255),
  ...whole('tensorrt', 'trt_max_partition_iterations', 1, 1_000_000),
  ...whole('tensorrt', 'trt_min_subgraph_size', 1, 1_000_000),
  ...whole('tensorrt', 'trt_max_workspace_size', 0, Number.MAX_SAFE_INTEGER),
  ...whole('tensorrt', 'trt_dla_core', 0, 255),
  ...whole('tensorrt', 'trt_builder_optimization_level', 0, 5),
  ...whole('tensorrt', 'trt_auxiliary_streams', -1, 1024),
  ...whole('tensorrt', 'trt_ep_context_embed_mode', 0, 1),
  ...row('tensorrt', 'bool', [
    'trt_bf16_enable',
    'trt_build_heuristics_enable',
    'trt_context_memory_sharing_enable',
    'trt_detailed_build_log',
    'trt_dla_enable',
    'trt_engine_cache_enable',
    'trt_engine_hw_compatible',
    'trt_force_sequential_engine_build',
    'trt_force_timing_cache',
    'trt_fp16_enable',
    'trt_int8_enable',
    'trt_int8_use_native_calibration_table',
    'trt_layer_norm_fp32_fallback',
    'trt_load_user_initializer',
    'trt_sparsity_enable',
    'trt_timing_cache_enable',
    'trt_weight_stripped_engine_enable',
  ]),
  ...row('tensorrt', 'shapes', [
    'trt_profile_min_shapes',
    'trt_profile_opt_shapes',
    'trt_profile_max_shapes',
  ]),
  ...row('tensorrt', 'list', [
    'trt_op_types_to_exclude',
    'trt_preview_features',
    'trt_tactic_sources',
  ]),
  ...row('tensorrt', 'name', ['trt_engine_cache_prefix']),
  ...words('tensorrt', 'trt_cuda_graph_enable', '0', 'false'),
  ...row('tensorrt', 'path', [
    'trt_engine_cache_path',
    'trt_int8_calibration_table_name',
    'trt_onnx_model_folder_path',
    'trt_timing_cache_path',
  ]),
];

// load_config is a file that can set any device option and is never listed.
const OPENVINO = [
  ...row('openvino', 'list', ['device_type']),
  ...words('openvino', 'precision', 'FP32', 'FP16', 'ACCURACY'),
  ...words('openvino', 'model_priority', 'LOW', 'MEDIUM', 'HIGH', 'DEFAULT'),
  ...whole('openvino', 'num_of_threads', 1, 1024),
  ...whole('openvino', 'num_streams', 1, 1024),
  ...row('openvino', 'bool', [
    'disable_dynamic_shapes',
    'enable_opencl_throttling',
    'enable_qdq_optimizer',
  ]),
  ...row('openvino', 'path', ['cache_dir']),
];

export const RUNTIME_OPTIONS = [...SESSION, ...CUDA, ...TENSORRT, ...OPENVINO];

/** Maps kind -> expected values, for kinds that describe them without numbers or words. */
export const KINDS = {
  switch: '0 or 1',
  bool: '0, 1, true or false',
  int: '',
  words: '',
  affinities: 'processors such as "1,2;3-4"',
  shapes: 'shapes such as "x:1x3,y:1x8"',
  list: 'comma-separated words',
  name: 'a name of 1 to 128 letters, digits, ".", "_" or "-" that does not begin with "."',
  path: "a path inside the model's version folder",
};

const pascal = (text) => text.replace(/^./, (first) => first.toUpperCase());

export function expectedText({ kind, min, max, words: list }) {
  if (kind === 'int') return `a whole number from ${min} to ${max}`;
  return kind === 'words' ? list.join(' or ') : KINDS[kind];
}

/** Returns the header with the table for the engine. */
export function writeOptionsHeader() {
  const rows = RUNTIME_OPTIONS.map(({ scope, name, kind, min, max, words: list, ...rest }) => {
    const expected = expectedText({ kind, min, max, words: list, ...rest });
    const parts = [
      `"${scope}"`,
      `"${name}"`,
      `OptionKind::${pascal(kind)}`,
      `${min}`,
      `${max}`,
      `"${list.join('|')}"`,
      JSON.stringify(expected).replaceAll('\\"', '\\"'),
    ];
    return `    {${parts.join(', ')}},\n`;
  });
  const kinds = Object.keys(KINDS).map((kind) => `  ${pascal(kind)},\n`);
  return (
    '// Generated from proto/runtime-options.mjs by proto/generate.mjs.\n#pragma once\n\n' +
    '#include <cstdint>\n#include <string_view>\n\nnamespace serval {\n\n' +
    `enum class OptionKind : uint8_t {\n${kinds.join('')}};\n\n` +
    'struct RuntimeOption {\n  std::string_view scope, name;\n  OptionKind kind;\n' +
    '  int64_t min, max;\n  std::string_view words;  // separated by |\n' +
    '  std::string_view expected;\n};\n\n' +
    `inline constexpr RuntimeOption kRuntimeOptions[] = {\n${rows.join('')}};\n\n` +
    '}  // namespace serval\n'
  );
}

/** Returns the table for TypeScript. */
export function writeOptionsModule() {
  const scopes = [...new Set(RUNTIME_OPTIONS.map(({ scope }) => scope))];
  const tables = scopes.map((scope) => {
    const rows = RUNTIME_OPTIONS.filter((one) => one.scope === scope).map((one) => {
      const { name, kind, min, max, words: list } = one;
      const limits = kind === 'int' ? `, min: ${min}, max: ${max}` : '';
      const choice = kind === 'words' ? `, words: ${JSON.stringify(list)}` : '';
      const text = JSON.stringify(expectedText(one));
      return `    ${JSON.stringify(name)}: { kind: '${kind}'${limits}${choice}, expected: ${text} },\n`;
    });
    return `  ${scope}: {\n${rows.join('')}  },\n`;
  });
  const kinds = Object.keys(KINDS).map((kind) => `'${kind}'`);
  const names = scopes.map((scope) => `'${scope}'`);
  return (
    "// The options of ONNX Runtime that a model's configuration may set. Data only; any thread.\n" +
    '// Generated from proto/runtime-options.mjs by proto/generate.mjs.\n' +
    `export type OptionKind = ${kinds.join(' | ')};\n\n` +
    `export type OptionScope = ${names.join(' | ')};\n\n` +
    'export interface OptionRule {\n  readonly kind: OptionKind;\n  readonly min?: number;\n' +
    '  readonly max?: number;\n  readonly words?: readonly string[];\n' +
    '  readonly expected: string;\n}\n\n' +
    'export const RUNTIME_OPTIONS: Readonly<\n  Record<OptionScope, Readonly<Record<string, OptionRule>>>\n> = {\n' +
    `${tables.join('')}};\n`
  );
}
