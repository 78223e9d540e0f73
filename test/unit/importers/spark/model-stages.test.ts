// Spark's models, each as several versions of Spark save it, run by the engine. Values are by hand
// from the models' own formulas. Source: tabular.md 5.2, 5.3, 10
import { describe, test } from 'node:test';
import { answers, doubles, ints, refusesRow, vectors, words } from './support/answers.js';
import { refuses } from './support/lowered.js';
import { pipeline, type StageSketch } from './support/model.js';
import { dense, MATRIX, type Row, type Shape, VECTOR } from './support/parquet.js';
import { assembler, linear, logistic } from './support/stages.js';

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const softmax = (scores: readonly number[]): number[] => {
  const powers = scores.map((score) => Math.exp(score));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
};

const model = (
  name: string,
  columns: Readonly<Record<string, Shape>>,
  row: Row,
  params: Row = {},
  version = '3.5.5',
): StageSketch => ({
  class: name,
  uid: 'model_1',
  params,
  version,
  tables: { data: { columns, rows: [row] } },
});
const matrix = (rows: number, columns: number, ...values: number[]) => ({
  type: 1,
  numRows: rows,
  numCols: columns,
  values,
  isTransposed: true,
});
const COEFFICIENTS = { intercept: 'double', coefficients: VECTOR } as const;

