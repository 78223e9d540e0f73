// Operators on one number of a row, with the results of Spark and MLeap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column } from '../../../../../ts/importers/plan/builder.js';
import * as ops from '../../../../../ts/importers/plan/ops/index.js';
import type { GivenColumn } from '../run-plan.js';
import { DOUBLE, doubles, frame, map, near, PLACE, VECTOR, vectors } from './frames.js';

const { NaN, POSITIVE_INFINITY: INF, NEGATIVE_INFINITY: MINUS_INF } = Number;

test('a bucketizer: the last bucket is closed, NaN has its own', () => {
  const run = (values: readonly unknown[], handleInvalid: ops.HandleInvalid, ...splits: number[]) =>
    map(doubles(...values), DOUBLE, (builder, input, output) =>
      ops.bucketizer(
        builder,
        { input, output, splits: Float64Array.from(splits), handleInvalid },
        PLACE,
      ),
    );
  assert.deepEqual(run([-1, 0, 0.5, 1, 2, null], 'error', -1, 0, 1, 2), [0, 1, 1, 2, 2, null]);
  assert.deepEqual(run([NaN, -INF, INF, 3], 'keep', MINUS_INF, 0, INF), [2, 0, 1, 1]);
  assert.throws(() => run([0, NaN], 'error', -1, 0, 1), /row 1: column 'x' is NaN$/);
  assert.throws(
    () => run([1.5], 'keep', -1, 0, 1),
    /1\.5 is outside of the buckets, -1\.0 to 1\.0/,
  );
  assert.throws(() => run([0], 'keep', 0, 0, 1), { code: 'ModelInvalid' });
  assert.throws(() => run([0], 'keep', 0), { code: 'ModelInvalid' });
});

test('a bucketizer has -0.0 before 0.0, as Java’s search', () => {
  const answer = map(doubles(0, 1), DOUBLE, (builder, input, output) => {
    const negated = builder.column('negated', 'double');
    const times = { a: input, output: negated, operation: 'mul', db: -1 } as const;
    ops.mathBinary(builder, times, PLACE);
    const splits = Float64Array.of(-1, 0, 1);
    ops.bucketizer(builder, { input: negated, output, splits, handleInvalid: 'error' }, PLACE);
  });
  assert.deepEqual(answer, [0, 0]);
});

test('a binarizer of numbers and of vectors', () => {
  const run = (x: GivenColumn, threshold: number, missingIsZero = true) =>
    map(x, x.type === 'vector' ? VECTOR : DOUBLE, (builder, input, output) =>
      ops.binarizer(builder, { input, output, threshold, missingIsZero }, PLACE),
    );
  assert.deepEqual(run(doubles(0.5, 0.6, NaN, null), 0.5), [0, 1, 0, 0]);
  assert.throws(() => run(doubles(null), 0.5, false), /column 'x' is missing/);
  assert.deepEqual(run(vectors([0.1, 0.9], [], [NaN, INF]), 0.5), [[0, 1], [], [0, 1]]);
  assert.deepEqual(run(vectors([0, -2, NaN]), -1), [[1, 0, 1]]);
});

test('a binarizer of sparse vectors', () => {
  const run = (threshold: number) => {
    const { columns } = frame({ i: doubles(1, 0) }, { y: VECTOR }, (builder, inputs, outputs) => {
      const hot = builder.column('hot', 'vector');
      const input = inputs['i'] as Column;
      ops.oneHotEncoder(
        builder,
        { input, output: hot, size: 3, dropLast: false, handleInvalid: 'error' },
        PLACE,
      );
      const output = outputs['y'] as Column;
      ops.binarizer(builder, { input: hot, output, threshold, missingIsZero: true }, PLACE);
    });
    return columns['y'];
  };
  assert.deepEqual(run(0.5), [
    [0, 1, 0],
    [1, 0, 0],
  ]);
  assert.deepEqual(run(-1), [
    [1, 1, 1],
    [1, 1, 1],
  ]);
});

test('an imputer keeps the column’s type', () => {
  const run = (x: GivenColumn, surrogate: number, missingValue: number) => {
    const answer = frame({ x }, { y: DOUBLE }, (builder, inputs, outputs) =>
      ops.imputer(
        builder,
        { input: inputs['x'] as Column, output: outputs['y'] as Column, surrogate, missingValue },
        PLACE,
      ),
    );
    return [answer.columns['y'], answer.types['y']?.type];
  };
  assert.deepEqual(run(doubles(1, null, NaN, 3), 2.5, NaN), [[1, 2.5, 2.5, 3], 'Double']);
  assert.deepEqual(run(doubles(1, null, NaN, -1), 2.5, -1), [[1, 2.5, NaN, 2.5], 'Double']);
  assert.deepEqual(run({ type: 'float', values: [null] }, 0.1, NaN), [[Math.fround(0.1)], 'Float']);
  assert.deepEqual(run({ type: 'int32', values: [1, null, -1] }, 2.9, -1), [[1, 2, 2], 'Int32']);
  assert.deepEqual(run({ type: 'int8', values: [null] }, 1e9, -1), [[127], 'Int8']);
  assert.throws(
    () => run({ type: 'string', values: ['a'] }, 1, NaN),
    /is String, expected a number/,
  );
});

