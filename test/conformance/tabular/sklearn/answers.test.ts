// Models of scikit-learn that skops has saved (test/fixtures/skops): imported, run, and compared
// with what scikit-learn itself answers. Rows have values that are missing, at thresholds and next
// to them, and categories that are unknown. Sums and averages of trees, scaled and encoded values
// are the same numbers; others differ by the rounding of sums and exponentials.
// SERVAL_SKOPS_GOLDENS: the folder of goldens; if it is not set, the fixture script makes it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';
import { EXPLANATIONS } from '../../../../ts/model/explanation-names.js';
import { importSklearn } from '../../../../ts/importers/sklearn/index.js';
import { type GivenColumn, runPlan } from '../../../unit/importers/plan/run-plan.js';
import { goldenFolder } from '../../golden-folder.js';

const NO_GOLDENS = 'no goldens: nothing to make them with, no SERVAL_SKOPS_GOLDENS';
const RELATIVE_MAX = 1e-9;
/** Sums of numbers that cancel each other. */
const ABSOLUTE_MAX = 1e-11;

type Value = number | string | boolean | null;
type Answer = Value | readonly Answer[];

interface Case {
  readonly columns: Readonly<Record<string, readonly Value[]>>;
  readonly answers: Readonly<Record<string, readonly Answer[]>>;
  /** Outputs whose numbers are the same bit for bit. */
  readonly exact: readonly string[];
}

/** Outputs that scikit-learn has not: shapley.test.ts checks them. */
const EXPLAINED: ReadonlySet<string> = new Set(EXPLANATIONS);

const folder = goldenFolder('skops');
const read = (file: string): unknown =>
  JSON.parse(readFileSync(join(folder ?? '', file), 'utf8')) as unknown;

describe('.skops files against scikit-learn', { skip: folder === undefined && NO_GOLDENS }, () => {
  if (folder === undefined) return;
  const names = read('cases.json') as readonly string[];
  test('all are there', () => assert.ok(names.length > 120, `${names.length} cases`));
  for (const name of names) {
    test(name, async () => check(join(folder, `${name}.skops`), read(`${name}.json`) as Case));
  }
});

async function check(path: string, { columns, answers, exact }: Case): Promise<void> {
  const { plan } = await importSklearn(path);
  assert.deepEqual(
    plan.fields.map(({ name }) => name),
    Object.keys(columns),
  );
  const [answer = []] = Object.values(answers);
  const outputs = Object.keys(answers);
  assert.deepEqual(
    plan.outputs
      .map(({ name }) => name)
      .filter((name) => !outputs.includes(name) && !EXPLAINED.has(name)),
    [],
    'outputs that scikit-learn does not have',
  );
  const run = runPlan(plan, columnsOf(plan, columns), { rows: answer.length, outputs });
  for (const [output, expected] of Object.entries(answers)) {
    const got = (run.columns[output] ?? []) as readonly Answer[];
    assert.equal(got.length, expected.length, `rows of ${output}`);
    got.forEach((row, i) => {
      compare(row, expected[i] ?? null, exact.includes(output), `${output}, row ${i}`);
    });
  }
}

function compare(got: Answer, expected: Answer, isExact: boolean, place: string): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(got), `${place}: expected a list`);
    assert.equal(got.length, expected.length, place);
    expected.forEach((value, i) => compare(got[i] as Answer, value as Answer, isExact, place));
    return;
  }
  const wanted = typeof expected === 'boolean' ? Number(expected) : expected;
  const value = typeof got === 'boolean' ? Number(got) : got;
  if (isExact || typeof wanted !== 'number' || typeof value !== 'number') {
    const given = Number.isNaN(value) ? null : value;
    assert.deepEqual(given === 0 ? 0 : given, wanted === 0 ? 0 : wanted, place);
    return;
  }
  const apart = Math.abs(value - wanted);
  const most = Math.max(ABSOLUTE_MAX, RELATIVE_MAX * Math.abs(wanted));
  assert.ok(apart <= most, `${place}: expected ${wanted}, got ${value}`);
}

/** The columns of a run, with the types of the plan's fields. */
function columnsOf(
  { fields }: Plan,
  columns: Case['columns'],
): Readonly<Record<string, GivenColumn>> {
  const given = fields.map(({ name, type, any = false }) => {
    const values = columns[name] ?? [];
    const isText = values.some((value) => typeof value === 'string');
    const own = any ? (isText ? 'string' : 'double') : type;
    const shown = values.map((value) => {
      if (value === null) return own === 'double' ? Number.NaN : null;
      return typeof value === 'boolean' ? Number(value) : value;
    });
    return [name, { type: own, values: shown }] as const;
  });
  return Object.fromEntries(given);
}
