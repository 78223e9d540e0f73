// Operators that build vectors, and vectors of vectors, with the results of Spark and MLeap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column } from '../../../../../ts/importers/plan/builder.js';
import * as ops from '../../../../../ts/importers/plan/ops/index.js';
import type { GivenColumn } from '../run-plan.js';
import { DOUBLE, doubles, frame, map, near, PLACE, strings, VECTOR, vectors } from './frames.js';

const { NaN } = Number;

function hot(
  values: readonly unknown[],
  dropLast: boolean,
  handleInvalid: ops.HandleInvalid | 'zeros',
) {
  return map(doubles(...values), VECTOR, (builder, input, output) =>
    ops.oneHotEncoder(builder, { input, output, size: 3, dropLast, handleInvalid }, PLACE),
  );
}

test('a one-hot encoder: all four of dropLast and keep', () => {
  assert.deepEqual(hot([0, 2], true, 'error'), [
    [1, 0],
    [0, 0],
  ]);
  assert.deepEqual(hot([0, 2], false, 'error'), [
    [1, 0, 0],
    [0, 0, 1],
  ]);
  assert.deepEqual(hot([0, 2, 3, -1, NaN], false, 'keep'), [
    [1, 0, 0, 0],
    [0, 0, 1, 0],
    [0, 0, 0, 1],
    [0, 0, 0, 1],
    [0, 0, 0, 1],
  ]);
  // Both options: as many slots as categories. Source: tabular.md 4.2
  assert.deepEqual(hot([0, 2, 3], true, 'keep'), [
    [1, 0, 0],
    [0, 0, 1],
    [0, 0, 0],
  ]);
  assert.deepEqual(hot([1.9, null], true, 'error'), [[0, 1], null]);
});

test('a one-hot encoder refuses what is no category', () => {
  for (const bad of [3, -1, NaN]) {
    assert.throws(() => hot([0, bad], true, 'error'), /row 1: .*is not one of the 3 categories/);
  }
  assert.deepEqual(hot([3, 7], true, 'zeros'), [
    [0, 0],
    [0, 0],
  ]);
  assert.throws(() => hot([-1], true, 'zeros'), /is not one of the 3 categories/);
});

function assembled(
  fields: Readonly<Record<string, GivenColumn>>,
  handleInvalid: ops.HandleInvalid | 'nan',
  sizes?: Int32Array,
) {
  return frame(fields, { y: VECTOR }, (builder, inputs, outputs) =>
    ops.vectorAssembler(
      builder,
      { inputs: Object.values(inputs), output: outputs['y'] as Column, handleInvalid, sizes },
      PLACE,
    ),
  ).columns['y'];
}

test('an assembler puts numbers and vectors side by side', () => {
  const answer = assembled(
    {
      a: doubles(1, -0),
      b: { type: 'bool', values: [1, 0] },
      v: vectors([2, 3], []),
      i: { type: 'int32', values: [4, 5] },
      d: { type: 'decimal', precision: 4, scale: 1, values: ['15', '-1'] },
      l: { type: 'list', element: 'int32', values: [[6], [7, 8]] },
    },
    'error',
  );
  assert.deepEqual(answer, [
    [1, 1, 2, 3, 4, 1.5, 6],
    [0, 0, 5, -0.1, 7, 8],
  ]);
});

