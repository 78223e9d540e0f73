// Columns of arrays that statements create and read, and values that a column cannot hold; errors
// name the function, the argument and the types.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type GivenColumn, PlanError, runPlan } from '../../../plan/run-plan.js';
import { lowered } from '../statements.js';

const columns: Readonly<Record<string, GivenColumn>> = {
  i: { type: 'int32', values: [1, 2] },
  n: { type: 'int32', values: [null, 7] },
  s: { type: 'string', values: ['a,b', 'c'] },
  w: { type: 'list', element: 'string', values: [['x', 'y'], null] },
  v: { type: 'vector', values: [[1], [2]] },
};

function run(expressions: string) {
  const { plan, problems } = lowered(`SELECT ${expressions} FROM __THIS__`, Object.keys(columns));
  assert.deepEqual(problems, []);
  return runPlan(plan, columns);
}

test('an array is a column, and a later expression reads it', () => {
  const { columns: answered, types } = run(
    "split(s, ',') AS parts, size(parts) AS count, parts[1] AS second, array(i, 5) AS numbers, " +
      'array_append(w, s) AS more, cast(numbers AS array<double>) AS reals',
  );
  assert.deepEqual(answered['parts'], [['a', 'b'], ['c']]);
  assert.deepEqual(answered['count'], [2, 1]);
  assert.deepEqual(answered['second'], ['b', null]);
  assert.deepEqual(answered['numbers'], [
    [1, 5],
    [2, 5],
  ]);
  assert.deepEqual(answered['more'], [['x', 'y', 'a,b'], null]);
  assert.deepEqual(answered['reals'], [
    [1, 5],
    [2, 5],
  ]);
  assert.deepEqual(types['parts'], { type: 'List', element: 'String', scale: 0 });
  assert.equal(types['numbers']?.element, 'Int32');
});

test('an array that is missing in every row still has its type', () => {
  const { columns: answered, types } = run('CASE WHEN i > 9 THEN array(i) END AS none');
  assert.deepEqual(answered['none'], [null, null]);
  assert.deepEqual(types['none'], { type: 'List', element: 'Int32', scale: 0 });
});

const rows: readonly (readonly [string, RegExp])[] = [
  ['array(i, n)', /row 0: a column cannot hold an array with NULL among its items/],
  ['array(array(i))', /row 0: a column cannot hold array<array<int>>/],
  ["map('a', i)", /row 0: a column cannot hold map<string,int>/],
  ["named_struct('a', i)", /row 0: a column cannot hold struct<a:int>/],
  ['interval 1 day', /row 0: a column cannot hold interval day/],
  ['size(i)', /row 0: size\(\): argument 1: expected an array or a map, got int/],
  ['size(v)', /row 0: size\(\): argument 1: expected an array or a map, got Vector/],
  ['array_contains(w, i)', /row 0: array_contains\(\): argument 2: expected string, got int/],
  ["element_at(w, 'x')", /row 0: element_at\(\): argument 2: expected int, got string/],
  ['element_at(w, 0)', /row 0: element_at\(\): argument 2: items count from 1, got 0/],
  ['array_union(w, array(true))', /row 0: array_union\(\): argument 2: expected array<string>/],
  ["named_struct('a', i).b", /row 0: struct<a:int> has no field 'b'/],
  ['upper(w)', /row 0: expected string, got array<string>/],
  ["w = 'x'", /row 0: cannot compare array<string> with string/],
  ['w + 1', /row 0: cannot compute array<string> \+ int/],
  ['md5(i)', /row 0: md5\(\): argument 1: expected binary, got int/],
  ['hash(v)', /row 0: a vector has no hash/],
  ['array_repeat(i, 2000000000)', /row 0: array_repeat\(\): argument 2: expected at most 1048576/],
  ['sequence(1, 2000000000)', /row 0: sequence\(\): the array would have more than 1048576 items/],
  [
    'size(array_repeat(array_repeat(i, 1000000), 1000000))',
    /row 0: the arrays of a row would have more than 4194304 items in total/,
  ],
  [
    "array_join(array_repeat(repeat('x', 1000000), 1000000), '')",
    /row 0: array_join\(\): a text would have more than 67108864 bytes/,
  ],
  ["encode(s, 'KOI8-R')", /row 0: encode\(\): argument 2: expected US-ASCII, .* got 'KOI8-R'/],
  [
    "format_string('%d', s)",
    /row 0: format_string\(\): %d of argument 2, string, is not supported/,
  ],
  ["mask(s, 'ab')", /row 0: mask\(\): argument 2: expected one character, got 'ab'/],
  ['date_add(i, 1)', /row 0: expected date, got int/],
  ['unix_date(i)', /row 0: unix_date\(\): argument 1: expected date, got int/],
];

describe('rows are refused, with place, row, function, argument and types', () => {
  for (const [expression, expected] of rows) {
    test(expression, () => {
      assert.throws(
        () => run(`${expression} AS x`),
        (error) => error instanceof PlanError && expected.test(error.message),
      );
    });
  }
});

const statements: readonly (readonly [string, RegExp])[] = [
  ['transform(w, x -> x)', /statement, column \d+: /],
  ['rand()', /the function rand\(\) is not supported: its results are random/],
  ['current_date()', /current_date\(\) is not supported: its result depends on when/],
  ['count(i)', /the function count\(\) is not supported: it aggregates rows/],
  ['explode(w)', /the function explode\(\) is not supported: it adds rows/],
  ['split(s, s)', /split\(\): argument 2 must be a constant/],
  [
    "interval '1 year 2 days'",
    /an INTERVAL of both months and days is not supported: use make_interval\(\)/,
  ],
  ["interval '1-13' year to month", /'1-13': 13 is out of range for months/],
  ["interval 'x' day", /'x' is not a number of days/],
  ['interval 1 fortnight', /expected a unit of time, got 'fortnight'/],
  ['s LIKE ANY ()', /LIKE with an empty list/],
  ['cast(w AS array<thing>)', /the type thing is not supported/],
];

describe('statements are refused when the model loads', () => {
  for (const [expression, expected] of statements) {
    test(expression, () => {
      const { problems } = lowered(`SELECT ${expression} AS x FROM __THIS__`, Object.keys(columns));
      assert.match(problems.join('; '), expected);
    });
  }
});
