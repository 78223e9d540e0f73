// MLServer's model-settings.json: the file, name and version of a booster, settings without effect,
// and what is refused. Source: MLServer's mlserver/settings.py.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readModelSettings } from '../../../../ts/models/config/boosters/mlserver.js';

const XGBOOST = 'mlserver_xgboost.XGBoostModel';
const read = (settings: object) => readModelSettings(JSON.stringify(settings), 'f');

test('name, version and file', () => {
  const parameters = { uri: './model.ubj', version: '3' };
  assert.deepEqual(read({ name: 'risk', implementation: XGBOOST, parameters }), {
    settings: { name: 'risk', version: '3', file: 'model.ubj' },
    problem: '',
    isPython: false,
    notes: [],
  });
  const light = read({ implementation: 'mlserver_lightgbm.LightGBMModel' });
  assert.deepEqual(light.settings, { name: '', version: undefined, file: '' });
  for (const uri of ['.', './', '']) {
    assert.equal(read({ implementation: XGBOOST, parameters: { uri } }).settings?.file, '', uri);
  }
});

test('the file of scikit-learn may be one of skops', () => {
  const implementation = 'mlserver_sklearn.SKLearnModel';
  const { settings, isPython } = read({ implementation, parameters: { uri: './model.skops' } });
  assert.deepEqual([settings?.file, isPython], ['model.skops', false]);
  const pickle = read({ implementation, parameters: { uri: 'model.joblib' } });
  assert.deepEqual([pickle.settings, pickle.isPython], [undefined, true]);
});

test('settings without effect, and unknown ones, are named', () => {
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [-1, 4] }];
  const parameters = { version: 'v0.1.0', content_type: 'np', extras: {} };
  const { notes } = read({ implementation: XGBOOST, inputs, max_batch_sizes: 8, parameters });
  assert.deepEqual(notes, [
    "f: inputs: metadata is the model's",
    'f: max_batch_sizes: unknown setting; did you mean "max_batch_size"?',
    'f: parameters.content_type: requests say their own types',
    'f: parameters.extras: unknown setting; did you mean "extra"?',
    'f: parameters.version: "v0.1.0" is no number: the version is 1',
  ]);
});

test('what is refused', () => {
  const cases: readonly (readonly [object | string, RegExp, boolean?])[] = [
    ['{', /^f: .*JSON/],
    [[], /^f: the settings: expected an object, got "\[\]"/],
    [{ implementation: 1 }, /^f: implementation: expected a text, got "1"/],
    [{}, /^f: implementation: expected mlserver_xgboost\.XGBoostModel or .*, got ""/],
    [{ implementation: 'mlserver_sklearn.SKLearnModel' }, /got "mlserver_sklearn\.SKLearn/, true],
    [{ implementation: XGBOOST, parameters: [] }, /^f: parameters: expected an object/],
    [
      { implementation: XGBOOST, parameters: { uri: 's3://a/b' } },
      /^f: parameters\.uri: expected a file beside the settings, got "s3:\/\/a\/b"/,
    ],
    [{ implementation: XGBOOST, parameters: { uri: '../x' } }, /expected a file beside/],
    [{ implementation: XGBOOST, parameters: { uri: '..' } }, /expected a file beside/],
  ];
  for (const [settings, expected, isPython = false] of cases) {
    const text = typeof settings === 'string' ? settings : JSON.stringify(settings);
    const found = readModelSettings(text, 'f');
    assert.match(found.problem, expected);
    assert.deepEqual([found.settings, found.isPython], [undefined, isPython], text);
  }
});
