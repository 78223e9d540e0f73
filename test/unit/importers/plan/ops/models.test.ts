// Regressions, clusters and recommendations, with the results of Spark and MLeap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column } from '../../../../../ts/importers/plan/builder.js';
import { symmetricEigen } from '../../../../../ts/importers/plan/ops/gaussian.js';
import * as ops from '../../../../../ts/importers/plan/ops/index.js';
import type { GivenColumn } from '../run-plan.js';
import {
  DOUBLE,
  doubles,
  frame,
  INT,
  map,
  near,
  PLACE,
  strings,
  VECTOR,
  vectors,
  WORDS,
  words,
} from './frames.js';

const { NaN, MAX_VALUE, POSITIVE_INFINITY: INF } = Number;

test('a linear regression', () => {
  const run = (...rows: readonly unknown[]) =>
    map(vectors(...rows), DOUBLE, (builder, features, prediction) =>
      ops.linearRegression(
        builder,
        { features, prediction, coefficients: Float64Array.of(2, -1), intercept: 0.25 },
        PLACE,
      ),
    );
  near(run([1, 2], [0, 0]), [0.25, 0.25]);
  assert.throws(() => run([1]), /expected a vector of 2 values, got 1/);
  assert.throws(() => run(null), /column 'x' is missing/);
});

function glm(
  family: ops.GlmFamily,
  link: ops.GlmLink,
  etas: readonly number[],
  linkPower?: number,
) {
  return frame(
    { x: vectors(...etas.map((eta) => [eta])) },
    { y: DOUBLE, link: DOUBLE },
    (builder, inputs, outputs) =>
      ops.generalizedLinearRegression(
        builder,
        {
          features: inputs['x'] as Column,
          prediction: outputs['y'],
          linkPrediction: outputs['link'],
          coefficients: Float64Array.of(1),
          intercept: 0,
          family,
          link,
          linkPower,
        },
        PLACE,
      ),
  ).columns;
}

test('generalized linear models: links', () => {
  near(glm('gaussian', 'identity', [1.5])['y'], [1.5]);
  near(glm('gaussian', 'log', [1])['y'], [Math.E]);
  near(glm('gaussian', 'inverse', [4])['y'], [0.25]);
  near(glm('binomial', 'logit', [0.5])['y'], [1 / (1 + Math.exp(-0.5))]);
  near(glm('binomial', 'probit', [0, 1.96])['y'], [0.5, 0.9750021048517795]);
  near(glm('binomial', 'cloglog', [0])['y'], [1 - Math.exp(-1)]);
  near(glm('poisson', 'sqrt', [3])['y'], [9]);
  near(glm('tweedie', 'power', [8], 3)['y'], [2]);
  near(glm('tweedie', 'power', [1], 0)['y'], [Math.E]);
  near(glm('gaussian', 'log', [1])['link'], [1]);
});

test('generalized linear models: the range of the family', () => {
  near(glm('gaussian', 'log', [1000])['y'], [MAX_VALUE]);
  near(glm('binomial', 'logit', [-1000, 1000])['y'], [1e-16, 1 - 1e-16]);
  near(glm('poisson', 'log', [-1000, 1000])['y'], [1e-16, MAX_VALUE]);
  near(glm('gamma', 'inverse', [0, -1])['y'], [MAX_VALUE, 1e-16]);
});

test('a generalized linear model with an offset', () => {
  const run = (offset: GivenColumn) =>
    frame({ x: vectors([1], [2]), offset }, { y: DOUBLE }, (builder, inputs, outputs) =>
      ops.generalizedLinearRegression(
        builder,
        {
          features: inputs['x'] as Column,
          offset: inputs['offset'],
          prediction: outputs['y'],
          coefficients: Float64Array.of(1),
          intercept: 0.5,
          family: 'poisson',
          link: 'log',
        },
        PLACE,
      ),
    ).columns['y'];
  near(run(doubles(1, -2)), [Math.exp(2.5), Math.exp(0.5)]);
  assert.throws(() => run(doubles(1, null)), /row 1: column 'offset' is missing/);
  assert.throws(() => run(strings('a', 'b')), /is String, expected a number/);
});

test('survival times and their quantiles', () => {
  const { columns } = frame(
    { x: vectors([1, 2]) },
    { y: DOUBLE, q: VECTOR },
    (builder, inputs, outputs) =>
      ops.aftSurvivalRegression(
        builder,
        {
          features: inputs['x'] as Column,
          prediction: outputs['y'],
          quantiles: outputs['q'],
          coefficients: Float64Array.of(0.5, -0.25),
          intercept: 1,
          scale: 1.5,
          quantileProbabilities: Float64Array.of(0.1, 0.5),
        },
        PLACE,
      ),
  );
  near(columns['y'], [Math.E]);
  const quantile = (q: number) => Math.E * (-Math.log1p(-q)) ** 1.5;
  near(columns['q'], [[quantile(0.1), quantile(0.5)]]);
});

