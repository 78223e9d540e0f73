// Which models are isolated, and in whose process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineSettings } from '../../../ts/model-config/engine-settings.js';
import { parseTritonConfig } from '../../../ts/model-config/triton-config.js';
import type { ModelSpec } from '../../../ts/model/engine-api.js';
import { isolationGroup } from '../../../ts/native/isolated.js';

const spec = (more: Partial<ModelSpec> = {}): ModelSpec => ({
  ...{ name: 'm', version: '1', backend: 'onnxruntime', path: '/m.onnx' },
  ...more,
});
const table = spec({ backend: 'tabular' });

test('a model is isolated by its configuration or by name, or as all are', () => {
  assert.equal(isolationGroup(spec()), undefined);
  assert.equal(isolationGroup(spec(), ['other']), undefined);
  assert.equal(isolationGroup(spec(), ['other', 'm']), '');
  assert.equal(isolationGroup(spec(), ['all']), '');
  assert.equal(isolationGroup(spec({ isolation: { group: 'g' } })), 'g');
  assert.equal(isolationGroup(spec({ isolation: { group: 'g' } }), ['m', 'all']), 'g');
});

test('a model of columns stays in the server, and says so where it is asked for by name', () => {
  assert.equal(isolationGroup(table), undefined);
  assert.equal(isolationGroup(table, ['all']), undefined);
  const refused = /model 'm': expected no isolation, got 'process'/;
  assert.throws(() => isolationGroup(table, ['m']), refused);
  const asked = spec({ backend: 'tabular', isolation: { group: '' } });
  assert.throws(() => isolationGroup(asked), refused);
});

test('config.pbtxt says it by two parameters', () => {
  const settings = (...parameters: readonly (readonly [string, string])[]) => {
    const text = parameters.map(
      ([key, value]) => `parameters { key: "${key}" value: { string_value: "${value}" } }`,
    );
    const { config, problems } = parseTritonConfig(`backend: "onnxruntime" ${text.join(' ')}`, 'f');
    const isolation =
      config === undefined ? undefined : engineSettings(config, new Map()).isolation;
    return { isolation, problems };
  };
  assert.equal(settings().isolation, undefined);
  assert.equal(settings(['isolation', 'none']).isolation, undefined);
  assert.deepEqual(settings(['isolation', 'process']).isolation, { group: '' });
  const grouped = settings(['isolation', 'process'], ['isolation_group', 'gpu-0']);
  assert.deepEqual(grouped.isolation, { group: 'gpu-0' });
  assert.equal(settings(['isolation', 'thread']).problems.length, 1);
  assert.equal(settings(['isolation_group', 'a b']).problems.length, 1);
});
