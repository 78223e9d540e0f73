// LightGBM's own files: fields, outputs, answers, and files that are broken. The answers of real
// models are in test/conformance/tabular/boosters.test.ts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { importBytes } from '../../../../ts/importers/boosters/index.js';
import { runPlan } from '../plan/run-plan.js';
import { LIGHTGBM, LINEAR, ownOutputs, planOf, refuses, surviveDamage } from './support.js';

const NaN = Number.NaN;

function changed(from: string | RegExp, to: string, text = LIGHTGBM): string {
  const made = text.replace(from, to);
  assert.notEqual(made, text);
  return made;
}

const margins = (text: string, columns: Readonly<Record<string, readonly unknown[]>>) =>
  runPlan(planOf(text), columns).columns['margin'];
/** Rows of a: b is 1, c in no set (-0.5). */
const ofA = (text: string, a: readonly unknown[]) =>
  margins(text, { a, b: a.map(() => 1), c: a.map(() => 7) });

describe('models that LightGBM has saved', () => {
  test('fields, outputs, the producer', () => {
    const plan = planOf(LIGHTGBM);
    assert.deepEqual(
      plan.fields.map(({ name, type }) => [name, type]),
      [
        ['a', 'double'],
        ['b', 'double'],
        ['c', 'double'],
      ],
    );
    assert.deepEqual(
      ownOutputs(plan).map(({ name, type, extra }) => [name, type, extra]),
      [
        ['predict', 'double', undefined],
        ['margin', 'double', true],
        ['label', 'int64', true],
      ],
    );
    assert.deepEqual([plan.format, plan.matrix], ['lightgbm', true]);
  });

  test('thresholds, missing values, infinities', () => {
    const above = 0.5 + 2 ** -53;
    assert.deepEqual(ofA(LIGHTGBM, [0.5, above, NaN, null, Infinity, -Infinity]), [
      ...[-0.75, 1, -0.75, -0.75, 1, -0.75],
    ]);
  });

  test('values that training had none missing of: NaN is 0', () => {
    const none = changed('decision_type=10 8', 'decision_type=2 0');
    assert.deepEqual(ofA(none, [NaN]), [-0.75]);
    assert.deepEqual(ofA(changed('threshold=0.5 2', 'threshold=-0.5 2', none), [NaN]), [1]);
  });

  test('zeros that are missing', () => {
    const zeros = changed(
      'decision_type=10 8',
      'decision_type=6 4',
      changed('threshold=0.5 2', 'threshold=-3 2'),
    );
    const least = Math.fround(1e-35);
    const beyond = least * (1 + 2 ** -52);
    const a = [0, -0, least, -least, NaN, null, beyond, -beyond, -3, -2];
    assert.deepEqual(ofA(zeros, a), [-0.75, -0.75, -0.75, -0.75, -0.75, -0.75, 1, 1, -0.75, 1]);
  });

  test('categories go left; fractions are dropped, other numbers go right', () => {
    const c = [0, 33, 33.9, -0.5, 1, -1, 64, 1e12, Infinity, NaN, null];
    const got = margins(LIGHTGBM, { a: c.map(() => 1), b: c.map(() => 0), c });
    assert.deepEqual(got, [2, 2, 2, 2, ...new Array<number>(7).fill(1)]);
  });

  test('categories of a data frame by their values', () => {
    const words = Array.from({ length: 34 }, (_, i) => `w${i}`);
    const frame = (values: readonly unknown[]) =>
      changed('pandas_categorical:null', `pandas_categorical:${JSON.stringify([values])}`);
    const rows = (c: readonly unknown[]) => ({ a: c.map(() => 1), b: c.map(() => 0), c });
    const texts = frame(words);
    assert.equal(planOf(texts).matrix, undefined);
    assert.deepEqual(margins(texts, rows(['w0', 'w33', 'w1', 'unheard', null])), [2, 2, 1, 1, 1]);
    const numbers = frame(words.map((_, i) => i * 10));
    assert.deepEqual(margins(numbers, rows([0, 330, 10, 5, NaN, null])), [2, 2, 1, 1, 1, 1]);
    const flags = frame([false, true]);
    assert.deepEqual(margins(flags, rows([0, 1, null])), [2, 1, 1]);
    refuses(frame(['a', 1]), /feature 'c': categories of mixed types/);
    const [warning] = importBytes(Buffer.from(changed('0:33', 'none', texts)), 'model').warnings;
    assert.match(warning ?? '', /pandas_categorical has 1 columns, but 0 features/);
  });

  test('objectives', () => {
    const answer = (objective: string): unknown => {
      const text = changed('objective=binary sigmoid:1', `objective=${objective}`);
      const { columns } = runPlan(planOf(text), { a: [1], b: [0], c: [0] });
      return columns['predict']?.[0];
    };
    assert.equal(answer('regression'), 2);
    assert.equal(answer('regression sqrt'), 4);
    assert.equal(answer('quantile alpha:0.9'), 2);
    assert.equal(answer('poisson'), Math.exp(2));
    assert.equal(answer('binary sigmoid:0.5'), 1 / (1 + Math.exp(-1)));
    assert.equal(answer('cross_entropy_lambda'), Math.log1p(Math.exp(2)));
    assert.equal(answer('custom'), 2);
  });

  test('a mean of trees, trees of one leaf, no trees', () => {
    const mean = changed('feature_names', 'average_output\nfeature_names', LIGHTGBM);
    const { columns } = runPlan(planOf(changed('binary sigmoid:1', 'regression', mean)), {
      ...{ a: [1], b: [0], c: [0] },
    });
    assert.deepEqual([columns['predict'], columns['margin']], [[1], [2]]);
    const head = LIGHTGBM.slice(0, LIGHTGBM.indexOf('Tree=0'));
    const leaf = `${head}Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=0.25\n\nend of trees\n`;
    const columnsOf = { a: [1], b: [0], c: [0] };
    assert.deepEqual(margins(leaf, columnsOf), [0.25]);
    assert.deepEqual(margins(`${head}end of trees\n`, columnsOf), [0]);
  });
});

