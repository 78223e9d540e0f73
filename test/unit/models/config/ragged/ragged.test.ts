// Ragged inputs, batch_input and batch_output: engine settings and refusals. Source: Triton's
// ValidateBatchIO.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineSettings, tensorRtOf } from '../../../../../ts/models/config/engine-settings.js';
import { openInputs, tensorrtProfiles } from '../../../../../ts/models/config/tensorrt-profiles.js';
import { parseTritonConfig } from '../../../../../ts/models/config/triton-config.js';

const INPUT = 'input { name: "x" data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }';
const PLAIN = 'input { name: "x" data_type: TYPE_FP32 dims: -1 }';
const OUTPUT = 'output { name: "y" data_type: TYPE_FP32 dims: -1 }';

const problemsOf = (text: string): readonly string[] =>
  parseTritonConfig(text, 'f').problems.map(({ message }) => message);

test('names, kinds and sources reach the engine, one entry for each name', () => {
  const { config, problems } = parseTritonConfig(
    `max_batch_size: 8 dynamic_batching { } ${INPUT} ${OUTPUT}
    batch_input { target_name: [ "a", "b" ] data_type: TYPE_INT32 source_input: "x" }
    batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT target_name: "c" data_type: TYPE_FP32
      source_input: "x" }
    batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO target_name: "d"
      data_type: TYPE_FP32 source_input: "x" }
    batch_input { kind: BATCH_MAX_ELEMENT_COUNT_AS_SHAPE target_name: "e" data_type: TYPE_FP32
      source_input: "x" }
    batch_input { kind: BATCH_ITEM_SHAPE target_name: "f" data_type: TYPE_FP32 source_input: "x" }
    batch_input { kind: BATCH_ITEM_SHAPE_FLATTEN target_name: "g" data_type: TYPE_FP32
      source_input: "x" }
    batch_output { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "y" source_input: "x" }`,
    'f',
  );
  assert.deepEqual(problems, []);
  assert.ok(config);
  const settings = engineSettings(config, new Map());
  assert.deepEqual(settings.inputs?.[0], {
    name: 'x',
    dims: [-1, -1],
    modelDims: [],
    labels: [],
    optional: false,
    ragged: true,
  });
  const shared = { datatype: 'FP32', source: 'x' };
  assert.deepEqual(settings.batchInputs, [
    { input: 'a', kind: 'elementcount', datatype: 'INT32', source: 'x' },
    { input: 'b', kind: 'elementcount', datatype: 'INT32', source: 'x' },
    { input: 'c', kind: 'accumulatedelementcount', ...shared },
    { input: 'd', kind: 'accumulatedelementcountwithzero', ...shared },
    { input: 'e', kind: 'maxelementcountasshape', ...shared },
    { input: 'f', kind: 'itemshape', ...shared },
    { input: 'g', kind: 'itemshapeflatten', ...shared },
  ]);
  assert.deepEqual(settings.batchOutputs, [{ output: 'y', source: 'x' }]);
  assert.equal(settings.batch?.mode, 'on');
});

test('without dynamic_batching requests run one by one, since no proof covers joined elements', () => {
  for (const text of [`max_batch_size: 8 ${INPUT}`, INPUT]) {
    const { config } = parseTritonConfig(text, 'f');
    assert.ok(config);
    assert.equal(engineSettings(config, new Map(), 4).batch?.mode, 'off');
  }
});

test('a TensorRT engine has flat tensors and the computed inputs', () => {
  const { config } = parseTritonConfig(
    `platform: "tensorrt_plan" max_batch_size: 8 ${INPUT} ${OUTPUT}
    batch_input { kind: BATCH_ITEM_SHAPE target_name: "s" data_type: TYPE_FP32 source_input: "x" }
    batch_output { target_name: "y" source_input: "x" }`,
    'f',
  );
  assert.ok(config);
  assert.deepEqual(tensorRtOf(config), {
    inputs: [
      { name: 'x', type: 'TYPE_FP32', dims: [-1] },
      { name: 's', type: 'TYPE_FP32', dims: [-1, -1] },
    ],
    outputs: [{ name: 'y', type: 'TYPE_FP32', dims: [-1] }],
  });
  assert.deepEqual(openInputs(config), ['x', 's']);
  assert.deepEqual(tensorrtProfiles(config), {});
});

test('names what is wrong', () => {
  const counts = (members: string): string =>
    `${PLAIN} batch_input { ${members} data_type: TYPE_INT32 }`;
  const cases: readonly (readonly [string, string])[] = [
    [counts('target_name: "i"'), 'source_input: expected one input, got 0'],
    [
      counts('target_name: "i" source_input: [ "x", "x" ]'),
      'source_input: expected one input, got 2',
    ],
    [
      counts('target_name: "i" source_input: "z"'),
      'source_input: expected one of the inputs, x, got "z"',
    ],
    [counts('source_input: "x"'), 'target_name: expected a name, got none'],
    [counts('target_name: [ "i", "i" ] source_input: "x"'), 'target_name: "i" is listed twice'],
    [
      counts('target_name: "x" source_input: "x"'),
      'target_name: expected an input that the server computes, got "x", which clients send',
    ],
    [
      `${PLAIN} batch_input { target_name: "i" source_input: "x" data_type: TYPE_INT64 }`,
      'data_type: expected TYPE_INT32 or TYPE_FP32, got TYPE_INT64',
    ],
    [
      `${PLAIN} batch_input { target_name: "i" source_input: "x" }`,
      'data_type: expected TYPE_INT32 or TYPE_FP32, got none',
    ],
    [
      `${PLAIN} ${OUTPUT} batch_output { target_name: "z" source_input: "x" }`,
      'target_name: expected one of the outputs, y, got "z"',
    ],
    [
      `${PLAIN} ${OUTPUT} batch_output { target_name: "y" }`,
      'source_input: expected one input, got 0',
    ],
    [
      INPUT.replace(' }', ' optional: true }'),
      'optional: expected false for an input that allows ragged batches, got true',
    ],
    [
      `backend: "serval_null" ${INPUT}`,
      'allow_ragged_batch: expected it for a model of tensors (ONNX, TensorFlow, TensorRT), got ' +
        'backend serval_null',
    ],
    [
      `max_batch_size: 4 ${INPUT} parameters { key: "serval.split" value { string_value: "true" } }`,
      'serval.split: expected none with ragged batches, whose requests are not padded or split',
    ],
    [
      `${INPUT} sequence_batching { }`,
      'allow_ragged_batch: expected it without sequence_batching, got both',
    ],
  ];
  for (const [text, expected] of cases) {
    assert.deepEqual(problemsOf(text), [expected]);
  }
});
