// XGBoost's own files: fields, outputs, answers, and files that are broken. The answers of real
// models are in test/conformance/tabular/boosters.test.ts.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importBytes } from '../../../../ts/importers/boosters/index.js';
import { runPlan } from '../plan/run-plan.js';
import { documentOf, jsonOf, planOf, refuses, surviveDamage, TREE } from './support.js';

const { fround } = Math;

interface Saved {
  readonly objective: string;
  readonly model: object;
  readonly rows: readonly (readonly (number | null)[])[];
  readonly margins: readonly (readonly number[])[];
}

const run = (file: Buffer, columns: Readonly<Record<string, readonly unknown[]>>) =>
  runPlan(planOf(file), columns).columns;

const SETS = {
  ...TREE,
  split_type: [1, 0, 0, 0, 0],
  categories: [1, 3],
  categories_nodes: [0],
  categories_segments: [0],
  categories_sizes: [2],
};
const NUMBERS = {
  enc: [
    { type: 15, values: [10, 20, 30, 40] },
    { offsets: [], values: [] },
  ],
};
const TEXTS = {
  enc: [
    { offsets: [0, 1, 2, 4, 5], values: [97, 98, 99, 99, 100] },
    { offsets: [], values: [] },
  ],
};

describe('models that XGBoost has saved', () => {
  const saved = JSON.parse(
    readFileSync(join('test', 'fixtures', 'tabular', 'xgboost', 'boosters.json'), 'utf8'),
  ) as readonly Saved[];
  saved.forEach(({ objective, model, rows, margins }, i) => {
    test(`${objective}, model ${i} of version 2.1`, () => {
      const columns = Object.fromEntries(
        (rows[0] ?? []).map((_, at) => [`f${at}`, rows.map((row) => row[at] ?? Number.NaN)]),
      );
      assert.deepEqual((run(jsonOf(model), columns)['margin'] ?? []).flat(), margins.flat());
    });
  });

  test('fields are features: f0, f1 or their names', () => {
    const plan = planOf(jsonOf(documentOf()));
    assert.deepEqual(
      plan.fields.map(({ name, type }) => [name, type]),
      [
        ['f0', 'float'],
        ['f1', 'float'],
      ],
    );
    assert.equal(plan.matrix, true);
    assert.deepEqual([plan.format, plan.producer], ['xgboost', 'XGBoost 3.2.0']);
    const named = documentOf({ learner: { feature_names: ['age', 'zip code'] } });
    assert.deepEqual(
      planOf(jsonOf(named)).fields.map(({ name }) => name),
      ['age', 'zip code'],
    );
  });

  test('thresholds, missing values, infinities', () => {
    const below = fround(0.5 - 2 ** -25);
    const f0 = [0.5, below, 0, 0, Number.NaN, null, Infinity, -Infinity];
    const f1 = [9, 1.9, 2, Number.NaN, 1, null, 1, 1];
    const { predict, margin } = run(jsonOf(documentOf()), { f0, f1 });
    assert.deepEqual(predict, [2, 0.25, 1.25, 1.25, 0.25, 1.25, 2, 0.25]);
    assert.deepEqual(margin, predict);
  });

  test('categories go right; fractions are dropped, other numbers go left', () => {
    const file = jsonOf(documentOf({ trees: [SETS] }));
    const f0 = [1, 3, 3.9, 0, 2, -1, -0.5, 4, 1e10, Number.NaN, Infinity];
    const { predict } = run(file, { f0, f1: f0.map(() => 0) });
    assert.deepEqual(predict, [2, 2, 2, ...new Array<number>(8).fill(0.25)]);
  });

  test('categories of a data frame by their values', () => {
    const numbers = jsonOf(documentOf({ trees: [SETS], model: { cats: NUMBERS } }));
    assert.equal(planOf(numbers).matrix, undefined);
    const f0 = [10, 20, 30, 40, null, Number.NaN];
    const { predict } = run(numbers, { f0, f1: f0.map(() => 0) });
    assert.deepEqual(predict, [0.25, 2, 0.25, 2, 0.25, 0.25]);
    assert.throws(() => run(numbers, { f0: [15], f1: [0] }), /there is no entry for 15/);
    const texts = jsonOf(documentOf({ trees: [SETS], model: { cats: TEXTS } }));
    const words = run(texts, { f0: ['a', 'b', 'cc', 'd', null], f1: [0, 0, 0, 0, 0] });
    assert.deepEqual(words['predict'], [0.25, 2, 0.25, 2, 0.25]);
    assert.throws(() => run(texts, { f0: ['x'], f1: [0] }), /there is no value for 'x'/);
  });

  test('vectors of leaves, in both forms of the file', () => {
    const vectors = { tree_param: { size_leaf_vector: '2' } };
    const parts = { parameters: { num_target: '2', base_score: '[1E0,2E0]' } };
    const old = { ...TREE, ...vectors, base_weights: [0, 0, 0, 0, 1, 2, 3, 4, 5, 6] };
    const own = {
      ...TREE,
      ...vectors,
      right_children: [2, 4, 0, 1, 2],
      leaf_weights: [1, 2, 3, 4, 5, 6],
    };
    for (const tree of [old, own]) {
      const file = jsonOf(documentOf({ ...parts, trees: [tree] }));
      const { predict } = run(file, { f0: [1, 0, 0], f1: [0, 0, 3] });
      assert.deepEqual(predict, [
        [2, 4],
        [4, 6],
        [6, 8],
      ]);
    }
  });

  test('gblinear: missing values add nothing', () => {
    const booster = { name: 'gblinear', model: { weights: [0.5, -2, 0.25] } };
    const { predict } = run(jsonOf(documentOf({ booster })), {
      f0: [1, NaN, null],
      f1: [3, 3, NaN],
    });
    assert.deepEqual(predict, [-4.75, -5.25, 0.75]);
  });

  test('labels: numbers, or those that are stored', () => {
    const columns = { f0: [1, 0], f1: [0, 0] };
    const label = (attributes: object): unknown =>
      run(jsonOf(documentOf({ objective: 'binary:logistic', learner: { attributes } })), columns)[
        'label'
      ];
    assert.deepEqual(label({}), [1, 0]);
    const classes = (...of: unknown[]) => ({ scikit_learn: JSON.stringify({ classes_: of }) });
    assert.deepEqual(label(classes('no', 'yes')), ['yes', 'no']);
    assert.deepEqual(label(classes(7, 9)), [9, 7]);
    refuses(
      jsonOf(documentOf({ objective: 'binary:logistic', learner: { attributes: classes(1) } })),
      /classes_: expected 2 labels, got 1/,
    );
  });

  test('the best iteration counts for models of scikit-learn, otherwise a warning', () => {
    const parts = { trees: [TREE, TREE], model: { iteration_indptr: [0, 1, 2] } };
    const made = (attributes: object) => jsonOf(documentOf({ ...parts, learner: { attributes } }));
    const columns = { f0: [1], f1: [0] };
    const best = { best_iteration: '0' };
    assert.deepEqual(run(made({ ...best, scikit_learn: '{}' }), columns)['predict'], [2]);
    assert.deepEqual(run(made(best), columns)['predict'], [3.5]);
    const [warning] = importBytes(made(best), 'model').warnings;
    assert.match(warning ?? '', /1 of 2 trees.*all trees are used/);
  });
});

