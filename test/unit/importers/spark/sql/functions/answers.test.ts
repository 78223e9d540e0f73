// Results of Spark 3.5 and 4.1, not in ANSI mode, for function calls on edge values
// (test/fixtures/tabular/functions, written by make_answers.py there), compared with a plan's.
// Values are compared as the text that CAST gives, types as the names from typeof().
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type GivenColumn, PlanError, runPlan } from '../../../plan/run-plan.js';
import { lowered } from '../statements.js';

interface Answer {
  readonly expression: string;
  readonly type?: string;
  readonly values?: readonly (string | null)[];
  readonly error?: string;
}

const FOLDER = join('test', 'fixtures', 'tabular', 'functions');
const load = (name: string): unknown => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
const columns = load('columns.json') as Readonly<Record<string, GivenColumn>>;
const given: Readonly<Record<string, GivenColumn>> = Object.fromEntries(
  Object.entries(columns).map(([name, { type, element, precision, scale, values }]) => [
    name,
    {
      values,
      ...(type === undefined ? {} : { type }),
      ...(element === undefined ? {} : { element }),
      ...(precision === undefined ? {} : { precision }),
      ...(scale === undefined ? {} : { scale }),
    },
  ]),
);

/** Functions of doubles may differ in the last digit between math libraries. */
function same(got: unknown, expected: string | null): boolean {
  if (got === expected || typeof got !== 'string' || expected === null) return got === expected;
  if (!/^-?\d+(\.\d+)?(E-?\d+)?$/.test(expected)) return false;
  const [a, b] = [Number(got), Number(expected)];
  return Math.abs(a - b) <= 4e-16 * Math.abs(b) && /[.E]/.test(expected);
}

function run(expressions: readonly string[]) {
  const items = expressions.flatMap((each, i) => [
    `CAST((${each}) AS STRING) AS v${i}`,
    `typeof(${each}) AS t${i}`,
  ]);
  const { plan, problems } = lowered(
    `SELECT ${items.join(', ')} FROM __THIS__`,
    Object.keys(given),
  );
  if (problems.length > 0) throw new Error(problems.join('; '));
  return runPlan(plan, given);
}

type Outcome = ReturnType<typeof run> | Error;

/** Results by expression, from as few runs as possible: if one of many fails they run in halves. */
function runAll(expressions: readonly string[]): Map<string, { outcome: Outcome; at: number }> {
  const found = new Map<string, { outcome: Outcome; at: number }>();
  let outcome: Outcome;
  try {
    outcome = run(expressions);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    outcome = error;
  }
  if (outcome instanceof Error && expressions.length > 1) {
    const middle = Math.ceil(expressions.length / 2);
    for (const part of [expressions.slice(0, middle), expressions.slice(middle)]) {
      for (const [expression, each] of runAll(part)) found.set(expression, each);
    }
    return found;
  }
  for (const [at, expression] of expressions.entries()) found.set(expression, { outcome, at });
  return found;
}

function check(answers: readonly Answer[]): void {
  const good = answers.filter(({ error }) => error === undefined);
  const bad = answers.filter(({ error }) => error !== undefined);
  const outcomes = runAll(good.map(({ expression }) => expression));
  for (const { expression, type, values = [] } of good) {
    test(expression, () => {
      const found = outcomes.get(expression);
      assert.ok(found !== undefined);
      if (found.outcome instanceof Error) throw found.outcome;
      const { columns: answered } = found.outcome;
      assert.equal(answered[`t${found.at}`]?.[0], type);
      const got = answered[`v${found.at}`] ?? [];
      values.forEach((expected, row) => {
        assert.ok(same(got[row], expected), `row ${row}: got ${got[row]}, expected ${expected}`);
      });
    });
  }
  for (const { expression } of bad) {
    test(`${expression} is refused`, () => {
      assert.throws(
        () => run([expression]),
        (error) => error instanceof PlanError || /statement, column/.test(String(error)),
      );
    });
  }
}

describe('functions as Spark 3.5 answers them', () => {
  for (const part of ['lists', 'values']) check(load(`answers-${part}.json`) as readonly Answer[]);
});

describe('functions that Spark 4.1 added', () => {
  check(load('answers-4.json') as readonly Answer[]);
});