function isotonic(x: GivenColumn, featureIndex = 0) {
  return map(x, DOUBLE, (builder, features, prediction) =>
    ops.isotonicRegression(
      builder,
      {
        features,
        prediction,
        boundaries: Float64Array.of(0, 1, 3),
        predictions: Float64Array.of(10, 20, 40),
        featureIndex,
      },
      PLACE,
    ),
  );
}

test('an isotonic regression', () => {
  near(isotonic(doubles(-5, 0, 0.5, 1, 2, 3, 9, INF)), [10, 10, 15, 20, 30, 40, 40, 40]);
  near(isotonic(doubles(NaN)), [40]); // sorted after all numbers, as in Java's search
  near(isotonic(vectors([7, 2]), 1), [30]);
  assert.throws(() => isotonic(vectors([7]), 1), /expected a vector of 2 values or more/);
  assert.throws(() => isotonic(doubles(null)), /column 'x' is missing/);
});

test('factorization machines', () => {
  // 0.5 + x + 2 y + <(1, 2), (3, -1)> x y
  const model = {
    intercept: 0.5,
    linear: Float64Array.of(1, 2),
    factors: Float64Array.of(1, 2, 3, -1),
    size: 2,
  };
  const score = 0.5 + 2 + 2 * 3 + (1 * 3 + 2 * -1) * 2 * 3;
  const regression = map(vectors([2, 3]), DOUBLE, (builder, features, prediction) =>
    ops.fmRegression(builder, { ...model, features, prediction }, PLACE),
  );
  near(regression, [score]);
  const { columns } = frame(
    { x: vectors([2, 3], [-1, 0]) },
    { raw: VECTOR, p: VECTOR, y: DOUBLE },
    (builder, inputs, outputs) =>
      ops.fmClassifier(
        builder,
        {
          ...model,
          features: inputs['x'] as Column,
          raw: outputs['raw'],
          probability: outputs['p'],
          prediction: outputs['y'],
        },
        PLACE,
      ),
  );
  near(columns['raw'], [
    [-score, score],
    [0.5, -0.5],
  ]);
  const first = 1 / (1 + Math.exp(-0.5));
  near((columns['p'] as unknown[])[1], [first, 1 - first]);
  near(columns['y'], [1, 0]);
});

test('nearest centers', () => {
  const run = (distance: ops.Distance, ...rows: readonly unknown[]) =>
    map(vectors(...rows), INT, (builder, features, prediction) =>
      ops.kMeans(
        builder,
        { features, prediction, centers: Float64Array.of(0, 1, 10, 10, 3, 0), k: 3, distance },
        PLACE,
      ),
    );
  assert.deepEqual(run('euclidean', [0, 0], [9, 9], [4, 0], [NaN, 0]), [0, 1, 2, 0]);
  assert.deepEqual(run('cosine', [0, 9], [1, 1], [5, 0.1]), [0, 1, 2]);
  assert.throws(() => run('cosine', [0, 0]), /a vector of zeros has no cosine distance/);
  assert.throws(() => run('euclidean', [0]), /expected a vector of 2 values, got 1/);
});

test('a tree of clusters', () => {
  const leaf = (index: number, ...center: number[]): ops.ClusterNode => ({
    index,
    center: Float64Array.from(center),
    children: [],
  });
  const inner = (center: number, ...children: ops.ClusterNode[]): ops.ClusterNode => ({
    index: -1,
    center: Float64Array.of(center),
    children,
  });
  const run = (root: ops.ClusterNode, ...rows: readonly unknown[]) =>
    map(vectors(...rows), INT, (builder, features, prediction) =>
      ops.bisectingKMeans(builder, { features, prediction, root, distance: 'euclidean' }, PLACE),
    );
  const root = inner(5, leaf(0, 0), inner(9, leaf(1, 8), leaf(2, 10)));
  // 4.6 is closer to 8 than to 0, but the path there passes 9.
  assert.deepEqual(run(root, [0], [4.4], [4.6], [9.5], [9]), [0, 0, 1, 2, 1]);
  assert.deepEqual(run(leaf(7, 1), [3]), [7]);
});

test('eigenvalues of a symmetric matrix', () => {
  const { values, vectors: v } = symmetricEigen(Float64Array.of(2, 1, 1, 2), 2);
  near([...values].sort(), [1, 3]);
  const at = (i: number) => v[i] ?? NaN;
  for (let column = 0; column < 2; ++column) {
    const [x, y] = [at(column), at(2 + column)];
    near(x * x + y * y, 1);
    near(2 * x + y, (values[column] ?? NaN) * x);
  }
  const { values: diagonal } = symmetricEigen(Float64Array.of(3, 0, 0, 0, 2, 0, 0, 0, 0), 3);
  near([...diagonal], [3, 2, 0]);
});

