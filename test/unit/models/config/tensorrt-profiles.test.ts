// The shapes in TensorRT's profiles, and a configuration's statement of where its model runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineSettings, placementOf } from '../../../../ts/models/config/engine-settings.js';
import { openInputs, tensorrtProfiles } from '../../../../ts/models/config/tensorrt-profiles.js';
import { parseTritonConfig } from '../../../../ts/models/config/triton-config.js';
import type { TritonConfig } from '../../../../ts/models/config/types.js';

function configOf(text: string): TritonConfig {
  const { config, problems } = parseTritonConfig(text, 'f');
  assert.deepEqual(problems, []);
  assert.ok(config);
  return config;
}
const input = (name: string, dims: string, more = ''): string =>
  `input { name: "${name}" data_type: TYPE_FP32 dims: [ ${dims} ] ${more} }`;
const IMAGE = input('image', '3, 224, 224');
const ASKED = `optimization { execution_accelerators { gpu_execution_accelerator {
  name: "tensorrt" parameters { key: "trt_profile_opt_shapes" value: "image:2x3x224x224" } } } }`;

test('from one row to max_batch_size, best at the largest', () => {
  assert.deepEqual(tensorrtProfiles(configOf(`max_batch_size: 8 ${IMAGE} ${input('k', '1')}`)), {
    trt_profile_min_shapes: 'image:1x3x224x224,k:1x1',
    trt_profile_opt_shapes: 'image:8x3x224x224,k:8x1',
    trt_profile_max_shapes: 'image:8x3x224x224,k:8x1',
  });
});

test('best at the largest preferred size; of the shape that the model itself has', () => {
  const batching = 'dynamic_batching { preferred_batch_size: [ 4, 2 ] }';
  const reshaped = input('x', '1', 'reshape { shape: [ ] }');
  assert.deepEqual(tensorrtProfiles(configOf(`max_batch_size: 8 ${reshaped} ${batching}`)), {
    trt_profile_min_shapes: 'x:1',
    trt_profile_opt_shapes: 'x:4',
    trt_profile_max_shapes: 'x:8',
  });
});

test('none where there is no batch, no input or an open dim', () => {
  for (const text of [
    IMAGE,
    'max_batch_size: 8',
    `max_batch_size: 8 ${IMAGE} ${input('t', '-1')}`,
  ]) {
    assert.deepEqual(tensorrtProfiles(configOf(text)), {}, text);
  }
  assert.equal(openInputs(configOf('max_batch_size: 8')), undefined);
  assert.deepEqual(openInputs(configOf(`${IMAGE} ${input('t', '4, -1')}`)), ['t']);
});

test('instance groups say where; what they leave open is open', () => {
  const kindOf = (groups: string) => placementOf(configOf(`${IMAGE} ${groups}`)).kind;
  assert.equal(kindOf(''), 'auto');
  assert.equal(kindOf('instance_group { count: 2 }'), 'auto');
  assert.equal(kindOf('instance_group { kind: KIND_CPU }'), 'cpu');
  assert.equal(kindOf('instance_group { kind: KIND_GPU }'), 'gpu');
});

test('a configuration that asks for TensorRT is given its profiles under its own options', () => {
  const config = configOf(`max_batch_size: 4 ${IMAGE} ${ASKED} instance_group { kind: KIND_GPU }`);
  const options = {
    trt_profile_min_shapes: 'image:1x3x224x224',
    trt_profile_opt_shapes: 'image:2x3x224x224',
    trt_profile_max_shapes: 'image:4x3x224x224',
  };
  assert.deepEqual(placementOf(config).tensorrt, options);
  assert.deepEqual(engineSettings(config, new Map()).providers?.[0], { name: 'tensorrt', options });
  assert.equal(placementOf(configOf(IMAGE)).tensorrt, undefined);
});
