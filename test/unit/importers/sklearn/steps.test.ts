// Steps of scikit-learn models that are refused, bounded or answer at the edge of their function.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importSklearnParts } from '../../../../ts/importers/sklearn/index.js';
import { runPlan } from '../plan/run-plan.js';
import { type Json, json, list, logistic, node, object, pipeline, SkopsWriter } from './files.js';

const refused = (writer: SkopsWriter, root: Json, expected: RegExp): Promise<void> =>
  assert.rejects(importSklearnParts('m.skops', writer.file(root)), expected);

const ridgeOf = (writer: SkopsWriter, kind: string): Json =>
  object('RidgeClassifier', {
    coef_: writer.reals([1, 2], [1, 2]),
    intercept_: writer.reals([0]),
    n_features_in_: json(2),
    _label_binarizer: object('LabelBinarizer', {
      classes_: writer.integers([0, 1]),
      y_type_: json(kind),
    }),
  });

test('a classifier of several labels at once is refused', async () => {
  const good = new SkopsWriter();
  await importSklearnParts('m.skops', good.file(ridgeOf(good, 'binary')));
  const writer = new SkopsWriter();
  const root = ridgeOf(writer, 'multilabel-indicator');
  await refused(writer, root, /_label_binarizer: labels of the kind multilabel-indicator/);
});

test('columns that double at each step are refused', async () => {
  const writer = new SkopsWriter();
  const union = (): Json =>
    object('FeatureUnion', {
      transformer_list: list(
        list(json('a'), json('passthrough')),
        list(json('b'), json('passthrough')),
      ),
    });
  const unions = Array.from({ length: 40 }, (_, i) => [`s${i}`, union()] as const);
  const first = object('StandardScaler', {
    ...{ with_mean: json(false), with_std: json(false), n_features_in_: json(1) },
  });
  const root = pipeline(['first', first], ...unions, ['model', logistic(writer)]);
  await refused(writer, root, /steps\[21\] 's20': makes \d+ columns: expected at most/);
});

test('products of more features than there are end at once', async () => {
  const writer = new SkopsWriter();
  const root = object('PolynomialFeatures', {
    ...{ _min_degree: json(1), _max_degree: json(64), interaction_only: json(true) },
    ...{ include_bias: json(true), n_features_in_: json(63) },
  });
  await refused(writer, root, /more than 100000 products/);
});

test('a constant imputer leaves out columns that were empty in training', async () => {
  const writer = new SkopsWriter();
  const imputer = object('SimpleImputer', {
    statistics_: writer.reals([Number.NaN, 7]),
    ...{ strategy: json('constant'), missing_values: json('NaN'), add_indicator: json(false) },
    n_features_in_: json(2),
  });
  const { plan } = await importSklearnParts('m.skops', writer.file(imputer));
  const values = { type: 'double', values: [Number.NaN, 2] } as const;
  const { columns } = runPlan(plan, { x0: values, x1: values });
  assert.deepEqual(columns['transform'], [[7], [2]]);
});

test('logarithms are -infinity at their pole, as in NumPy', async () => {
  const writer = new SkopsWriter();
  const func = { ...node('log1p', 'numpy', 'FunctionNode') };
  const root = object('FunctionTransformer', { func, n_features_in_: json(1) });
  const { plan } = await importSklearnParts('m.skops', writer.file(root));
  const { columns } = runPlan(plan, { x0: { type: 'double', values: [-1, 0] } });
  assert.deepEqual(columns['transform'], [[-Infinity], [0]]);
});

/** The count of features that SelectFromModel keeps. */
async function kept(
  name: string,
  coefficients: readonly number[],
  more: (w: SkopsWriter) => Json,
): Promise<number | undefined> {
  const writer = new SkopsWriter();
  const estimator = object(name, { coef_: writer.reals(coefficients), ...more(writer) });
  const root = object('SelectFromModel', {
    ...{ estimator_: estimator, importance_getter: json('auto'), norm_order: json(1) },
    ...{ threshold: json(null), max_features: json(null) },
    n_features_in_: json(coefficients.length),
  });
  const { plan } = await importSklearnParts('m.skops', writer.file(root));
  const given = plan.fields.map((field) => [field.name, { type: 'double', values: [1] }] as const);
  const { columns } = runPlan(plan, Object.fromEntries(given));
  return (columns['transform'] as readonly (readonly number[])[])[0]?.length;
}

test('SelectFromModel sums a mean in the order of NumPy', async () => {
  // Added one after the other, these have a mean above all of them.
  for (const [value, count] of [
    [0.7, 10],
    [0.3, 100],
    [0.1, 300],
    [0.7, 1000],
  ] as const) {
    const coefficients = new Array<number>(count).fill(value);
    assert.equal(await kept('Ridge', coefficients, () => ({})), count, `${count} of ${value}`);
  }
});

test('SelectFromModel has the least threshold by the rules of the release', async () => {
  const one = (name: string) => (): Json => ({ [name]: json(1) });
  const ratios = (...values: readonly number[]) => {
    return (w: SkopsWriter): Json => ({ l1_ratio_: w.reals(values) });
  };
  const cases = [
    ['LogisticRegressionCV', '1.9.1', ratios(1, 1, 1), 2],
    ['LogisticRegressionCV', '1.8.0', one('l1_ratio_'), 2],
    ['LogisticRegressionCV', '1.9.1', ratios(1, 0.5, 1), 1],
    ['LogisticRegressionCV', '1.9.1', one('l1_ratio'), 1],
    ['LogisticRegressionCV', '1.7.2', ratios(1, 1, 1), 1],
    ['LogisticRegressionCV', '1.5.2', (): Json => ({ penalty: json('l1') }), 2],
    ['LogisticRegression', '1.9.1', one('l1_ratio'), 2],
    ['LogisticRegression', '1.7.2', one('l1_ratio'), 1],
    ['ElasticNet', '1.9.1', one('l1_ratio'), 2],
    ['ElasticNet', '1.6.1', one('l1_ratio'), 2],
    ['ElasticNetCV', '1.9.1', one('l1_ratio_'), 2],
    ['ElasticNetCV', '1.9.1', one('l1_ratio'), 1],
    ['MultiTaskElasticNet', '1.6.1', one('l1_ratio'), 2],
    ['MultiTaskElasticNet', '1.7.2', one('l1_ratio'), 1],
  ] as const;
  for (const [name, version, more, expected] of cases) {
    const stated = (w: SkopsWriter): Json => ({ _sklearn_version: json(version), ...more(w) });
    assert.equal(await kept(name, [0.1, 1], stated), expected, `${name} ${version}`);
  }
});