describe('linear models', () => {
  test('LinearRegressionModel', async () => {
    await answers(linear([2, -1], 0.5), { features: vectors([3, 4]) }, { prediction: [2.5] });
    await refusesRow(linear([2, -1], 0.5), { features: vectors([3]) }, /LinearRegression_1.*row 0/);
    const other = linear([2], 0, { featuresCol: 'v', predictionCol: 'p' });
    await answers(pipeline(assembler(['a'], 'v'), other), { a: doubles(3) }, { p: [6] });
  });

  test('LogisticRegressionModel of two classes', async () => {
    const features = { features: vectors([1], [-1]) };
    await answers(logistic([2], 0.5), features, {
      rawPrediction: [
        [-2.5, 2.5],
        [1.5, -1.5],
      ],
      probability: [
        [1 - sigmoid(2.5), sigmoid(2.5)],
        [sigmoid(1.5), 1 - sigmoid(1.5)],
      ],
      prediction: [1, 0],
    });
    const high = logistic([2], 0.5, { threshold: 0.95 });
    await answers(high, features, { prediction: [0, 0] });
    const low = logistic([2], 0.5, { thresholds: [0.9, 0.1] });
    await answers(low, features, { prediction: [1, 1] });
    await refuses(
      logistic([2], 0, { thresholds: [1, 1, 1] }),
      /thresholds: expected 2, one for each class, got 3/,
    );
  });

  test('LogisticRegressionModel of three classes, and of Spark 2.0', async () => {
    const columns = {
      numClasses: 'int',
      numFeatures: 'int',
      interceptVector: VECTOR,
      coefficientMatrix: MATRIX,
      isMultinomial: 'boolean',
    } as const;
    const row = {
      numClasses: 3,
      numFeatures: 2,
      interceptVector: dense(0, 0.5, -0.5),
      coefficientMatrix: matrix(3, 2, 1, 0, 0, 1, -1, -1),
      isMultinomial: true,
    };
    const name = 'classification.LogisticRegressionModel';
    const scores = [1, 2.5, -3.5];
    const features = { features: vectors([1, 2]) };
    await answers(model(name, columns, row), features, {
      rawPrediction: [scores],
      probability: [softmax(scores)],
      prediction: [1],
    });
    const thresholds = model(name, columns, row, { thresholds: [0.1, 0.8, 0.1] });
    await answers(thresholds, features, { prediction: [0] });
    const old = model(
      name,
      { numClasses: 'int', numFeatures: 'int', ...COEFFICIENTS },
      { numClasses: 2, numFeatures: 1, intercept: 0.5, coefficients: dense(2) },
      {},
      '2.0.2',
    );
    await answers(old, { features: vectors([1]) }, { rawPrediction: [[-2.5, 2.5]] });
    const wrong = { ...row, interceptVector: dense(0) };
    await refuses(
      model(name, columns, wrong),
      /expected equal counts, got 3 in coefficientMatrix and 1 in interceptVector/,
    );
  });

  test('LinearSVCModel', async () => {
    const row = { intercept: 1, coefficients: dense(1) };
    const svc = (params: Row) => model('classification.LinearSVCModel', COEFFICIENTS, row, params);
    const features = { features: vectors([0], [-1], [-2]) };
    await answers(svc({}), features, {
      rawPrediction: [
        [-1, 1],
        [0, 0],
        [1, -1],
      ],
      prediction: [1, 0, 0],
    });
    await answers(svc({ threshold: -2 }), features, { prediction: [1, 1, 1] });
  });

  test('GeneralizedLinearRegressionModel: families and links', async () => {
    const eta = 0.75;
    const glm = (params: Row) =>
      model(
        'regression.GeneralizedLinearRegressionModel',
        COEFFICIENTS,
        { intercept: 0.25, coefficients: dense(0.5) },
        params,
      );
    const features = { features: vectors([1]) };
    const cases: [Row, number][] = [
      [{}, eta],
      [{ family: 'Binomial' }, sigmoid(eta)],
      [{ family: 'binomial', link: 'cloglog' }, 1 - Math.exp(-Math.exp(eta))],
      [{ family: 'poisson' }, Math.exp(eta)],
      [{ family: 'poisson', link: 'sqrt' }, eta * eta],
      [{ family: 'gamma' }, 1 / eta],
      [{ family: 'gaussian', link: 'log' }, Math.exp(eta)],
      [{ family: 'tweedie' }, eta],
      [{ family: 'tweedie', variancePower: 1 }, Math.exp(eta)],
      [{ family: 'tweedie', variancePower: 1.5 }, eta ** -2],
      [{ family: 'tweedie', variancePower: 1.5, linkPower: 0 }, Math.exp(eta)],
      [{ family: 'tweedie', variancePower: 1.5, linkPower: 0.25 }, eta ** 4],
      [{ family: 'tweedie', variancePower: 1.5, linkPower: -1 }, 1 / eta],
    ];
    for (const [params, prediction] of cases) {
      await answers(glm({ ...params, linkPredictionCol: 'eta' }), features, {
        prediction: [prediction],
        eta: [eta],
      });
    }
    await answers(
      glm({ family: 'poisson', offsetCol: 'o' }),
      { ...features, o: doubles(1) },
      { prediction: [Math.exp(eta + 1)] },
    );
    await refuses(
      glm({ family: 'weibull' }),
      /parameter family: expected one of gau.*, got 'weibull'/,
    );
  });

  test('AFTSurvivalRegressionModel', async () => {
    const aft = model(
      'regression.AFTSurvivalRegressionModel',
      { coefficients: VECTOR, intercept: 'double', scale: 'double' },
      { coefficients: dense(0.5), intercept: 1, scale: 2 },
      { quantileProbabilities: [0.25, 0.5], quantilesCol: 'quantiles' },
    );
    const lambda = Math.exp(2);
    const quantile = (p: number) => lambda * Math.exp(Math.log(-Math.log(1 - p)) * 2);
    await answers(
      aft,
      { features: vectors([2]) },
      {
        prediction: [lambda],
        quantiles: [[quantile(0.25), quantile(0.5)]],
      },
    );
  });

  test('IsotonicRegressionModel', async () => {
    const isotonic = model(
      'regression.IsotonicRegressionModel',
      { boundaries: { list: 'double' }, predictions: { list: 'double' }, isotonic: 'boolean' },
      { boundaries: [1, 3, 5], predictions: [10, 20, 20], isotonic: true },
      { featureIndex: 1 },
    );
    const features = vectors([0, 0], [0, 1], [0, 2], [0, 4], [0, 9]);
    await answers(isotonic, { features }, { prediction: [10, 10, 15, 20, 20] });
  });

  test('factorization machines', async () => {
    const columns = { intercept: 'double', linear: VECTOR, factors: MATRIX } as const;
    const row = { intercept: 1, linear: dense(1, 2), factors: matrix(2, 2, 1, 2, 3, 4) };
    // x1 x2 <(1, 2), (3, 4)> = 11
    const score = 1 + 1 + 4 + 2 * 11;
    const features = { features: vectors([1, 2]) };
    await answers(model('regression.FMRegressionModel', columns, row), features, {
      prediction: [score],
    });
    await answers(model('classification.FMClassificationModel', columns, row), features, {
      rawPrediction: [[-score, score]],
      prediction: [1],
    });
  });
});

