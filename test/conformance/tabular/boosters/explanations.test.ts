// Explanations of boosters against their libraries: Shapley values (XGBoost's pred_contribs,
// LightGBM's pred_contrib, CatBoost's ShapValues, YDF's predict_shap), the leaves of rows, and sums
// that equal margins. SERVAL_TREE_GOLDENS, SERVAL_YDF_GOLDENS: the folders of goldens; if they are
// not set, the fixture scripts make them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importBooster } from '../../../../ts/importers/boosters/index.js';
import { importYdf } from '../../../../ts/importers/boosters/ydf/index.js';
import { withBackground } from '../../../../ts/importers/plan/background.js';
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';
import { runPlan } from '../../../unit/importers/plan/run-plan.js';
import { goldenFolder } from '../../golden-folder.js';
import { type Case, columnsOf, flat } from './golden-case.js';

const NO_GOLDENS = 'no goldens: nothing to make them with, no folder is given';
const APART_MAX = 1e-5;
const SUM_APART_MAX = 1e-6;
const ALL = ['margin', 'shap_values', 'expected_value', 'leaf_indices', 'tree_margins'];

interface Explained {
  readonly rows: readonly number[];
  /** By row, and by score if there are several: features, then the expected value. */
  readonly shap: readonly (readonly number[])[] | readonly (readonly (readonly number[])[])[];
  readonly leaves?: readonly (readonly number[] | number)[];
}

type Golden = Omit<Case, 'margin'> & {
  readonly margin: Case['margin'] | null;
  readonly explained?: Explained;
};

const folder = goldenFolder('trees');
const ydfFolder = goldenFolder('ydf');
const read = (of: string | undefined, file: string): unknown =>
  JSON.parse(readFileSync(join(of ?? '', file), 'utf8')) as unknown;

describe('explanations of boosters', { skip: folder === undefined && NO_GOLDENS }, () => {
  if (folder === undefined) return;
  let compared = 0;
  for (const name of read(folder, 'cases.json') as readonly string[]) {
    const golden = read(folder, `${name}.json`) as Golden;
    for (const file of golden.files) {
      test(file, async () => {
        const path = join(folder, file);
        compared += check((await importBooster(path)).plan, path, golden);
      });
    }
  }
  test('most are compared', () => assert.ok(compared > 130, `${compared} files`));
});

describe('explanations of YDF models', { skip: ydfFolder === undefined && NO_GOLDENS }, () => {
  if (ydfFolder === undefined) return;
  let compared = 0;
  for (const name of read(ydfFolder, 'cases.json') as readonly string[]) {
    const golden = read(ydfFolder, `${name}.json`) as Golden;
    test(name, async () => {
      const path = join(ydfFolder, name);
      compared += check((await importYdf(path)).plan, path, golden);
    });
  }
  test('most are compared', () => assert.ok(compared > 40, `${compared} models`));
});

const listOf = (values: unknown): readonly number[] => flat([values]);

/** The columns with only the rows that are explained. */
function some(golden: Golden, rows: readonly number[]): Pick<Case, 'columns'> {
  const columns = Object.entries(golden.columns).map(
    ([name, values]) => [name, rows.map((row) => values[row] ?? null)] as const,
  );
  return { columns: Object.fromEntries(columns) };
}

/** Returns 1 if the library's Shapley values were compared. */
function check(plan: Plan, path: string, golden: Golden): number {
  const rows = golden.explained?.rows ?? [0, 1, 2, 120, 121, 122];
  const known = plan.outputs.map(({ name }) => name);
  const given = columnsOf(plan, some(golden, rows));
  const run = (outputs: readonly string[]) =>
    runPlan(plan, given, { rows: rows.length, outputs }).columns;
  const refused = /lightgbm-linear/.test(path)
    ? /shap_values: .*linear trees/
    : /ydf-.*(oblique|mhld)/.test(path)
      ? /shap_values: oblique conditions/
      : undefined;
  const hasShap = known.includes('shap_values') && refused === undefined;
  const asked = ALL.filter((name) => known.includes(name));
  const answer = run(hasShap ? asked : asked.filter((name) => !/shap|expected/.test(name)));
  if (refused !== undefined) assert.throws(() => run(['shap_values']), refused);
  const leaves = golden.explained?.leaves;
  if (leaves !== undefined && answer['leaf_indices'] !== undefined) {
    assert.deepEqual(answer['leaf_indices'].map(listOf), leaves.map(listOf), 'leaves');
  }
  if (!hasShap) return 0;
  // CatBoost's values of trees that are not symmetric do not add up to its own margin.
  const isNotSymmetric = /catboost-.*(depthwise|lossguide)/.test(path);
  // Averages of trees are predictions. Other sums are only known as margins.
  const isAverage = golden.margin === null && /ydf-(rf|cart|pure)/.test(path);
  const sums = golden.margin ?? (isAverage ? golden.predict : undefined);
  const isOneOfTwo = isAverage && golden.label !== undefined;
  rows.forEach((row, i) => {
    const base = listOf(answer['expected_value']?.[i]);
    const values = listOf(answer['shap_values']?.[i]);
    const margins = listOf(sums?.[row] ?? []);
    base.forEach((expected, score) => {
      const own = values.filter((_, at) => at % base.length === score);
      assert.equal(own.length, plan.fields.length, 'features');
      const place = `row ${row}, score ${score}`;
      const theirs = wantedOf(golden.explained?.shap[i], score);
      const wanted = isOneOfTwo && base.length === 1 ? ofOther(theirs) : theirs;
      compare([...own, expected], margins[score], wanted, { place, isNotSymmetric });
    });
  });
  // Rows of 1e30 leave no digits of the means, to which linear models are relative.
  if (known.includes('leaf_indices')) compareRelative(plan, some(golden, rows), answer);
  return golden.explained === undefined || isNotSymmetric ? 0 : 1;
}

