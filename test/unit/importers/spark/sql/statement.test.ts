// Parsing of SQLTransformer statements, and refused statements.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseSelect } from '../../../../../ts/importers/spark/sql/parser.js';
import { sqlText } from '../../../../../ts/importers/spark/sql/print.js';
import { lowered } from './statements.js';

const names = (statement: string, columns: readonly string[]) =>
  lowered(statement, columns).result?.columns.map(({ name }) => name);

test('* is all columns, in order; others follow where they stand', () => {
  assert.deepEqual(names('SELECT *, a + 1 AS c FROM __THIS__', ['a', 'b']), ['a', 'b', 'c']);
  assert.deepEqual(names('select b, a from __THIS__', ['a', 'b']), ['b', 'a']);
  assert.deepEqual(names('SELECT t.*, t.a x FROM __THIS__ AS t;', ['a']), ['a', 'x']);
  assert.equal(lowered('SELECT a FROM __THIS__', ['a']).result?.keepsAll, false);
  assert.equal(lowered('SELECT * FROM __THIS__', ['a']).result?.keepsAll, true);
});

test('a column that is only named again is the same column', () => {
  const { plan, result } = lowered('SELECT a AS b, A AS c FROM __THIS__', ['a']);
  assert.equal(plan.block.stages.length, 0);
  assert.deepEqual(new Set(result?.columns.map(({ column }) => column)).size, 1);
});

test('names: back quotes, upper and lower case, aliases to the left', () => {
  const { problems } = lowered('SELECT `a b`, `x``y`, __THIS__.q FROM __THIS__', [
    'a b',
    'x`y',
    'Q',
  ]);
  assert.deepEqual(problems, []);
  assert.deepEqual(lowered('SELECT a + 1 AS b, b * 2 AS c FROM __THIS__', ['a']).problems, []);
  assert.match(
    lowered('SELECT A FROM __THIS__', ['a', 'A']).problems[0] ?? '',
    /ambiguous: it matches 'a' and 'A'/,
  );
  assert.match(lowered('SELECT z FROM __THIS__', ['a']).problems[0] ?? '', /unknown column 'z'/);
});

test('a name that nobody knows is a field where there can be one', () => {
  const { plan, problems } = lowered('SELECT z + 1 AS y FROM __THIS__', [], { open: true });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    plan.fields.map(({ name }) => name),
    ['z'],
  );
});

test('comments and blanks', () => {
  const statement = 'SELECT /* all\n*/ a -- of it\n FROM\t__THIS__';
  assert.deepEqual(names(statement, ['a']), ['a']);
});

const precedence: readonly (readonly [string, string])[] = [
  ['a + b * c', '(a + (b * c))'],
  ['a - b - c', '((a - b) - c)'],
  ['a OR b AND NOT c', '(a OR (b AND (NOT c)))'],
  ['NOT a = b', '(NOT (a = b))'],
  ['a = b IS NULL', '((a = b) IS NULL)'],
  ['a BETWEEN 1 AND 2 AND b', '(((a >= 1) AND (a <= 2)) AND b)'],
  ['a NOT IN (1, 2)', '(NOT (a IN (1, 2)))'],
  ['- a * b', '((- a) * b)'],
  ['a || b + c', '(concat(a, b) + c)'],
  ['a & b | c', '((a & b) | c)'],
  ['a <> b', '(NOT (a = b))'],
  ['CASE a WHEN 1 THEN b END', 'CASE WHEN (a = 1) THEN b END'],
  ['1 + CAST(a AS decimal(5, 2))', '(1 + CAST(a AS DECIMAL(5,2)))'],
  ['1 + a::int', '(1 + CAST(a AS INT))'],
  ['-5', '-5'],
  ['a + INTERVAL 1 DAY', "(a + INTERVAL '1' DAY)"],
  ["a - INTERVAL '1-2' YEAR TO MONTH", "(a - INTERVAL '1-2' YEAR TO MONTH)"],
  ["a + INTERVAL '1 2:03:04.5' DAY TO SECOND", "(a + INTERVAL '1 02:03:04.5' DAY TO SECOND)"],
  ["'it\\'s'", "it's"],
];

describe('operator precedence', () => {
  for (const [written, expected] of precedence) {
    test(written, () => {
      const [item] = parseSelect(`SELECT ${written} FROM __THIS__`, 3).items;
      assert.ok(item?.value !== undefined);
      assert.equal(sqlText(item.value, { major: 3, isDate: () => false }), expected);
    });
  }
});

