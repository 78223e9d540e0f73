// TensorFlow Serving's files: models.config, batching parameters, monitoring; its own samples.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  defaultBatchingParameters,
  parseBatchingParameters,
} from '../../../../ts/models/config/batching-parameters.js';
import { parseModelServerConfig } from '../../../../ts/models/config/models-config.js';
import {
  parseMonitoringConfig,
  readMonitoringPath,
} from '../../../../ts/models/config/monitoring-config.js';
import { ConfigFileError } from '../../../../ts/protobuf/text-format.js';
import type { ConfigProblem } from '../../../../ts/protobuf/problem.js';
import { filledFolder } from '../../temp-folder.js';

/** The samples beside the checkout, if there are any. */
const SAMPLES = resolve('../shared/models/tfserving/configs');

function linesOf(problems: readonly ConfigProblem[]): readonly string[] {
  return problems.map(({ place, message }) => `${place}: ${message}`);
}

/** One entry that is valid except for `more`. */
function entry(more: string, name = 'm'): string {
  return `model_config_list { config { name: "${name}" base_path: "/models/m" ${more} } }`;
}

function entryProblems(more: string): readonly string[] {
  const { models, problems } = parseModelServerConfig(entry(more), 'f');
  assert.equal(models.length, problems.length === 0 ? 1 : 0);
  return linesOf(problems).map((line) => line.replace(/^f:1:\d+: /, ''));
}

/** A sample file's text; if there is none, returns undefined and skips the test. */
function sample(t: TestContext, name: string): string | undefined {
  try {
    return readFileSync(`${SAMPLES}/${name}`, 'utf8');
  } catch {
    t.skip(`TensorFlow Serving's sample ${SAMPLES}/${name} is not on this machine`);
    return undefined;
  }
}

test('models.config: every member', () => {
  const { models, problems, warnings } = parseModelServerConfig(
    `
    # two models
    model_config_list: {
      config: {
        name: 'a', base_path: "file:///models/a"; model_platform: "onnx",
        model_version_policy: { specific: { versions: [1, 0x10], versions: 9007199254740993 } }
        version_labels { key: "stable" value: 1 }
        version_labels: { key: 'canary', value: 9007199254740993 },
      },
      config < name: "b" base_path: "/models/b" model_type: TENSORFLOW
        model_version_policy { latest { num_versions: 0 } } >
    }`,
    'f',
  );
  assert.deepEqual([problems, warnings], [[], []]);
  assert.deepEqual(models, [
    {
      name: 'a',
      basePath: '/models/a',
      platform: 'onnx',
      versionPolicy: { kind: 'specific', versions: ['1', '16', '9007199254740993'] },
      labels: { stable: '1', canary: '9007199254740993' },
      place: 'f:4:15',
    },
    {
      name: 'b',
      basePath: '/models/b',
      platform: 'tensorflow',
      versionPolicy: { kind: 'latest', count: 1 },
      labels: {},
      place: 'f:10:14',
    },
  ]);
});

test('models.config: policies and platforms', () => {
  for (const platform of [
    'tensorflow',
    'onnx',
    'onnxruntime_onnx',
    'onnx_onnxv1',
    'pmml',
    'mleap',
    'spark',
    '',
  ]) {
    assert.deepEqual(entryProblems(`model_platform: "${platform}"`), [], platform);
  }
  const policy = (text: string): unknown =>
    parseModelServerConfig(entry(`model_version_policy { ${text} }`), 'f').models[0]?.versionPolicy;
  assert.deepEqual(policy('all { }'), { kind: 'all' });
  assert.deepEqual(policy('latest { num_versions: 2 }'), { kind: 'latest', count: 2 });
  assert.deepEqual(policy(''), { kind: 'latest', count: 1 });
});

test('models.config: nothing to serve is no problem', () => {
  for (const text of ['', 'model_config_list { }', '# nothing']) {
    const isSet = text.startsWith('model');
    const nothing = { models: [], isSet, problems: [], warnings: [] };
    assert.deepEqual(parseModelServerConfig(text, 'f'), nothing);
  }
});

