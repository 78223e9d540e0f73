// config.pbtxt and configurations in JSON: accepted fields, and refused ones with the reason.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  encodeModelConfig,
  parseTritonConfig,
  takesModelsTensors,
  tritonConfigFromJson,
  versionPolicyOf,
} from '../../../../ts/models/config/triton-config.js';
import type { TritonConfig } from '../../../../ts/models/config/types.js';

const TENSORS = `
  input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ 2 ] } ]`;

function good(text: string, folderName?: string): TritonConfig {
  const { config, problems } = parseTritonConfig(text, 'f', folderName);
  assert.deepEqual(problems, []);
  assert.ok(config);
  return config;
}

/** The problems of a configuration, without the path. */
function problemsOf(text: string, folderName?: string): readonly string[] {
  const { config, problems } = parseTritonConfig(text, 'f', folderName);
  assert.equal(config === undefined, problems.length > 0);
  return problems.map(({ place, message }) => `${place.replace(/^f:/, '')}: ${message}`);
}

function warningsOf(text: string): readonly string[] {
  const { problems, warnings } = parseTritonConfig(text, 'f');
  assert.deepEqual(problems, []);
  return warnings.map(({ place, message }) => `${place.replace(/^f:/, '')}: ${message}`);
}

test("a usual configuration becomes the object that Triton's JSON is", () => {
  const text = `name: "m" platform: "onnxruntime_onnx" max_batch_size: 8 ${TENSORS}
    dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }
    instance_group [ { count: 2 kind: KIND_CPU } ]
    parameters { key: "intra_op_thread_count" value: { string_value: "1" } }`;
  const expected = {
    name: 'm',
    platform: 'onnxruntime_onnx',
    max_batch_size: 8,
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [4] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [2] }],
    dynamic_batching: { preferred_batch_size: [4, 8], max_queue_delay_microseconds: 100 },
    instance_group: [{ count: 2, kind: 'KIND_CPU' }],
    parameters: { intra_op_thread_count: { string_value: '1' } },
  };
  assert.deepEqual(good(text, 'm'), expected);
  assert.deepEqual(tritonConfigFromJson(JSON.stringify(expected), 'j', 'm').config, expected);
});

test('an empty configuration is one', () => {
  assert.deepEqual(good(''), {});
  assert.deepEqual(tritonConfigFromJson('{}', 'j'), { config: {}, problems: [], warnings: [] });
});

test('JSON: what is no JSON, no object, too large or not of the schema', () => {
  const [bad] = tritonConfigFromJson('{"name":', 'load of m').problems;
  assert.equal(bad?.place, 'load of m');
  assert.match(bad.message, /^expected a model configuration in JSON, got "\{\\"name\\":": /);
  assert.deepEqual(tritonConfigFromJson('[]', 'j').problems, [
    { place: 'j', message: 'expected an object (ModelConfig), got an array' },
  ]);
  assert.deepEqual(
    tritonConfigFromJson('{"input":[{"dims":["a"]}]}', 'j').problems.map(({ place }) => place),
    ['j: input[0].dims[0]'],
  );
  assert.deepEqual(tritonConfigFromJson('{"max_batch_size":-1}', 'j').problems, [
    { place: 'j: max_batch_size', message: 'max_batch_size: expected 0 or more, got -1' },
  ]);
  assert.equal(tritonConfigFromJson(' '.repeat(16_777_217), 'j').problems.length, 1);
  const deep = tritonConfigFromJson('['.repeat(1_000_000), 'j');
  assert.equal(deep.problems.length, 1);
});

test('text that is none is one problem with its place', () => {
  assert.deepEqual(problemsOf('improperly formatted file'), [
    '1:12: expected ":" or "{" after the field name improperly, got "formatted"',
  ]);
  assert.deepEqual(problemsOf('max_batchsize: 1\nplatfrom: "x"'), [
    '1:1: unknown field "max_batchsize" of ModelConfig; did you mean "max_batch_size"?',
    '2:1: unknown field "platfrom" of ModelConfig; did you mean "platform"?',
  ]);
});

