// Models of XGBoost, LightGBM, CatBoost and YDF on a running server: names in a repository,
// metadata, every request form, a matrix under any name, and the errors of files that cannot be
// served. Source: docs/reference/boosters.md.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TASK } from '../../../../ts/protobuf/generated/yggdrasil-fields.js';
import { startServer, type ServalProcess } from '../../../e2e/support/serval-process.js';
import {
  catboostDocument,
  cbmOf,
  COLOURS,
} from '../../../unit/importers/boosters/catboost-files.js';
import { documentOf, jsonOf, LIGHTGBM, TREE } from '../../../unit/importers/boosters/support.js';
import {
  COLOURS as GROWN_COLUMNS,
  contains,
  ydfFiles,
} from '../../../unit/importers/boosters/ydf-files.js';

const NAMED = jsonOf(documentOf({ learner: { feature_names: ['age', 'rooms'] } }));
const MANY = jsonOf(
  documentOf({
    objective: 'multi:softmax',
    parameters: { num_class: '2' },
    trees: [TREE, { ...TREE, split_conditions: [0.5, 2, -9, 9, 9] }],
    groups: [0, 1],
  }),
);
const filConfig = (dims: number, parameters: Readonly<Record<string, string>>): string =>
  `backend: "fil" max_batch_size: 64
  input [ { name: "input__0" data_type: TYPE_FP32 dims: [ 2 ] } ]
  output [ { name: "output__0" data_type: TYPE_FP32 dims: [ ${dims} ] } ]
  instance_group [ { kind: KIND_AUTO } ]
  dynamic_batching {}
  parameters [${Object.entries(parameters)
    .map(([key, value]) => `{ key: "${key}" value: { string_value: "${value}" } }`)
    .join(', ')}]`;
const LOGISTIC = jsonOf(documentOf({ objective: 'binary:logistic' }));
const settings = (implementation: string, rest: object = {}): string =>
  JSON.stringify({ implementation, ...rest });
const CLASSIFIER = jsonOf(
  documentOf({
    objective: 'binary:logistic',
    learner: { attributes: { scikit_learn: '{"_estimator_type": "classifier"}' } },
  }),
);
const below = (folder: string, files: ReadonlyMap<string, Buffer>): Record<string, Buffer> =>
  Object.fromEntries([...files].map(([name, bytes]) => [`${folder}/${name}`, bytes]));
const COLOURED = ydfFiles({
  columns: GROWN_COLUMNS,
  grown: [{ on: 1, test: contains(2), passesMissing: true, no: 1, yes: 2 }],
});
const FILES: Readonly<Record<string, Buffer | string>> = {
  ...below('grown/4', ydfFiles({ shards: 2 })),
  ...below('coloured', COLOURED),
  ...below('survival/1', ydfFiles({ task: TASK.SURVIVAL_ANALYSIS })),
  'named/1/model.json': NAMED,
  'many/3/model.bst': MANY,
  'light/1/model.txt': LIGHTGBM,
  'cats/1/model.cbm': cbmOf(),
  'colours/1/catboost.json': catboostDocument({}, COLOURS),
  'hashed/1/model.cbm': cbmOf({
    4: { tables: [{ 0: { int: 0 }, 1: { int: 2 }, 2: 'colour' }] },
    6: { tables: [{ 0: { int: 0 }, 1: Int32Array.of(7) }] },
  }),
  'told/1/anything.json': NAMED,
  'told/config.pbtxt': 'platform: "xgboost_booster" default_model_filename: "anything.json"',
  'fil/1/xgboost.json': LOGISTIC,
  'fil/config.pbtxt': filConfig(1, {
    model_type: 'xgboost_json',
    output_class: 'true',
    threshold: '0.7',
    storage_type: 'SPARSE',
  }),
  'filboth/1/own name': LOGISTIC,
  'filboth/config.pbtxt': `default_model_filename: "own name" ${filConfig(2, {
    model_type: 'xgboost_json',
    is_classifier: 'true',
    predict_proba: 'true',
  })}`,
  'filmany/1/model.txt': MANY,
  'filmany/config.pbtxt': filConfig(3, { model_type: 'lightgbm', is_classifier: 'false' }),
  'treelite/1/checkpoint.tl': 'x',
  'treelite/config.pbtxt': filConfig(1, {
    model_type: 'treelite_checkpoint',
    output_class: 'false',
  }),
  'mlfolder/own.name': CLASSIFIER,
  'mlfolder/model-settings.json': settings('mlserver_xgboost.XGBoostModel', {
    name: 'mlnamed',
    parameters: { uri: './own.name', version: '7' },
    colour: 'red',
  }),
  'mlversions/2/model.bst': LIGHTGBM,
  'mlversions/2/model-settings.json': settings('mlserver_lightgbm.LightGBMModel'),
  'mlsklearn/model.joblib': Buffer.from('\x80\x04\x95csklearn.linear_model\n', 'latin1'),
  'mlsklearn/model-settings.json': settings('mlserver_sklearn.SKLearnModel'),
  'kserve/model.ubj': NAMED,
  'other/1/model.json': '{"weights": []}',
  'cut/1/model.ubj': NAMED.subarray(0, 200),
};

