// Expressions without a result: the error of the row, or of the load; and columns that do not
// exist.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type GivenColumn, PlanError, runPlan } from '../../plan/run-plan.js';
import { lowered } from './statements.js';

const columns: Readonly<Record<string, GivenColumn>> = {
  i: { type: 'int32', values: [1, 2] },
  s: { type: 'string', values: ['x', 'line\n'] },
  b: { type: 'bool', values: [1, 0] },
  dt: { type: 'date', values: [0, 1] },
  v: { type: 'vector', values: [[1], [2]] },
};

function run(expression: string) {
  const { plan, problems } = lowered(
    `SELECT ${expression} AS x FROM __THIS__`,
    Object.keys(columns),
  );
  assert.deepEqual(problems, []);
  return runPlan(plan, columns);
}

const rows: readonly (readonly [string, RegExp])[] = [
  ['i + b', /stage 0: row 0: cannot compute int \+ boolean/],
  ['v + 1', /row 0: cannot compute vector \+ int/i],
  ['dt < i', /row 0: cannot compare date with int/],
  ['i AND b', /row 0: expected boolean, got int/],
  ['CASE WHEN b THEN 1 ELSE b END', /row 0: CASE: .*no type in common/],
  ["coalesce(b, 'x')", /row 0: coalesce\(\): .*no type in common/],
  ["greatest(i, 'x')", /row 0: greatest\(\): .*no type in common/],
  ['i IN (1, b)', /row 0: IN: .*no type in common/],
  ['CAST(v AS string)', /row 0: cannot cast vector to string/i],
  ['CAST(i AS date)', /row 0: cannot cast int to date/],
  ['year(i)', /row 0: expected date, got int/],
  ['sqrt(b)', /row 0: expected double, got boolean/],
  ['upper(v)', /row 0: .*vector/i],
  ["CAST('2020-01-01 00:00:00 Europe/Paris' AS timestamp)", /the time zone in .* is not supported/],
  [
    'CAST(date_add(dt, 2000000000) AS timestamp)',
    /row 0: the date .* is out of range for timestamps/,
  ],
  ["split_part(s, ',', 0)", /row 0: split_part\(\): part 0/],
  ['repeat(s, 2000000000)', /more than 67108864 bytes/],
  ["rpad(s, 2000000000, 'ab')", /more than 67108864 bytes/],
];

describe('rows are refused, with place, row and reason', () => {
  for (const [expression, expected] of rows) {
    test(expression, () => {
      assert.throws(
        () => run(expression),
        (error) => error instanceof PlanError && expected.test(error.message),
      );
    });
  }
});

const loads: readonly (readonly [string, RegExp])[] = [
  ["s RLIKE '('", /sql\.rlike/],
  ["s RLIKE '(?=a'", /sql\.rlike/],
  ["regexp_replace(s, 'a', '$1')", /there is no group 1/],
  ["regexp_replace(s, 'a', 'b$')", /expected a group's number after \$/],
  ["regexp_extract(s, 'a', 2)", /there is no group 2/],
  ["s LIKE 'a\\\\'", /the escape character must precede/],
  ["s LIKE 'a' ESCAPE 'ab'", /one character after ESCAPE/],
  ["to_date(s, 'yyyy-MM-dd z')", /the date pattern .* 'z' is not supported/],
  ["date_format(dt, 'QQ')", /the date pattern .* is not supported/],
];

describe('the load is refused', () => {
  for (const [expression, expected] of loads) {
    test(expression, () => {
      assert.throws(
        () => run(expression),
        (error) => error instanceof PlanError && expected.test(error.message),
      );
    });
  }
});

test('a row that has no answer is missing where the request asks for that', () => {
  const { plan } = lowered("SELECT split_part('a,b', ',', i - 1) AS x FROM __THIS__", ['i']);
  const { columns: answered, refused } = runPlan(
    plan,
    { i: { type: 'int32', values: [1, 2] } },
    {
      nullForInvalid: true,
    },
  );
  assert.deepEqual(answered['x'], [null, 'a']);
  assert.deepEqual(refused, [0]);
});

const types: readonly (readonly [string, string])[] = [
  ['n + 1', 'Int32'],
  ['n + 1.5', 'Decimal'],
  ['n / 2', 'Double'],
  ['n || 1', 'String'],
  ['n > 1', 'Bool'],
  ['CASE WHEN n > 1 THEN 1 END', 'Int32'],
  ['CAST(n AS date)', 'Date'],
];

describe('a column without any value still has its type', () => {
  for (const [expression, expected] of types) {
    test(expression, () => {
      const { plan } = lowered(`SELECT ${expression} AS x FROM __THIS__`, ['n']);
      const given = { n: { type: 'int32', values: [null, null] } } as const;
      const answer = runPlan(plan, given);
      assert.equal(answer.types['x']?.type, expected);
      assert.deepEqual(answer.columns['x'], [null, null]);
    });
  }
});

test('no rows', () => {
  const { plan } = lowered('SELECT upper(s) AS x, i + 1 AS y FROM __THIS__', ['s', 'i']);
  const { columns: answered } = runPlan(plan, {
    s: { type: 'string', values: [] },
    i: { type: 'int32', values: [] },
  });
  assert.deepEqual(answered, { x: [], y: [] });
});

test('patterns with $ and those that look around answer as in Java', () => {
  const answers = (expression: string) => run(expression).columns['x'];
  assert.deepEqual(answers("s RLIKE 'e$'"), [0, 1]); // before a line end at the end of the text
  assert.deepEqual(answers("s RLIKE 'e(?=\\\\n)'"), [0, 1]);
  assert.deepEqual(answers("s RLIKE 'e(?!\\\\n)'"), [0, 0]);
});

test('texts that grow are refused, and patterns take no more time than a text is long', () => {
  const text = 'a'.repeat(50_000);
  const { plan } = lowered("SELECT s RLIKE '(a+)+b' AS x, s LIKE '%a%a%a%a%b' AS y FROM __THIS__", [
    's',
  ]);
  const { columns: answered } = runPlan(plan, { s: { type: 'string', values: [text] } });
  assert.deepEqual(answered, { x: [0], y: [0] });
});
