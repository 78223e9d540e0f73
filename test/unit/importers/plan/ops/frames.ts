// Plans of one operator or a few, run in C++, for tests of operators.
import { type Column, PlanBuilder } from '../../../../../ts/importers/plan/builder.js';
import type { Type } from '../../../../../ts/importers/plan/generated/plan.js';
import { type GivenColumn, type RunAnswer, type RunOptions, runPlan } from '../run-plan.js';

export const PLACE = "stage 3 'op_1'";

export interface OutputColumn {
  readonly type: Type;
  readonly element?: Type;
}

/**
 * Builds fields by name, unchanged, and then what `build` appends; it fills the columns of
 * `outputs`. Returns the outputs.
 */
export function frame(
  fields: Readonly<Record<string, readonly unknown[] | GivenColumn>>,
  outputs: Readonly<Record<string, OutputColumn>>,
  build: (
    builder: PlanBuilder,
    inputs: Readonly<Record<string, Column>>,
    filled: Readonly<Record<string, Column>>,
  ) => void,
  options: RunOptions = {},
): RunAnswer {
  const builder = new PlanBuilder('spark', 'a test');
  const inputs: Record<string, Column> = {};
  for (const name of Object.keys(fields)) {
    inputs[name] = builder.field({ name, type: 'double', any: true, optional: true });
  }
  const filled: Record<string, Column> = {};
  for (const [name, { type, element }] of Object.entries(outputs)) {
    filled[name] = builder.column(name, type, element);
  }
  build(builder, inputs, filled);
  for (const [name, { type, element }] of Object.entries(outputs)) {
    const column = filled[name] as Column;
    builder.output({ name, column, type, ...(element === undefined ? {} : { element }) });
  }
  return runPlan(builder.finish(), fields, options);
}

export const doubles = (...values: readonly unknown[]): GivenColumn => ({ type: 'double', values });
export const strings = (...values: readonly unknown[]): GivenColumn => ({ type: 'string', values });
export const vectors = (...values: readonly unknown[]): GivenColumn => ({ type: 'vector', values });
export const words = (...values: readonly unknown[]): GivenColumn => ({
  type: 'list',
  element: 'string',
  values,
});

export const DOUBLE = { type: 'double' } as const;
export const VECTOR = { type: 'vector' } as const;
export const STRING = { type: 'string' } as const;
export const INT = { type: 'int32' } as const;
export const WORDS = { type: 'list', element: 'string' } as const;

/** Maps x to y by one operator. */
export function map(
  x: GivenColumn,
  y: OutputColumn,
  build: (builder: PlanBuilder, input: Column, output: Column) => void,
  options: RunOptions = {},
): readonly unknown[] {
  const answer = frame(
    { x },
    { y },
    (builder, inputs, outputs) => build(builder, inputs['x'] as Column, outputs['y'] as Column),
    options,
  );
  return answer.columns['y'] as readonly unknown[];
}

/** Expects numbers, nested in any way, to be equal to 1e-12 relative, and all else to be equal. */
export function near(actual: unknown, expected: unknown, where = 'value'): void {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) {
      throw new Error(`${where}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
    }
    expected.forEach((one, i) => near(actual[i], one, `${where}[${i}]`));
    return;
  }
  const same =
    typeof expected === 'number' && typeof actual === 'number'
      ? Object.is(actual, expected) ||
        actual === expected ||
        Math.abs(actual - expected) <= 1e-12 * Math.abs(expected)
      : actual === expected;
  if (!same) throw new Error(`${where}: ${String(actual)}, expected ${String(expected)}`);
}
