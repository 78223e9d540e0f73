// Networks, kernel machines, neighbors and ensembles of scikit-learn whose parts do not fit each
// other: the error names the part.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importSklearnParts } from '../../../../ts/importers/sklearn/index.js';
import { runPlan } from '../plan/run-plan.js';
import {
  dict,
  type Json,
  json,
  list,
  logistic,
  object,
  objects,
  SkopsWriter,
  treeOf,
} from './files.js';

type Attributes = (writer: SkopsWriter) => Json;

/** Loads an estimator of two features with these attributes. */
async function load(name: string, attributes: Attributes): ReturnType<typeof importSklearnParts> {
  const writer = new SkopsWriter();
  const content = { n_features_in_: json(2), ...attributes(writer) };
  return importSklearnParts('model.skops', writer.file(object(name, content)));
}

async function refused(name: string, attributes: Attributes, why: RegExp): Promise<void> {
  await assert.rejects(load(name, attributes), why);
}

const pair = objects(json('no'), json('yes'));

const network = (writer: SkopsWriter, more: Json = {}): Json => ({
  activation: json('relu'),
  out_activation_: json('logistic'),
  classes_: pair,
  _label_binarizer: object('LabelBinarizer', { y_type_: json('binary') }),
  coefs_: list(writer.reals([1, -1, 0, 2], [2, 2]), writer.reals([1, 1], [2, 1])),
  intercepts_: list(writer.reals([0, 1]), writer.reals([-1])),
  ...more,
});

test('a network', async () => {
  const { plan } = await load('MLPClassifier', (writer) => network(writer));
  const x = [1, 3].map((value) => ({ type: 'double', values: [value] }) as const);
  const outputs = ['predict', 'predict_proba'];
  const { columns } = runPlan(plan, { x0: x[0], x1: x[1] } as never, { outputs });
  // max(1, 0) + max(-1 + 6 + 1, 0) - 1
  const [[none, yes] = []] = columns['predict_proba'] as readonly (readonly number[])[];
  assert.ok(Math.abs((yes ?? 0) - 1 / (1 + Math.exp(-6))) < 1e-15);
  assert.ok(Math.abs((none ?? 0) + (yes ?? 0) - 1) < 1e-15);
  assert.deepEqual(columns['predict'], ['yes']);
});

test('layers that do not fit each other', async () => {
  const of = (more: Attributes, why: RegExp): Promise<void> =>
    refused('MLPClassifier', (writer) => network(writer, more(writer)), why);
  await of((w) => ({ coefs_: list(w.reals([1, 2, 3], [3, 1])) }), /1 coefs_ and 2 intercepts_/);
  await of(
    (w) => ({ coefs_: list(w.reals([1, 2, 3, 4, 5, 6], [3, 2]), w.reals([1, 1], [2, 1])) }),
    /coefs_\[0\]: expected an array of shape \[2, n\], got \[3, 2\]/,
  );
  await of(
    (w) => ({ intercepts_: list(w.reals([0]), w.reals([0])) }),
    /intercepts_\[0\]: expected an array of shape \[2\], got \[1\]/,
  );
  await of(
    (w) => ({
      coefs_: list(w.reals([1, -1, 0, 2], [2, 2]), w.reals([1, 1, 1, 1], [2, 2])),
      intercepts_: list(w.reals([0, 1]), w.reals([0, 1])),
    }),
    /coefs_: expected 1 outputs, got 2/,
  );
  await of(() => ({ activation: json('softplus') }), /activation: expected one of .*'softplus'/);
  await of(() => ({ out_activation_: json('softmax') }), /expected logistic, got 'softmax'/);
});

const machine = (writer: SkopsWriter, more: Json = {}): Json => ({
  kernel: json('rbf'),
  _gamma: json(0.5),
  coef0: json(0),
  degree: json(3),
  classes_: pair,
  support_vectors_: writer.reals([0, 0, 1, 1], [2, 2]),
  _n_support: writer.integers([1, 1]),
  _dual_coef_: writer.reals([1, -1], [1, 2]),
  _intercept_: writer.reals([0]),
  decision_function_shape: json('ovr'),
  ...more,
});