test("the name is the folder's", () => {
  good('name: "m"', 'm');
  good('name: "other"');
  assert.deepEqual(problemsOf('name: "other"', 'm'), [
    '1:7: name: expected the name of the model\'s folder, "m", got "other"',
  ]);
});

test('backends and platforms', () => {
  good('backend: "onnxruntime" platform: "onnx_onnxv1"');
  good('backend: "serval_null"');
  good('backend: "tensorflow" platform: "tensorflow_graphdef"');
  good('platform: "tensorflow_savedmodel"');
  good('backend: "tabular" platform: "pmml_xml"');
  good('platform: "mleap_bundle"');
  good('backend: "tensorrt" platform: "tensorrt_plan"');
  const cases: readonly (readonly [string, string])[] = [
    [
      'backend: "python"',
      '1:10: backend: expected one of onnxruntime, tensorflow, tabular, tensorrt, fil, ensemble, ' +
        'got "python"',
    ],
    [
      'backend: "onnxruntime" platform: "tensorflow_savedmodel"',
      '1:34: platform: expected onnxruntime_onnx or onnx_onnxv1, got "tensorflow_savedmodel"',
    ],
    [
      'platform: "tensorrt_plans"',
      '1:11: platform: expected onnxruntime_onnx or onnx_onnxv1 or tensorflow_savedmodel or ' +
        'tensorflow_graphdef or spark_pipelinemodel or mleap_bundle or pmml_xml or ' +
        'xgboost_booster or lightgbm_booster or catboost_booster or ydf_model or ' +
        'sklearn_skops or ' +
        'tensorrt_plan or ensemble, ' +
        'got "tensorrt_plans"',
    ],
    [
      'platform: "ensemble"',
      '1:11: platform: expected ensemble_scheduling with ensemble, got none',
    ],
    [
      'backend: "serval_null" platform: "onnxruntime_onnx"',
      '1:34: platform: expected none with backend serval_null, got "onnxruntime_onnx"',
    ],
  ];
  for (const [text, expected] of cases) assert.deepEqual(problemsOf(text), [expected]);
});

test('no file outside the version folder', () => {
  good('default_model_filename: "my model.onnx"');
  for (const file of ['../m.onnx', '/m.onnx', 'a/b.onnx', '..', 'a\\000b']) {
    assert.equal(problemsOf(`default_model_filename: "${file}"`).length, 1, file);
  }
});

test('tensors: names, types, dims', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['input { data_type: TYPE_FP32 dims: 1 }', "1:7: name: expected the input's name, got none"],
    ['output { name: "y" dims: 1 }', '1:8: data_type: expected the type of output "y", got none'],
    [
      'input { name: "x" data_type: TYPE_INVALID dims: 1 }',
      '1:30: data_type: expected the type of input "x", got none',
    ],
    ['input { name: "x" data_type: TYPE_FP32 }', '1:7: dims: expected dims of input "x", got none'],
    [
      'input { name: "x" data_type: TYPE_FP32 dims: [1, 0, -1] }',
      '1:50: dims: expected 1 or more, or -1 for a dynamic dim, got 0',
    ],
    [
      'input { name: "x" data_type: TYPE_FP32 dims: -2 }',
      '1:46: dims: expected 1 or more, or -1 for a dynamic dim, got -2',
    ],
    [
      'input { name: "x" data_type: TYPE_FP32 dims: 1 format: FORMAT_NHWC }',
      '1:56: format: expected 3 dims with FORMAT_NHWC, got 1',
    ],
    [
      `input [{ name: "x" data_type: TYPE_FP32 dims: 1 },
       { name: "x" data_type: TYPE_FP32 dims: 1 }]`,
      '2:16: name: "x" is listed twice',
    ],
    [
      `input { name: "x" data_type: TYPE_FP32 dims: [${'1,'.repeat(32)} 1] }`,
      '1:47: dims: expected at most 32, got 33',
    ],
    [
      `max_batch_size: 1 input { name: "x" data_type: TYPE_FP32 dims: [${'1,'.repeat(31)} 1] }`,
      '1:65: dims: expected at most 31, got 32',
    ],
  ];
  for (const [text, expected] of cases) assert.deepEqual(problemsOf(text), [expected]);
});

