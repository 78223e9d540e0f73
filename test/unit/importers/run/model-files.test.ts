// Which file names of a folder are its model.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findModelFile, modelFileOf, stemOf } from '../../../../ts/importers/run/model-files.js';

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
    'plan',
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

test('a TensorRT engine by its name, or by what the configuration says', () => {
  const plan = { format: 'plan', platform: 'tensorrt_plan', name: 'model.plan' };
  assert.deepEqual(modelFileOf('model.plan'), plan);
  assert.deepEqual(findModelFile(['model.plan', 'notes.txt'], 'model.onnx'), plan);
  assert.equal(find(['other.plan']), undefined);
  assert.equal(find(['model.onnx', 'model.plan']), 'onnx onnxruntime_onnx "model.onnx"');
  const engine = { ...plan, name: 'a.engine' };
  assert.deepEqual(findModelFile(['a.engine'], 'a.engine', 'tensorrt_plan'), engine);
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
  for (const name of ['model.keras', 'weights.h5', 'm.hdf5']) {
    assert.equal(find([name, 'readme']), `tensorflow savedmodel "${name}"`);
  }
  assert.equal(find(['model.keras', 'model.graphdef']), 'tensorflow graphdef "model.graphdef"');
  assert.equal(find(['variables', 'assets', 'fingerprint.pb']), undefined);
  assert.equal(find([]), undefined);
});

const tabular = (names: readonly string[], wanted?: string, platform?: string): string => {
  const found = findModelFile([...names].sort(), wanted ?? 'model.onnx', platform);
  return found === undefined ? 'none' : `${found.format} [${found.platform}] "${found.name}"`;
};

test('finds tabular models under their own names', () => {
  assert.equal(tabular(['metadata', 'stages']), 'spark [spark_pipelinemodel] ""');
  assert.equal(tabular(['metadata', 'data', '.crc']), 'spark [spark_pipelinemodel] ""');
  assert.equal(tabular(['metadata', 'bestModel', 'estimator']), 'spark [spark_pipelinemodel] ""');
  assert.equal(tabular(['metadata']), 'none', 'a model may be called so');
  assert.equal(tabular(['bundle.json', 'root']), 'mleap [mleap_bundle] ""');
  assert.equal(tabular(['bundle.json']), 'none');
  const ydf = ['data_spec.pb', 'header.pb', 'nodes-00000-of-00001'];
  assert.equal(tabular(['done', ...ydf]), 'ydf [ydf_model] ""');
  assert.equal(tabular(ydf.map((name) => `mine_${name}`)), 'ydf [ydf_model] ""');
  assert.equal(tabular([...ydf, 'b_header.pb', 'b_data_spec.pb']), 'none', 'which of the two?');
  assert.equal(tabular(['iris.pmml', 'readme.md']), 'pmml [pmml_xml] "iris.pmml"');
  assert.equal(tabular(['a.skops', 'readme.md']), 'sklearn [sklearn_skops] "a.skops"');
  assert.equal(tabular(['a.skops', 'model.skops']), 'sklearn [sklearn_skops] "model.skops"');
  assert.equal(tabular(['a.skops', 'b.skops']), 'none', 'which of the two?');
  assert.equal(tabular(['a.pmml', 'b.pmml']), 'none', 'which of the two?');
  assert.equal(tabular(['iris.pmml.gz', 'readme.md']), 'pmml [pmml_xml] "iris.pmml.gz"');
  assert.equal(tabular(['a.pmml', 'b.pmml.gz']), 'none', 'which of the two?');
  assert.equal(tabular(['model.xml.gz', 'x']), 'pmml [pmml_xml] "model.xml.gz"');
});

test('archives and XML are models by the name "model", or alone', () => {
  assert.equal(tabular(['model.zip', 'readme.md']), 'archive [] "model.zip"');
  assert.equal(tabular(['model.tar.gz', 'x']), 'archive [] "model.tar.gz"');
  assert.equal(tabular(['model.gz', 'x']), 'archive [] "model.gz"');
  assert.equal(tabular(['model.xml', 'x.zip']), 'pmml [pmml_xml] "model.xml"');
  assert.equal(
    tabular(['schema.json', 'config.pbtxt', 'airbnb.lr.zip']),
    'archive [] "airbnb.lr.zip"',
  );
  assert.equal(tabular(['iris.xml']), 'pmml [pmml_xml] "iris.xml"');
  assert.equal(tabular(['iris.xml', 'notes']), 'none');
  assert.equal(tabular(['assets.tar.gz', 'resnet']), 'none', 'a repository with an archive in it');
  assert.equal(tabular(['model.xml', 'model.zip']), 'none');
});

test('what a configuration says that it is', () => {
  const spark = 'spark_pipelinemodel';
  assert.equal(tabular(['pipeline', 'x'], 'pipeline', spark), `spark [${spark}] "pipeline"`);
  assert.equal(tabular(['model'], undefined, spark), `spark [${spark}] "model"`);
  assert.equal(tabular(['model.gz'], undefined, spark), `spark [${spark}] "model.gz"`);
  assert.equal(tabular(['mine'], 'mine', 'ydf_model'), 'ydf [ydf_model] "mine"');
  assert.equal(tabular(['x'], undefined, 'onnxruntime_onnx'), 'none');
  assert.equal(tabular(['iris.txt'], 'iris.txt', 'pmml_xml'), 'pmml [pmml_xml] "iris.txt"');
});

test('the name of a model that is a file', () => {
  const names = ['a.onnx', 'a.tar.gz', 'airbnb.model.lr.zip', 'iris.xml', 'm.tgz', 'plain'];
  assert.deepEqual(names.map(stemOf), ['a', 'a', 'airbnb.model.lr', 'iris', 'm', 'plain']);
  assert.deepEqual(['a.pmml.gz', 'b.c.xml.gz', '.pmml.gz'].map(stemOf), ['a', 'b.c', '.pmml']);
});

test('boosters have extensions of their own, or a common one of models', () => {
  for (const name of [
    'a.ubj',
    'a.bst',
    'a.xgb',
    'a.lgb',
    'a.cbm',
    'model.json',
    'model.txt',
    'model.bin',
  ]) {
    assert.equal(modelFileOf(name)?.format, 'booster', name);
  }
  for (const name of ['a.json', 'labels.txt', 'a.bin', 'schema.json']) {
    assert.equal(modelFileOf(name), undefined, name);
  }
  assert.equal(stemOf('model.xgb.json'), 'model');
  assert.equal(find(['model.ubj', 'labels.txt']), 'booster  "model.ubj"');
  assert.equal(find(['model.ubj', 'other.bst']), 'booster  "model.ubj"');
  assert.equal(find(['a.ubj', 'b.ubj']), undefined, 'which of the two?');
  assert.equal(find(['model.json', 'model.onnx']), 'onnx onnxruntime_onnx "model.onnx"');
  assert.equal(find(['model.txt', 'frozen.pb']), 'tensorflow graphdef "frozen.pb"');
  assert.equal(find(['x.json'], 'x.json'), 'booster  "x.json"');
  assert.equal(
    findModelFile(['x'], 'x', 'xgboost_booster')?.format,
    'xgboost',
    'as the configuration says',
  );
});
