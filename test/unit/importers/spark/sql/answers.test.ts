// Spark 3.5.5's results for expressions (test/fixtures/tabular/sql/answers.json, written by
// make_answers.py beside it), compared with a plan's. Values are compared as the text that CAST
// gives.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type GivenColumn, PlanError, runPlan } from '../../plan/run-plan.js';
import { lowered } from './statements.js';

interface Answers {
  readonly columns: Readonly<Record<string, GivenColumn>>;
  readonly answers: readonly {
    readonly expression: string;
    readonly type: string;
    readonly values: readonly (string | null)[];
  }[];
}

const { columns, answers } = JSON.parse(
  readFileSync(join('test', 'fixtures', 'tabular', 'sql', 'answers.json'), 'utf8'),
) as Answers;

const TYPES: Readonly<Record<string, string>> = {
  boolean: 'Bool',
  tinyint: 'Int8',
  smallint: 'Int16',
  int: 'Int32',
  bigint: 'Int64',
  float: 'Float',
  double: 'Double',
  string: 'String',
  date: 'Date',
  timestamp: 'Timestamp',
};

/** Functions of doubles may differ in the last digit between math libraries. */
function same(got: unknown, expected: string | null): boolean {
  if (got === expected || got === null || expected === null) return got === expected;
  const [a, b] = [Number(got), Number(expected)];
  return Math.abs(a - b) <= 4e-16 * Math.abs(b);
}

function run(selected: readonly string[]) {
  const items = selected.map((item, i) => `${item} AS c${i}`).join(', ');
  const { plan, problems } = lowered(`SELECT ${items} FROM __THIS__`, Object.keys(columns));
  assert.deepEqual(problems, []);
  return runPlan(plan, columns);
}

describe('expressions as Spark answers them', () => {
  test('there are many', () => assert.ok(answers.length > 400, `${answers.length}`));
  let all: ReturnType<typeof run> | PlanError;
  try {
    all = run(
      answers.flatMap(({ expression }) => [`CAST((${expression}) AS STRING)`, `(${expression})`]),
    );
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    all = error;
  }
  for (const [i, { expression, type, values }] of answers.entries()) {
    test(expression, () => {
      // If one expression fails, each runs alone.
      const [text, value] =
        all instanceof PlanError ? ['c0', 'c1'] : [`c${2 * i}`, `c${2 * i + 1}`];
      const given =
        all instanceof PlanError
          ? run([`CAST((${expression}) AS STRING)`, `(${expression})`])
          : all;
      const got = given.columns[text] ?? [];
      values.forEach((expected, row) => {
        const isSame = same(got[row], expected);
        assert.ok(isSame, `row ${row}: got ${got[row]}, expected ${expected}`);
      });
      const decimal = /^decimal\(\d+,(\d+)\)$/.exec(type);
      const answered = given.types[value];
      if (type !== 'void') assert.equal(answered?.type, decimal === null ? TYPES[type] : 'Decimal');
      if (decimal !== null && values.some((each) => each !== null)) {
        assert.equal(answered?.scale, Number(decimal[1]));
      }
    });
  }
});
