// SQL in Spark 4's ANSI mode: error messages, and which branches count. Spark's results for all
// functions: test/conformance/tabular/spark/ansi.test.ts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type GivenColumn, PlanError, runPlan } from '../../plan/run-plan.js';
import { lowered } from './statements.js';

const columns: Readonly<Record<string, GivenColumn>> = {
  t: { type: 'int8', values: [3, -128] },
  i: { type: 'int32', values: [5, -2147483648] },
  z: { type: 'int32', values: [0, -1] },
  n: { type: 'int32', values: [null, null] },
  d: { type: 'double', values: [2.5, '-1e20'] },
  s: { type: 'string', values: ['abc', '12'] },
  dt: { type: 'date', values: [0, 1] },
};

function run(expression: string, ansi: boolean) {
  const statement = `SELECT ${expression} AS x FROM __THIS__`;
  const { plan, problems } = lowered(statement, Object.keys(columns), { major: 4, ansi });
  assert.deepEqual(problems, []);
  return runPlan(plan, columns);
}

const refusals: readonly (readonly [expression: string, error: RegExp])[] = [
  ['i + i', /^stage 0: row 1: \(i \+ i\): ARITHMETIC_OVERFLOW: the result does not fit int$/],
  ['t * t', /^stage 0: row 1: \(t \* t\): BINARY_ARITHMETIC_OVERFLOW: .* fit tinyint$/],
  ['5 / z', /^stage 0: row 0: \(5 \/ z\): DIVIDE_BY_ZERO$/],
  ['5 % z', /^stage 0: row 0: \(5 % z\): REMAINDER_BY_ZERO$/],
  ['CAST(s AS INT)', /^stage 0: row 0: CAST\(s AS INT\): CAST_INVALID_INPUT: 'abc' cannot be cast/],
  ['CAST(d AS INT)', /^stage 0: row 1: .*: CAST_OVERFLOW: -1\.0E20 cannot be cast to int$/],
  ["split(s, '-')[1]", /^stage 0: row 0: .*: INVALID_ARRAY_INDEX: item 1 of 1$/],
  ['make_date(2020, 2, 30)', /^stage 0: row 0: .*: DATETIME_FIELD_OUT_OF_BOUNDS$/],
  ["next_day(dt, 'xx')", /^stage 0: row 0: .*: ILLEGAL_DAY_OF_WEEK: xx$/],
  ['elt(i, s)', /row 0: elt\(i, s\): INVALID_ARRAY_INDEX: /],
  ['array(i)[1]', /row 0: .*: INVALID_ARRAY_INDEX: item 1 of 1$/],
  ['array(i, s)', /row 0: array\(i, s\): CAST_INVALID_INPUT: 'abc' cannot be cast to bigint$/],
  ["conv('99999999999999999999999', 10, 16)", /row 0: .*: ARITHMETIC_OVERFLOW: /],
  ["parse_url('a b', 'HOST')", /row 0: .*: INVALID_URL: a b$/],
  ['make_timestamp(2020, 13, 1, 1, 1, 1)', /row 0: .*: DATETIME_FIELD_OUT_OF_BOUNDS$/],
];

describe('errors name the row, the expression and the condition of Spark', () => {
  for (const [expression, error] of refusals) {
    test(expression, () => {
      assert.throws(
        () => run(expression, true),
        (thrown) =>
          thrown instanceof PlanError &&
          thrown.code === 'InvalidArgument' &&
          error.test(thrown.message),
      );
    });
  }
  test('long texts are cut, in whole characters', () => {
    const { plan } = lowered('SELECT CAST(s AS INT) AS x FROM __THIS__', ['s'], {
      major: 4,
      ansi: true,
    });
    assert.throws(
      () => runPlan(plan, { s: { type: 'string', values: ['é'.repeat(1000)] } }),
      (thrown) => thrown instanceof PlanError && /: 'é{20,40}\.\.\.' cannot/.test(thrown.message),
    );
  });
  test('long expressions are cut', () => {
    const long = `${'z + '.repeat(100)}1 / z`;
    assert.throws(
      () => run(long, true),
      (thrown) => thrown instanceof PlanError && thrown.message.length < 300,
    );
  });
});

const answered: readonly (readonly [expression: string, ansi: unknown, legacy: unknown])[] = [
  ['IF(z = 0, -1, 5 % z)', [-1, 0], [-1, 0]],
  ['z <> 0 AND 5 / z < 1', [0, 1], [0, 1]],
  ['z = 0 OR 5 / z < 1', [1, 1], [1, 1]],
  ['coalesce(i, 5 / z)', [5, -2147483648], [5, -2147483648]],
  ['n + 5 / z', [null, null], [null, null]],
  ['i IN (5, -2147483648, 5 % z)', [1, 1], [1, 1]],
  ['try_divide(5, z)', [null, -5], [null, -5]],
  ['try_cast(s AS INT)', [null, 12], [null, 12]],
  ['try_cast(d AS TINYINT)', [2, null], [2, null]],
  ["try_element_at(split(s, 'b'), 2)", ['c', null], ['c', null]],
  ["try_parse_url('a b', 'HOST')", [null, null], [null, null]],
  ['try_make_timestamp(2020, 13, 1, 1, 1, 1)', [null, null], [null, null]],
  ["coalesce(n, '7')", [7, 7], ['7', '7']],
  ['coalesce(i, s)', [5, -2147483648], ['5', '-2147483648']],
];

describe('errors count only where Spark reads the value', () => {
  for (const [expression, ansi, legacy] of answered) {
    test(expression, () => {
      assert.deepEqual(run(expression, true).columns['x'], ansi);
      assert.deepEqual(run(expression, false).columns['x'], legacy);
    });
  }
});

const legacy: readonly (readonly [expression: string, values: unknown])[] = [
  ['i + i', [10, 0]],
  ['5 / z', [null, -5]],
  ['CAST(d AS INT)', [2, -2147483648]],
  ['CAST(s AS INT)', [null, 12]],
];

describe('without ANSI nothing is refused', () => {
  for (const [expression, values] of legacy) {
    test(expression, () => assert.deepEqual(run(expression, false).columns['x'], values));
  }
});