describe('Bayes, perceptrons and clusters', () => {
  const BAYES = { pi: VECTOR, theta: MATRIX } as const;
  const logs = (...values: number[]) => values.map((value) => Math.log(value));

  test('NaiveBayesModel', async () => {
    const name = 'classification.NaiveBayesModel';
    const row = {
      pi: dense(...logs(0.5, 0.5)),
      theta: matrix(2, 2, ...logs(0.25, 0.75, 0.5, 0.5)),
    };
    const features = { features: vectors([2, 1]) };
    const raw = [
      Math.log(0.5) + 2 * Math.log(0.25) + Math.log(0.75),
      Math.log(0.5) + 3 * Math.log(0.5),
    ];
    await answers(model(name, BAYES, row, {}, '2.4.0'), features, {
      rawPrediction: [raw],
      probability: [softmax(raw)],
      prediction: [1],
    });
    await refusesRow(model(name, BAYES, row), { features: vectors([-1, 0]) }, /model_1.*row 0/);
    const bernoulli = model(name, BAYES, row, { modelType: 'bernoulli' });
    await answers(
      bernoulli,
      { features: vectors([1, 0]) },
      {
        rawPrediction: [[Math.log(0.5 * 0.25 * 0.25), Math.log(0.5 * 0.5 * 0.5)]],
      },
    );
    await refusesRow(bernoulli, features, /model_1.*row 0/);
    const gaussian = model(
      name,
      { ...BAYES, sigma: MATRIX },
      { ...row, theta: matrix(2, 2, 0, 0, 2, 1), sigma: matrix(2, 2, 1, 1, 1, 1) },
      { modelType: 'gaussian' },
    );
    await answers(gaussian, features, { prediction: [1] });
    await refuses(
      model(name, BAYES, { ...row, pi: dense(1) }),
      /got 2 rows in theta and 1 values in pi/,
    );
  });

  test('MultilayerPerceptronClassificationModel, of Spark 2 too', async () => {
    const name = 'classification.MultilayerPerceptronClassificationModel';
    // Two inputs, one hidden unit, two classes.
    const weights = dense(1, -1, 0.5, 2, -2, 0, 1);
    const hidden = sigmoid(3 - 1 + 0.5);
    const raw = [2 * hidden, -2 * hidden + 1];
    const expected = { rawPrediction: [raw], probability: [softmax(raw)], prediction: [0] };
    const features = { features: vectors([3, 1]) };
    const now = model(name, { weights: VECTOR }, { weights }, { layers: [2, 1, 2] });
    await answers(now, features, expected);
    const columns = { layers: { list: 'int' }, weights: VECTOR } as const;
    const old = model(name, columns, { layers: [2, 1, 2], weights }, {}, '2.3.0');
    await answers(old, features, expected);
    await refuses(
      model(name, { weights: VECTOR }, { weights }, { layers: [2] }),
      /layers: expected 2 or more, got 1/,
    );
    await refuses(model(name, { weights: VECTOR }, { weights }), /parameter layers is not in the/);
  });

  test('KMeansModel', async () => {
    const kMeans = (rows: Row[], params: Row = {}): StageSketch => ({
      class: 'clustering.KMeansModel',
      uid: 'KMeans_1',
      params,
      tables: {
        data: { columns: { clusterIdx: 'int', clusterCenter: VECTOR }, rows, parts: 2 },
      },
    });
    const center = (clusterIdx: number, ...values: number[]) => ({
      clusterIdx,
      clusterCenter: dense(...values),
    });
    const three = [center(2, 0, 9), center(0, 0, 0), center(1, 5, 0)];
    const features = { features: vectors([1, 0], [4, 1], [1, 8]) };
    await answers(kMeans(three), features, { prediction: [0, 1, 2] });
    const two = [center(0, 1, 0), center(1, 0, 1)];
    const cosine = { distanceMeasure: 'cosine', predictionCol: 'c' };
    await answers(kMeans(two, cosine), { features: vectors([1, 9], [50, 2]) }, { c: [1, 0] });
    await refuses(
      kMeans([center(1, 0), center(2, 1)]),
      /clusterIdx: expected numbers from 0 on without gaps/,
    );
    await refuses(
      kMeans([center(0, 0), center(1, 1, 2)]),
      /clusterCenter: expected 1 values each, got 2/,
    );
  });

  test('BisectingKMeansModel', async () => {
    const columns = {
      index: 'int',
      size: 'long',
      center: VECTOR,
      norm: 'double',
      cost: 'double',
      height: 'double',
      children: { list: 'int' },
    } as const;
    const row = (index: number, center: number, ...children: number[]) => ({
      index,
      size: 1,
      center: dense(center),
      norm: Math.abs(center),
      cost: 0,
      height: 0,
      children,
    });
    const tree = (rows: Row[]): StageSketch => ({
      class: 'clustering.BisectingKMeansModel',
      uid: 'bkm',
      tables: { 'data/data': { columns, rows } },
    });
    const rows = [row(0, -4), row(1, 3), row(2, 8), row(-2, 5, 1, 2), row(-1, 1, 0, -2)];
    const features = { features: vectors([-2], [4], [9]) };
    await answers(tree(rows), features, { prediction: [0, 1, 2] });
    await refuses(tree(rows.slice(0, 4)), /the clusters are not a tree/);
    await refuses(tree([...rows.slice(0, 4), row(-1, 1, 0, -2, -9)]), /cluster -9 is missing/);
  });

  test('GaussianMixtureModel', async () => {
    const mixture = model(
      'clustering.GaussianMixtureModel',
      { weights: { list: 'double' }, mus: { list: VECTOR }, sigmas: { list: MATRIX } },
      {
        weights: [0.25, 0.75],
        mus: [dense(0), dense(4)],
        sigmas: [matrix(1, 1, 1), matrix(1, 1, 4)],
      },
    );
    const density = (x: number, mean: number, variance: number) =>
      Math.exp((-(x - mean) * (x - mean)) / (2 * variance)) / Math.sqrt(2 * Math.PI * variance);
    const parts = [0.25 * density(1, 0, 1), 0.75 * density(1, 4, 4)] as const;
    const sum = parts[0] + parts[1];
    await answers(
      mixture,
      { features: vectors([1]) },
      {
        probability: [[parts[0] / sum, parts[1] / sum]],
        prediction: [parts[0] > parts[1] ? 0 : 1],
      },
    );
  });
});