describe('broken models', () => {
  const tree = (change: object) => jsonOf(documentOf({ trees: [TREE, { ...TREE, ...change }] }));
  const cases: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
    'a child that is no node': [
      tree({ left_children: [9, 3, -1, -1, -1] }),
      /tree 1: node 0: .* 9/,
    ],
    'a cycle': [tree({ left_children: [1, 0, -1, -1, -1] }), /tree 1: node 0 is not part of/],
    'two parents': [tree({ right_children: [2, 3, -1, -1, -1] }), /tree 1: node 3 is not part of/],
    'half a child': [tree({ left_children: [1.5, 3, -1, -1, -1] }), /tree 1: node 0/],
    'half a leaf': [tree({ right_children: [2, 4, 1, -1, -1] }), /tree 1: node 2 is not part/],
    'an unknown feature': [tree({ split_indices: [2, 0, 0, 0, 0] }), /node 0: feature 2 does not/],
    'lists of different lengths': [tree({ default_left: [1] }), /tree 1: its lists have different/],
    'a text for a number': [tree({ split_indices: ['0', 0, 0, 0, 0] }), /expected a number/],
    'no nodes': [tree({ left_children: [] }), /tree 1: its lists/],
    'a set that does not exist': [
      jsonOf(documentOf({ trees: [{ ...SETS, categories_sizes: [9] }] })),
      /tree 0: node 0: its categories do not exist/,
    ],
    'a split of another type': [
      jsonOf(documentOf({ trees: [{ ...SETS, split_type: [2, 0, 0, 0, 0] }] })),
      /tree 0: node 0/,
    ],
    'leaves of another size': [
      jsonOf(
        documentOf({
          trees: [{ ...TREE, tree_param: { size_leaf_vector: '3' }, base_weights: [0] }],
          parameters: { num_target: '3' },
        }),
      ),
      /tree 0: node 2: its leaf does not exist/,
    ],
    'a name too few': [
      jsonOf(documentOf({ learner: { feature_names: ['a'] } })),
      /feature_names: expected 2 names, got 1/,
    ],
    'two names alike': [
      jsonOf(documentOf({ learner: { feature_names: ['a', 'a'] } })),
      /two fields are named 'a'/,
    ],
    'too many features': [
      jsonOf(documentOf({ parameters: { num_feature: '2000000000' } })),
      /expected 1 to 16384 features, got 2000000000/,
    ],
    'an unknown objective': [
      jsonOf(documentOf({ objective: 'reg:unheard' })),
      /the objective 'reg:unheard' is not supported/,
    ],
    'an unknown booster': [jsonOf(documentOf({ booster: { name: 'gbnew' } })), /booster 'gbnew'/],
    'a class too many': [jsonOf(documentOf({ groups: [1] })), /class of a tree is out of range/],
    'a number of classes without trees': [
      jsonOf(documentOf({ objective: 'multi:softmax', parameters: { num_class: '2000000000' } })),
      /2000000000 classes of 1 trees/,
    ],
    'base scores of another number': [
      jsonOf(documentOf({ parameters: { base_score: '[1E0,2E0]' } })),
      /base_score: expected 1 numbers, got 2/,
    ],
    'no base score': [jsonOf(documentOf({ parameters: { base_score: 'x' } })), /base_score 'x'/],
    'weights of another number': [
      jsonOf(documentOf({ booster: { name: 'gblinear', model: { weights: [1] } } })),
      /gblinear: expected 3 weights, got 1/,
    ],
    'a file that is cut': [jsonOf(documentOf()).subarray(0, 300), /JSON/],
    'another format': [
      Buffer.from('nothing'),
      /expected a model that XGBoost, LightGBM or CatBoost/,
    ],
    'UBJ that is cut': [
      Buffer.from('{L\0\0\0\0\0\0\0\u0007learner{', 'latin1'),
      /expected 1 bytes/,
    ],
    'UBJ with a false length': [
      Buffer.from('{L\0\0\0\0\0\0\0\u0007learner[$d#L\u007f\0\0\0\0\0\0\0', 'latin1'),
      /length of|expected .* values/,
    ],
    'UBJ that nests': [
      Buffer.from(`{L\0\0\0\0\0\0\0\u0007learner${'['.repeat(9999)}`, 'latin1'),
      /nest too deep/,
    ],
    'a binary file that is cut': [Buffer.from('binf\0\0'), /byte 4: expected 136 bytes, got 2/],
  };
  for (const [name, [file, expected]] of Object.entries(cases)) {
    test(name, () => refuses(file, expected));
  }

  test('random damage to JSON', () => {
    const words = ['-1', '1e999', '[', '{', '"', ',', '0', 'null', '2147483648', '"learner"'];
    const whole = { trees: [SETS, TREE], learner: { attributes: { best_iteration: '0' } } };
    const model = { iteration_indptr: [0, 1, 2], cats: NUMBERS };
    surviveDamage(jsonOf(documentOf({ ...whole, model })), 3000, words);
  });
});

