// Explanations on a running server: outputs on request over V2, KServe's V1 explain, and errors.
// Source: docs/guides/explanations.md; KServe's V1 protocol, "Explain".
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startServer, type ServalProcess } from '../../../e2e/support/serval-process.js';
import { modelFiles, pipeline } from '../../../unit/importers/spark/support/model.js';
import { assembler, linear, stringIndexer } from '../../../unit/importers/spark/support/stages.js';
import { documentOf, jsonOf, TREE } from '../../../unit/importers/boosters/support.js';

const COVERED = { ...TREE, sum_hessian: [8, 6, 2, 3, 3] };
const OTHER = { ...COVERED, split_conditions: [0.5, 2, -9, 9, 9] };
const FILES: Readonly<Record<string, Buffer>> = {
  'one/1/model.json': jsonOf(
    documentOf({ trees: [COVERED], learner: { feature_names: ['age', 'rooms'] } }),
  ),
  'many/1/model.json': jsonOf(
    documentOf({
      objective: 'multi:softprob',
      parameters: { num_class: '2' },
      trees: [COVERED, OTHER],
      groups: [0, 1],
    }),
  ),
  'bare/1/model.json': jsonOf(documentOf()),
  'linear/1/model.json': jsonOf(
    documentOf({ booster: { name: 'gblinear', model: { weights: [1, 2, 3] } } }),
  ),
};

// Background sets, and a model that predicts nothing.
const MORE: Record<string, Buffer | string> = {
  'empty/config.pbtxt': 'platform: "spark_pipelinemodel"',
  'spark/rows.csv': 'a,b\n0,2\n2,4\n',
  'spark/config.pbtxt':
    'platform: "spark_pipelinemodel" ' +
    'parameters { key: "explain_background" value { string_value: "rows.csv" } }',
  'related/1/model.json': FILES['one/1/model.json'] ?? '',
  'related/config.pbtxt':
    'platform: "xgboost_booster" parameters { key: "explain_background" value { string_value: "rows.csv" } }',
  'related/rows.csv': 'rooms,age\n0,1\n',
  'astray/1/model.json': FILES['one/1/model.json'] ?? '',
  'odd/1/model.json': FILES['one/1/model.json'] ?? '',
  'odd/config.pbtxt':
    'platform: "xgboost_booster" parameters { key: "explain_background" value { string_value: "rows.csv" } }',
  'odd/rows.csv': 'rooms,age\n0,old\n',
  'pipe/1/model.json': FILES['one/1/model.json'] ?? '',
  'pipe/config.pbtxt':
    'platform: "xgboost_booster" parameters { key: "explain_background" value { string_value: "zero" } }',
  'astray/config.pbtxt':
    'platform: "xgboost_booster" parameters { key: "explain_background" value { string_value: "no.csv" } }',
};

// A LightGBM model that reads one of three columns.
MORE['part/1/model.txt'] = `tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=2
objective=regression
feature_names=a b c
feature_infos=[0:9] [0:9] [0:9]

Tree=0
num_leaves=2
num_cat=0
split_feature=0
split_gain=1
threshold=5
decision_type=2
left_child=-1
right_child=-2
leaf_value=0.25 4
leaf_weight=1 1
leaf_count=1 1
internal_value=0
internal_weight=2
internal_count=2
is_linear=0
shrinkage=1

end of trees
`;

// A pipeline with an indexer of labels, whose field explanations do not need.
const SPARK = modelFiles(
  pipeline(
    stringIndexer('kind', 'label', ['x', 'y']),
    assembler(['a', 'b'], 'v'),
    linear([2, -1], 0.5, { featuresCol: 'v' }),
  ),
);
for (const [path, content] of modelFiles(pipeline(assembler(['a', 'b'], 'v')))) {
  MORE[`empty/1/model/${path}`] = Buffer.from(content);
}
for (const [path, content] of SPARK) MORE[`spark/1/model/${path}`] = Buffer.from(content);

interface Answer {
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly number[];
    readonly data: readonly number[];
  }[];
}

