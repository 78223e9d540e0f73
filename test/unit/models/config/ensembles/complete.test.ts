// The complete configuration of an ensemble, and its engine settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineSettings } from '../../../../../ts/models/config/engine-settings.js';
import {
  parseTritonConfig,
  tritonConfigFromJson,
} from '../../../../../ts/models/config/triton-config.js';
import { completeConfig } from '../../../../../ts/models/config/triton-model.js';
import type { TritonConfig } from '../../../../../ts/models/config/types.js';
import { loadedModel } from '../../registry/fakes.js';

const TEXT = `
  platform: "ensemble" max_batch_size: 8
  input [
    { name: "x" data_type: TYPE_FP32 dims: [ 4 ] },
    { name: "bias" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [] } optional: true }
  ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ 2 ] } ]
  ensemble_scheduling { step [ {
    model_name: "m" model_version: -1
    input_map { key: "a" value: "x" } input_map { key: "b" value: "bias" }
    output_map { key: "c" value: "y" }
  } ] }`;

function config(): TritonConfig {
  const { config: found, problems } = parseTritonConfig(TEXT, 'f', 'e');
  assert.deepEqual(problems, []);
  assert.ok(found);
  return found;
}

test('the complete configuration has the defaults that Triton gives an ensemble', () => {
  const complete = completeConfig('e', config(), loadedModel(1), { maxBatchSize: 0 });
  assert.equal(complete['platform'], 'ensemble');
  assert.equal(complete['backend'], '');
  assert.equal(complete['default_model_filename'], '');
  assert.equal(complete['max_batch_size'], 8);
  assert.deepEqual(complete['instance_group'], []);
  assert.deepEqual(complete['version_policy'], { latest: { num_versions: 1 } });
  assert.equal(complete['optimization'], undefined);
  assert.equal(complete['dynamic_batching'], undefined);
  assert.deepEqual(complete['ensemble_scheduling'], {
    step: [
      {
        model_name: 'm',
        model_version: -1,
        input_map: { a: 'x', b: 'bias' },
        output_map: { c: 'y' },
        model_namespace: '',
      },
    ],
    max_inflight_requests: 0,
  });
});

test('the complete configuration can be loaded again', () => {
  const complete = completeConfig('e', config(), loadedModel(1), { maxBatchSize: 0 });
  const again = tritonConfigFromJson(JSON.stringify(complete), 'j', 'e');
  assert.deepEqual(again.problems, []);
  assert.deepEqual(again.warnings, []);
});

test("the engine gets the ensemble's own signature, with the batch dim and optional inputs", () => {
  const spec = engineSettings(config(), new Map());
  assert.equal(spec.backend, 'ensemble');
  assert.equal(spec.batch?.mode, 'off');
  assert.equal(spec.batch?.requestRowsMax, 8);
  const { inputs, optionalInputs, outputs } = spec.ensembleSignature ?? {};
  assert.deepEqual(
    [inputs, optionalInputs, outputs].map((list) => list?.map(({ name, shape }) => [name, shape])),
    [[['x', [-1, 4]]], [['bias', [-1]]], [['y', [-1, 2]]]],
  );
  assert.deepEqual(
    spec.inputs?.map(({ name, dims, optional }) => [name, dims, optional]),
    [
      ['x', [-1, 4], false],
      ['bias', [-1, 1], true],
    ],
  );
  for (const member of ['instances', 'providers', 'isolation', 'sessionConfig'] as const) {
    assert.equal(spec[member], undefined);
  }
});
