// Goldens of boosters: rows and what a library answers. Test time only.
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';
import type { GivenColumn } from '../../../unit/importers/plan/run-plan.js';

type Answer = number | readonly number[];

export interface Case {
  readonly files: readonly string[];
  readonly columns: Readonly<Record<string, readonly (number | string | boolean | null)[]>>;
  readonly predict: readonly Answer[];
  readonly margin: readonly Answer[];
  readonly label?: readonly (number | string)[];
}

/** The columns of a run, with the types of the plan's fields. */
export function columnsOf(
  plan: Plan,
  golden: Pick<Case, 'columns'>,
): Readonly<Record<string, GivenColumn>> {
  const given = Object.entries(golden.columns).map(([column, values]) => {
    const type = plan.fields.find((field) => field.name === column)?.type ?? 'any';
    return [column, { type, values: values.map((value) => valueOf(value, type)) }] as const;
  });
  return Object.fromEntries(given);
}

/** A missing number is NaN in a tensor; text is missing. */
function valueOf(value: number | string | boolean | null, type: string): unknown {
  const isNumber = type === 'float' || type === 'double';
  if (value === null) return isNumber ? Number.NaN : null;
  if (isNumber && typeof value === 'string') return Number(value);
  return typeof value === 'boolean' && type === 'bool' ? Number(value) : value;
}

export const flat = (answers: readonly unknown[] | undefined): readonly number[] =>
  (answers ?? []).flat().map((value) => (value === null ? Number.NaN : Number(value)));

/** The number of floats from one to the other. */
export function floatUlps(one: number, other: number): number {
  const bits = new Int32Array(Float32Array.of(one, other).buffer);
  const ordered = [...bits].map((each) => (each < 0 ? -2_147_483_648 - each : each));
  return Math.abs((ordered[0] ?? 0) - (ordered[1] ?? 0));
}

/** The number of doubles from one to the other. */
export function doubleUlps(one: number, other: number): number {
  const bits = new BigInt64Array(Float64Array.of(one, other).buffer);
  const ordered = [...bits].map((each) => (each < 0n ? -(2n ** 63n) - each : each));
  return Math.abs(Number((ordered[0] ?? 0n) - (ordered[1] ?? 0n)));
}