test('a kernel machine', async () => {
  const { plan } = await load('SVC', (writer) => machine(writer));
  const outputs = ['predict', 'decision_function'];
  const rows = { type: 'double', values: [0, 1, 0.5] } as const;
  const { columns } = runPlan(plan, { x0: rows, x1: rows }, { outputs });
  const far = 1 - Math.exp(-1);
  const [first = 0, second = 0, tie = 1] = columns['decision_function'] as readonly number[];
  assert.ok(Math.abs(first + far) < 1e-15 && Math.abs(second - far) < 1e-15 && tie === 0);
  // libsvm chooses the second class at 0.
  assert.deepEqual(columns['predict'], ['no', 'yes', 'yes']);
});

test('machines of too many classes are refused before their pairs are made', async () => {
  const classes = 4000;
  const pairs = (classes * (classes - 1)) / 2;
  const many = (intercepts: number): Attributes => {
    const counts = Array.from({ length: classes }, (_, k) => (k === 0 ? 1 : 0));
    return (w) =>
      machine(w, {
        classes_: w.integers([...counts.keys()]),
        support_vectors_: w.reals([0, 0], [1, 2]),
        _n_support: w.integers(counts),
        _dual_coef_: w.reals(
          Array.from({ length: classes - 1 }, () => 1),
          [classes - 1, 1],
        ),
        _intercept_: w.reals(Array.from({ length: intercepts }, () => 0)),
      });
  };
  await refused('SVC', many(3), /_intercept_: .*\[7998000\], got \[3\]/);
  await refused('SVC', many(pairs), /4000 classes with 1 support vectors are not supported/);
});

test('machines whose parts do not fit each other', async () => {
  const of = (more: Attributes, why: RegExp): Promise<void> =>
    refused('SVC', (writer) => machine(writer, more(writer)), why);
  await of(
    (w) => ({ support_vectors_: w.reals([0, 0, 1], [1, 3]) }),
    /support_vectors_: expected an array of shape \[n, 2\], got \[1, 3\]/,
  );
  await of((w) => ({ _n_support: w.integers([1, 2]) }), /_n_support: expected counts of 2 .*got 3/);
  await of((w) => ({ _n_support: w.integers([3, -1]) }), /_n_support: expected counts of 2/);
  await of((w) => ({ _dual_coef_: w.reals([1], [1, 1]) }), /_dual_coef_: .*\[1, 2\], got \[1, 1\]/);
  await of((w) => ({ _intercept_: w.reals([1, 2]) }), /_intercept_: .*\[1\], got \[2\]/);
  await of(() => ({ kernel: json('precomputed') }), /kernel: 'precomputed' is not supported/);
  await of(() => ({ kernel: object('f', {}) }), /kernel: a function is not supported/);
  await of(() => ({ _sparse: json(true) }), /fitted on a sparse matrix/);
  await of(
    (w) => ({ probability: json(true), _probA: w.reals([]), _probB: w.reals([]) }),
    /_probA: expected an array of shape \[1\], got \[0\]/,
  );
});

const near = (writer: SkopsWriter, more: Json = {}): Json => ({
  _fit_X: writer.reals([0, 0, 1, 1, 4, 4], [3, 2]),
  _y: writer.reals([1, 2, 6]),
  n_neighbors: json(2),
  weights: json('distance'),
  effective_metric_: json('euclidean'),
  effective_metric_params_: dict({}),
  ...more,
});

test('neighbors: a row at distance 0 has all the weight', async () => {
  const { plan } = await load('KNeighborsRegressor', (writer) => near(writer));
  const rows = { type: 'double', values: [1, 3, -1] } as const;
  const { columns } = runPlan(plan, { x0: rows, x1: rows }, {});
  const [hit, far, low] = columns['predict'] as readonly number[];
  assert.equal(hit, 2);
  assert.ok(Math.abs((far ?? 0) - (6 / 1 + 2 / 2) / (1 + 1 / 2)) < 1e-14);
  assert.ok(Math.abs((low ?? 0) - (1 / 1 + 2 / 2) / (1 + 1 / 2)) < 1e-14);
});

test('neighbors whose parts do not fit each other', async () => {
  const of = (more: Attributes, why: RegExp): Promise<void> =>
    refused('KNeighborsRegressor', (writer) => near(writer, more(writer)), why);
  await of((w) => ({ _fit_X: w.reals([1, 2, 3], [3, 1]) }), /_fit_X: .*\[n, 2\], got \[3, 1\]/);
  await of((w) => ({ _y: w.reals([1]) }), /_y: expected an array of shape \[3\], got \[1\]/);
  await of(() => ({ n_neighbors: json(4) }), /n_neighbors: expected at most the 3 rows, got 4/);
  await of(() => ({ effective_metric_: json('cosine') }), /'cosine' is not supported/);
  await of(
    (w) => ({ effective_metric_params_: dict({ w: w.reals([1, 2]) }) }),
    /the parameter 'w' is not supported/,
  );
  await of(() => ({ weights: object('f', {}) }), /weights: a function is not supported/);
  const classes: Attributes = (w) => near(w, { classes_: pair, _y: w.integers([0, 1, 2]) });
  await refused('KNeighborsClassifier', classes, /_y\[2\]: expected a class from 0 to 1, got 2/);
});