test('an assembler and what is missing or NaN', () => {
  const fields = (a: unknown, v: unknown) => ({ a: doubles(1, a), v: vectors([1, 2], v) });
  assert.throws(() => assembled(fields(null, [1, 2]), 'error'), /row 1: column 'a' is missing/);
  assert.throws(() => assembled(fields(NaN, [1, 2]), 'error'), /row 1: column 'a' is NaN/);
  assert.throws(() => assembled(fields(1, null), 'skip'), /row 1: column 'v' is missing/);
  // NaN inside a vector is accepted, as in Spark.
  assert.deepEqual(assembled(fields(1, [NaN, 2]), 'error'), [
    [1, 1, 2],
    [1, NaN, 2],
  ]);
  assert.deepEqual(assembled(fields(null, null), 'keep', Int32Array.of(1, 2)), [
    [1, 1, 2],
    [NaN, NaN, NaN],
  ]);
  assert.throws(() => assembled(fields(1, null), 'keep'), /its size is not known/);
  assert.deepEqual(assembled(fields(NaN, [0, 0]), 'nan'), [
    [1, 1, 2],
    [NaN, 0, 0],
  ]);
  assert.throws(() => assembled(fields(null, [1, 2]), 'nan'), /column 'a' is missing/);
  // A vector that is present has its own size, whatever the metadata says, as in Spark.
  assert.deepEqual(assembled(fields(1, [1, 2, 3]), 'error', Int32Array.of(1, 2)), [
    [1, 1, 2],
    [1, 1, 2, 3],
  ]);
  assert.throws(
    () => assembled({ s: strings('a') }, 'error'),
    /is String, expected a number or a vector/,
  );
});

test('large sparse vectors stay sparse through an assembler, with the same values', () => {
  const answer = frame(
    { i: doubles(3, 499), n: doubles(7, 8) },
    { v: VECTOR, z: DOUBLE },
    (builder, inputs, outputs) => {
      const input = inputs['i'] as Column;
      const one = builder.column('one', 'vector');
      const encoder = { size: 500, dropLast: false, handleInvalid: 'error' } as const;
      ops.oneHotEncoder(builder, { input, output: one, ...encoder }, PLACE);
      const all = builder.column('all', 'vector');
      const inputs3 = [one, inputs['n'] as Column, one];
      ops.vectorAssembler(builder, { inputs: inputs3, output: all, handleInvalid: 'error' }, PLACE);
      const indices = Int32Array.of(1000, 500, 3, 504, 999);
      ops.vectorSlicer(builder, { input: all, output: outputs['v'] as Column, indices }, PLACE);
      const coefficients = Float64Array.from({ length: 1001 }, (_, i) => i);
      ops.linearRegression(
        builder,
        { features: all, prediction: outputs['z'] as Column, coefficients, intercept: 0.5 },
        PLACE,
      );
    },
  );
  assert.deepEqual(answer.columns['v'], [
    [0, 7, 1, 1, 0],
    [1, 8, 0, 0, 0],
  ]);
  assert.deepEqual(answer.columns['z'], [3 + 500 * 7 + 504 + 0.5, 499 + 500 * 8 + 1000 + 0.5]);
});

test('slices and elements of vectors', () => {
  const slice = (...indices: number[]) =>
    map(vectors([1, 2, 3], [4, 5, 6]), VECTOR, (builder, input, output) =>
      ops.vectorSlicer(builder, { input, output, indices: Int32Array.from(indices) }, PLACE),
    );
  assert.deepEqual(slice(2, 0), [
    [3, 1],
    [6, 4],
  ]);
  assert.deepEqual(slice(), [[], []]);
  assert.throws(() => slice(3), /expected a vector of 4 values or more, got 3/);
  assert.throws(() => slice(-1), { code: 'ModelInvalid' });
  const element = (index: number) =>
    map(vectors([1, 2], [3, 4]), DOUBLE, (builder, input, output) =>
      ops.vectorElement(builder, { input, output, index }, PLACE),
    );
  assert.deepEqual(element(1), [2, 4]);
  assert.throws(() => element(2), /expected a vector of 3 values or more, got 2/);
});

test('a vector indexer', () => {
  const run = (handleInvalid: ops.HandleInvalid, ...values: readonly unknown[]) =>
    map(vectors(...values), VECTOR, (builder, input, output) =>
      ops.vectorIndexer(
        builder,
        {
          input,
          output,
          numFeatures: 3,
          maps: [
            { feature: 2, values: Float64Array.of(0, -1), indices: Int32Array.of(0, 1) },
            { feature: 0, values: Float64Array.of(5, 3, 4), indices: Int32Array.of(2, 0, 1) },
          ],
          handleInvalid,
        },
        PLACE,
      ),
    );
  assert.deepEqual(run('error', [4, 9.5, -1], [5, NaN, -0]), [
    [1, 9.5, 1],
    [2, NaN, 0],
  ]);
  assert.deepEqual(run('keep', [7, 0, 3]), [[3, 0, 2]]);
  assert.throws(
    () => run('error', [3, 0, 0], [6, 0, 0]),
    /row 1: .*6\.0 is not a category of feature 0/,
  );
  assert.throws(() => run('skip', [3, 0, NaN]), /NaN is not a category of feature 2/);
  assert.throws(() => run('keep', [3, 0]), /expected a vector of 3 values, got 2/);
});

