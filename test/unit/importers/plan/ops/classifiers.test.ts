// Classifiers and the steps after their scores, with the results of Spark and MLeap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column, PlanBuilder } from '../../../../../ts/importers/plan/builder.js';
import * as ops from '../../../../../ts/importers/plan/ops/index.js';
import type { GivenColumn, RunOptions } from '../run-plan.js';
import { DOUBLE, frame, near, PLACE, VECTOR, vectors, WORDS } from './frames.js';

const { NaN, POSITIVE_INFINITY: INF } = Number;

/** [raw, probability, prediction] of a classifier. */
function classified(
  features: GivenColumn,
  build: (
    builder: PlanBuilder,
    op: { features: Column; raw: Column; probability: Column; prediction: Column },
  ) => void,
  options: RunOptions = {},
) {
  const outputs = { raw: VECTOR, probability: VECTOR, prediction: DOUBLE };
  const { columns } = frame(
    { features },
    outputs,
    (builder, inputs, filled) => {
      const { raw, probability, prediction } = filled as Record<string, Column>;
      build(builder, { features: inputs['features'], raw, probability, prediction } as never);
    },
    options,
  );
  return [columns['raw'], columns['probability'], columns['prediction']];
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

test('binary logistic regression and its thresholds', () => {
  const run = (more: object, ...rows: readonly unknown[]) =>
    classified(vectors(...rows), (builder, op) =>
      ops.logisticRegression(
        builder,
        {
          ...op,
          coefficients: Float64Array.of(1, -2),
          intercepts: Float64Array.of(0.5),
          multinomial: false,
          ...more,
        },
        PLACE,
      ),
    );
  const p = sigmoid(-1.5);
  near(run({}, [2, 0], [0, 0.25]), [
    [
      [-2.5, 2.5],
      [0, 0],
    ],
    [
      [1 - sigmoid(2.5), sigmoid(2.5)],
      [0.5, 0.5],
    ],
    [1, 0],
  ]);
  near(run({ threshold: 0.1 }, [0, 1]), [[[1.5, -1.5]], [[1 - p, p]], [1]]);
  near(run({ threshold: 0 }, [0, 1])[2], [1]);
  near(run({ threshold: 1 }, [99, 0])[2], [0]);
  near(run({ thresholds: Float64Array.of(0.1, 0.9) }, [0, 1])[2], [1 / (1 + 1 / 9) < p ? 1 : 0]);
  near(run({ thresholds: Float64Array.of(9, 1) }, [0, 1])[2], [1 / (1 + 9) < p ? 1 : 0]);
  assert.throws(() => run({}, [1, 2, 3]), /expected a vector of 2 values, got 3/);
  // For large values the two forms differ: 1 - 1 is 0.
  near(run({}, [-50, 0])[1], [[sigmoid(49.5), 1 - sigmoid(49.5)]]);
  near(run({ separateSigmoids: true }, [-50, 0])[1], [[sigmoid(49.5), sigmoid(-49.5)]]);
});

function multinomial(more: object, ...rows: readonly unknown[]) {
  return classified(vectors(...rows), (builder, op) =>
    ops.logisticRegression(
      builder,
      {
        ...op,
        coefficients: Float64Array.of(1, 0, 0, 1, 1, 1),
        intercepts: Float64Array.of(0, 0.5, -1),
        multinomial: true,
        ...more,
      },
      PLACE,
    ),
  );
}

test('multinomial logistic regression', () => {
  const scores = [2, 1.5, 2];
  const sum = scores.reduce((total, score) => total + Math.exp(score), 0);
  const probability = scores.map((score) => Math.exp(score) / sum);
  near(multinomial({}, [2, 1]), [[scores], [probability], [0]]); // the first of equal ones
  const thresholds = Float64Array.of(0.5, 0.1, 0.4);
  near(multinomial({ thresholds }, [2, 1])[2], [1]);
  near(multinomial({ thresholds: Float64Array.of(0.5, 0.5, 0) }, [2, 1])[2], [2]);
  near(multinomial({}, [INF, 0])[1], [[1, 0, 0]]);
  near(multinomial({}, [-1000, 0])[1], [[0, 1, 0]]);
});

test('a probability of 0 over a threshold of 0', () => {
  // Spark: 0 / 0 is never chosen; MLeap: infinity.
  const thresholds = Float64Array.of(0.5, 0.5, 0);
  near(multinomial({ thresholds }, [-800, 800])[2], [1]);
  const far = (zeroThreshold: 'divide' | 'infinity') =>
    frame({ x: vectors([3, 0]) }, { y: DOUBLE }, (builder, inputs, outputs) =>
      ops.classify(
        builder,
        {
          raw: inputs['x'] as Column,
          prediction: outputs['y'] as Column,
          link: 'none',
          thresholds: Float64Array.of(1, 0),
          zeroThreshold,
        },
        PLACE,
      ),
    ).columns['y'];
  assert.deepEqual(far('divide'), [0]);
  assert.deepEqual(far('infinity'), [1]);
});

test('turns scores of forests into predictions', () => {
  const run = (link: ops.Link, row: unknown, more: object = {}) => {
    const { columns } = frame(
      { x: vectors(row) },
      { p: VECTOR, y: DOUBLE },
      (builder, inputs, outputs) =>
        ops.classify(
          builder,
          {
            raw: inputs['x'] as Column,
            probability: outputs['p'],
            prediction: outputs['y'],
            link,
            ...more,
          },
          PLACE,
        ),
    );
    return [columns['p'], columns['y']];
  };
  near(run('normalize', [1, 3, 0]), [[[0.25, 0.75, 0]], [1]]);
  near(run('normalize', [0, 0]), [[[0, 0]], [0]]);
  near(run('gbt', [-0.5, 0.5]), [[[1 / (1 + Math.E), 1 - 1 / (1 + Math.E)]], [1]]);
  near(run('none', [1, 2]), [[[1, 2]], [1]]);
  near(run('none', [NaN, 2, 3]), [[[NaN, 2, 3]], [0]]); // nothing is greater than NaN
  near(run('sigmoid', [0, 1], { probabilityThreshold: 0.9 }), [[[0.5, sigmoid(1)]], [0]]);
  assert.throws(() => run('gbt', [1, 2, 3]), /expected scores of 2 classes, got 3/);
  assert.throws(
    () => run('none', [1, 2], { thresholds: Float64Array.of(1, 1, 1) }),
    /of 3 classes, got 2/,
  );
  assert.throws(() => run('softmax', []), /of 1 classes, got 0/);
});

test('a refused row is missing in all outputs', () => {
  const answer = classified(
    vectors([1], null, [2]),
    (builder, op) =>
      ops.logisticRegression(
        builder,
        {
          ...op,
          coefficients: Float64Array.of(1),
          intercepts: Float64Array.of(0),
          multinomial: false,
        },
        PLACE,
      ),
    { nullForInvalid: true },
  );
  near(answer[2], [1, null, 1]);
  near((answer[0] as unknown[])[1], null);
  near((answer[1] as unknown[])[1], null);
});

test('a linear support vector machine', () => {
  const run = (threshold: number) =>
    frame({ x: vectors([1], [-1]) }, { raw: VECTOR, y: DOUBLE }, (builder, inputs, outputs) =>
      ops.linearSvc(
        builder,
        {
          features: inputs['x'] as Column,
          raw: outputs['raw'],
          prediction: outputs['y'],
          coefficients: Float64Array.of(2),
          intercept: 0.5,
          threshold,
        },
        PLACE,
      ),
    ).columns;
  near(run(0)['raw'], [
    [-2.5, 2.5],
    [1.5, -1.5],
  ]);
  near(run(0)['y'], [1, 0]);
  near(run(3)['y'], [0, 0]);
});

const log = (...values: number[]) => Float64Array.from(values, Math.log);

function bayes(
  modelType: 'multinomial' | 'bernoulli' | 'complement' | 'gaussian',
  row: unknown,
  more = {},
) {
  return classified(vectors(row), (builder, op) =>
    ops.naiveBayes(
      builder,
      { ...op, modelType, pi: log(0.25, 0.75), theta: log(0.2, 0.8, 0.5, 0.5), ...more },
      PLACE,
    ),
  );
}

test('naive Bayes of counts', () => {
  const scores = [Math.log(0.25 * 0.2 * 0.8 ** 2), Math.log(0.75 * 0.5 ** 3)];
  const likely = [0.25 * 0.2 * 0.8 ** 2, 0.75 * 0.5 ** 3];
  const sum = (likely[0] ?? 0) + (likely[1] ?? 0);
  near(bayes('multinomial', [1, 2]), [[scores], [likely.map((one) => one / sum)], [1]]);
  assert.throws(() => bayes('multinomial', [1, -2]), /feature 1 is -2\.0, expected 0 or more/);
  assert.throws(() => bayes('multinomial', [NaN, 0]), /feature 0 is NaN/);
  near(bayes('multinomial', [1, -1], { anyFeatures: true })[2], [1]);
});

test('naive Bayes of what is there and what is not', () => {
  const scores = [Math.log(0.25 * 0.8 * 0.8), Math.log(0.75 * 0.5 * 0.5)];
  near(bayes('bernoulli', [0, 1])[0], [scores]);
  near(bayes('bernoulli', [0, 1])[2], [1]);
  assert.throws(() => bayes('bernoulli', [0, 2]), /feature 1 is 2\.0, expected 0 or 1/);
});

test('complement naive Bayes', () => {
  const theta = Float64Array.of(1, 2, 3, 4);
  const scores = [1 + 4, 3 + 8];
  const total = Math.log(Math.exp(-6) + 1) + 11;
  near(bayes('complement', [1, 2], { theta })[0], [scores.map((score) => score - total)]);
});

test('naive Bayes of normal features', () => {
  const model = { theta: Float64Array.of(0, 1, 2, 3), sigma: Float64Array.of(1, 4, 0.25, 1) };
  const scores = [
    Math.log(0.25) - (1 / 1 + 1 / 4 + Math.log(1) + Math.log(4)) / 2,
    Math.log(0.75) - (1 / 0.25 + 1 / 1 + Math.log(0.25) + Math.log(1)) / 2,
  ];
  near(bayes('gaussian', [1, 2], model)[0], [scores]);
  assert.throws(() => bayes('gaussian', [1, 2], { ...model, sigma: Float64Array.of(1) }), {
    code: 'ModelInvalid',
  });
});

test('a perceptron', () => {
  // 2 -> 2 -> 2. Matrices column by column, then biases.
  const weights = Float64Array.of(1, 2, 3, 4, 0.5, -0.5, 1, -1, 2, 0.5, 0.1, 0.2);
  const run = (row: unknown, all = weights) =>
    classified(vectors(row), (builder, op) =>
      ops.multilayerPerceptron(
        builder,
        { ...op, layers: Int32Array.of(2, 2, 2), weights: all },
        PLACE,
      ),
    );
  const [a, b] = [sigmoid(0.5 + 0.1 * 1 + 0.2 * 3), sigmoid(-0.5 + 0.1 * 2 + 0.2 * 4)];
  const raw = [a * 1 + b * 2 + 0.1, a * -1 + b * 0.5 + 0.2];
  const sum = Math.exp(raw[0] ?? 0) + Math.exp(raw[1] ?? 0);
  near(run([0.1, 0.2]), [[raw], [raw.map((one) => Math.exp(one) / sum)], [0]]);
  assert.throws(() => run([1]), /expected a vector of 2 values, got 1/);
  assert.throws(() => run([1, 2], weights.subarray(1)), /expected 12 weights, got 11/);
});

test('one against the rest', () => {
  const { columns } = frame(
    { a: vectors([0, 1], [0, 3]), b: vectors([0, 2], [0, 3]) },
    { raw: VECTOR, y: DOUBLE, best: DOUBLE },
    (builder, inputs, outputs) =>
      ops.oneVsRest(
        builder,
        {
          raws: Object.values(inputs),
          raw: outputs['raw'],
          prediction: outputs['y'],
          best: outputs['best'],
        },
        PLACE,
      ),
  );
  assert.deepEqual(columns, {
    raw: [
      [1, 2],
      [3, 3],
    ],
    y: [1, 0],
    best: [2, 3],
  });
});

test('labels of what is likely enough', () => {
  const { columns } = frame(
    { p: vectors([0.5, 0.2, 0.3], [0.1, 0.1, 0.1]) },
    { some: VECTOR, labels: WORDS },
    (builder, inputs, outputs) =>
      ops.multinomialLabeler(
        builder,
        {
          input: inputs['p'] as Column,
          probabilities: outputs['some'],
          labels: outputs['labels'],
          names: ['x', 'y', 'z'],
          threshold: 0.3,
        },
        PLACE,
      ),
  );
  assert.deepEqual(columns, { some: [[0.5, 0.3], []], labels: [['x', 'z'], []] });
});