const voters = (w: SkopsWriter, more: Json): Json => ({
  estimators_: list(logistic(w), logistic(w)),
  classes_: pair,
  voting: json('soft'),
  ...more,
});

test('weights of votes that do not fit the members', async () => {
  const member = (estimator: string): Json => list(json('a'), json(estimator));
  const of = (more: Attributes, why: RegExp): Promise<void> =>
    refused('VotingClassifier', (w) => voters(w, more(w)), why);
  const all = list(member('drop'), member('x'), member('y'));
  await of((w) => ({ weights: w.reals([1, -1]) }), /weights: expected a sum other than 0/);
  await of((w) => ({ estimators: all, weights: w.reals([1]) }), /expected 3 weights, got 1/);
  await of(
    (w) => ({ estimators: list(member('x')), weights: w.reals([1]) }),
    /weights: expected weights of 2 members, got 1/,
  );
});

test('hard votes have weights of any sum', async () => {
  const { plan } = await load('VotingClassifier', (w) =>
    voters(w, { voting: json('hard'), weights: w.reals([1, -1]) }),
  );
  const rows = { type: 'double', values: [1] } as const;
  const { columns } = runPlan(plan, { x0: rows, x1: rows }, { outputs: ['predict'] });
  // Both vote for the second class: 0 and 1 - 1.
  assert.deepEqual(columns['predict'], ['no']);
});

test('AdaBoost refuses missing values that its trees would accept', async () => {
  const boosted = (w: SkopsWriter): Json => ({
    n_features_in_: json(1),
    estimators_: list(treeOf(w, [1, 2])),
    estimator_weights_: w.reals([1]),
  });
  const { plan } = await load('AdaBoostRegressor', boosted);
  const given = (value: number): Parameters<typeof runPlan>[1] => ({
    x0: { type: 'double', values: [value] },
  });
  assert.deepEqual(runPlan(plan, given(1), {}).columns['predict'], [2]);
  assert.throws(() => runPlan(plan, given(Number.NaN), {}), /NaN|missing/);
});

test('ensembles whose parts do not fit each other', async () => {
  const members = (writer: SkopsWriter): Json => list(logistic(writer), logistic(writer));
  await refused(
    'AdaBoostClassifier',
    (w) => ({ estimators_: members(w), classes_: pair, estimator_weights_: w.reals([1]) }),
    /estimator_weights_: expected 2 weights or more, got 1/,
  );
  await refused(
    'AdaBoostClassifier',
    (w) => ({
      estimators_: members(w),
      classes_: objects(json('a'), json('b')),
      estimator_weights_: w.reals([1, 1]),
    }),
    /classes_: expected classes of the ensemble/,
  );
  await refused(
    'AdaBoostClassifier',
    (w) => ({ estimators_: members(w), classes_: pair, algorithm: json('SAMME.R') }),
    /SAMME\.R/,
  );
  const bagging = (w: SkopsWriter, features: Json): Json => ({
    estimators_: members(w),
    estimators_features_: features,
    classes_: pair,
  });
  await refused(
    'BaggingClassifier',
    (w) => bagging(w, list(w.integers([0, 1]))),
    /estimators_features_: expected 2 lists, got 1/,
  );
  await refused(
    'BaggingClassifier',
    (w) => bagging(w, list(w.integers([0, 2]), w.integers([0, 1]))),
    /there is no feature 2/,
  );
  await refused(
    'StackingRegressor',
    (w) => ({ estimators_: members(w), stack_method_: list(json('predict')) }),
    /stack_method_: expected 2 names, got 1/,
  );
  await refused(
    'StackingRegressor',
    (w) => ({
      estimators_: members(w),
      stack_method_: list(json('predict'), json('predict')),
      passthrough: json(false),
    }),
    /predict\(\) of LogisticRegression is not supported in a stack/,
  );
});