test('tensors: a reshape keeps the elements between free dims', () => {
  const reshaped = (dims: string, shape: string, max = 8): readonly string[] =>
    problemsOf(
      `max_batch_size: ${max} input { name: "x" data_type: TYPE_FP32 dims: [${dims}]
     reshape { shape: [${shape}] } }`,
    );
  for (const [dims, shape] of [
    ['4', '2, 2'],
    ['1', ''],
    ['2, 4, -1, 6', '8, -1, 1, 6'],
    ['-1', '-1'],
  ] as const) {
    assert.deepEqual(reshaped(dims, shape), [], `${dims} to ${shape}`);
  }
  for (const [dims, shape] of [
    ['4', '2, 3'],
    ['2', ''],
    ['2, -1', '-1, 2'],
    ['-1', '-1, -1'],
    ['-1', '4'],
  ] as const) {
    const expected =
      'reshape: expected as many elements as the dims of input "x", ' +
      `got [${shape}] for dims [${dims}]`;
    assert.deepEqual(reshaped(dims, shape), [`2:14: ${expected}`]);
  }
  assert.deepEqual(reshaped('1', '', 0), [
    '2:14: reshape: expected dims where max_batch_size is 0, got none',
  ]);
  assert.equal(
    reshaped('1', '0')[0],
    '2:24: shape: expected 1 or more, or -1 for a dynamic dim, got 0',
  );
});

test('dynamic batching: sizes within the largest', () => {
  const batching = (inner: string, max = 8): readonly string[] =>
    problemsOf(`max_batch_size: ${max} dynamic_batching { ${inner} }`);
  assert.deepEqual(batching('preferred_batch_size: [8, 1]'), []);
  assert.deepEqual(batching('default_queue_policy { max_queue_size: 4 }', 0), []);
  assert.deepEqual(
    batching('preferred_batch_size: [4, 9, 0]').map((one) => one.slice(6)),
    [
      'preferred_batch_size: expected 1 to max_batch_size, 8, got 9',
      'preferred_batch_size: expected 1 to max_batch_size, 8, got 0',
    ],
  );
  assert.deepEqual(batching('preferred_batch_size: 1', 0), [
    '1:60: preferred_batch_size: expected none where max_batch_size is 0, got 1',
  ]);
  assert.equal(batching('max_queue_delay_microseconds: 4294967296').length, 1);
  assert.deepEqual(problemsOf('max_batch_size: -1'), [
    '1:17: max_batch_size: expected 0 or more, got -1',
  ]);
});

test('dynamic batching: priorities and order', () => {
  const batching = (inner: string): readonly string[] =>
    problemsOf(`dynamic_batching { ${inner} }`).map((one) => one.replace(/^1:\d+: /, ''));
  const delay = '{ timeout_action: DELAY default_timeout_microseconds: 5 }';
  for (const inner of [
    'priority_levels: 2 default_priority_level: 2',
    'priority_levels: 1 default_priority_level: 1 preserve_ordering: true',
    'priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 2 value {} }',
    `default_queue_policy ${delay}`,
    'preserve_ordering: true default_queue_policy { timeout_action: DELAY }',
  ]) {
    assert.deepEqual(batching(inner), [], inner);
  }
  const cases: readonly (readonly [string, string])[] = [
    ['priority_levels: 2', 'default_priority_level: expected 1 to priority_levels, 2, got 0'],
    [
      'priority_levels: 2 default_priority_level: 3',
      'default_priority_level: expected 1 to priority_levels, 2, got 3',
    ],
    [
      'priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value {} }',
      'priority_queue_policy: expected a level from 1 to 2, got 3',
    ],
    [
      'priority_levels: 2 default_priority_level: 1 priority_queue_policy { value {} }',
      'priority_queue_policy: expected a level from 1 to 2, got 0',
    ],
    [
      'priority_levels: 5000 default_priority_level: 1',
      'priority_levels: expected at most 1024, got 5000',
    ],
    [
      'priority_levels: 2 default_priority_level: 1 preserve_ordering: true',
      'preserve_ordering: expected one priority level, got 2',
    ],
    [
      `preserve_ordering: true default_queue_policy ${delay}`,
      'timeout_action: expected REJECT with preserve_ordering, got DELAY',
    ],
    [
      'default_queue_policy { timeout_action: WAIT }',
      'timeout_action: expected one of REJECT, DELAY, got WAIT',
    ],
  ];
  for (const [inner, expected] of cases) assert.deepEqual(batching(inner), [expected]);
});

