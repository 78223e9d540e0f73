// Which of a folder's names is its model.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findModelFile, modelFileOf } from '../../../ts/import/model-files.js';

const find = (names: readonly string[], wanted = 'model.onnx'): string | undefined => {
  const found = findModelFile([...names].sort(), wanted);
  return found && `${found.format} ${found.platform.replace('tensorflow_', '')} "${found.name}"`;
};

test('a file by its name alone', () => {
  assert.equal(modelFileOf('a.onnx')?.platform, 'onnxruntime_onnx');
  assert.equal(modelFileOf('a.pb')?.platform, 'tensorflow_graphdef');
  assert.equal(modelFileOf('a.pbtxt')?.format, 'tensorflow');
  assert.equal(modelFileOf('model.graphdef')?.format, 'tensorflow');
  assert.equal(modelFileOf('model.savedmodel')?.platform, 'tensorflow_savedmodel');
  for (const name of [
    'config.pbtxt',
    'fingerprint.pb',
    'keras_metadata.pb',
    'model.plan',
    'batching_params.pbtxt',
    'saved_model_config.pb',
    'pb',
    '.pb',
    'onnx',
    'a.txt',
    '',
  ]) {
    assert.equal(modelFileOf(name), undefined, name);
  }
});

test('what TensorFlow wrote is the folder itself', () => {
  const folder = 'tensorflow savedmodel ""';
  assert.equal(find(['saved_model.pb', 'variables', 'assets', 'fingerprint.pb']), folder);
  assert.equal(find(['saved_model.pbtxt', 'variables']), folder);
  assert.equal(find(['saved_model.cpb', 'fingerprint.pb']), folder);
  assert.equal(find(['export.meta', 'export-00000-of-00001', 'checkpoint']), folder);
  assert.equal(find(['saved_model.pb', 'frozen.pb']), folder, 'a graph beside it is none');
});

test("Triton's names, and a graph alone", () => {
  assert.equal(find(['model.savedmodel']), 'tensorflow savedmodel "model.savedmodel"');
  assert.equal(find(['model.graphdef']), 'tensorflow graphdef "model.graphdef"');
  assert.equal(
    find(['frozen.pb', 'labels.txt', 'config.pbtxt']),
    'tensorflow graphdef "frozen.pb"',
  );
  assert.equal(find(['graph.pbtxt', 'batching_params.pbtxt']), 'tensorflow graphdef "graph.pbtxt"');
  assert.equal(find(['a.pb', 'b.pb']), undefined, 'which of the two?');
});

test('the wanted name comes before all others, whatever it is', () => {
  assert.equal(find(['model.onnx', 'saved_model.pb']), 'onnx onnxruntime_onnx "model.onnx"');
  assert.equal(find(['a.pb', 'b.pb'], 'b.pb'), 'tensorflow graphdef "b.pb"');
  assert.equal(find(['weights', 'saved_model.pb'], 'weights'), 'onnx onnxruntime_onnx "weights"');
  assert.equal(
    find(['my.savedmodel', 'a.pb'], 'my.savedmodel'),
    'tensorflow savedmodel "my.savedmodel"',
  );
  assert.equal(find(['saved_model.pb'], 'gone.onnx'), 'tensorflow savedmodel ""');
});

test('formats that are known and not read are found, for the error that says so', () => {
  for (const name of ['model.tflite', 'model.keras', 'weights.h5', 'm.hdf5']) {
    assert.equal(find([name, 'readme']), `tensorflow savedmodel "${name}"`);
  }
  assert.equal(find(['model.tflite', 'model.graphdef']), 'tensorflow graphdef "model.graphdef"');
  assert.equal(find(['variables', 'assets', 'fingerprint.pb']), undefined);
  assert.equal(find([]), undefined);
});