interface Answer {
  readonly outputs: readonly {
    readonly datatype: string;
    readonly shape: readonly number[];
    readonly data: readonly number[];
  }[];
}

describe('boosters on a server', () => {
  let server: ServalProcess;
  let folder = '';
  const url = (path: string): string => `http://127.0.0.1:${server.httpPort}${path}`;
  const get = async (path: string): Promise<unknown> => (await fetch(url(path))).json();
  const post = async (path: string, body: string | object): Promise<[number, string]> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(url(path), { method: 'POST', body: text });
    return [answer.status, await answer.text()];
  };
  const posted = async (path: string, body: string | object): Promise<unknown> => {
    const [status, text] = await post(path, body);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'serval-boosters-'));
    for (const [path, content] of Object.entries(FILES)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    server = await startServer([folder, '--strict-readiness=false']);
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('metadata', async () => {
    assert.deepEqual(await get('/v2/models/named'), {
      name: 'named',
      versions: ['1'],
      platform: 'xgboost_booster',
      inputs: [
        { name: 'age', datatype: 'FP32', shape: [-1] },
        { name: 'rooms', datatype: 'FP32', shape: [-1] },
      ],
      outputs: [{ name: 'predict', datatype: 'FP32', shape: [-1] }],
    });
    const light = (await get('/v2/models/light')) as { platform: string };
    assert.equal(light.platform, 'lightgbm_booster');
  });

  test('V1: rows as lists and as objects, missing values', async () => {
    const instances = [[1, 0], { age: 0, rooms: 1.5 }, { age: null, rooms: 3 }];
    assert.deepEqual(await posted('/v1/models/named:predict', { instances }), {
      predictions: [2, 0.25, 1.25],
    });
    const [status, text] = await post('/v1/models/named:predict', { instances: [{ age: 1 }] });
    assert.deepEqual([status, /missing field 'rooms'/.test(text)], [400, true], text);
  });

  test('V2: columns, a matrix under any name, features', async () => {
    const data = [1, 0, 0, 1.5, null, 3];
    const want = [2, 0.25, 1.25];
    const matrix = { datatype: 'FP32', shape: [3, 2], data };
    const columns = [
      { name: 'age', datatype: 'FP32', shape: [3], data: [1, 0, null] },
      { name: 'rooms', datatype: 'FP64', shape: [3, 1], data: [0, 1.5, 3] },
    ];
    const features = { ...matrix, name: 'x', parameters: { features: 'age,rooms' } };
    const requests = [
      columns,
      [features],
      ...['input-0', 'predict', 'input__0'].map((name) => [{ ...matrix, name }]),
      [{ ...matrix, name: 'input', datatype: 'FP64' }],
    ];
    for (const model of ['named', 'told']) {
      for (const inputs of requests) {
        const answer = (await posted(`/v2/models/${model}/infer`, { inputs })) as {
          outputs: object[];
        };
        assert.deepEqual(answer.outputs, [
          { name: 'predict', datatype: 'FP32', shape: [3], data: want },
        ]);
      }
    }
    const wide = { name: 'input', datatype: 'FP32', shape: [1, 3], data: [1, 2, 3] };
    const [status, text] = await post('/v2/models/named/infer', { inputs: [wide] });
    assert.equal(status, 400);
    assert.match(text, /input 'input': expected a field's name, or all 2 fields in shape \[1,2\]/);
  });

  test('CatBoost: metadata, a matrix, columns, CSV, texts', async () => {
    assert.deepEqual(await get('/v2/models/cats'), {
      name: 'cats',
      versions: ['1'],
      platform: 'catboost_booster',
      inputs: [
        { name: 'a', datatype: 'FP32', shape: [-1] },
        { name: 'b', datatype: 'FP32', shape: [-1] },
      ],
      outputs: [{ name: 'predict', datatype: 'FP64', shape: [-1] }],
    });
    const instances = [[1, 0], { a: 0, b: 3 }, { a: null, b: null }];
    assert.deepEqual(await posted('/v1/models/cats:predict', { instances }), {
      predictions: [2.25, 4.25, 4.25],
    });
    const inputs = [{ name: 'input-0', datatype: 'FP32', shape: [2, 2], data: [1, 3, 0, 0] }];
    const answer = (await posted('/v2/models/cats/infer', { inputs })) as { outputs: object[] };
    assert.deepEqual(answer.outputs, [
      { name: 'predict', datatype: 'FP64', shape: [2], data: [8.25, 1.25] },
    ]);
    const csv = await post('/v2/models/colours/csv', 'a,b,colour\n1,0,red\n0,3,blue\n');
    assert.deepEqual(csv, [200, 'predict\r\n2.25\r\n4.25\r\n']);
    const [status, text] = await post('/v1/models/colours:predict', {
      instances: [[1, 0, 3]],
    });
    assert.deepEqual([status, text.includes('colour')], [400, true], text);
  });

  test('YDF: metadata, a matrix, columns, categories, CSV', async () => {
    assert.deepEqual(await get('/v2/models/grown'), {
      name: 'grown',
      versions: ['4'],
      platform: 'ydf_model',
      inputs: [
        { name: 'a', datatype: 'FP32', shape: [-1] },
        { name: 'b', datatype: 'FP32', shape: [-1] },
      ],
      outputs: [{ name: 'predict', datatype: 'FP32', shape: [-1] }],
    });
    const instances = [[1, 0], { a: 0, b: 3 }, { a: 1, b: null }];
    assert.deepEqual(await posted('/v1/models/grown:predict', { instances }), {
      predictions: [2.75, 1.75, 4.75],
    });
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [2, 2], data: [1, 2, 1, -1] }];
    const outputs = [{ name: 'margin' }];
    const answer = (await posted('/v2/models/grown/infer', { inputs, outputs })) as Answer;
    assert.deepEqual(answer.outputs[0]?.data, [4.75, 2.75]);
    const csv = 'colour,flag,code\nred,true,1\ngreen,false,2\n,true,0\nviolet,true,9\n';
    assert.deepEqual(await post('/v2/models/coloured/csv', csv), [
      200,
      'predict\r\n1.5\r\n2.5\r\n2.5\r\n1.5\r\n',
    ]);
    const index = (await posted('/v2/repository/index', {})) as { name: string; reason: string }[];
    const reason = index.find(({ name }) => name === 'survival')?.reason ?? '';
    assert.match(reason, /YDF model: the task SURVIVAL_ANALYSIS is not supported/);
  });

  test('outputs on request, lists of them, CSV', async () => {
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [2, 2], data: [1, 0, 0, 0] }];
    const outputs = ['predict', 'margin', 'label'].map((name) => ({ name }));
    const answer = (await posted('/v2/models/many/infer', { inputs, outputs })) as {
      outputs: object[];
    };
    assert.deepEqual(answer.outputs, [
      { name: 'predict', datatype: 'FP32', shape: [2], data: [0, 1] },
      { name: 'margin', datatype: 'FP32', shape: [2, 2], data: [2, -8.5, 0.25, 9.5] },
      { name: 'label', datatype: 'INT64', shape: [2], data: [0, 1] },
    ]);
    assert.deepEqual(await post('/v2/models/light/csv?outputs=margin', 'a,b,c\n1,0,33\n,0,1\n'), [
      200,
      'margin\r\n2.0\r\n-0.75\r\n',
    ]);
  });

  test("a configuration of Triton's FIL backend", async () => {
    const metadata = await get('/v2/models/fil');
    assert.deepEqual(metadata, {
      name: 'fil',
      versions: ['1'],
      platform: 'xgboost_booster',
      inputs: [{ name: 'input__0', datatype: 'FP32', shape: [-1, 2] }],
      outputs: [{ name: 'output__0', datatype: 'FP32', shape: [-1, 1] }],
    });
    const config = (await get('/v2/models/fil/config')) as Readonly<Record<string, unknown>>;
    assert.deepEqual([config['backend'], config['max_batch_size']], ['fil', 64]);
    const data = [1, 0, 0, 1.5, 0, 3];
    const inputs = [{ name: 'input__0', datatype: 'FP32', shape: [3, 2], data }];
    const outputs = [{ name: 'output__0' }];
    const answerOf = async (model: string): Promise<unknown> => {
      const answer = await posted(`/v2/models/${model}/infer`, { inputs, outputs });
      return (answer as { outputs: unknown[] }).outputs[0];
    };
    const output = { name: 'output__0', datatype: 'FP32' };
    assert.deepEqual(await answerOf('fil'), { ...output, shape: [3, 1], data: [1, 0, 0] });
    const both = (await answerOf('filboth')) as { shape: unknown; data: readonly number[] };
    assert.deepEqual(both.shape, [3, 2]);
    assert.ok(Math.abs((both.data[1] ?? 0) - 1 / (1 + Math.exp(-1.5))) < 1e-7);
    assert.ok(Math.abs((both.data[0] ?? 0) + (both.data[1] ?? 0) - 1) < 1e-7);
    const [status, text] = await post('/v2/models/fil/infer', {
      inputs: [{ name: 'input__0', datatype: 'FP32', shape: [1, 3], data: [1, 2, 3] }],
    });
    assert.deepEqual([status, /shape \[1,2\]/.test(text)], [400, true], text);
    assert.deepEqual(await posted('/v1/models/fil:predict', { instances: [[1, 0]] }), {
      predictions: [[1]],
    });
  });

  test("MLServer's settings, KServe's layout", async () => {
    const metadata = (await get('/v2/models/mlnamed')) as Readonly<Record<string, unknown>>;
    assert.deepEqual(metadata['versions'], ['7']);
    assert.deepEqual(metadata['outputs'], [{ name: 'predict', datatype: 'INT64', shape: [-1, 1] }]);
    const data = [1, 0, 0, 1.5, 0, 3];
    const inputs = [{ name: 'input-0', datatype: 'FP32', shape: [3, 2], data }];
    const answerOf = async (model: string, body: object): Promise<Answer> =>
      (await posted(`/v2/models/${model}/infer`, body)) as Answer;
    const outputs = ['predict', 'predict_proba'].map((name) => ({ name }));
    const [classes, probabilities] = (await answerOf('mlnamed', { inputs, outputs })).outputs;
    assert.deepEqual([classes?.datatype, classes?.shape], ['INT64', [3, 1]]);
    assert.deepEqual(classes?.data, [1, 0, 1]);
    assert.deepEqual(probabilities?.shape, [3, 2]);
    const [first = 0, second = 0] = probabilities?.data ?? [];
    assert.ok(second > 0.8 && Math.abs(first + second - 1) < 1e-6);
    const light = { name: 'x', datatype: 'FP32', shape: [1, 3], data: [1, 0, 33] };
    const answer = await answerOf('mlversions/versions/2', { inputs: [light] });
    assert.deepEqual(answer.outputs[0]?.shape, [1, 1]);
    assert.deepEqual(answer.outputs[0]?.data, [1 / (1 + Math.exp(-2))]);
    const kserve = await answerOf('kserve', { inputs });
    assert.deepEqual(kserve.outputs[0]?.data, [2, 0.25, 1.25]);
    const index = (await posted('/v2/repository/index', {})) as { name: string }[];
    assert.equal(index.filter(({ name }) => name === 'mlfolder').length, 0);
  });

  test('files that cannot be served', async () => {
    const index = (await posted('/v2/repository/index', {})) as { name: string; reason: string }[];
    const reason = (name: string) => index.find((one) => one.name === name)?.reason ?? '';
    assert.match(reason('other'), /expected a model that XGBoost, LightGBM or CatBoost has saved/);
    assert.match(reason('hashed'), /CatBoost model: feature 'colour': the file has only hashes/);
    assert.match(
      reason('filmany'),
      /output 'output__0': the configuration says \[-1,3\], the model \[-1,2\]/,
    );
    assert.match(
      reason('treelite'),
      /model_type: Treelite checkpoints are not supported: save the model with its own library/,
    );
    assert.match(reason('mlsklearn'), /SKLearnModel"; .*model\.joblib: is a pickle.*skl2onnx/);
    assert.match(reason('cut'), /model\.ubj: XGBoost model: .*JSON/);
  });
});
