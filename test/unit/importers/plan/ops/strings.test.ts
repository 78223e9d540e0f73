// Operators between strings and indices, with the results of Spark and MLeap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as ops from '../../../../../ts/importers/plan/ops/index.js';
import { DOUBLE, doubles, INT, map, PLACE, STRING, strings, WORDS, vectors } from './frames.js';

const labels = ['b', 'a', 'c'];

function indexed(values: readonly unknown[], handleInvalid: ops.HandleInvalid, more = {}) {
  return map(
    strings(...values),
    DOUBLE,
    (builder, input, output) =>
      ops.stringIndexer(builder, { input, output, labels, handleInvalid, ...more }, PLACE),
    { nullForInvalid: 'nulls' in more },
  );
}

test('a string indexer gives the label’s number', () => {
  assert.deepEqual(indexed(['a', 'b', 'c', 'b'], 'error'), [1, 0, 2, 0]);
});

test('a string indexer keeps unseen and missing labels, or refuses them', () => {
  assert.deepEqual(indexed(['a', 'x', null, ''], 'keep'), [1, 3, 3, 3]);
  for (const handleInvalid of ['error', 'skip'] as const) {
    assert.throws(() => indexed(['a', 'x'], handleInvalid), {
      code: 'InvalidArgument',
      message: "stage 3 'op_1': row 1: column 'x': 'x' is not one of the labels",
    });
    assert.throws(() => indexed(['a', null], handleInvalid), /row 1: column 'x' is missing$/);
  }
});

test('a label column that is left out stays out', () => {
  assert.deepEqual(indexed([null, null], 'error', { absentIsMissing: true }), [null, null]);
  assert.throws(() => indexed(['a', null], 'error', { absentIsMissing: true }), /row 1/);
});

test('a string indexer reads numbers as Spark casts them to text', () => {
  const run = (column: object, names: readonly string[]) =>
    map(column as never, DOUBLE, (builder, input, output) =>
      ops.stringIndexer(builder, { input, output, labels: names, handleInvalid: 'keep' }, PLACE),
    );
  assert.deepEqual(
    run(doubles(1, 10000000, 0.001, 1e-4, Number.NaN), ['1.0', '1.0E7', '0.001', '1.0E-4', 'NaN']),
    [0, 1, 2, 3, 4],
  );
  assert.deepEqual(run({ type: 'int64', values: [1, -5] }, ['1.0', '1', '-5']), [1, 2]);
  assert.deepEqual(run({ type: 'bool', values: [1, 0] }, ['false', 'true']), [1, 0]);
  assert.deepEqual(run({ type: 'float', values: [Math.fround(0.1)] }, ['0.1']), [0]);
  assert.deepEqual(
    run({ type: 'decimal', precision: 5, scale: 2, values: ['120', '-5'] }, ['1.20', '-0.05']),
    [0, 1],
  );
});

test('a string indexer refuses what is no scalar', () => {
  assert.throws(
    () =>
      map(vectors([1]), DOUBLE, (builder, input, output) =>
        ops.stringIndexer(builder, { input, output, labels, handleInvalid: 'keep' }, PLACE),
      ),
    /column 'x' is Vector, expected a string/,
  );
});

test('an index becomes its label', () => {
  const run = (column: object) =>
    map(column as never, STRING, (builder, input, output) =>
      ops.indexToString(builder, { input, output, labels }, PLACE),
    );
  assert.deepEqual(run(doubles(0, 2, 1.9, -0.5, null, Number.NaN)), [
    'b',
    'c',
    'a',
    'b',
    null,
    'b',
  ]);
  assert.throws(() => run(doubles(3)), /no label has the index 3\.0, there are 3/);
  assert.throws(() => run(doubles(-1)), /no label has the index -1\.0/);
});

test('a vector of indices becomes a list of labels', () => {
  const run = (column: object) =>
    map(column as never, WORDS, (builder, input, output) =>
      ops.indexToString(builder, { input, output, labels }, PLACE),
    );
  assert.deepEqual(run(vectors([0, 1], [], null, [2])), [['b', 'a'], [], null, ['c']]);
  assert.throws(() => run(vectors([0], [7])), /row 1: .*index 7\.0/);
});

test('a string map, with and without a default', () => {
  const run = (more: object) =>
    map(strings('a', 'b', 'zz'), DOUBLE, (builder, input, output) =>
      ops.stringMap(
        builder,
        {
          input,
          output,
          labels,
          values: Float64Array.of(0.5, 1.5, 2.5),
          handleInvalid: 'error',
          ...more,
        },
        PLACE,
      ),
    );
  assert.deepEqual(run({ handleInvalid: 'keep', defaultValue: -1 }), [1.5, 0.5, -1]);
  assert.deepEqual(run({ handleInvalid: 'keep' }), [1.5, 0.5, 0]);
  assert.throws(() => run({}), /row 2: column 'x': there is no value for 'zz'/);
});

test('a regex indexer takes the first expression that is found', () => {
  const run = (values: readonly unknown[], defaultIndex?: number) =>
    map(strings(...values), INT, (builder, input, output) =>
      ops.regexIndexer(
        builder,
        {
          input,
          output,
          regexes: ['^a+', 'b\\s', '(?i)C'],
          indices: Int32Array.of(5, 7, 9),
          defaultIndex,
        },
        PLACE,
      ),
    );
  assert.deepEqual(run(['xaab c', 'aab', 'xb\x0Bc', 'c', 'zz'], 1), [7, 5, 7, 9, 1]);
  assert.throws(() => run(['zz']), /the text contains none of the expressions/);
});

test('expressions of Java run, and those that Java refuses are reported at load', () => {
  const run = (regex: string, ...texts: readonly string[]) =>
    map(strings(...texts), INT, (builder, input, output) =>
      ops.regexIndexer(
        builder,
        { input, output, regexes: [regex], indices: Int32Array.of(1), defaultIndex: 0 },
        PLACE,
      ),
    );
  for (const [regex, found, other] of [
    ['a(?=b)', 'ab', 'ac'],
    ['(?<!a)b', 'cb', 'ab'],
    ['(a)\\1', 'aa', 'ab'],
    ['a*+b', 'aab', 'aac'],
    ['(?>a|ab)c', 'ac', 'abd'],
    ['[a-z&&[^b]]', 'c', 'b'],
    ['[a[bc]]', 'b', 'd'],
  ] as const) {
    assert.deepEqual(run(regex, found, other), [1, 0], regex);
  }
  for (const regex of ['(', 'a(?=b', '[a', 'a**', '(?<n>a)(?<n>b)', '\\k<none>']) {
    assert.throws(() => run(regex, 'a'), { code: 'ModelInvalid' }, regex);
  }
});

test('a number map', () => {
  const run = (more: object, ...values: readonly unknown[]) =>
    map(doubles(...values), DOUBLE, (builder, input, output) =>
      ops.numberMap(
        builder,
        {
          input,
          output,
          keys: Float64Array.of(2, 0, 1),
          values: Float64Array.of(20, 0.5, 10),
          ...more,
        },
        PLACE,
      ),
    );
  assert.deepEqual(
    run({ missing: -1, other: -2 }, 0, -0, 1, 2, 3, null),
    [0.5, 0.5, 10, 20, -2, -1],
  );
  assert.throws(() => run({ missing: -1 }, 3), /there is no entry for 3\.0/);
  assert.throws(() => run({ other: -1 }, null), /column 'x' is missing/);
});