describe('linear trees', () => {
  const ofRows = (a: readonly unknown[], b: readonly unknown[]) =>
    margins(LINEAR, { a, b, c: a.map(() => 7) });

  test('terms of the leaf; its value if one of its features is missing', () => {
    assert.deepEqual(ofRows([0, 1, 0], [1, 2, 3]), [1, 211.5, 2.5]);
    assert.deepEqual(ofRows([1, 1, NaN, null], [NaN, null, 1, 1]), [1, 1, 1, 1]);
    assert.deepEqual(ofRows([Infinity, 1], [0, -Infinity]), [Infinity, -Infinity]);
    assert.deepEqual(ofRows([Infinity], [-Infinity]), [NaN]);
  });
});

describe('broken models', () => {
  const cases: Readonly<Record<string, readonly [string, RegExp]>> = {
    'a file that is cut': [LIGHTGBM.slice(0, 500), /expected a line 'end of trees'/],
    'a child out of range': [
      changed('left_child=1 -1', 'left_child=7 -1'),
      /line 12, tree 0: left_child: expected whole numbers from -3 to 1, got 7/,
    ],
    'a cycle': [changed('left_child=1 -1', 'left_child=0 -1'), /tree 0: node 0 is not part of/],
    'a leaf that two nodes have': [
      changed('right_child=-2 -3', 'right_child=-2 -2'),
      /tree 0: leaf 1 is not part of exactly one branch/,
    ],
    'an unknown feature': [
      changed('split_feature=0 1', 'split_feature=0 3'),
      /split_feature: expected whole numbers from 0 to 2, got 3/,
    ],
    'a threshold that is NaN': [
      changed('threshold=0.5 2', 'threshold=nan 2'),
      /threshold: expected a number, got 'nan'/,
    ],
    'a number too few': [changed('threshold=0.5 2', 'threshold=2'), /expected 2 numbers, got 1/],
    'leaves without end': [
      changed('num_leaves=3', 'num_leaves=999999999'),
      /tree 0: .*expected 999999998 numbers, got/,
    ],
    'no leaves': [changed('num_leaves=3', 'num_leaves=0'), /num_leaves: expected 1 or more, got 0/],
    'half a leaf': [changed('num_leaves=3', 'num_leaves=2.5'), /num_leaves: expected a whole/],
    'a set that does not exist': [
      changed('threshold=0\n', 'threshold=1\n'),
      /node 0: its set of categories does not exist/,
    ],
    'sets that go back': [changed('=0 2\ncat', '=2 0\ncat'), /cat_boundaries: expected ascending/],
    'a word of more than 32 bits': [
      changed('cat_threshold=1 2', 'cat_threshold=1 4294967296'),
      /cat_threshold: expected whole numbers of 32 bits/,
    ],
    'linear trees without constants': [
      changed('is_linear=0', 'is_linear=1'),
      /tree 0: leaf_const: expected 3 numbers, got 0/,
    ],
    'a linear leaf with a feature too many': [
      changed('leaf_features=1 0 1', 'leaf_features=1 0', LINEAR),
      /tree 0: leaf_features: expected 3 numbers, got 2/,
    ],
    'a linear leaf with an unknown feature': [
      changed('leaf_features=1 0 1', 'leaf_features=1 0 3', LINEAR),
      /tree 0: leaf_features: expected whole numbers from 0 to 2, got 3/,
    ],
    'linear leaves whose features are not in order': [
      changed('leaf_features=1 0 1', 'leaf_features=1 1 0', LINEAR),
      /leaf_features: leaf 1: expected ascending features/,
    ],
    'a name too few': [changed('=a b c', '=a b'), /feature_names: expected 3 names, got 2/],
    'two names alike': [changed('=a b c', '=a b a'), /two fields are named 'a'/],
    'an unknown objective': [changed('binary sigmoid:1', 'new'), /the objective 'new' is not/],
    'a false sigmoid': [changed('sigmoid:1', 'sigmoid:-1'), /sigmoid: expected a number above 0/],
    'rounds that are not whole': [
      changed('num_tree_per_iteration=1', 'num_tree_per_iteration=3'),
      /expected 3 trees in each round, got 2/,
    ],
    'categories that are no JSON': [
      changed('pandas_categorical:null', 'pandas_categorical:[['),
      /pandas_categorical: expected JSON/,
    ],
  };
  for (const [name, [text, expected]] of Object.entries(cases)) {
    test(name, () => refuses(text, expected));
  }

  test('random damage', () => {
    const words = ['-1', '1e999', 'nan', ' ', '\n', '=', '0', '999999999', 'Tree=3\n', '-3', '4'];
    surviveDamage(Buffer.from(LIGHTGBM), 3000, words);
  });
});
