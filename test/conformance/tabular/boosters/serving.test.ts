// Models of XGBoost, LightGBM and CatBoost on a running server: names in a repository, metadata,
// every request form, a matrix under any name, and the errors of files that cannot be served.
// Source: docs/reference/boosters.md.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startServer, type ServalProcess } from '../../../e2e/support/serval-process.js';
import {
  catboostDocument,
  cbmOf,
  COLOURS,
} from '../../../unit/importers/boosters/catboost-files.js';
import { documentOf, jsonOf, LIGHTGBM, TREE } from '../../../unit/importers/boosters/support.js';

const NAMED = jsonOf(documentOf({ learner: { feature_names: ['age', 'rooms'] } }));
const MANY = jsonOf(
  documentOf({
    objective: 'multi:softmax',
    parameters: { num_class: '2' },
    trees: [TREE, { ...TREE, split_conditions: [0.5, 2, -9, 9, 9] }],
    groups: [0, 1],
  }),
);
const FILES: Readonly<Record<string, Buffer | string>> = {
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
  'other/1/model.json': '{"weights": []}',
  'cut/1/model.ubj': NAMED.subarray(0, 200),
};

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

  test('files that cannot be served', async () => {
    const index = (await posted('/v2/repository/index', {})) as { name: string; reason: string }[];
    const reason = (name: string) => index.find((one) => one.name === name)?.reason ?? '';
    assert.match(reason('other'), /expected a model that XGBoost, LightGBM or CatBoost has saved/);
    assert.match(reason('hashed'), /CatBoost model: feature 'colour': the file has only hashes/);
    assert.match(reason('cut'), /model\.ubj: XGBoost model: .*JSON/);
  });
});