test('a size hint', () => {
  const run = (handleInvalid: 'error' | 'skip' | 'optimistic') =>
    map(vectors([1, 2], [3]), VECTOR, (builder, input, output) =>
      ops.vectorSizeHint(builder, { input, output, size: 2, handleInvalid }, PLACE),
    );
  assert.deepEqual(run('optimistic'), [[1, 2], [3]]);
  assert.throws(() => run('error'), /row 1: .*expected a vector of 2 values, got 1/);
});

function interacted(fields: Readonly<Record<string, GivenColumn>>, numFeatures?: Int32Array[]) {
  return frame(fields, { y: VECTOR }, (builder, inputs, outputs) =>
    ops.interaction(
      builder,
      { inputs: Object.values(inputs), output: outputs['y'] as Column, numFeatures },
      PLACE,
    ),
  ).columns['y'];
}

test('an interaction: the last input’s index runs fastest', () => {
  // Spark's documentation: id1 * (id2, id3, id4) x (id5, id6, id7).
  const answer = interacted({
    a: doubles(2),
    v: vectors([3, 1, 2]),
    w: vectors([5, 6, 7]),
  });
  assert.deepEqual(answer, [[30, 36, 42, 10, 12, 14, 20, 24, 28]]);
});

test('an interaction with categories', () => {
  const sizes = [Int32Array.of(2), Int32Array.of(1, 3)];
  const fields = { c: doubles(1, 0), v: vectors([2, 0], [0, 2]) };
  // [c = 0, c = 1] x [v0, v1 = 0, v1 = 1, v1 = 2]
  assert.deepEqual(interacted(fields, sizes), [
    [0, 0, 0, 0, 2, 1, 0, 0],
    [0, 0, 0, 1, 0, 0, 0, 0],
  ]);
  assert.throws(
    () => interacted({ c: doubles(2), v: vectors([0, 0]) }, sizes),
    /2\.0 is not an index below 2/,
  );
  assert.throws(
    () => interacted({ c: doubles(0.5), v: vectors([0, 0]) }, sizes),
    /0\.5 is not an index/,
  );
  assert.throws(
    () => interacted({ c: doubles(null), v: vectors([0, 0]) }, sizes),
    /column 'c' is missing/,
  );
  assert.throws(
    () => interacted({ c: doubles(1), v: vectors([0]) }, sizes),
    /expected a vector of 2 values/,
  );
});

test('polynomial expansion in Spark’s order', () => {
  const run = (degree: number, ...rows: readonly unknown[]) =>
    map(vectors(...rows), VECTOR, (builder, input, output) =>
      ops.polynomialExpansion(builder, { input, output, degree }, PLACE),
    );
  // (x, y): x, x², x³, y, xy, x²y, y², xy², y³
  assert.deepEqual(run(3, [2, 3]), [[2, 4, 8, 3, 6, 12, 9, 18, 27]]);
  // (x, y, z), 2: x, x², y, xy, y², z, xz, yz, z²
  assert.deepEqual(run(2, [2, 3, 5]), [[2, 4, 3, 6, 9, 5, 10, 15, 25]]);
  assert.deepEqual(run(2, [2, 0, 5]), [[2, 4, 0, 0, 0, 5, 10, 0, 25]]);
  assert.deepEqual(run(1, [2, 3]), [[2, 3]]);
  assert.deepEqual(run(2, []), [[]]);
  assert.throws(() => run(60, [1, 2, 3, 4, 5, 6, 7, 8, 9]), /has too many products/);
  assert.throws(() => run(0, [1]), { code: 'ModelInvalid' });
});