/**
 * Compares values relative to the rows themselves: they add up to the same scores, and the expected
 * value is the mean of these. `paths`: the values without a background set.
 */
function compareRelative(plan: Plan, given: Pick<Case, 'columns'>, paths: Answers): void {
  const header = Object.keys(given.columns);
  const cells = Object.values(given.columns).map((values) =>
    values.map((value) => (value === null ? null : String(value))),
  );
  const count = cells[0]?.length ?? 0;
  const rows = Array.from({ length: count }, (_, row) => cells.map((one) => one[row] ?? null));
  const related = withBackground(plan, { header, rows }, 'rows');
  const outputs = ['shap_values', 'expected_value'];
  const answer = runPlan(related, columnsOf(plan, given), { rows: count, outputs }).columns;
  const scores = rows.map((_, row) => scoresOf(paths, row));
  for (const [row, wanted] of scores.entries()) {
    const own = scoresOf(answer, row);
    wanted.forEach((score, i) => {
      const size = SUM_APART_MAX * Math.max(1, Math.abs(score));
      const apart = Math.abs((own[i] ?? Number.NaN) - score);
      assert.ok(apart <= size, `relative, row ${row}: ${own[i]}, not ${score}`);
      const mean = scores.reduce((sum, each) => sum + (each[i] ?? 0), 0) / count;
      const base = listOf(answer['expected_value']?.[row])[i] ?? Number.NaN;
      const most = SUM_APART_MAX * Math.max(1, Math.abs(mean));
      assert.ok(Math.abs(base - mean) <= most, `expected value ${base}, not ${mean}`);
    });
  }
}

type Answers = Readonly<Record<string, readonly unknown[]>>;

/** The sums of a row's values and the expected value, by score. */
function scoresOf(answer: Answers, row: number): readonly number[] {
  const values = listOf(answer['shap_values']?.[row]);
  return listOf(answer['expected_value']?.[row]).map((base, score, all) =>
    values.reduce((sum, value, i) => (i % all.length === score ? sum + value : sum), base),
  );
}

/** YDF predicts the second of two classes, and explains the first. */
function ofOther(values: readonly number[]): readonly number[] {
  return values.map((value, at) => (at + 1 === values.length ? 1 : 0) - value);
}

/** `values`: by feature, then the expected value. */
function compare(
  values: readonly number[],
  margin: number | undefined,
  wanted: readonly number[],
  { place, isNotSymmetric }: { readonly place: string; readonly isNotSymmetric: boolean },
): void {
  const size = values.reduce((most, one) => Math.max(most, Math.abs(one)), 1);
  const sum = values.reduce((total, one) => total + one, 0);
  assert.ok(
    margin === undefined || Math.abs(sum - margin) <= SUM_APART_MAX * size,
    `${place}: the values add up to ${sum}, the margin is ${margin}`,
  );
  const total = wanted.reduce((all, one) => all + one, 0);
  if (isNotSymmetric && Math.abs(total - (margin ?? 0)) > APART_MAX) return;
  wanted.forEach((one, at) => {
    const got = values[at] ?? Number.NaN;
    assert.ok(
      Math.abs(got - one) <= APART_MAX * Math.max(1, Math.abs(one)),
      `${place}, feature ${at}: expected ${one}, got ${got}`,
    );
  });
}

function wantedOf(
  row: Explained['shap'][number] | null | undefined,
  score: number,
): readonly number[] {
  if (row === null || row === undefined) return [];
  const [first] = row;
  return Array.isArray(first)
    ? ((row[score] ?? []) as readonly number[])
    : (row as readonly number[]);
}