function mixture(covariances: Float64Array, ...rows: readonly unknown[]) {
  const { columns } = frame(
    { x: vectors(...rows) },
    { p: VECTOR, y: INT },
    (builder, inputs, outputs) =>
      ops.gaussianMixture(
        builder,
        {
          features: inputs['x'] as Column,
          probability: outputs['p'],
          prediction: outputs['y'],
          weights: Float64Array.of(0.3, 0.7),
          means: Float64Array.of(0, 0, 2, 1),
          covariances,
        },
        PLACE,
      ),
  );
  return columns;
}

test('a mixture of normal distributions', () => {
  const columns = mixture(Float64Array.of(1, 0, 0, 1, 2, 0.5, 0.5, 1), [1, 0.5], [5, 5]);
  const of = (x: number, y: number) => {
    const first = (0.3 * Math.exp(-(x * x + y * y) / 2)) / (2 * Math.PI);
    const [u, v] = [x - 2, y - 1];
    const quadratic = (u * u - 2 * 0.5 * u * v + 2 * v * v) / 1.75;
    const second = (0.7 * Math.exp(-quadratic / 2)) / (2 * Math.PI * Math.sqrt(1.75));
    const [a, b] = [first + 2 ** -52, second + 2 ** -52];
    return [a / (a + b), b / (a + b)];
  };
  near(columns['p'], [of(1, 0.5), of(5, 5)]);
  assert.deepEqual(columns['y'], [1, 1]);
});

test('a mixture whose covariance is singular has a density where it varies', () => {
  const columns = mixture(Float64Array.of(1, 0, 0, 0, 1, 0, 0, 1), [0, 99]);
  const first = (0.3 * 1) / (2 * Math.PI) + 2 ** -52; // for (0, any)
  const second = 2 ** -52;
  near(columns['p'], [[first / (first + second), second / (first + second)]]);
  assert.throws(() => mixture(new Float64Array(8), [0, 0]), RangeError);
});

test('recommendations by factors', () => {
  const run = (user: GivenColumn, item: GivenColumn, coldStart: 'nan' | 'drop' = 'nan') =>
    frame({ user, item }, { y: { type: 'float' } }, (builder, inputs, outputs) =>
      ops.als(
        builder,
        {
          user: inputs['user'] as Column,
          item: inputs['item'] as Column,
          prediction: outputs['y'] as Column,
          rank: 2,
          userIds: Int32Array.of(10, -3),
          userFactors: Float64Array.of(0.1, 0.2, 1, 2),
          itemIds: Int32Array.of(7),
          itemFactors: Float64Array.of(0.3, 0.4),
          coldStart,
        },
        PLACE,
      ),
    ).columns['y'];
  const f = Math.fround;
  const product = f(f(f(0.1) * f(0.3)) + f(f(0.2) * f(0.4)));
  assert.deepEqual(run(doubles(10, -3, 5), doubles(7, 7, 7)), [
    product,
    f(f(0.3) + f(2 * f(0.4))),
    NaN,
  ]);
  assert.throws(() => run(doubles(5), doubles(7), 'drop'), /column 'user': unknown id 5/);
  assert.throws(() => run(doubles(10), doubles(8), 'drop'), /column 'item': unknown id 8/);
  assert.throws(() => run(doubles(1.5), doubles(7)), /1\.5 is not a 32-bit integer/);
  assert.throws(() => run(doubles(3e9), doubles(7)), /3\.0E9 is not a 32-bit integer/);
  assert.throws(() => run(doubles(null), doubles(7)), /column 'user' is missing/);
});

test('rules of what goes together', () => {
  const itemsets = [
    { items: ['a'], freq: 4 },
    { items: ['b'], freq: 5 },
    { items: ['c'], freq: 2 },
    { items: ['a', 'b'], freq: 3 },
    { items: ['b', 'c'], freq: 2 },
    { items: ['a', 'b', 'c'], freq: 2 },
  ];
  const run = (minConfidence: number, ...rows: readonly unknown[]) =>
    map(words(...rows), WORDS, (builder, items, prediction) =>
      ops.fpGrowth(builder, { items, prediction, itemsets, minConfidence }, PLACE),
    );
  // a -> b 0.75, b -> a 0.6, c -> b 1, b -> c 0.4, bc -> a 1, ab -> c 2/3 (ac is not frequent)
  assert.deepEqual(run(0.65, ['a'], ['c'], ['b', 'c'], ['a', 'b'], ['a', 'b', 'c'], [], null), [
    ['b'],
    ['b'],
    ['a'],
    ['c'],
    [],
    [],
    [],
  ]);
  assert.deepEqual(run(0, ['b']), [['a', 'c']]);
  assert.deepEqual(run(1.5, ['a']), [[]]);
});
