// ModelServerConfig as a message, the content of HandleReloadConfigRequest. The bytes are made with
// the descriptors of server reflection. Source: tfserving.md 2, 3.2; protobuf.dev, encoding.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import {
  parseModelServerConfig,
  readModelServerConfig,
} from '../../../../ts/models/config/models-config.js';
import { encode, messageTypes } from '../../protocols/raw-client.js';

const types = messageTypes();
const bytesOf = (config: object): Buffer =>
  encode(types, 'tensorflow.serving.ModelServerConfig', config);
const listOf = (...config: readonly object[]): Buffer => bytesOf({ model_config_list: { config } });

const entryOf = (more: object): object => ({ name: 'm', base_path: '/models/m', ...more });

test('says the same as the file', () => {
  const { models, problems, warnings } = readModelServerConfig(
    listOf(
      {
        name: 'a',
        base_path: 'file:///models/a',
        model_platform: 'onnx',
        model_version_policy: { specific: { versions: [1, 16, { low: 1, high: 2097152 }] } },
        version_labels: [
          { key: 'stable', value: 1 },
          { key: '__proto__', value: { low: 1, high: 2097152 } },
        ],
      },
      {
        name: 'b',
        base_path: '/models/b',
        model_type: 1,
        model_version_policy: { latest: { num_versions: 3 } },
      },
      { name: 'c', base_path: '/models/c', model_version_policy: { all: {} } },
    ),
  );
  assert.deepEqual([problems, warnings], [[], []]);
  const file = parseModelServerConfig(
    `model_config_list {
    config { name: "a" base_path: "file:///models/a" model_platform: "onnx"
      model_version_policy { specific { versions: [1, 16, 9007199254740993] } }
      version_labels { key: "stable" value: 1 }
      version_labels { key: "__proto__" value: 9007199254740993 } }
    config { name: "b" base_path: "/models/b" model_type: TENSORFLOW
      model_version_policy { latest { num_versions: 3 } } }
    config { name: "c" base_path: "/models/c" model_version_policy { all {} } } }`,
    'f',
  );
  const anywhere = (list: typeof models): unknown => list.map((one) => ({ ...one, place: '' }));
  assert.deepEqual(anywhere(models), anywhere(file.models));
  assert.deepEqual(
    models.map(({ place }) => place),
    [0, 1, 2].map((i) => `config.model_config_list.config[${i}]`),
  );
});

test('an empty list is a list; no list, or another configuration, is refused', () => {
  assert.deepEqual(readModelServerConfig(bytesOf({ model_config_list: {} })).models, []);
  const list = listOf(entryOf({}));
  const custom = bytesOf({ custom_model_config: { type_url: 'x' } });
  for (const bytes of [Buffer.alloc(0), custom, Buffer.concat([list, custom])]) {
    assert.throws(
      () => readModelServerConfig(bytes),
      (error: unknown) => {
        assert.ok(error instanceof ServalError);
        assert.equal(error.code, ErrorCode.InvalidArgument);
        assert.equal(
          error.message,
          'ServerModelConfig type not supported by ' +
            'HandleReloadConfigRequest. Only ModelConfigList is currently supported',
        );
        return true;
      },
    );
  }
  assert.equal(readModelServerConfig(Buffer.concat([custom, list])).models.length, 1);
});

test('merges what comes twice, takes the last of single values, passes over the unknown', () => {
  const twice = Buffer.concat([listOf(entryOf({})), listOf(entryOf({ name: 'n' }))]);
  assert.deepEqual(
    readModelServerConfig(twice).models.map((one) => one.name),
    ['m', 'n'],
  );
  const entry = encode(types, 'tensorflow.serving.ModelConfig', entryOf({}));
  const more = encode(types, 'tensorflow.serving.ModelConfig', {
    name: 'last',
    model_version_policy: { all: {} },
  });
  const policy = encode(types, 'tensorflow.serving.ModelConfig', {
    model_version_policy: { latest: { num_versions: 2 } },
  });
  const unknown = Buffer.from('fa3f026869', 'hex');
  const config = Buffer.concat([entry, unknown, more, policy]);
  const list = Buffer.concat([Buffer.from([0x0a, config.length]), config]);
  const bytes = Buffer.concat([Buffer.from([0x0a, list.length]), list]);
  const [model] = readModelServerConfig(bytes).models;
  assert.equal(model?.name, 'last');
  assert.deepEqual(model.versionPolicy, { kind: 'latest', count: 2 });
});

test('everything wrong is reported with its place', () => {
  const cases: readonly [object, RegExp][] = [
    [{ name: '' }, /^config\.model_config_list\.config\[0\].*name: expected a model name of 1 to/],
    [{ base_path: 'relative' }, /base_path: expected model "m" to have an absolute path/],
    [{ base_path: 's3://bucket' }, /base_path: s3:\/\/ is not supported/],
    [{ model_platform: 'caffe' }, /model_platform: expected one of tensorflow, onnx/],
    [{ model_version_policy: { specific: {} } }, /versions: expected at least one version/],
    [
      { model_version_policy: { specific: { versions: [1, -2] } } },
      /config\[0\]\.model_version_policy\.specific\.versions\[1\].*: expected 0 or more, got -2/,
    ],
    [{ version_labels: [{ key: '', value: 1 }] }, /version_labels: expected a label, got ""/],
  ];
  for (const [more, expected] of cases) {
    const { models, problems } = readModelServerConfig(listOf(entryOf(more)));
    assert.equal(models.length, 0);
    const [{ place, message } = assert.fail()] = problems;
    assert.match(`${place}: ${message}`, expected);
  }
  const listed = readModelServerConfig(listOf(entryOf({}), entryOf({})));
  assert.match(
    listed.problems[0]?.message ?? '',
    /Illegal to list model m multiple times in config list; the first is at config\.model/,
  );
  const enumOf = Buffer.from('0a04 0a02 1809'.replaceAll(' ', ''), 'hex');
  assert.match(
    readModelServerConfig(enumOf)
      .problems.map((one) => one.message)
      .join(),
    /expected one of MODEL_TYPE_UNSPECIFIED, TENSORFLOW, OTHER, got 9/,
  );
});

test('bytes that are none end in an error or an answer, never in anything else', () => {
  const bytes = listOf(
    entryOf({
      model_version_policy: { specific: { versions: [1, 300] } },
      version_labels: [{ key: 'stable', value: 1 }],
    }),
  );
  const read = (changed: Buffer): void => {
    try {
      readModelServerConfig(changed);
    } catch (error) {
      assert.ok(error instanceof ServalError, String(error));
      assert.ok([ErrorCode.MalformedBody, ErrorCode.InvalidArgument].includes(error.code));
    }
  };
  for (let at = 0; at < bytes.length; at += 1) {
    read(bytes.subarray(0, at));
    for (const bits of [0x01, 0x08, 0x80, 0xff]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ bits;
      read(changed);
    }
  }
});
