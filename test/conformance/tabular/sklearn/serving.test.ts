// Models of scikit-learn on a running server: names in a repository, metadata, request forms,
// MLServer's settings and names of outputs, and errors. Source: docs/reference/sklearn.md;
// MLServer's runtimes/sklearn.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startServer, type ServalProcess } from '../../../e2e/support/serval-process.js';
import { zipOf } from '../../../unit/importers/plan/archive/archives.js';
import {
  json,
  type Json,
  list,
  logistic,
  object,
  objects,
  pipeline,
  SkopsWriter,
} from '../../../unit/importers/sklearn/files.js';

function skopsOf(make: (writer: SkopsWriter) => Json): Buffer {
  const writer = new SkopsWriter();
  const parts = writer.file(make(writer));
  return zipOf([...parts].map(([name, content]) => ({ name, content, stored: true })));
}

/** Prices by city and size. */
function pricesOf(writer: SkopsWriter): Json {
  const encoder = object('OneHotEncoder', {
    handle_unknown: json('error'),
    categories_: list(objects(json('Oslo'), json('Rome'))),
  });
  const columns = object('ColumnTransformer', {
    transformers_: list(
      list(json('text'), encoder, list(json('city'))),
      list(json('rest'), json('passthrough'), list(json('size'))),
    ),
    feature_names_in_: objects(json('city'), json('size')),
    n_features_in_: json(2),
  });
  const model = object('Ridge', { coef_: writer.reals([1, 10, 100]), intercept_: json(0.5) });
  return pipeline(['prepare', columns], ['model', model]);
}

const settings = (uri: string): string =>
  JSON.stringify({ implementation: 'mlserver_sklearn.SKLearnModel', parameters: { uri } });
const LOGISTIC = skopsOf((writer) => logistic(writer));
const FILES: Readonly<Record<string, Buffer | string>> = {
  'logistic/1/model.skops': LOGISTIC,
  'prices/3/prices.skops': skopsOf(pricesOf),
  'mlserver/model.skops': LOGISTIC,
  'mlserver/model-settings.json': settings('./model.skops'),
  'other/1/model.skops': skopsOf(() =>
    pipeline(['clf', object('GaussianProcessClassifier', { n_features_in_: json(2) })]),
  ),
};

describe('scikit-learn models on a server', () => {
  let server: ServalProcess;
  let folder = '';
  const url = (path: string): string => `http://127.0.0.1:${server.httpPort}${path}`;
  const get = async (path: string): Promise<unknown> => (await fetch(url(path))).json();
  const post = async (path: string, body: object): Promise<readonly [number, string]> => {
    const answer = await fetch(url(path), { method: 'POST', body: JSON.stringify(body) });
    return [answer.status, await answer.text()];
  };
  const posted = async (path: string, body: object): Promise<unknown> => {
    const [status, text] = await post(path, body);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'serval-sklearn-'));
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
    assert.deepEqual(await get('/v2/models/prices'), {
      name: 'prices',
      versions: ['3'],
      platform: 'sklearn_skops',
      inputs: [
        { name: 'city', datatype: 'STRING', shape: [-1] },
        { name: 'size', datatype: 'FP64', shape: [-1] },
      ],
      outputs: [{ name: 'predict', datatype: 'FP64', shape: [-1] }],
    });
  });

  test('V1: rows as lists and as objects', async () => {
    assert.deepEqual(
      await posted('/v1/models/logistic:predict', {
        instances: [
          [1, 1],
          [-1, 1],
        ],
      }),
      {
        predictions: ['yes', 'no'],
      },
    );
    const instances = [
      { city: 'Rome', size: 2 },
      { city: 'Oslo', size: 0 },
    ];
    assert.deepEqual(await posted('/v1/models/prices:predict', { instances }), {
      predictions: [210.5, 1.5],
    });
  });

  test('V2: a matrix under any name, outputs on request', async () => {
    const body = {
      inputs: [{ name: 'input-0', datatype: 'FP32', shape: [1, 2], data: [1, 1] }],
      outputs: [{ name: 'predict_proba' }, { name: 'decision_function' }],
    };
    const { outputs } = (await posted('/v2/models/logistic/infer', body)) as {
      readonly outputs: readonly { name: string; shape: number[]; data: number[] }[];
    };
    assert.deepEqual(
      outputs.map(({ name, shape }) => [name, shape]),
      [
        ['predict_proba', [1, 2]],
        ['decision_function', [1]],
      ],
    );
    assert.equal(outputs[1]?.data[0], 1.5);
  });

  test("MLServer's settings: answers are matrices", async () => {
    const inputs = [{ name: 'predict', datatype: 'FP64', shape: [2, 2], data: [1, 1, -1, 1] }];
    const answer = (await posted('/v2/models/mlserver/infer', { inputs })) as {
      readonly outputs: readonly object[];
    };
    assert.deepEqual(answer.outputs, [
      { name: 'predict', datatype: 'BYTES', shape: [2, 1], data: ['yes', 'no'] },
    ]);
  });

  test('errors name the row, the category or the estimator', async () => {
    const [status, text] = await post('/v1/models/prices:predict', {
      instances: [{ city: 'Bern', size: 1 }],
    });
    assert.deepEqual([status, /row 0: column 'city': .*'Bern'/.test(text)], [400, true], text);
    const [, missing] = await post('/v1/models/logistic:predict', { instances: [[null, 1]] });
    assert.match(missing, /row 0: column 'x0' is missing/);
    const index = (await (
      await fetch(url('/v2/repository/index'), { method: 'POST', body: '{}' })
    ).json()) as readonly { readonly name: string; readonly reason?: string }[];
    const { reason = '' } = index.find(({ name }) => name === 'other') ?? {};
    assert.match(reason, /steps\[0\] 'clf': GaussianProcessClassifier is not supported/);
  });
});
