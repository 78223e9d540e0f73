// Operators that scale vectors, with the results of Spark and MLeap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column, PlanBuilder } from '../../../../../ts/importers/plan/builder.js';
import * as ops from '../../../../../ts/importers/plan/ops/index.js';
import { doubles, frame, map, near, PLACE, VECTOR, vectors } from './frames.js';

const { NaN } = Number;

interface Step {
  readonly input: Column;
  readonly output: Column;
}

const scaled = (
  rows: readonly unknown[],
  build: (builder: PlanBuilder, step: Step) => void,
): readonly unknown[] =>
  map(vectors(...rows), VECTOR, (builder, input, output) => build(builder, { input, output }));

test('a standard scaler, with and without mean and deviation', () => {
  const run = (more: object) =>
    scaled([[1, 2, 3]], (builder, step) =>
      ops.standardScaler(builder, { ...step, ...more }, PLACE),
    );
  const mean = Float64Array.of(0.5, 1, 1);
  const std = Float64Array.of(2, 0, 4);
  near(run({ std }), [[0.5, 0, 0.75]]);
  near(run({ mean }), [[0.5, 1, 2]]);
  near(run({ mean, std }), [[0.25, 0, 0.5]]);
  assert.deepEqual(run({}), [[1, 2, 3]]);
  assert.throws(() => run({ mean: Float64Array.of(1) }), /expected a vector of 1 values, got 3/);
  assert.throws(() => run({ mean, std: Float64Array.of(1) }), { code: 'ModelInvalid' });
});

test('a robust scaler', () => {
  const answer = scaled([[1, 2]], (builder, step) => {
    const model = { median: Float64Array.of(3, 1), range: Float64Array.of(4, 0) };
    ops.robustScaler(builder, { ...step, ...model }, PLACE);
  });
  near(answer, [[-0.5, 0]]);
});

test('a maximum scaler clamps in MLeap only', () => {
  const run = (clamp: boolean) =>
    scaled([[4, -8, 5]], (builder, step) =>
      ops.maxAbsScaler(builder, { ...step, maxAbs: Float64Array.of(8, 4, 0), clamp }, PLACE),
    );
  assert.deepEqual(run(false), [[0.5, -2, 5]]);
  assert.deepEqual(run(true), [[0.5, -1, 1]]);
});

test('a range scaler: constant features, NaN', () => {
  const run = (...rows: readonly unknown[]) =>
    scaled(rows, (builder, step) => {
      const originalMin = Float64Array.of(0, 3);
      const originalMax = Float64Array.of(10, 3);
      ops.minMaxScaler(builder, { ...step, originalMin, originalMax, min: -1, max: 3 }, PLACE);
    });
  assert.deepEqual(run([5, 3], [20, 99], [NaN, NaN]), [
    [1, 1],
    [7, 1],
    [NaN, NaN],
  ]);
  assert.throws(() => run([1]), /expected a vector of 2 values, got 1/);
  assert.throws(() => run(null), /column 'x' is missing/);
});

test('a normalizer of any norm', () => {
  const run = (p: number, ...rows: readonly unknown[]) =>
    scaled(rows, (builder, step) => ops.normalizer(builder, { ...step, p }, PLACE));
  near(run(1, [1, -3]), [[0.25, -0.75]]);
  near(run(2, [3, 4], [0, 0]), [
    [0.6, 0.8],
    [0, 0],
  ]);
  near(run(3, [1, 2]), [[1 / Math.cbrt(9), 2 / Math.cbrt(9)]]);
  near(run(Number.POSITIVE_INFINITY, [1, -4]), [[0.25, -1]]);
  assert.throws(() => run(0.5, [1]), { code: 'ModelInvalid' });
});

test('scaling keeps sparse vectors and gives them the dense ones’ values', () => {
  const run = (build: (builder: PlanBuilder, step: Step) => void) =>
    frame({ i: doubles(1) }, { y: VECTOR }, (builder, inputs, outputs) => {
      const hot = builder.column('hot', 'vector');
      const encoder = { size: 3, dropLast: false, handleInvalid: 'error' } as const;
      ops.oneHotEncoder(builder, { input: inputs['i'] as Column, output: hot, ...encoder }, PLACE);
      build(builder, { input: hot, output: outputs['y'] as Column });
    }).columns['y'];
  const three = Float64Array.of(2, 4, 8);
  near(
    run((b, step) => ops.idf(b, { ...step, idf: three }, PLACE)),
    [[0, 4, 0]],
  );
  near(
    run((b, step) => ops.elementwiseProduct(b, { ...step, scaling: three }, PLACE)),
    [[0, 4, 0]],
  );
  near(
    run((b, step) => ops.standardScaler(b, { ...step, mean: three }, PLACE)),
    [[-2, -3, -8]],
  );
  near(
    run((b, step) => ops.normalizer(b, { ...step, p: 2 }, PLACE)),
    [[0, 1, 0]],
  );
  const range = { originalMin: three, originalMax: Float64Array.of(4, 8, 16), min: 0, max: 1 };
  near(
    run((b, step) => ops.minMaxScaler(b, { ...step, ...range }, PLACE)),
    [[-1, -0.75, -1]],
  );
});
