// Latent Dirichlet allocation. Expected values are the results of LocalLDAModel.topicDistribution
// of Spark 3.5.5 with the same topics and seeds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MersenneTwister } from '../../../../../ts/importers/plan/ops/mersenne-twister.js';
import * as ops from '../../../../../ts/importers/plan/ops/index.js';
import { digamma } from '../../../../../ts/importers/plan/ops/topics.js';
import { map, near, PLACE, VECTOR, vectors } from './frames.js';

const topics = Float64Array.from({ length: 12 }, (_, i) => {
  const [word, topic] = [Math.floor(i / 3), i % 3];
  return 0.5 + ((word * 7 + topic * 5) % 11) * 1.25;
});

function distributions(seed: bigint, rows: readonly unknown[], more: object = {}) {
  return map(vectors(...rows), VECTOR, (builder, features, distribution) =>
    ops.lda(
      builder,
      {
        features,
        distribution,
        topics,
        docConcentration: Float64Array.of(0.1, 0.2, 0.3),
        gammaShape: 100,
        seed,
        ...more,
      },
      PLACE,
    ),
  );
}

const ROWS = [
  [1, 2, 0, 3],
  [0, 0, 0, 0],
  [0, 0, 1.5, 0],
];

test('distributions over topics are Spark’s', () => {
  assert.equal(ops.SPARK_LDA_SEED, 1421925485n);
  near(distributions(ops.SPARK_LDA_SEED, ROWS), [
    [0.015157451038866298, 0.030758161786477254, 0.9540843871746565],
    [0, 0, 0],
    [0.04762493324079459, 0.8062499140545243, 0.14612515270468113],
  ]);
  near(distributions(3n, ROWS), [
    [0.015157419862124802, 0.030758112078506684, 0.9540844680593685],
    [0, 0, 0],
    [0.04762492872238588, 0.8062572392744953, 0.14611783200311887],
  ]);
  near(distributions(-5000000000n, ROWS), [
    [0.015157405168040214, 0.03075807602299499, 0.9540845188089648],
    [0, 0, 0],
    [0.04762492879789084, 0.8062564175168245, 0.14611865368528465],
  ]);
});

test('refuses invalid counts of words and invalid models', () => {
  for (const row of [
    [1, -1, 0, 0],
    [Number.NaN, 0, 0, 0],
    [Number.POSITIVE_INFINITY, 0, 0, 0],
  ]) {
    assert.throws(() => distributions(3n, [row]), /not a word count/);
  }
  assert.throws(() => distributions(3n, [[1, 2]]), /expected a vector of 4 values, got 2/);
  assert.throws(() => distributions(3n, ROWS, { gammaShape: 0.5 }), RangeError);
  assert.throws(() => distributions(3n, ROWS, { topics: new Float64Array(13) }), RangeError);
  assert.throws(() => distributions(3n, ROWS, { topics: topics.map((w) => -w) }), RangeError);
  const docConcentration = Float64Array.of(-9, 1, 1);
  assert.throws(() => distributions(3n, ROWS, { docConcentration }), { code: 'ModelInvalid' });
});

test('random numbers are those of the reference implementation', () => {
  // Python's random.Random().seed(0x123 | 0x234 << 32), which seeds with the array {0x123, 0x234}.
  const random = new MersenneTwister((0x123n << 32n) | 0x234n);
  const numbers = Array.from({ length: 2000 }, () => random.next());
  assert.deepEqual(numbers.slice(0, 3), [1269791734, 1135888473, 333719756]);
  assert.deepEqual([numbers[624], numbers[1999]], [3436771313, 32430770]);
});

test('digamma', () => {
  assert.ok(Math.abs(digamma(100) - 4.600161852738087) < 1e-8);
  assert.ok(Math.abs(digamma(1) + 0.5772156649015329) < 1e-8);
  assert.ok(Math.abs(digamma(0.5) + 1.9635100260214235) < 1e-8);
  assert.equal(digamma(0), Number.NEGATIVE_INFINITY);
});