test('fails a model for unsupported settings and names them', () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      'instance_group [ { kind: KIND_GPU }, { kind: KIND_CPU } ]',
      'kind: groups on both GPUs and CPUs are',
    ],
  ];
  for (const [text, expected] of cases) {
    const [first, ...more] = problemsOf(text);
    assert.equal(first?.replace(/^1:\d+: /, ''), `${expected} not supported yet`);
    assert.deepEqual(more, []);
  }
});

test('names what is wrong with an agent', () => {
  const sum = 'd726e132f91f16ae94703a96654f0f5e';
  const agent = (parameters: string): string =>
    `model_repository_agents { agents { name: "checksum" ${parameters} } }`;
  const cases: readonly (readonly [string, string])[] = [
    [
      'model_repository_agents { agents { name: "a" } }',
      'name: expected the agent checksum, got "a"',
    ],
    [
      agent(`parameters { key: "SHA1:a" value: "${sum}" }`),
      'parameters: expected the key MD5:<file> or SHA256:<file>, got "SHA1:a"',
    ],
    [
      agent(`parameters { key: "MD5:" value: "${sum}" }`),
      'parameters: expected the key MD5:<file> or SHA256:<file>, got "MD5:"',
    ],
    [
      agent('parameters { key: "MD5:a" value: "12" }'),
      'parameters: expected 32 hex digits for "MD5:a", got "12"',
    ],
  ];
  for (const [text, expected] of cases) {
    const [first, ...more] = problemsOf(text);
    assert.equal(first?.replace(/^1:\d+: /, ''), expected);
    assert.deepEqual(more, []);
  }
  assert.deepEqual(problemsOf(agent(`parameters { key: "MD5:a" value: "${sum}" }`)), []);
});

test('accepts disabled settings, and warns about settings without effect', () => {
  assert.deepEqual(
    warningsOf(`response_cache { enable: false } model_transaction_policy { decoupled: false }
      model_operations { } model_repository_agents { } instance_group { rate_limiter { } }
      optimization { priority: PRIORITY_DEFAULT input_pinned_memory { } cuda { graphs: false } }`),
    [],
  );
  assert.deepEqual(warningsOf('metric_tags { key: "a" value: "" } runtime: "x"'), [
    '1:13: metric_tags: metrics have the labels model and version',
    '1:45: runtime: platform, backend and the files determine what runs the model',
  ]);
  assert.equal(
    warningsOf(`optimization { execution_accelerators {
    gpu_execution_accelerator { name: "tensorrt" } } }`).length,
    1,
  );
  assert.deepEqual(warningsOf('model_metrics { } metric_tags [] runtime: ""'), []);
});

test('weights and rate limiters are checked', () => {
  const weight = (text: string): string =>
    `parameters { key: "weight" value { string_value: "${text}" } }`;
  for (const text of ['1', '1000']) assert.deepEqual(problemsOf(weight(text)), []);
  for (const text of ['0', '1001', '-1', '1.5', 'x', '']) {
    const [problem, ...more] = problemsOf(weight(text));
    assert.match(problem ?? '', /weight: expected a whole number from 1 to 1000, got/);
    assert.deepEqual(more, []);
  }
  const limiter = (text: string): string => `instance_group { rate_limiter { ${text} } }`;
  const one = 'resources { name: "R" count: 1 }';
  assert.deepEqual(problemsOf(limiter(one) + limiter(one)), []);
  const cases: readonly (readonly [string, RegExp])[] = [
    [limiter('resources { count: 1 }'), /name: expected a name, got none/],
    [limiter(`${one} resources { name: "r" }`), /name: expected each resource once, got "r" again/],
    [
      limiter(one) + limiter('priority: 2'),
      /rate_limiter: groups with different rate limiters are/,
    ],
    [`${limiter(one)} instance_group { }`, /rate_limiter: groups with different rate limiters are/],
  ];
  for (const [text, expected] of cases) assert.match(problemsOf(text).join(), expected);
});