test('models.config: what an entry may not say', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['nme: "x"', 'unknown field "nme" of ModelConfig; did you mean "name"?'],
    ['model_platform: 1', 'model_platform: expected string, got 1'],
    [
      'model_platform: "onix"',
      'model_platform: expected one of tensorflow, onnx, ' +
        'onnxruntime_onnx, onnx_onnxv1, tensorrt_plan, pmml, mleap, spark, xgboost, lightgbm, ' +
        'catboost, ydf, sklearn, got "onix"; did you mean "onnx"?',
    ],
    [
      'model_platform: "onnx" model_type: TENSORFLOW',
      'model_type: expected it or model_platform, got both',
    ],
    ['model_type: OTHER', 'model_type: expected TENSORFLOW, got OTHER'],
    ['model_version_policy { specific { } }', 'versions: expected at least one version, got none'],
    [
      'model_version_policy { specific { versions: [1, -2] } }',
      'versions: expected 0 or more, got -2',
    ],
    [
      'model_version_policy { latest { num_versions: -1 } }',
      'num_versions: expected uint32 (0 to 4294967295), got -1',
    ],
    ['model_version_policy { all { } latest { } }', 'latest: expected it or all, got both'],
    [
      'version_labels { key: "a" value: -1 }',
      'version_labels: expected 0 or more, got -1 for label "a"',
    ],
    ['version_labels { value: 1 }', 'version_labels: expected a label, got ""'],
    [
      'version_labels { key: "a" value: "1" }',
      'value: expected int64 (-9223372036854775808 to 9223372036854775807), got the string "1"',
    ],
    ['base_path: "/other"', 'base_path: expected one value, got a second one'],
  ];
  for (const [more, expected] of cases) assert.deepEqual(entryProblems(more), [expected]);
});

test('models.config: base paths', () => {
  const problem = (path: string): readonly string[] =>
    linesOf(
      parseModelServerConfig(`model_config_list { config { name: "m" base_path: "${path}" } }`, 'f')
        .problems,
    );
  assert.deepEqual(problem('/a'), []);
  assert.deepEqual(problem('file:///a'), []);
  assert.deepEqual(problem('models/m'), [
    'f:1:51: base_path: expected model "m" to have an absolute path, got "models/m"',
  ]);
  assert.deepEqual(problem('file://a'), [
    'f:1:51: base_path: expected model "m" to have an absolute path, got "file://a"',
  ]);
  assert.deepEqual(problem('s3://bucket/m'), [
    'f:1:51: base_path: s3:// is not supported, got "s3://bucket/m"',
  ]);
  assert.equal(problem('/a\\000b').length, 1);
  assert.deepEqual(
    linesOf(parseModelServerConfig('model_config_list { config { name: "m" } }', 'f').problems),
    ['f:1:28: base_path: expected model "m" to have an absolute path, got ""'],
  );
  assert.deepEqual(
    linesOf(
      parseModelServerConfig('model_config_list { config { base_path: "/a" } }', 'f').problems,
    ),
    ['f:1:28: name: expected a model name of 1 to 4096 bytes, got ""'],
  );
});

test('models.config: a bad entry does not take the others along', () => {
  const { models, problems } = parseModelServerConfig(
    `model_config_list {
    config { name: "a" base_path: "/a" }
    config { name: "b" base_path: "b" }
    config { name: "c" base_path: "/c" model_version_policy { all { x: 1 } } }
    config { name: "a" base_path: "/again" }
    config { name: "d" base_path: "/d" } }`,
    'f',
  );
  assert.deepEqual(
    models.map((model) => model.name),
    ['a', 'd'],
  );
  assert.deepEqual(linesOf(problems), [
    'f:4:69: unknown field "x" of All',
    'f:3:35: base_path: expected model "b" to have an absolute path, got "b"',
    'f:5:20: name: Illegal to list model a multiple times in config list; the first is at f:2:12',
  ]);
});

test('models.config: a custom configuration is a problem', () => {
  const custom = parseModelServerConfig(
    'custom_model_config { [type.googleapis.com/x.Y] { any: "thing" } }',
    'f',
  );
  assert.deepEqual(linesOf(custom.problems), [
    'f:1:21: custom_model_config: not supported; expected model_config_list',
  ]);
});

