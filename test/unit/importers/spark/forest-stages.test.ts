// Spark's trees, forests and boosted trees, and one-vs-rest classifiers, run by the engine. Values
// are by hand from the models' own formulas. Source: tabular.md 5.1 to 5.3
import { describe, test } from 'node:test';
import { answers, refusesRow, vectors } from './support/answers.js';
import { refuses } from './support/lowered.js';
import { pipeline, type StageSketch } from './support/model.js';
import { assembler, ensemble, logistic, type NodeSketch, tree } from './support/stages.js';

const leaf = (prediction: number, ...stats: number[]): NodeSketch => ({ prediction, stats });
const stump = (threshold: number, left: NodeSketch, right: NodeSketch): NodeSketch => ({
  ...leaf(0, 1, 1),
  split: [0, threshold],
  left,
  right,
});
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const CLASSES = { numFeatures: 2, numClasses: 2 };
const features = { features: vectors([1, 0], [2, 1]) };

describe('trees', () => {
  const classifier = stump(1, leaf(0, 3, 1), leaf(1, 1, 4));

  test('DecisionTreeClassificationModel', async () => {
    const name = 'classification.DecisionTreeClassificationModel';
    await answers(tree(name, classifier, CLASSES, { leafCol: 'leaf' }), features, {
      rawPrediction: [
        [3, 1],
        [1, 4],
      ],
      probability: [
        [0.75, 0.25],
        [0.2, 0.8],
      ],
      prediction: [0, 1],
      leaf: [0, 1],
    });
    const thresholds = { thresholds: [0.9, 0.1] };
    await answers(tree(name, classifier, CLASSES, thresholds), features, { prediction: [1, 1] });
    await refuses(
      tree(name, classifier, { ...CLASSES, numClasses: 3 }),
      /a leaf with counts of 3 classes, got 2/,
    );
    await refuses(tree(name, classifier, {}), /numFeatures is nothing: expected a number/);
  });

  test('DecisionTreeRegressionModel, with the variance', async () => {
    const name = 'regression.DecisionTreeRegressionModel';
    const root = stump(1, leaf(2.5, 4, 10, 27), leaf(-1, 1, -1, 1));
    await answers(tree(name, root, { numFeatures: 2 }, { varianceCol: 'v' }), features, {
      prediction: [2.5, -1],
      v: [0.5, 0],
    });
    await refusesRow(tree(name, root, { numFeatures: 2 }), { features: vectors([]) }, /dt_1/);
  });

  test('categories: what is in neither half goes left where the right one is smaller', async () => {
    const name = 'regression.DecisionTreeRegressionModel';
    const by = (categories: readonly number[]): NodeSketch => ({
      ...leaf(0),
      split: [1, categories, 4],
      left: leaf(10),
      right: leaf(20),
    });
    const values = { features: vectors([0, 0], [0, 1], [0, 3], [0, 7]) };
    const extra = { numFeatures: 2 };
    await answers(tree(name, by([0]), extra), values, { prediction: [10, 20, 20, 20] });
    await answers(tree(name, by([0, 1, 2]), extra), values, { prediction: [10, 10, 20, 10] });
    const nan = { features: vectors([0, Number.NaN]) };
    await answers(tree(name, by([0, 1, 2]), extra), nan, { prediction: [10] });
    await answers(
      tree(name, stump(1, leaf(1), leaf(2)), extra),
      {
        features: vectors([Number.NaN, 0]),
      },
      { prediction: [2] },
    );
  });

  test('RandomForestClassificationModel: each tree has one vote to share', async () => {
    const other = stump(1.5, leaf(0, 0, 0), leaf(1, 10, 30));
    const roots = [classifier, other];
    const name = 'classification.RandomForestClassificationModel';
    const expected = {
      rawPrediction: [
        [0.75, 0.25],
        [0.45, 1.55],
      ],
      probability: [
        [0.75, 0.25],
        [0.225, 0.775],
      ],
      prediction: [0, 1],
    };
    await answers(ensemble(name, roots, [1, 1], CLASSES), features, expected);
    const spark4 = ensemble(name, roots, [1, 1], CLASSES, ['_1', '_2', '_3']);
    await answers(spark4, features, expected);
  });

  test('RandomForestRegressionModel and GBTRegressionModel', async () => {
    const roots = [stump(1, leaf(1), leaf(3)), stump(1, leaf(2), leaf(8))];
    const extra = { numFeatures: 2 };
    await answers(
      ensemble('regression.RandomForestRegressionModel', roots, [1, 1], extra),
      features,
      { prediction: [1.5, 5.5] },
    );
    const boosted = ensemble('regression.GBTRegressionModel', roots, [1, 0.1], extra);
    await answers(boosted, features, { prediction: [1.2, 3.8] });
    await answers({ ...boosted, params: { leafCol: 'leaves' } }, features, {
      leaves: [
        [0, 0],
        [1, 1],
      ],
    });
  });

  test('GBTClassificationModel', async () => {
    const roots = [stump(1, leaf(-1), leaf(1)), stump(1, leaf(0.5), leaf(0.25))];
    const boosted = ensemble('classification.GBTClassificationModel', roots, [1, 0.5], {
      numFeatures: 2,
    });
    await answers(boosted, features, {
      rawPrediction: [
        [0.75, -0.75],
        [-1.125, 1.125],
      ],
      probability: [
        [sigmoid(1.5), 1 - sigmoid(1.5)],
        [1 - sigmoid(2.25), sigmoid(2.25)],
      ],
      prediction: [0, 1],
    });
  });

  test('trees that are not all there', async () => {
    const name = 'regression.GBTRegressionModel';
    const two = ensemble(name, [leaf(1), leaf(2)], [1, 1], { numFeatures: 1 });
    const { treesMetadata, data } = two.tables ?? {};
    if (treesMetadata === undefined || data === undefined) throw new Error('no tables');
    const rows = treesMetadata.rows.slice(1);
    await refuses(
      { ...two, tables: { data, treesMetadata: { ...treesMetadata, rows } } },
      /treesMetadata: expected trees numbered from 0/,
    );
    await refuses(
      { ...two, tables: { treesMetadata, data: { ...data, rows: data.rows.slice(1) } } },
      /data: tree 0: node 0 is missing/,
    );
    await refuses({ ...two, tables: { data } }, /treesMetadata is missing/);
  });
});