const refused: readonly (readonly [string, RegExp])[] = [
  ['SELECT a FROM __THIS__ WHERE a > 1', /WHERE is not supported/],
  ['SELECT a FROM __THIS__ GROUP BY a', /GROUP is not supported/],
  ['SELECT a FROM __THIS__ ORDER BY a', /ORDER is not supported/],
  ['SELECT a FROM __THIS__ LIMIT 1', /LIMIT is not supported/],
  ['SELECT a FROM __THIS__ JOIN b', /JOIN is not supported/],
  ['SELECT a FROM __THIS__, b', /a join is not supported/],
  ['SELECT a FROM __THIS__ UNION SELECT a FROM __THIS__', /UNION is not supported/],
  ['SELECT DISTINCT a FROM __THIS__', /DISTINCT, which drops rows, is not supported/],
  ['WITH x AS (SELECT 1) SELECT a FROM x', /WITH is not supported/],
  ['SELECT a FROM other', /expected FROM __THIS__, got 'other'/],
  ['SELECT (SELECT 1) FROM __THIS__', /a subquery is not supported/],
  ['SELECT count(*) FROM __THIS__', /aggregates are not supported/],
  ['SELECT sum(a) FROM __THIS__', /the function sum\(\) is not supported/],
  ['SELECT sum(a) OVER (PARTITION BY a) FROM __THIS__', /OVER is not supported/],
  ['SELECT rand() FROM __THIS__', /the function rand\(\) is not supported/],
  ['SELECT try(a) FROM __THIS__', /the function try\(\) is not supported/],
  ['SELECT try_cast(a) FROM __THIS__', /expected AS, got/],
  ['SELECT try_add(a) FROM __THIS__', /add\(\) takes 2 arguments, got 1/],
  ['SELECT current_date() FROM __THIS__', /current_date\(\) is not supported/],
  ['SELECT a.b FROM __THIS__', /'a\.': members of a structure/],
  ['SELECT a + INTERVAL 1 EON FROM __THIS__', /expected a unit of time, got 'EON'/],
  ['SELECT CAST(a AS array) FROM __THIS__', /expected '<', got '\)'/],
  ['SELECT CAST(a AS decimal(40, 2)) FROM __THIS__', /the type decimal is not supported/],
  ['SELECT sqrt(a, 1) FROM __THIS__', /sqrt\(\) takes 1 arguments, got 2/],
  ['SELECT a RLIKE a FROM __THIS__', /argument 2 must be a constant/],
  ['SELECT a LIKE ANY (a) FROM __THIS__', /argument 2 must be a constant/],
  [`SELECT CAST(a AS ${'array<'.repeat(300)}int) FROM __THIS__`, /types nest deeper than 16/],
  ['SELECT a FROM', /expected FROM __THIS__, got the end/],
  ['SELECT FROM __THIS__', /expected/],
  ['SELECT a, FROM __THIS__', /expected/],
  ["SELECT 'abc FROM __THIS__", /column 8: unterminated string/],
  ['SELECT `a FROM __THIS__', /unterminated name in backquotes/],
  ['SELECT /* a FROM __THIS__', /unterminated comment/],
  ['SELECT a # b FROM __THIS__', /unexpected '#'/],
  ['SELECT CASE END FROM __THIS__', /expected|CASE without WHEN/],
  ['SELECT 300Y FROM __THIS__', /300Y is out of its type's range/],
  [`SELECT ${'9'.repeat(39)} FROM __THIS__`, /more than 38 digits/],
  [`SELECT ${'('.repeat(300)}a${')'.repeat(300)} FROM __THIS__`, /nest deeper than 200/],
  [`SELECT ${'-'.repeat(3)}${'- '.repeat(300)}a FROM __THIS__`, /nest deeper|end/],
  [`SELECT ${'NOT '.repeat(300)}a FROM __THIS__`, /nest deeper than 200/],
  [`SELECT ${'a + '.repeat(300)}a FROM __THIS__`, /at most 200 nested calls, got 201/],
  [`SELECT a${' '.repeat(100_000)} FROM __THIS__`, /at most 100000 characters/],
];

describe('refused statements', () => {
  for (const [statement, expected] of refused) {
    test(statement.slice(0, 70), () => {
      const { problems, result } = lowered(statement, ['a']);
      assert.equal(result, undefined);
      assert.match(problems.join('\n'), expected);
      assert.match(problems[0] ?? '', /^stage 0: statement/);
    });
  }
});

test('reports all problems of a statement, each with its column', () => {
  const { problems } = lowered('SELECT foo(a), bar(b), sum(zip) FROM __THIS__', ['a', 'b']);
  assert.deepEqual(problems, [
    'stage 0: statement, column 8: the function foo() is not supported',
    'stage 0: statement, column 16: the function bar() is not supported',
    "stage 0: statement, column 28: unknown column 'zip'",
    'stage 0: statement, column 24: the function sum() is not supported: it aggregates rows',
  ]);
});

test('long chains of AND and OR stay flat', () => {
  const many = Array.from({ length: 2000 }, (_, i) => `a = ${i}`).join(' OR ');
  assert.deepEqual(lowered(`SELECT ${many} AS b FROM __THIS__`, ['a']).problems, []);
});

/** Reproducible pseudo-random numbers. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('whatever a statement is made of, it is read or refused', () => {
  const words =
    'SELECT FROM __THIS__ a b ( ) , * + - / % . :: [ ] \'x\' "y" `z` 1 2.5 1e3 .5 7L CASE WHEN THEN ELSE ' +
    "END NOT AND OR IN BETWEEN LIKE IS NULL CAST AS int decimal split concat substring trim FROM FOR ' \\ ;";
  const parts = words.split(' ');
  const random = numbers(1);
  for (let i = 0; i < 3000; i += 1) {
    const count = 1 + random(30);
    const middle = Array.from({ length: count }, () => parts[random(parts.length)]).join(' ');
    const statement = random(2) === 0 ? `SELECT ${middle} FROM __THIS__` : middle;
    const { problems, result } = lowered(statement, ['a', 'b']);
    assert.equal(result === undefined, problems.length > 0, statement);
  }
});
