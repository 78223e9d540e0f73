// TensorFlow Serving's platform configuration file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BATCHING_FIELDS, PLATFORM_FIELDS } from '../../../../ts/config/peers/serving-fields.js';
import {
  parsePlatformConfig,
  readPlatformConfig,
} from '../../../../ts/models/config/platform-config.js';
import {
  PLATFORM_CONFIG_MAP,
  SAVED_MODEL_BUNDLE_SOURCE_ADAPTER_CONFIG,
} from '../../../../ts/protobuf/generated/platform-config.js';
import type { FieldType } from '../../../../ts/protobuf/schema.js';
import { ConfigFileError } from '../../../../ts/protobuf/text-format.js';

const TYPE = 'type.googleapis.com/tensorflow.serving.SavedModelBundleSourceAdapterConfig';
const file = (bundle: string, key = 'tensorflow', type = TYPE): string => `platform_configs {
  key: "${key}"
  value { source_adapter_config { [${type}] { legacy_config {
    ${bundle}
  } } } }
}`;

function refused(text: string, message: RegExp): void {
  assert.throws(
    () => parsePlatformConfig(text, 'p.txt'),
    (error) => error instanceof ConfigFileError && message.test(error.message),
  );
}

test('batching, threads, tags and warm-up', () => {
  const text = file(`
    session_config { intra_op_parallelism_threads: 4 inter_op_parallelism_threads: 2 }
    batching_parameters { max_batch_size { value: 16 } batch_timeout_micros { value: 500 } }
    saved_model_tags: "serve" saved_model_tags: "gpu"
    enable_model_warmup: false
    model_warmup_options { num_request_iterations { value: 3 } }`);
  const { batching, warnings, ...said } = parsePlatformConfig(text, 'p.txt');
  assert.deepEqual(said, {
    threads: { intraOpThreads: 4, interOpThreads: 2 },
    savedModelTags: ['serve', 'gpu'],
    modelWarmup: false,
    warmupIterations: 3,
  });
  assert.deepEqual([batching?.maxBatchSize, batching?.batchTimeoutMicros], [16, 500]);
  assert.deepEqual(warnings, []);
});

test('keeps the defaults of unset fields', () => {
  for (const text of ['', file(''), 'platform_configs { key: "tensorflow" value {} }']) {
    assert.deepEqual(parsePlatformConfig(text, 'f'), { threads: {}, warnings: [] });
  }
  assert.equal(parsePlatformConfig(file('enable_model_warmup: true'), 'f').modelWarmup, undefined);
  assert.equal(
    parsePlatformConfig(file('batching_parameters {}'), 'f').batching?.maxBatchSize,
    1000,
  );
});

test('reports fields without effect, with their place', () => {
  const text = file(`session_config { gpu_options { allow_growth: true visible_device_list: "0" } }
    batching_parameters { thread_pool_name { value: "t" } }`);
  const { warnings } = parsePlatformConfig(text, 'p.txt');
  assert.deepEqual(
    warnings.map(({ place, message }) => `${place} ${message.replace(/:.*/, '')}`),
    ['p.txt:4:34 gpu_options', 'p.txt:5:44 thread_pool_name'],
  );
});

test('refuses unsupported fields by name, with their place', () => {
  refused(
    file('session_target: "grpc://x"'),
    /^p\.txt:4:21: session_target: Serval contains the runtime/,
  );
  refused(
    file('session_config { cluster_def { } }'),
    /^p\.txt:4:34: cluster_def: models run in one process/,
  );
  refused(file('no_such: 1'), /^p\.txt:4:5: unknown field "no_such" of SessionBundleConfig/);
  refused(
    file('session_config { intra_op_parallelism_threads: -1 }'),
    /expected 0 to 1024, got -1/,
  );
  refused(
    file('batching_parameters { max_batch_size { value: 0 } }'),
    /max_batch_size: expected 1 to/,
  );
  refused(file('', 'tflite'), /platform_configs: expected "tensorflow", got "tflite"/);
  refused(
    file('', 'tensorflow', 'type.googleapis.com/tensorflow.serving.Other'),
    /source_adapter_config: expected \[type.*got "tensorflow\.serving\.Other"/,
  );
  refused(
    `platform_configs { key: "tensorflow" value { source_adapter_config { type_url: "${TYPE}" } } }`,
    /source_adapter_config: expected \[type/,
  );
  refused('platform_configs {', /p\.txt:1:/);
});

test('a file that is not there is an error that names it', async () => {
  await assert.rejects(readPlatformConfig('/no/such.txt'), /\/no\/such\.txt: cannot read the file/);
});

test('every field has a row', () => {
  const table = { ...PLATFORM_FIELDS, ...BATCHING_FIELDS };
  const seen = new Set<string>();
  const look = (type: FieldType): void => {
    if (type.kind !== 'message' || seen.has(type.name) || table[type.name] === undefined) return;
    seen.add(type.name);
    assert.deepEqual(Object.keys(type.fields).sort(), Object.keys(table[type.name] ?? {}).sort());
    for (const field of Object.values(type.fields)) look(field.type);
  };
  look(PLATFORM_CONFIG_MAP);
  look(SAVED_MODEL_BUNDLE_SOURCE_ADAPTER_CONFIG);
  assert.deepEqual([...seen].sort(), Object.keys(table).sort());
});
