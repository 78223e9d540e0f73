// Small PMML documents (test/fixtures/tabular/documents) give JPMML-Evaluator's results: models of
// several targets, votes with missing predictions, treatments inside segments, JPMML's vendor
// attributes, and documents as other programs write them. A document that JPMML refuses in every
// row does not load here, or is refused in every row, too.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import { importPmml } from '../../../ts/importers/pmml/index.js';
import type { Plan } from '../../../ts/importers/plan/generated/plan.js';
import { type GivenColumn, runPlan } from '../../unit/importers/plan/run-plan.js';
import { goldenCases, goldenFolder } from '../golden-folder.js';

interface Case {
  readonly fields: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** By output; "!" is the error of a refused row, "" a target without a name. */
  readonly expected: readonly Readonly<Record<string, string | null>>[];
}

const LEAST = 100;
const TARGETS = new Set(['k', 'm', 'w', 'y', 'y1', 'y2']);
const TOLERANCE = 1e-12;
const BOOLEANS: Readonly<Record<string, number>> = { false: 0, true: 1 };

/**
 * A model without a result has no outputs either: JPMML 1.7 refuses the row as soon as an output is
 * requested; we answer that it is missing.
 */
const UNDEFINED_OUTPUT =
  /^(MissingFieldValueException: The value for field "[^"]+" is not defined|EvaluationException: Empty classification|UndefinedResultException)/;

const folder = goldenFolder('documents');
const skip = folder === undefined && 'no goldens: nothing to make them with';
describe('small PMML documents against JPMML', { skip }, () => {
  if (folder === undefined) return;
  const names = goldenCases(folder);
  test('all are there', () => assert.ok(names.length >= LEAST, `${names.length} documents`));
  for (const name of names) {
    test(name, async () => {
      const golden = JSON.parse(readFileSync(join(folder, name, 'case.json'), 'utf8')) as Case;
      const isRefused = golden.expected.every((row) => '!' in row);
      const plan = await load(join(folder, name, 'model.pmml'), isRefused);
      if (plan === undefined) return;
      if (isRefused && !isLoaded(plan)) return;
      check(plan, golden);
    });
  }
});

/** Returns the plan; undefined for a document that may be refused, and is. */
async function load(path: string, mayRefuse: boolean): Promise<Plan | undefined> {
  try {
    return (await importPmml(path)).plan;
  } catch (error) {
    const isRefusal = error instanceof ServalError && error.code === ErrorCode.ModelInvalid;
    if (!mayRefuse || !isRefusal) throw error;
    return undefined;
  }
}

/** True if the engine loads the plan: the engine detects some errors of a document. */
function isLoaded(plan: Plan): boolean {
  try {
    runPlan(plan, {}, { rows: 0 });
    return true;
  } catch (error) {
    assert.match(String(error), /'[^']*plan': \d+ faults?: line \d+ </);
    return false;
  }
}

function columnsOf(plan: Plan, { fields, rows }: Case): Record<string, GivenColumn> {
  const wanted = (plan.fields ?? []).filter((field) => fields.includes(field.name));
  return Object.fromEntries(
    wanted.map(({ name, type = 'string' }) => {
      const at = fields.indexOf(name);
      const values = rows.map((row) => {
        const cell = row[at] ?? null;
        return cell === null || type === 'string' ? cell : (BOOLEANS[cell] ?? Number(cell));
      });
      return [name, { type, values }];
    }),
  );
}

function check(plan: Plan, golden: Case): void {
  const { rows, expected } = golden;
  const columns = columnsOf(plan, golden);
  const answer = runPlan(plan, columns, { rows: rows.length, nullForInvalid: true });
  const own = (plan.outputs ?? []).filter(({ extra }) => extra !== true).map(({ name }) => name);
  for (const [i, row] of expected.entries()) {
    const where = `row ${i} (${JSON.stringify(rows[i])})`;
    const refusal = row['!'];
    if (typeof refusal === 'string') {
      const values = own.map((name) => answer.columns[name]?.[i] ?? null);
      const isMissing = UNDEFINED_OUTPUT.test(refusal) && values.includes(null);
      assert.ok(answer.refused.includes(i) || isMissing, `${where} is answered: ${values}`);
      continue;
    }
    assert.ok(!answer.refused.includes(i), `${where} is refused`);
    for (const [output, value] of Object.entries(row)) {
      if (output === '') continue;
      const column = answer.columns[output];
      if (column === undefined && value === null) continue;
      assert.ok(column, `no output '${output}' among ${Object.keys(answer.columns).join(', ')}`);
      compare(column[i], value, `${output}, ${where}`);
      assert.ok(own.includes(output), `'${output}' is answered only on request`);
    }
    // JPMML reports the value of a missing target under a wrong name.
    const surplus = own.filter((name) => TARGETS.has(name) && !(name in row));
    for (const name of '' in row ? [] : surplus) {
      assert.equal(answer.columns[name]?.[i], null, `${name}, ${where}`);
    }
  }
}

function compare(got: unknown, expected: string | null, where: string): void {
  if (Array.isArray(got)) {
    // Lists omit missing values.
    const values = (expected ?? '').slice(1, -1).split(', ');
    return assert.deepEqual(
      got,
      values.filter((each) => each !== 'null').map((each) => Number(each)),
      where,
    );
  }
  if (expected === null || got === null) return assert.equal(got, expected, where);
  if (typeof got !== 'number') return assert.equal(String(got), expected, where);
  const number = BOOLEANS[expected] ?? Number(expected);
  const isNear = Number.isFinite(number) && Math.abs(got - number) <= TOLERANCE * Math.abs(number);
  assert.ok(isNear || Object.is(got, number), `${where}: got ${got}, expected ${expected}`);
}
