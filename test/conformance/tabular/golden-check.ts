// Checks that a plan gives JPMML-Evaluator's results: case.json of test/fixtures/tabular, which
// scoring.py there describes. Test time only.
import assert from 'node:assert/strict';
import type { Plan } from '../../../ts/importers/plan/generated/plan.js';
import { runPlan } from '../../unit/importers/plan/run-plan.js';

export interface GoldenCase {
  readonly fields: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** By output; "!" is the error of a refused row. */
  readonly expected: readonly Readonly<Record<string, string | null>>[];
}

export interface GoldenOptions {
  /** Results that depend on the order of a hash table in JPMML are not compared. */
  readonly isTie?: (row: readonly (string | null)[], output: string) => boolean;
  /** JPMML errors that imply nothing about our result: the row is not compared. */
  readonly unsupported?: RegExp;
}

const TOLERANCE = 1e-12;
// Absolute tolerance: for values far below 1 next to probabilities that add up to 1, and for sums
// that cancel.
const FLOOR = 1e-14;

/**
 * The standard says that a model without a result has no outputs either. JPMML 1.7 still computes
 * outputs that are expressions of others, which it then does not find: an error, where earlier
 * versions answered that all are missing. We do the latter, or refuse the row if a function needs a
 * value.
 */
const UNDEFINED_OUTPUT = /^MissingFieldException: Field "[^"]+" is not defined/;
const BOOLEANS: Readonly<Record<string, number>> = { false: 0, true: 1 };

function given(plan: Plan, { fields, rows }: GoldenCase) {
  const wanted = (plan.fields ?? []).filter((field) => fields.includes(field.name));
  return Object.fromEntries(
    wanted.map(({ name, type }) => {
      const at = fields.indexOf(name);
      const isText = type === 'string';
      const values = rows.map((row) => {
        const cell = row[at] ?? null;
        if (cell === null || isText) return cell;
        const number = BOOLEANS[cell] ?? Number(cell);
        return type === 'float' ? Math.fround(number) : number;
      });
      return [name, { type: type ?? 'string', values }];
    }),
  );
}

/** Runs all rows at once: a refused row does not refuse the others. */
export function checkGolden(plan: Plan, golden: GoldenCase, options: GoldenOptions = {}): void {
  const { rows, expected } = golden;
  const answer = runPlan(plan, given(plan, golden), { rows: rows.length, nullForInvalid: true });
  const error = (i: number) => expected[i]?.['!'] ?? '';
  const skipped = (i: number) =>
    UNDEFINED_OUTPUT.test(error(i)) || options.unsupported?.test(error(i)) === true;
  const refused = expected.flatMap((row, i) => ('!' in row ? [i] : []));
  assert.deepEqual(
    answer.refused.filter((i) => !skipped(i)).sort((a, b) => a - b),
    refused.filter((i) => !skipped(i)),
    'rows that are refused',
  );
  for (const [i, row] of expected.entries()) {
    if (UNDEFINED_OUTPUT.test(error(i))) {
      const values = Object.values(answer.columns).map((column) => column[i]);
      const all = values.every((value) => value === null);
      assert.ok(all, `row ${i} is answered: ${values.join()}`);
    }
    if ('!' in row) continue;
    for (const [output, value] of Object.entries(row)) {
      if (output === '') continue; // a target without a name
      if (options.isTie?.(rows[i] ?? [], output) === true) continue;
      const column = answer.columns[output];
      assert.ok(column, `no output '${output}' among ${Object.keys(answer.columns).join(', ')}`);
      compare(column[i], value, `${output}, row ${i} (${JSON.stringify(rows[i])})`);
    }
  }
}

function compare(got: unknown, expected: string | null, where: string): void {
  if (expected === null || got === null) return assert.equal(got, expected, where);
  if (typeof got !== 'number') return assert.equal(String(got), expected, where);
  const number = expected === 'true' ? 1 : expected === 'false' ? 0 : Number(expected);
  const difference = Math.abs(got - number);
  const isNear = difference <= TOLERANCE * Math.abs(number) || difference <= FLOOR;
  assert.ok(isNear || Object.is(got, number), `${where}: got ${got}, expected ${expected}`);
}
