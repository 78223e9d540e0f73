// Explanations of bundles: trees, forests and linear models relative to a background set, whose
// vectors are lists in a cell. XGBoost's boosters have covers. Values are by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCsv } from '../../../../ts/base/csv.js';
import { withBackground } from '../../../../ts/importers/plan/background.js';
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';
import { importBytes } from '../../../../ts/importers/boosters/index.js';
import { documentOf, jsonOf, TREE } from '../boosters/support.js';
import { runPlan } from '../plan/run-plan.js';
import { double, importNodes, long, type NodeOf, texts, vector } from './memory-bundle.js';

const OUTPUTS = ['shap_values', 'expected_value'];
// The background row goes left at the first feature.
const BACKGROUND = 'x\n"[0,1]"\n';
const ROWS = [
  [1, 1],
  [0, 1],
];

const ports: Pick<NodeOf, 'inputs' | 'outputs'> = {
  inputs: { features: 'x' },
  outputs: { prediction: 'p' },
};
const lines = (...nodes: readonly object[]): string =>
  nodes.map((node) => `${JSON.stringify(node)}\n`).join('');
/** A split by the first feature at 0.5. */
const stump = (low: readonly number[], high: readonly number[]): string =>
  lines(
    { type: 'internal', split: { type: 'continuous', featureIndex: 0, threshold: 0.5 } },
    { type: 'leaf', values: low },
    { type: 'leaf', values: high },
  );

const tree: NodeOf = {
  op: 'decision_tree_regression',
  attributes: { num_features: long(2) },
  ...ports,
  files: { 'tree.json': stump([2], [5]) },
};

async function planOf(node: NodeOf): Promise<Plan> {
  const { plan, features } = await importNodes({ predict: node });
  assert.deepEqual(features, []);
  return plan;
}

const explained = (plan: Plan, text = BACKGROUND): Readonly<Record<string, readonly unknown[]>> =>
  runPlan(withBackground(plan, parseCsv(text), 'b.csv'), { x: ROWS }, { outputs: OUTPUTS }).columns;

test('trees need a background set', async () => {
  const plan = await planOf(tree);
  const run = (outputs: readonly string[]): unknown => runPlan(plan, { x: ROWS }, { outputs });
  assert.throws(() => run(OUTPUTS), /impurityStats, which MLeap does not save.*explain_background/);
  assert.deepEqual(runPlan(plan, { x: ROWS }, { outputs: ['p', 'tree_margins'] }).columns, {
    p: [5, 2],
    tree_margins: [[5], [2]],
  });
  assert.deepEqual(explained(plan), {
    shap_values: [
      [3, 0],
      [0, 0],
    ],
    expected_value: [[2], [2]],
  });
});

test('a forest predicts the mean of its trees, a classifier shares of counts', async () => {
  const forest: NodeOf = {
    op: 'random_forest_regression',
    attributes: { num_features: long(2), trees: texts('tree0', 'tree1') },
    ...ports,
    files: { 'tree0/tree.json': stump([2], [5]), 'tree1/tree.json': stump([0], [1]) },
  };
  assert.deepEqual(explained(await planOf(forest))['shap_values'], [
    [2, 0],
    [0, 0],
  ]);
  const classifier: NodeOf = {
    op: 'decision_tree_classifier',
    attributes: { num_features: long(2), num_classes: long(2) },
    inputs: { features: 'x' },
    outputs: { prediction: 'p', probability: 'q', raw_prediction: 'r' },
    files: { 'nodes.json': stump([3, 1], [0, 8]) },
  };
  const plan = await planOf(classifier);
  assert.deepEqual(explained(plan), {
    shap_values: [
      [-0.75, 0.75, 0, 0],
      [0, 0, 0, 0],
    ],
    expected_value: [
      [0.75, 0.25],
      [0.75, 0.25],
    ],
  });
  assert.deepEqual(runPlan(plan, { x: ROWS }, { outputs: ['q'] }).columns['q'], [
    [0, 1],
    [0.75, 0.25],
  ]);
});

test('linear models', async () => {
  const regression: NodeOf = {
    op: 'linear_regression',
    attributes: { coefficients: vector(3, 2), intercept: double(0.5) },
    ...ports,
  };
  assert.deepEqual(explained(await planOf(regression), 'x\n"[0,1]"\n"[1,3]"\n'), {
    shap_values: [
      [1.5, -2],
      [-1.5, -2],
    ],
    expected_value: [[6], [6]],
  });
});

test("XGBoost's boosters have the values of the booster alone", async () => {
  const bytes = jsonOf(documentOf({ trees: [{ ...TREE, sum_hessian: [8, 6, 2, 3, 3] }] }));
  const plan = await planOf({
    op: 'xgboost.regression',
    attributes: { num_features: { int: 2 }, tree_limit: {} },
    ...ports,
    files: { 'xgboost.model': bytes },
  });
  const booster = importBytes(bytes, 'model.json').plan;
  const fields = booster.fields.map(
    ({ name }, i) => [name, { type: 'float', values: ROWS.map((row) => row[i]) }] as const,
  );
  const wanted = runPlan(booster, Object.fromEntries(fields), { outputs: OUTPUTS }).columns;
  assert.deepEqual(runPlan(plan, { x: ROWS }, { outputs: OUTPUTS }).columns, wanted);
});

test('vectors of a background set have one length', async () => {
  const plan = await planOf(tree);
  const refused = (text: string, message: RegExp): void => {
    assert.throws(() => withBackground(plan, parseCsv(text), 'b.csv'), message);
  };
  refused('x\n"[0]"\n', /row 0, column 'x': expected a list of 2 numbers, got "\[0\]"/);
  refused('x\n"[0,1]"\nno\n', /row 1, column 'x': expected a list of 2 numbers, got "no"/);
});
