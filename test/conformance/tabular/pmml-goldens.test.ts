// Documents that sklearn2pmml and JPMML-SparkML write (test/fixtures/tabular/pmml, sparkml) answer
// rows with missing, invalid and extreme values as JPMML-Evaluator does, and refuse those that it
// refuses.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importPmml } from '../../../ts/pmml/index.js';
import type { Plan } from '../../../ts/tabular/generated/plan.js';
import { goldenCases, goldenFolder } from '../golden-folder.js';
import { runPlan } from '../../unit/tabular/run-plan.js';

interface Case {
  readonly fields: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** By output; "!" the error of a row that is refused. */
  readonly expected: readonly Readonly<Record<string, string | null>>[];
}

const WRITERS = [
  { kind: 'pmml', writer: 'sklearn2pmml', least: 46, variable: 'SERVAL_PMML_GOLDENS' },
  { kind: 'sparkml', writer: 'JPMML-SparkML', least: 27, variable: 'SERVAL_SPARKML_GOLDENS' },
] as const;
const TOLERANCE = 1e-12;
// What is far below 1 beside probabilities that add up to 1, or a sum that comes to nothing.
const FLOOR = 1e-14;

/** Which of several instances as far away comes first, JPMML leaves to the order of a hash table:
 * rows with a number beside which all others vanish. */
const TIES: Readonly<Record<string, RegExp>> = { classify_knn: /^neighbor/ };

/** A model that has no answer has no outputs either, says the standard. JPMML 1.7 still computes
 * the outputs that are expressions of others, which it then does not find: an error, where earlier
 * ones answered that all are missing. We do that, or refuse the row where a function wants a
 * value. */
const UNDEFINED_OUTPUT = /^MissingFieldException: Field "[^"]+" is not defined/;
const BOOLEANS: Readonly<Record<string, number>> = { false: 0, true: 1 };
const isFar = (cell: string | null): boolean => Math.abs(Number(cell ?? 0)) >= 1e9;

for (const { kind, writer, least, variable } of WRITERS) {
  const folder = goldenFolder(kind);
  const skip = folder === undefined && `no goldens: nothing to make them with, no ${variable}`;
  describe(`documents of ${writer} against JPMML`, { skip }, () => {
    if (folder === undefined) return;
    const names = goldenCases(folder);
    test('all are there', () => assert.ok(names.length >= least, `${names.length} documents`));
    for (const name of names) {
      test(name, async () => {
        const { plan } = await importPmml(join(folder, name, 'model.pmml'));
        const golden = readFileSync(join(folder, name, 'case.json'), 'utf8');
        check(plan, JSON.parse(golden) as Case, TIES[name]);
      });
    }
  });
}

function check(plan: Plan, { fields, rows, expected }: Case, ties: RegExp | undefined): void {
  const wanted = (plan.fields ?? []).filter((field) => fields.includes(field.name));
  const given = Object.fromEntries(
    wanted.map(({ name, type }) => {
      const at = fields.indexOf(name);
      const isText = type === 'string';
      const values = rows.map((row) => {
        const cell = row[at] ?? null;
        return cell === null || isText ? cell : (BOOLEANS[cell] ?? Number(cell));
      });
      return [name, { type: type ?? 'string', values }];
    }),
  );
  const answer = runPlan(plan, given, { rows: rows.length, nullForInvalid: true });
  const unanswered = new Set(
    expected.flatMap((row, i) => (UNDEFINED_OUTPUT.test(row['!'] ?? '') ? [i] : [])),
  );
  const refused = expected.flatMap((row, i) => ('!' in row ? [i] : []));
  assert.deepEqual(
    answer.refused.filter((i) => !unanswered.has(i)).sort((a, b) => a - b),
    refused.filter((i) => !unanswered.has(i)),
    'rows that are refused',
  );
  for (const [i, row] of expected.entries()) {
    if (unanswered.has(i)) {
      const values = Object.values(answer.columns).map((column) => column[i]);
      assert.ok(
        values.every((value) => value === null),
        `row ${i} is answered: ${values.join()}`,
      );
    }
    if ('!' in row) continue;
    for (const [output, value] of Object.entries(row)) {
      if (output === '') continue; // a target without a name
      if (ties?.test(output) && rows[i]?.some(isFar)) continue;
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