interface Explanations {
  readonly explanations: readonly {
    readonly shap_values: readonly number[] | readonly (readonly number[])[];
    readonly expected_value: number | readonly number[];
  }[];
  readonly feature_names?: readonly string[];
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
const near = (got: number, wanted: number): void =>
  assert.ok(Math.abs(got - wanted) < 1e-6, `expected ${wanted}, got ${got}`);

describe('explanations on a server', () => {
  let server: ServalProcess;
  let folder = '';
  const post = async (path: string, body: object): Promise<[number, string]> => {
    const url = `http://127.0.0.1:${server.httpPort}${path}`;
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    return [answer.status, await answer.text()];
  };
  const posted = async (path: string, body: object): Promise<unknown> => {
    const [status, text] = await post(path, body);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'serval-explaining-'));
    for (const [path, content] of Object.entries({ ...FILES, ...MORE })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    symlinkSync('/dev/zero', join(folder, 'pipe', 'zero'));
    server = await startServer([folder]);
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const inputs = [{ name: 'x', datatype: 'FP32', shape: [3, 2], data: [1, 0, 0, 1.5, 0, 3] }];
  const asking = (names: readonly string[]): object => ({
    inputs,
    outputs: names.map((name) => ({ name })),
  });

  test('V2: outputs on request, and only then', async () => {
    const names = ['margin', 'shap_values', 'expected_value', 'leaf_indices', 'tree_margins'];
    const { outputs } = (await posted('/v2/models/one/infer', asking(names))) as Answer;
    assert.deepEqual(
      outputs.map(({ name, datatype, shape }) => [name, datatype, shape]),
      [
        ['margin', 'FP32', [3]],
        ['shap_values', 'FP64', [3, 2]],
        ['expected_value', 'FP64', [3, 1]],
        ['leaf_indices', 'INT32', [3, 1]],
        ['tree_margins', 'FP64', [3, 1]],
      ],
    );
    const [margin, values, expected, leaves] = outputs.map(({ data }) => data);
    for (const row of [0, 1, 2]) {
      const own = [values?.[2 * row] ?? 0, values?.[2 * row + 1] ?? 0, expected?.[row] ?? 0];
      near(sum(own), margin?.[row] ?? Number.NaN);
    }
    assert.deepEqual(leaves, [2, 3, 4]);
    const plain = (await posted('/v2/models/one/infer', { inputs })) as Answer;
    assert.deepEqual(
      plain.outputs.map(({ name }) => name),
      ['predict'],
    );
  });

  test('V2: several scores', async () => {
    const names = ['margin', 'shap_values', 'expected_value'];
    const { outputs } = (await posted('/v2/models/many/infer', asking(names))) as Answer;
    assert.deepEqual(
      outputs.map(({ shape }) => shape),
      [
        [3, 2],
        [3, 4],
        [3, 2],
      ],
    );
    const [margin = [], values = [], expected = []] = outputs.map(({ data }) => data);
    for (const row of [0, 1, 2]) {
      for (const score of [0, 1]) {
        const own = [values[4 * row + score] ?? 0, values[4 * row + 2 + score] ?? 0];
        near(sum(own) + (expected[2 * row + score] ?? 0), margin[2 * row + score] ?? Number.NaN);
      }
    }
  });

  test("KServe's V1 explain: rows as lists and as objects", async () => {
    const instances = [[1, 0], { age: 0, rooms: 1.5 }, { age: null, rooms: 3 }];
    const answer = (await posted('/v1/models/one:explain', { instances })) as Explanations;
    assert.deepEqual(answer.feature_names, ['age', 'rooms']);
    const margins = [2, 0.25, 1.25];
    answer.explanations.forEach(({ shap_values, expected_value }, row) => {
      near(sum(shap_values as number[]) + Number(expected_value), margins[row] ?? Number.NaN);
    });
    const many = (await posted('/v1/models/many/versions/1:explain', {
      instances: [[1, 0]],
    })) as Explanations;
    const [one] = many.explanations;
    assert.equal((one?.expected_value as number[]).length, 2);
    assert.deepEqual(
      one?.shap_values.map((scores) => (scores as readonly number[]).length),
      [2, 2],
    );
  });

  test('relative to a background set', async () => {
    const instances = [
      [1, 0],
      [0, 3],
    ];
    const answer = (await posted('/v1/models/related:explain', { instances })) as Explanations;
    const margins = [2, 1.25];
    answer.explanations.forEach(({ shap_values, expected_value }, row) => {
      near(Number(expected_value), 2);
      near(sum(shap_values as number[]), (margins[row] ?? 0) - 2);
    });
    assert.deepEqual(answer.explanations[0]?.shap_values, [0, 0]);
    const [status, text] = await post('/v2/models/astray/infer', { inputs });
    assert.notEqual(status, 200);
    assert.match(text, /explain_background.*no\.csv/);
    const [, wrong] = await post('/v2/models/odd/infer', { inputs });
    assert.match(wrong, /rows\.csv: background set: row 0, column 'age': expected a number/);
    const [, endless] = await post('/v2/models/pipe/infer', { inputs });
    assert.match(endless, /zero: background set: expected a file/);
  });

  test('rows of all fields, of which the explanation needs one', async () => {
    const instances = [[9, 0.5, 0.5], { a: 0, b: 1, c: 1 }];
    const answer = (await posted('/v1/models/part:explain', { instances })) as Explanations;
    assert.deepEqual(answer.feature_names, ['a', 'b', 'c']);
    for (const [row, { shap_values }] of answer.explanations.entries()) {
      const [a = 0, ...others] = shap_values as readonly number[];
      near(a, row === 0 ? 1.875 : -1.875);
      assert.deepEqual(others, [0, 0]);
    }
    const [status, text] = await post('/v1/models/part:explain', { instances: [[[1], 2, 3]] });
    assert.equal(status, 400, text);
  });

  test('lists have only the fields that explanations need', async () => {
    const answer = (await posted('/v1/models/spark:explain', {
      instances: [[3, 4], { a: 3, b: 4 }],
    })) as Explanations;
    for (const { shap_values, expected_value } of answer.explanations) {
      assert.deepEqual(shap_values, [4, -1]);
      assert.equal(expected_value, -0.5);
    }
    assert.deepEqual(answer.feature_names, ['a', 'b']);
    const all = (await posted('/v1/models/spark:explain', {
      instances: [['x', 3, 4]],
    })) as Explanations;
    assert.deepEqual(all.explanations[0]?.shap_values, [4, -1]);
    const [status, text] = await post('/v1/models/spark:explain', { instances: [[3]] });
    assert.equal(status, 400);
    assert.match(text, /expected a list of 2 values, one per field, got 1/);
  });

  test('linear models of XGBoost', async () => {
    const instances = [[1, 0.5]];
    const answer = (await posted('/v1/models/linear:explain', { instances })) as Explanations;
    assert.deepEqual(answer.explanations[0]?.shap_values, [1, 1]);
  });

  test('errors name what is wrong', async () => {
    const cases: readonly (readonly [string, object, number, RegExp])[] = [
      [
        'bare',
        { instances: [[1, 0]] },
        400,
        /shap_values: the model's .*\(sum_hessian\).*explain_back/,
      ],
      ['empty', { instances: [[1, 0]] }, 400, /'empty' cannot be explained: only models of dec/],
      ['one', { instances: [] }, 400, /explain: expected an object with 'instances'/],
      [
        'one',
        { instances: [[1]] },
        400,
        /row 0: expected a list of 2 values, one per field, got 1/,
      ],
      ['one', { instances: [7] }, 400, /row 0: expected an object or a list of 2 values/],
      ['one', { instances: [{ age: 1 }] }, 400, /missing field: expected also 'rooms'/],
      ['one', { instances: [['a', 1]] }, 400, /age/],
      ['none', { instances: [[1, 0]] }, 404, /'none' is not found/],
    ];
    for (const [model, body, status, text] of cases) {
      const [got, answer] = await post(`/v1/models/${model}:explain`, body);
      assert.equal(got, status, `${model}: ${answer}`);
      assert.match((JSON.parse(answer) as { error: string }).error, text);
    }
    const [status] = await post('/v2/models/bare/infer', asking(['leaf_indices']));
    assert.equal(status, 200);
  });
});