describe('OneVsRestModel', () => {
  const children = {
    model_0: logistic([1, 0], 0),
    model_1: logistic([0, 1], 0.25, { featuresCol: 'elsewhere' }),
    model_2: tree(
      'classification.DecisionTreeClassificationModel',
      stump(1, leaf(0, 1, 0), leaf(1, 0, 9)),
      CLASSES,
    ),
  };
  const labels = JSON.stringify({ ml_attr: { vals: ['x', 'y', 'z'], type: 'nominal' } });
  const oneVsRest: StageSketch = {
    class: 'classification.OneVsRestModel',
    uid: 'ovr',
    params: { featuresCol: 'features', rawPredictionCol: 'raw' },
    extra: { numClasses: 3, labelMetadata: labels },
    children,
  };

  test('the surest model is right', async () => {
    await answers(
      oneVsRest,
      { features: vectors([1, 3], [0.5, -1], [2, 0]) },
      {
        raw: [
          [1, 3.25, 0],
          [0.5, -0.75, 0],
          [2, 0.25, 9],
        ],
        prediction: [1, 0, 2],
      },
    );
  });

  test('by Python, in a pipeline, with the names of its classes', async () => {
    const python: StageSketch = {
      ...oneVsRest,
      class: 'pyspark.ml.classification.OneVsRestModel',
      extra: { labelMetadata: labels },
    };
    const names: StageSketch = {
      class: 'feature.IndexToString',
      uid: 'names',
      params: { inputCol: 'prediction', outputCol: 'answer' },
    };
    const model = pipeline(assembler(['a', 'b']), python, names);
    const columns = { a: [2], b: [0] };
    await answers(model, columns, { prediction: [2], answer: ['z'] });
  });

  test('without its models, or with such that give no scores', async () => {
    await refuses({ ...oneVsRest, children: {} }, /model_0 has no metadata\/part-\* file/);
    await refuses({ ...oneVsRest, extra: { numClasses: 0 } }, /0 classes/);
    await refuses({ ...oneVsRest, extra: { numClasses: 1e9 } }, /1000000000 classes/);
    const other: StageSketch = { class: 'clustering.KMeansModel', uid: 'KMeans_1' };
    await refuses(
      { ...oneVsRest, children: { ...children, model_1: other } },
      /stage|model 'ovr'/,
      /data is missing/,
    );
  });
});