test('models.config: logging_config', () => {
  const read = (text: string) => parseModelServerConfig(entry(`logging_config { ${text} }`), 'f');
  const place = 'log_collector_config { type: "file" filename_prefix: "/var/log/m" }';
  const whole = read(`${place} sampling_config { sampling_rate: 0.1 }`);
  assert.deepEqual([whole.problems, whole.warnings], [[], []]);
  const logging = { filenamePrefix: '/var/log/m', samplingRate: 0.1 };
  assert.deepEqual(whole.models[0]?.logging, logging);
  assert.deepEqual(read('').models[0]?.logging, undefined);
  assert.deepEqual(read(place).models[0]?.logging, { ...logging, samplingRate: 0 });
  for (const [text, expected] of [
    ['sampling_config { sampling_rate: 0.1 }', /filename_prefix: expected an absolute path.* got/],
    [`${place} sampling_config { sampling_rate: -1 }`, /sampling_rate: expected a number from 0/],
    [`${place} sampling_config { sampling_rate: nan }`, /sampling_rate: .*, got NaN/],
    ['log_collector_config { filename_prefix: "/folder/" }', /filename_prefix: expected/],
    ['log_collector_config { filename_prefix: "relative" }', /filename_prefix: expected/],
    [
      'log_collector_config { type: "kafka" filename_prefix: "/l" }',
      /type: expected "file" or "", got "kafka"/,
    ],
  ] as const) {
    const { models, problems } = read(text);
    assert.deepEqual(models, [], text);
    assert.match(linesOf(problems).join(), expected);
  }
});

test('models.config: the samples', (t) => {
  const text = sample(t, 'good_model_config.txt');
  if (text === undefined) return;
  const filled = text
    .replace('${TEST_HALF_PLUS_TWO_DIR}', '/models/two')
    .replace('${TEST_HALF_PLUS_THREE_DIR}', '/models/three');
  const { models, problems } = parseModelServerConfig(filled, 'f');
  assert.deepEqual(problems, []);
  assert.deepEqual(
    models.map(({ name, basePath, platform }) => [name, basePath, platform]),
    [
      ['half_plus_two', '/models/two', 'tensorflow'],
      ['half_plus_three', '/models/three', 'tensorflow'],
    ],
  );
  assert.equal(parseModelServerConfig(text, 'f').problems.length, 2);
  const bad = parseModelServerConfig(sample(t, 'bad_model_config.txt') ?? '', 'bad.txt');
  assert.deepEqual(
    [bad.models, linesOf(bad.problems)],
    [[], ['bad.txt:1:12: expected ":" or "{" after the field name improperly, got "formatted"']],
  );
});

test('batching: every member, and the defaults', () => {
  assert.deepEqual(parseBatchingParameters('', 'f').parameters, defaultBatchingParameters());
  assert.deepEqual(defaultBatchingParameters(), {
    maxBatchSize: 1000,
    batchTimeoutMicros: 0,
    maxEnqueuedBatches: 10,
    numBatchThreads: availableParallelism(),
    allowedBatchSizes: [],
    padVariableLengthInputs: false,
    enableLargeBatchSplitting: false,
    maxExecutionBatchSize: 1000,
  });
  const { parameters, problems } = parseBatchingParameters(
    `max_batch_size { value: 64 }
    batch_timeout_micros: { value: 100 } max_enqueued_batches { value: 5 }
    num_batch_threads { value: 2 } thread_pool_name { value: "pool" }
    allowed_batch_sizes: 8, allowed_batch_sizes: [16, 32]
    pad_variable_length_inputs: true enable_large_batch_splitting { value: true }
    max_execution_batch_size { value: 32 }`,
    'f',
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(parameters, {
    maxBatchSize: 64,
    batchTimeoutMicros: 100,
    maxEnqueuedBatches: 5,
    numBatchThreads: 2,
    allowedBatchSizes: [8, 16, 32],
    padVariableLengthInputs: true,
    enableLargeBatchSplitting: true,
    maxExecutionBatchSize: 32,
  });
});

test('batching: the largest execution follows max_batch_size unless batches are split', () => {
  const size = (text: string): unknown =>
    parseBatchingParameters(text, 'f').parameters?.maxExecutionBatchSize;
  assert.equal(size('max_batch_size { value: 64 }'), 64);
  assert.equal(size('max_batch_size { value: 64 } max_execution_batch_size { value: 8 }'), 64);
  assert.equal(
    size('max_batch_size { value: 64 } enable_large_batch_splitting { value: true }'),
    64,
  );
});

test('batching: what may not be said', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['max_batch_size: 64', '17: max_batch_size: expected a message in braces (Int64Value), got 64'],
    ['max_batch_size { value: 0 }', '16: max_batch_size: expected 1 to 4294967295, got 0'],
    [
      'batch_timeout_micros { value: -1 }',
      '22: batch_timeout_micros: expected 0 to 4294967295, got -1',
    ],
    ['max_enqueued_batches { }', '22: max_enqueued_batches: expected 1 to 9007199254740991, got 0'],
    ['num_batch_threads { value: 2000 }', '19: num_batch_threads: expected 1 to 1024, got 2000'],
    [
      'max_batch_size { value: 4 } allowed_batch_sizes: [4, 2]',
      '54: allowed_batch_sizes: expected more than 4, got 2',
    ],
    [
      'max_batch_size { value: 4 } allowed_batch_sizes: [2, 2, 4]',
      '54: allowed_batch_sizes: expected more than 2, got 2',
    ],
    [
      'max_batch_size { value: 4 } allowed_batch_sizes: 0',
      '50: allowed_batch_sizes: expected more than 0, got 0',
    ],
    [
      'max_batch_size { value: 4 } allowed_batch_sizes: [1, 2]',
      '54: allowed_batch_sizes: expected the last to be max_batch_size, 4, got 2',
    ],
    [
      'allowed_batch_sizes: 1000 enable_large_batch_splitting { value: true } ' +
        'max_execution_batch_size { value: 10 }',
      '22: allowed_batch_sizes: expected the last to be max_execution_batch_size, 10, got 1000',
    ],
    [
      'max_batch_size { value: 4 } enable_large_batch_splitting { value: true } ' +
        'max_execution_batch_size { value: 8 }',
      '99: max_execution_batch_size: expected 1 to 4, got 8',
    ],
    [
      'max_batch_sizes { }',
      '1: unknown field "max_batch_sizes" of BatchingParameters; ' +
        'did you mean "max_batch_size"?',
    ],
    ['{', '1: expected a field name, got "{"'],
  ];
  for (const [text, expected] of cases) {
    const { parameters, problems } = parseBatchingParameters(text, 'f');
    assert.equal(parameters, undefined);
    assert.deepEqual(linesOf(problems), [`f:1:${expected}`]);
  }
});