describe('explanations of XGBoost models', () => {
  const rows = { f0: [1, 0, 0], f1: [0, 0, 3] };
  const outputs = ['shap_values', 'expected_value'];

  test('a file without covers has leaves and tree margins, and says what it lacks', () => {
    const plan = planOf(jsonOf(documentOf({ trees: [TREE, TREE] })));
    const { columns } = runPlan(plan, rows, { outputs: ['leaf_indices', 'tree_margins'] });
    assert.deepEqual(columns['leaf_indices'], [
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
    assert.deepEqual(columns['tree_margins']?.[0], [1.5, 1.5]);
    assert.throws(
      () => runPlan(plan, rows, { outputs }),
      /shap_values: the model's file does not say how many training rows .*\(sum_hessian\)/,
    );
  });

  test('covers that are no numbers from 0 do not fail the load', () => {
    const tree = { ...TREE, sum_hessian: [8, 6, 2, -1, 3] };
    const plan = planOf(jsonOf(documentOf({ trees: [tree] })));
    assert.deepEqual(runPlan(plan, rows, { outputs: ['margin'] }).columns['margin']?.length, 3);
    assert.throws(() => runPlan(plan, rows, { outputs }), /the cover of a leaf is -1: expected/);
  });

  test('values by hand', () => {
    const tree = { ...TREE, sum_hessian: [8, 6, 2, 3, 3] };
    const plan = planOf(jsonOf(documentOf({ trees: [tree] })));
    const { columns } = runPlan(plan, rows, { outputs });
    // Half of the rows with f0 < 0.5 have f1 < 2; a quarter of all rows have f0 >= 0.5.
    const mean = 0.75 * 0.25 + 0.25 * 1.5;
    const [values = []] = (columns['shap_values'] ?? []) as readonly (readonly number[])[];
    const [base] = (columns['expected_value']?.[0] ?? []) as readonly number[];
    const margin = 0.5; // the base score
    assert.ok(Math.abs((base ?? 0) - mean - margin) < 1e-7, `${base}`);
    const onlyF1 = 0.75 * -0.25 + 0.25 * 1.5;
    const f1 = (onlyF1 - mean + 0) / 2;
    assert.ok(Math.abs((values[1] ?? 0) - f1) < 1e-7, `${values[1]}`);
    assert.ok(Math.abs((values[0] ?? 0) - (1.5 - mean - f1)) < 1e-7, `${values[0]}`);
  });
});