test('coalesce takes the first that is there', () => {
  const run = (a: GivenColumn, b: GivenColumn) => {
    const answer = frame({ a, b }, { y: DOUBLE }, (builder, inputs, outputs) =>
      ops.coalesce(
        builder,
        { inputs: [inputs['a'], inputs['b']] as Column[], output: outputs['y'] as Column },
        PLACE,
      ),
    );
    return [answer.columns['y'], answer.types['y']?.type];
  };
  assert.deepEqual(run(doubles(1, null, NaN, null), doubles(5, 6, 7, null)), [
    [1, 6, NaN, null],
    'Double',
  ]);
  assert.deepEqual(run({ type: 'int32', values: [1, null] }, doubles(5, 6.5)), [
    [1, 6.5],
    'Double',
  ]);
  assert.deepEqual(
    run({ type: 'string', values: ['a', null] }, { type: 'string', values: [null, 'b'] }),
    [['a', 'b'], 'String'],
  );
  assert.deepEqual(run(vectors([1, 2], null), vectors([3], [4, 5, 6])), [
    [
      [1, 2],
      [4, 5, 6],
    ],
    'Vector',
  ]);
  assert.deepEqual(run(doubles(null), doubles(null)), [[null], 'Double']);
  assert.throws(
    () => run(doubles(1), { type: 'string', values: ['b'] }),
    /is String, expected what 'a' is/,
  );
});

test('functions of one number', () => {
  const run = (operation: ops.MathUnary, ...values: readonly unknown[]) =>
    map(doubles(...values), DOUBLE, (builder, input, output) =>
      ops.mathUnary(builder, { input, output, operation }, PLACE),
    );
  near(run('log', 1, Math.E, 0, -1), [0, 1, MINUS_INF, NaN]);
  near(run('exp', 0, 1), [1, Math.E]);
  near(run('sqrt', 9, -1), [3, NaN]);
  near(run('sin', 0, Math.PI / 2), [0, 1]);
  near(run('cos', 0, 1), [1, Math.cos(1)]);
  near(run('tan', 0, 1), [0, Math.tan(1)]);
  near(run('abs', -2, 2), [2, 2]);
  near(run('logit', 0.25, 0, 1), [Math.log(1 / 3), MINUS_INF, INF]);
  near(run('floor', -1.5, 1.5), [-2, 1]);
  near(run('ceil', -1.5, 1.5), [-1, 2]);
  // Java's Math.round: halves round up, NaN is 0, and results saturate at 2^63.
  near(run('round_of', -1.5, 1.5, 2.5, 0.49999999999999994, NaN, 1e30), [-1, 2, 3, 0, 0, 2 ** 63]);
  assert.throws(() => run('logit', 1.5), /logit of 1\.5, which is not within 0 and 1/);
  assert.throws(() => run('log', null), /column 'x' is missing/);
});

test('computes functions of two numbers, with defaults for missing ones', () => {
  const run = (
    operation: ops.MathBinary,
    a: readonly unknown[],
    b: readonly unknown[],
    more = {},
  ) =>
    frame({ a: doubles(...a), b: doubles(...b) }, { y: DOUBLE }, (builder, inputs, outputs) =>
      ops.mathBinary(
        builder,
        { a: inputs['a'], b: inputs['b'], output: outputs['y'] as Column, operation, ...more },
        PLACE,
      ),
    ).columns['y'];
  near(run('add', [1], [2]), [3]);
  near(run('sub', [1], [2]), [-1]);
  near(run('mul', [3], [2]), [6]);
  near(run('div', [1, 1], [4, 0]), [0.25, INF]);
  near(run('rem', [-7, 7], [3, -3]), [-1, 1]);
  near(run('log_n', [8], [2]), [3]);
  near(run('pow', [2, 1, 1], [10, NaN, INF]), [1024, NaN, NaN]);
  near(run('min', [1, NaN], [2, 1]), [1, NaN]);
  near(run('max', [1, 1], [2, NaN]), [2, NaN]);
  near(run('add', [null, 1], [2, null], { da: 10, db: 20 }), [12, 21]);
  assert.throws(() => run('add', [null], [2], { db: 1 }), /column 'a' is missing/);
  assert.throws(() => run('add', [1], [null], { da: 1 }), /column 'b' is missing/);
});

test('a function of one column and a number', () => {
  const run = (more: object) =>
    map(doubles(2, 8), DOUBLE, (builder, input, output) =>
      ops.mathBinary(builder, { b: input, output, operation: 'sub', ...more }, PLACE),
    );
  assert.deepEqual(run({ da: 10 }), [8, 2]);
  assert.throws(() => run({}), { code: 'ModelInvalid' });
});
