// The values of Spark 4.1.0's expressions in ANSI mode and without it, and the rows that it refuses
// (test/fixtures/tabular/ansi), compared with a plan's. Values are compared as the text that CAST
// gives. SERVAL_ANSI_GOLDENS: the folder of answers.json; if it is not set, the fixture script
// makes it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { goldenFolder } from '../../golden-folder.js';
import { type GivenColumn, PlanError, runPlan } from '../../../unit/importers/plan/run-plan.js';
import { lowered } from '../../../unit/importers/spark/sql/statements.js';

/** `refused`: because of the types of its columns. */
interface Answer {
  readonly type?: string;
  readonly refused?: string;
  readonly values?: readonly (string | null)[];
}

interface Answers {
  readonly columns: Readonly<Record<string, GivenColumn>>;
  readonly answers: readonly {
    readonly expression: string;
    readonly ansi: Answer;
    /** undefined: as in ANSI mode. */
    readonly legacy?: Answer;
  }[];
}

const NO_GOLDENS = 'no goldens: no Java or Spark 4 to make them with, no SERVAL_ANSI_GOLDENS';
const folder = goldenFolder('ansi');
const { columns: given, answers }: Answers =
  folder === undefined
    ? { columns: {}, answers: [] }
    : JSON.parse(readFileSync(join(folder, 'answers.json'), 'utf8'));

/** Reals as text, because JSON's integers are too short and have no -0. */
const columns = Object.fromEntries(
  Object.entries(given).map(([name, column]) => {
    if (column.type !== 'double') return [name, column];
    const texts = column.values.map((value) =>
      value === null ? null : Object.is(value, -0) ? '-0' : String(value),
    );
    return [name, { ...column, values: texts }];
  }),
);

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
function same(got: unknown, expected: string | null, type: string): boolean {
  if (got === expected || got === null || expected === null) return got === expected;
  const [a, b] = [Number(got), Number(expected)];
  // Java 17 and later print floats with different digits.
  if (type === 'float') return Math.fround(a) === Math.fround(b);
  return Math.abs(a - b) <= 4e-16 * Math.abs(b);
}

/** Spark 4 without ANSI gives other results for these than Spark 3.5, which Serval follows. */
const OTHERS = new Set(['-w', 'abs(w)', ...['tinyint', 'smallint', 'int'].map(castTime)]);
function castTime(type: string): string {
  return `CAST(ts AS ${type})`;
}

/** Spark's optimizer reorders the terms of this sum, and the try_add() becomes a + that raises. */
const REORDERED = 'try_add(i, 1) + z';

const isError = (value: string | null): boolean => value?.startsWith('!') === true;

interface Asked {
  readonly expression: string;
  readonly type: string;
  readonly values: readonly (string | null)[];
}

/** Returns a plan's results for the expressions, and the rows that it refuses. */
function run(expressions: readonly string[], ansi: boolean) {
  const items = expressions.flatMap((each, i) => [
    `CAST((${each}) AS STRING) AS s${i}`,
    `(${each}) AS v${i}`,
  ]);
  const { plan, problems } = lowered(
    `SELECT ${items.join(', ')} FROM __THIS__`,
    Object.keys(columns),
    { major: 4, ansi },
  );
  assert.deepEqual(problems, []);
  return runPlan(plan, columns, { nullForInvalid: true });
}

/** The row in which all columns are NULL. */
const NULL_ROW = 4;

type Given = ReturnType<typeof run>;

function check({ type, values }: Asked, given: Given, i: number): void {
  const got = given.columns[`s${i}`] ?? [];
  // Spark casts constants before it reads a row, and refuses the statement.
  const isStatement = values.every(isError);
  values.forEach((expected, row) => {
    if (isStatement && row === NULL_ROW) return;
    const isRefused = given.refused.includes(row);
    assert.equal(isRefused, isError(expected), `row ${row}: got ${got[row]}, expected ${expected}`);
    const isSame = isRefused || same(got[row], expected, type);
    assert.ok(isSame, `row ${row}: got ${got[row]}, expected ${expected}`);
  });
  const decimal = /^decimal\(\d+,(\d+)\)$/.exec(type);
  if (type === 'void' || values.every((value) => value === null || isError(value))) return;
  const answered = given.types[`v${i}`];
  assert.equal(answered?.type, decimal === null ? TYPES[type] : 'Decimal');
  if (decimal !== null) assert.equal(answered?.scale, Number(decimal[1]));
}

for (const [mode, ansi] of [
  ['ansi', true],
  ['legacy', false],
] as const) {
  describe(`Spark 4, ${mode}`, { skip: folder === undefined && NO_GOLDENS }, () => {
    if (folder === undefined) return;
    const asked = answers.flatMap(({ expression, ...modes }): Asked[] => {
      const { type = '', values = [], refused } = modes[mode] ?? modes.ansi;
      const isOther = expression === REORDERED || (!ansi && OTHERS.has(expression));
      const isAsked = refused === undefined && !isOther;
      return isAsked ? [{ expression, type, values }] : [];
    });
    test('there are many', () => assert.ok(asked.length > 1000, `${asked.length}`));
    // Expressions that refuse no row run together, as long as they behave as expected.
    const calm = asked.filter(({ values }) => !values.some(isError));
    let together: Given | undefined;
    try {
      const all = run(
        calm.map(({ expression }) => expression),
        ansi,
      );
      if (all.refused.length === 0) together = all;
    } catch (error) {
      if (!(error instanceof PlanError || error instanceof assert.AssertionError)) throw error;
    }
    for (const one of asked) {
      test(one.expression, () => {
        const place = together === undefined ? -1 : calm.indexOf(one);
        if (together !== undefined && place >= 0) check(one, together, place);
        else check(one, run([one.expression], ansi), 0);
      });
    }
  });
}
