// Which options of ONNX Runtime a model's configuration may set, and the messages about others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RUNTIME_OPTIONS } from '../../../../ts/model/generated/runtime-options.js';
import type { OptionRule, OptionScope } from '../../../../ts/model/generated/runtime-options.js';
import { optionProblem } from '../../../../ts/models/config/runtime-options.js';
import { tritonConfigFromJson } from '../../../../ts/models/config/triton-config.js';
import { engineSettings } from '../../../../ts/models/config/engine-settings.js';

function goodValue({ kind, max = 0, words = [] }: OptionRule): string {
  const values: Readonly<Record<OptionRule['kind'], string>> = {
    switch: '1',
    bool: 'true',
    int: String(max),
    words: words[0] ?? '',
    affinities: '1,2;3-4',
    shapes: 'x:1x3,/y/z:0:1x8',
    list: '-CUDNN,+CUBLAS',
    name: 'resnet-50.v1',
    path: 'engines',
  };
  return values[kind];
}

/** Messages about a configuration with parameters of an accelerator or of the model itself. */
function problems(parameters: Readonly<Record<string, string>>, provider?: string): string[] {
  const options = Object.entries(parameters);
  const onCpu = provider === 'openvino';
  const list = onCpu ? 'cpu_execution_accelerator' : 'gpu_execution_accelerator';
  const config =
    provider === undefined
      ? {
          parameters: Object.fromEntries(
            options.map(([name, value]) => [name, { string_value: value }]),
          ),
        }
      : {
          optimization: { execution_accelerators: { [list]: [{ name: provider, parameters }] } },
          instance_group: [{ kind: onCpu ? 'KIND_CPU' : 'KIND_GPU' }],
        };
  const result = tritonConfigFromJson(JSON.stringify(config), 'config');
  return result.problems.map(({ message }) => message);
}

test('each listed option accepts its values and refuses others', () => {
  for (const [scope, rules] of Object.entries(RUNTIME_OPTIONS)) {
    for (const [name, rule] of Object.entries(rules)) {
      const problem = (value: string) => optionProblem(scope as OptionScope, name, value);
      assert.equal(problem(goodValue(rule)), undefined, name);
      for (const bad of ['', '1\0', 'a\nb', `\u007f${goodValue(rule)}`]) {
        assert.match(problem(bad) ?? '', /^expected /, `${name} ${JSON.stringify(bad)}`);
      }
      if (rule.kind !== 'path' && rule.kind !== 'shapes') assert.ok(problem('/etc/passwd'), name);
    }
  }
});

test('options that name files, libraries or memory are refused with their name', () => {
  const refused: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'session.optimized_model_filepath'],
    [undefined, 'session.optimized_model_external_initializers_file_name'],
    [undefined, 'session.collect_node_memory_stats_to_file'],
    [undefined, 'session.enable_profiling'],
    [undefined, 'session.resource_cuda_partitioning_settings'],
    [undefined, 'session.node_partition_config_file'],
    [undefined, 'session.optimized_model_filepath\0'],
    [undefined, 'session.disable_prepacking\0'],
    [undefined, 'session.of_a_newer_runtime'],
    ['tensorrt', 'trt_extra_plugin_lib_paths'],
    ['tensorrt', 'trt_engine_decryption_lib_path'],
    ['tensorrt', 'trt_ep_context_file_path'],
    ['tensorrt', 'trt_dump_subgraphs'],
    ['tensorrt', '__proto__x'],
    ['cuda', 'user_compute_stream'],
    ['cuda', 'trt_engine_cache_path'],
    ['openvino', 'load_config'],
    ['openvino', 'toString'],
  ];
  for (const [provider, name] of refused) {
    const [message = '', ...more] = problems({ [name]: '/tmp/x' }, provider);
    assert.deepEqual(more, [], name);
    assert.ok(message.startsWith(name.replace('\0', '\\u0000')), `${name}: ${message}`);
    assert.match(message, /expected (?:an option that a model's configuration may set|a name)/);
  }
  assert.deepEqual(problems({ 'session.disable_prepackin': '1' }), [
    "session.disable_prepackin: expected an option that a model's configuration may set " +
      '(docs/reference/runtime-options.md), got "1"; did you mean "session.disable_prepacking"?',
  ]);
  assert.deepEqual(problems({ 'session.disable_prepacking': '2' }), [
    'session.disable_prepacking: expected 0 or 1, got "2"',
  ]);
  assert.deepEqual(problems({ gpu_mem_limit: 'all' }), [
    'gpu_mem_limit: expected a number of bytes, got "all"',
  ]);
});

test("TensorRT's options are refused by Triton's names too", () => {
  assert.deepEqual(problems({ max_workspace_size_bytes: '-1' }, 'tensorrt'), [
    'max_workspace_size_bytes: expected a whole number from 0 to 9007199254740991, got "-1"',
  ]);
  assert.deepEqual(
    problems({ precision_mode: 'FP16', trt_engine_cache_path: 'a' }, 'tensorrt'),
    [],
  );
});

test("OpenVINO's options reach the provider", () => {
  const accelerators = {
    cpu_execution_accelerator: [{ name: 'openvino', parameters: { num_of_threads: '2' } }],
  };
  const text = JSON.stringify({ optimization: { execution_accelerators: accelerators } });
  const { config } = tritonConfigFromJson(text, 'config');
  assert.ok(config);
  assert.deepEqual(engineSettings(config, new Map()).providers, [
    { name: 'openvino', options: { device_type: 'CPU', num_of_threads: '2' } },
  ]);
});
