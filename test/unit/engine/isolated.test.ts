// Which models are isolated, and in which process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineSettings } from '../../../ts/models/config/engine-settings.js';
import { parseTritonConfig } from '../../../ts/models/config/triton-config.js';
import type { ModelSpec } from '../../../ts/model/engine-api.js';
import { isolationGroup } from '../../../ts/engine/isolated.js';

const spec = (more: Partial<ModelSpec> = {}): ModelSpec => ({
  ...{ name: 'm', version: '1', backend: 'onnxruntime', path: '/m.onnx' },
  ...more,
});
const table = spec({ backend: 'tabular' });
const inGroup = spec({ isolation: { mode: 'process', group: 'g' } });
const inServer = { isolation: { mode: 'none', group: '' } } as const;
const onGpu = (name: string): Partial<ModelSpec> => ({
  providers: [
    { name, options: {} },
    { name: 'cpu', options: {} },
  ],
});

test('isolates a model by its configuration, by name, or with all models', () => {
  assert.equal(isolationGroup(spec()), undefined);
  assert.equal(isolationGroup(spec(), ['other']), undefined);
  assert.equal(isolationGroup(spec(), ['other', 'm']), '');
  assert.equal(isolationGroup(spec(), ['all']), '');
  assert.equal(isolationGroup(inGroup), 'g');
  assert.equal(isolationGroup(inGroup, ['m', 'all']), 'g');
});

test('a model on a GPU shares the process of its device by default', () => {
  for (const provider of ['cuda', 'tensorrt']) {
    const model = spec(onGpu(provider));
    const group = isolationGroup(model, [], true);
    assert.equal(group, '\0device');
    assert.equal(isolationGroup(model, ['other'], true), group);
    assert.equal(isolationGroup(model, ['m'], true), '');
    assert.equal(isolationGroup(model, ['all'], true), '');
    assert.equal(isolationGroup(model, ['none'], true), undefined);
    assert.equal(isolationGroup(model, ['none', 'm'], true), '');
    assert.equal(isolationGroup(model, []), undefined, 'in a program of its own');
    assert.equal(isolationGroup({ ...inGroup, ...onGpu(provider) }, [], true), 'g');
    assert.equal(isolationGroup(spec({ ...inServer, ...onGpu(provider) }), [], true), undefined);
  }
  assert.equal(isolationGroup(spec(), [], true), undefined);
  assert.equal(isolationGroup(spec({ providers: [] }), [], true), undefined);
});

test('the keywords of --isolate are not model names', () => {
  for (const name of ['all', 'none']) {
    assert.equal(isolationGroup(spec({ name }), ['none']), undefined);
    assert.equal(isolationGroup(spec({ name, ...onGpu('cuda') }), ['none'], true), undefined);
    assert.equal(isolationGroup(spec({ name, ...inServer }), ['all', 'none']), undefined);
    assert.equal(isolationGroup(spec({ ...inGroup, name }), ['none']), 'g');
  }
  assert.equal(isolationGroup(spec({ backend: 'tabular', name: 'none' }), ['none']), undefined);
});

test('isolation none in a configuration overrides all, but not the name', () => {
  assert.equal(isolationGroup(spec(inServer), ['all']), undefined);
  assert.equal(isolationGroup(spec(inServer), ['all', 'm']), '');
});

test('keeps a tabular model in the server, and reports requested isolation', () => {
  assert.equal(isolationGroup(table), undefined);
  assert.equal(isolationGroup(table, ['all']), undefined);
  const refused = /model 'm': expected no isolation, got 'process'/;
  assert.throws(() => isolationGroup(table, ['m']), refused);
  const asked = spec({ backend: 'tabular', isolation: { mode: 'process', group: '' } });
  assert.throws(() => isolationGroup(asked), refused);
});

test('config.pbtxt sets isolation by two parameters', () => {
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
  assert.deepEqual(settings(['isolation', 'none']).isolation, { mode: 'none', group: '' });
  assert.deepEqual(settings(['isolation', 'process']).isolation, { mode: 'process', group: '' });
  const grouped = settings(['isolation', 'process'], ['isolation_group', 'gpu-0']);
  assert.deepEqual(grouped.isolation, { mode: 'process', group: 'gpu-0' });
  assert.equal(settings(['isolation', 'thread']).problems.length, 1);
  assert.equal(settings(['isolation_group', 'a b']).problems.length, 1);
});