test('polynomial expansion of a sparse vector is that of the dense one', () => {
  const { columns } = frame({ i: doubles(2) }, { y: VECTOR }, (builder, inputs, outputs) => {
    const one = builder.column('one', 'vector');
    const encoder = { size: 3, dropLast: false, handleInvalid: 'error' } as const;
    ops.oneHotEncoder(builder, { input: inputs['i'] as Column, output: one, ...encoder }, PLACE);
    const three = builder.column('three', 'vector');
    const scaling = Float64Array.of(1, 1, 5);
    ops.elementwiseProduct(builder, { input: one, output: three, scaling }, PLACE);
    ops.polynomialExpansion(
      builder,
      { input: three, output: outputs['y'] as Column, degree: 2 },
      PLACE,
    );
  });
  assert.deepEqual(columns['y'], [[0, 0, 0, 0, 0, 5, 0, 0, 25]]);
});

test('products of powers', () => {
  const run = (...rows: readonly unknown[]) =>
    map(vectors(...rows), VECTOR, (builder, input, output) =>
      ops.featureProducts(
        builder,
        {
          input,
          output,
          products: [
            { indices: Int32Array.of(0), powers: Int32Array.of(1) },
            { indices: Int32Array.of(0, 1), powers: Int32Array.of(1, 2) },
          ],
        },
        PLACE,
      ),
    );
  assert.deepEqual(run([2, 3]), [[2, 18]]);
  assert.throws(() => run([2]), /expected a vector of 2 values or more, got 1/);
});

test('a cosine transform and its inverse', () => {
  const run = (inverse: boolean, row: unknown) =>
    map(vectors(row), VECTOR, (builder, input, output) =>
      ops.dct(builder, { input, output, inverse }, PLACE),
    );
  // Spark's documentation: DCT of (0, 1, -2, 3).
  near(run(false, [0, 1, -2, 3]), [[1, -1.1480502970952693, 2, -2.7716385975338604]]);
  const [back] = run(true, [1, -1.1480502970952693, 2, -2.7716385975338604]) as number[][];
  near(
    back?.map((v) => Math.round(v * 1e12) / 1e12),
    [0, 1, -2, 3],
  );
  assert.deepEqual(run(false, []), [[]]);
});

test('a projection to principal components', () => {
  const run = (row: unknown) =>
    map(vectors(row), VECTOR, (builder, input, output) =>
      ops.pca(
        builder,
        { input, output, components: Float64Array.of(1, 2, 3, 4, 5, 6), k: 2 },
        PLACE,
      ),
    );
  assert.deepEqual(run([1, 10, 100]), [[321, 654]]);
  assert.throws(() => run([1, 10]), /expected a vector of 3 values, got 2/);
});

test('hashes of neighbourhoods', () => {
  const projected = map(vectors([1, 2], [-1, 0]), VECTOR, (builder, input, output) =>
    ops.bucketedRandomProjectionLsh(
      builder,
      { input, output, vectors: Float64Array.of(1, 0, 0.6, 0.8), tables: 2, bucketLength: 2 },
      PLACE,
    ),
  );
  assert.deepEqual(projected, [
    [0, 1],
    [-1, -1],
  ]);
  const least = (row: unknown) =>
    map(vectors(row), VECTOR, (builder, input, output) =>
      ops.minHashLsh(
        builder,
        { input, output, a: Int32Array.of(1000000007, 3), b: Int32Array.of(5, 2038074742) },
        PLACE,
      ),
    );
  const hash = (i: bigint, a: bigint, b: bigint) => Number(((1n + i) * a + b) % 2038074743n);
  assert.deepEqual(least([0, 1, 5]), [
    [
      Math.min(hash(1n, 1000000007n, 5n), hash(2n, 1000000007n, 5n)),
      Math.min(hash(1n, 3n, 2038074742n), hash(2n, 3n, 2038074742n)),
    ],
  ]);
  assert.throws(() => least([0, 0]), /a vector with a value other than 0/);
});