test('two schedulers are one too many', () => {
  assert.deepEqual(problemsOf('dynamic_batching { } sequence_batching { }'), [
    '1:22: sequence_batching: expected it or dynamic_batching, got both',
  ]);
});

test('instance groups', () => {
  good('instance_group [ { count: 2 }, { kind: KIND_CPU }, { kind: KIND_MODEL }, { count: 0 } ]');
  good('instance_group { kind: KIND_GPU gpus: [0, 1] } instance_group { kind: KIND_GPU }');
  const cases: readonly (readonly [string, string])[] = [
    ['{ kind: KIND_CPU gpus: 0 }', 'gpus: expected none with KIND_CPU, got 0'],
    ['{ kind: KIND_MODEL gpus: [1, 2] }', 'gpus: expected none with KIND_MODEL, got 1, 2'],
    ['{ kind: KIND_GPU gpus: -1 }', 'gpus: expected 0 or more, got -1'],
    ['{ count: 1025 }', 'count: expected at most 1024, got 1025'],
    ['{ profile: "0" }', 'profile: expected none: only TensorRT engines have profiles'],
    [
      '{ kind: KIND_TPU }',
      'kind: expected one of KIND_AUTO, KIND_GPU, KIND_CPU, KIND_MODEL, got KIND_TPU; ' +
        'did you mean "KIND_GPU"?',
    ],
  ];
  for (const [text, expected] of cases) {
    assert.deepEqual(
      problemsOf(`instance_group ${text}`).map((one) => one.replace(/^1:\d+: /, '')),
      [expected],
    );
  }
});

test('accelerators', () => {
  const accelerated = (list: string, inner: string): readonly string[] =>
    problemsOf(`
    instance_group { kind: KIND_GPU }
    optimization { execution_accelerators { ${list} { ${inner} } } }`).map((one) =>
      one.replace(/^3:\d+: /, ''),
    );
  const gpu = 'gpu_execution_accelerator';
  const mode = (value: string): string =>
    `name: "tensorrt" parameters { key: "precision_mode" value: "${value}" }`;
  assert.deepEqual(accelerated(gpu, mode('FP16')), []);
  assert.deepEqual(accelerated(gpu, 'name: "cuda"'), []);
  assert.deepEqual(accelerated('cpu_execution_accelerator', 'name: "openvino"'), []);
  assert.deepEqual(accelerated(gpu, 'name: "openvino"'), [
    'name: expected tensorrt or cuda, got "openvino"',
  ]);
  assert.deepEqual(accelerated('cpu_execution_accelerator', ''), [
    'name: expected openvino, got ""',
  ]);
  assert.deepEqual(accelerated(gpu, mode('FP8')), [
    'precision_mode: expected FP32 or FP16 or BF16 or INT8, got "FP8"',
  ]);
});