describe('recommendations', () => {
  test('ALSModel', async () => {
    const factors = (rows: [number, number[]][]) => ({
      columns: { id: 'int', features: { list: 'float' } } as const,
      rows: rows.map(([id, features]) => ({ id, features })),
    });
    const als = (params: Row): StageSketch => ({
      class: 'recommendation.ALSModel',
      uid: 'ALS_1',
      params,
      tables: {
        userFactors: factors([
          [7, [1, 2]],
          [3, [0.5, 0]],
        ]),
        itemFactors: factors([[1, [4, 0.25]]]),
      },
    });
    const columns = { user: ints(7, 3), item: ints(1, 1) };
    await answers(als({}), columns, { prediction: [4.5, 2] });
    const named = als({ userCol: 'u', itemCol: 'i', predictionCol: 'p' });
    await answers(named, { u: ints(3), i: ints(1) }, { p: [2] });
    await answers(als({}), { user: ints(9), item: ints(1) }, { prediction: [Number.NaN] });
    await refusesRow(
      als({ coldStartStrategy: 'drop' }),
      { user: ints(9), item: ints(1) },
      /ALS_1.*row 0/,
    );
  });

  test('FPGrowthModel', async () => {
    const rows = [
      { items: ['a'], freq: 4 },
      { items: ['b'], freq: 3 },
      { items: ['b', 'a'], freq: 3 },
      { items: ['c'], freq: 2 },
      { items: ['c', 'a'], freq: 1 },
    ];
    const growth = (minConfidence: number): StageSketch => ({
      class: 'fpm.FPGrowthModel',
      uid: 'FPGrowth_1',
      params: { minConfidence },
      tables: { data: { columns: { items: { list: 'string' }, freq: 'long' }, rows } },
    });
    const items = { items: words(['b'], ['a'], ['a', 'b'], []) };
    await answers(growth(0.9), items, { prediction: [['a'], [], [], []] });
    await answers(growth(0.7), items, { prediction: [['a'], ['b'], [], []] });
  });
});