test('batching: the sample', (t) => {
  const text = sample(t, 'batching_config.txt');
  if (text === undefined) return;
  const { parameters, problems } = parseBatchingParameters(text, 'f');
  assert.deepEqual(problems, []);
  assert.deepEqual(
    [parameters?.maxBatchSize, parameters?.maxEnqueuedBatches, parameters?.numBatchThreads],
    [128, 1_000_000, 8],
  );
});

test('monitoring', () => {
  const path = '/monitoring/prometheus/metrics';
  const cases: readonly (readonly [string, unknown])[] = [
    ['', { enabled: false, path }],
    ['prometheus_config { enable: true }', { enabled: true, path }],
    ['prometheus_config: { enable: true, path: "/m" }', { enabled: true, path: '/m' }],
  ];
  for (const [text, config] of cases) {
    assert.deepEqual(parseMonitoringConfig(text, 'f'), { config, problems: [] });
  }
});

test('monitoring: what may not be said', () => {
  for (const url of ['metrics', '/a?b', '/a b', '/a#b']) {
    const text = `prometheus_config { path: "${url}" }`;
    const { config, problems } = parseMonitoringConfig(text, 'f');
    assert.equal(config, undefined);
    assert.deepEqual(linesOf(problems), [
      'f:1:27: path: expected one that begins with "/", without ' + `"?" or "#", got "${url}"`,
    ]);
  }
  assert.deepEqual(linesOf(parseMonitoringConfig('prometheus { }', 'f').problems), [
    'f:1:1: unknown field "prometheus" of MonitoringConfig; did you mean "prometheus_config"?',
  ]);
  assert.deepEqual(linesOf(parseMonitoringConfig('prometheus_config', 'f').problems), [
    'f:1:18: expected ":" or "{" after the field name prometheus_config, ' +
      'got the end of the file',
  ]);
});

test('monitoring: the path in a file', async (t) => {
  const folder = filledFolder(t, {
    on: 'prometheus_config { enable: true path: "/m" }',
    off: 'prometheus_config { path: "/m" }',
    bad: 'prometheus_config { enable: 7 }',
  });
  assert.equal(await readMonitoringPath(join(folder, 'on')), '/m');
  assert.equal(await readMonitoringPath(join(folder, 'off')), '');
  await assert.rejects(readMonitoringPath(join(folder, 'gone')), ConfigFileError);
  await assert.rejects(readMonitoringPath(join(folder, 'bad')), {
    message: `${join(folder, 'bad')}:1:29: enable: expected bool, got 7`,
  });
});

test('monitoring: the sample', (t) => {
  const text = sample(t, 'monitoring_config.txt');
  if (text === undefined) return;
  assert.deepEqual(parseMonitoringConfig(text, 'f').config, {
    enabled: true,
    path: '/monitoring/prometheus/metrics',
  });
});
