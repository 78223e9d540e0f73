// The engine's results for a Spark model in memory.
import assert from 'node:assert/strict';
import { type GivenColumn, PlanError, runPlan } from '../../plan/run-plan.js';
import { planOf } from './lowered.js';
import type { StageSketch } from './model.js';

type Columns = Readonly<Record<string, readonly unknown[] | GivenColumn>>;

export const ints = (...values: (number | null)[]): GivenColumn => ({ type: 'int32', values });
export const doubles = (...values: (number | null)[]): GivenColumn => ({ type: 'double', values });
export const texts = (...values: (string | null)[]): GivenColumn => ({ type: 'string', values });
export const vectors = (...values: (readonly number[] | null)[]): GivenColumn => ({
  type: 'vector',
  values,
});
export const words = (...values: (readonly string[] | null)[]): GivenColumn => ({
  type: 'list',
  element: 'string',
  values,
});

/** All columns that the model adds. */
export async function answersOf(
  stage: StageSketch,
  columns: Columns,
): Promise<Readonly<Record<string, readonly unknown[]>>> {
  return runPlan(await planOf(stage), columns).columns;
}

/** Expects these results of the model, to 1e-12; other columns are ignored. */
export async function answers(
  stage: StageSketch,
  columns: Columns,
  expected: Readonly<Record<string, readonly unknown[]>>,
): Promise<void> {
  const got = await answersOf(stage, columns);
  for (const [name, values] of Object.entries(expected)) {
    const column = got[name];
    assert.ok(column !== undefined, `no output ${name}: ${Object.keys(got).join(', ')}`);
    assert.equal(column.length, values.length, name);
    for (const [row, value] of values.entries()) near(column[row], value, `${name}, row ${row}`);
  }
}

/** Expects that the row is refused, with its position. */
export async function refusesRow(
  stage: StageSketch,
  columns: Columns,
  message: RegExp,
): Promise<void> {
  const plan = await planOf(stage);
  assert.throws(
    () => runPlan(plan, columns),
    (error: unknown) => {
      assert.ok(error instanceof PlanError, String(error));
      assert.match(error.message, message);
      return true;
    },
  );
}

function near(got: unknown, expected: unknown, where: string): void {
  if (Array.isArray(expected) && Array.isArray(got)) {
    assert.equal(got.length, expected.length, `${where}: ${JSON.stringify(got)}`);
    for (const [i, value] of expected.entries()) near(got[i], value, `${where}[${i}]`);
  } else if (typeof expected === 'number' && Number.isFinite(expected)) {
    const difference = Math.abs((got as number) - expected);
    const isNear = difference <= 1e-12 * Math.max(1e-3, Math.abs(expected));
    assert.ok(isNear, `${where}: got ${String(got)}, expected ${expected}`);
  } else {
    assert.deepEqual(got, expected, where);
  }
}