test('parameters', () => {
  const withParameter = (name: string, value: string, more = ''): readonly string[] =>
    problemsOf(`${more} parameters { key: "${name}" value { string_value: "${value}" } }`).map(
      (one) => one.replace(/^1:\d+: /, ''),
    );
  for (const [name, value] of [
    ['intra_op_thread_count', '0'],
    ['execution_mode', '1'],
    ['enable_mem_arena', 'True'],
    ['anything', 'x'],
    ['serval.split', 'true'],
    ['verification', 'warn'],
    ['extended_v2', 'true'],
  ] as const) {
    assert.deepEqual(withParameter(name, value), [], name);
  }
  assert.deepEqual(withParameter('serval.allowed_rows', '1, 2,8', 'max_batch_size: 8'), []);
  assert.deepEqual(withParameter('mode', 'whatever'), []);
  const cases: readonly (readonly [string, string, string, string])[] = [
    ['intra_op_thread_count', '-1', '', 'expected a whole number from 0 to 1024, got "-1"'],
    ['inter_op_thread_count', '1025', '', 'expected a whole number from 0 to 1024, got "1025"'],
    ['execution_mode', '2', '', 'expected 0 or 1, got "2"'],
    ['enable_mem_pattern', 'on', '', 'expected true, false, 1 or 0, got "on"'],
    ['serval.pad_inner', '', '', 'expected true, false, 1 or 0, got ""'],
    ['extended_v2', 'yes', '', 'expected true, false, 1 or 0, got "yes"'],
    ['serval.padinner', '1', '', 'unknown parameter; did you mean "serval.pad_inner"?'],
    ['verification', 'no', '', 'expected fail or warn or off, got "no"'],
    ['serval.allowed_rows', '1,x', '', 'expected row counts such as "1,2,4", or "any", got "1,x"'],
    [
      'serval.allowed_rows',
      '2,2,8',
      'max_batch_size: 8',
      'expected ascending row counts up to max_batch_size, 8, got "2,2,8"',
    ],
    [
      'serval.allowed_rows',
      '2,4',
      'max_batch_size: 8',
      'expected ascending row counts up to max_batch_size, 8, got "2,4"',
    ],
    ['mode', 'sing', 'backend: "serval_null"', 'expected echo or delay or fail, got "sing"'],
    [
      'delay_us',
      '1e3',
      'backend: "serval_null"',
      'expected a whole number from 0 to 3600000000, got "1e3"',
    ],
  ];
  for (const [name, value, more, expected] of cases) {
    assert.deepEqual(withParameter(name, value, more), [`${name}: ${expected}`]);
  }
});

test('version policies', () => {
  assert.deepEqual(versionPolicyOf(undefined), { kind: 'latest', count: 1 });
  for (const [text, expected] of [
    ['', { kind: 'latest', count: 1 }],
    ['version_policy { latest { } }', { kind: 'latest', count: 1 }],
    ['version_policy { latest { num_versions: 3 } }', { kind: 'latest', count: 3 }],
    ['version_policy: { all { } }', { kind: 'all' }],
    [
      'version_policy { specific { versions: [1, 9007199254740993] } }',
      { kind: 'specific', versions: ['1', '9007199254740993'] },
    ],
  ] as const) {
    assert.deepEqual(versionPolicyOf(good(text)), expected);
  }
  assert.deepEqual(problemsOf('version_policy { specific { versions: [1, -1] } }'), [
    '1:43: versions: expected 0 or more, got -1',
  ]);
  assert.deepEqual(problemsOf('version_policy { specific { } }'), [
    '1:27: versions: expected at least one version, got none',
  ]);
  assert.deepEqual(problemsOf('version_policy { all { } latest { } }'), [
    '1:26: latest: expected it or all, got both',
  ]);
});

test("tensors are the model's unless both lists are written", () => {
  assert.equal(takesModelsTensors(undefined), true);
  assert.equal(takesModelsTensors(good('input { name: "x" data_type: TYPE_FP32 dims: 1 }')), true);
  assert.equal(takesModelsTensors(good(TENSORS)), false);
});

// Source: bytes of tritonclient's model_config_pb2 for the same text.
test('the wire bytes are those of inference.ModelConfig', () => {
  const config = good(`name: "m" backend: "onnxruntime" max_batch_size: 4
    input { name: "x" data_type: TYPE_FP32 dims: [3, -1] }
    dynamic_batching { preferred_batch_size: [2, 4] }`);
  const expected =
    '0a016d20042a120a0178100b220b03ffffffffffffffffff015a040a0202048a010b' +
    '6f6e6e7872756e74696d65';
  assert.equal(Buffer.from(encodeModelConfig(config)).toString('hex'), expected);
});
