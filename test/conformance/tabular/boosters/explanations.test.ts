// Explanations of boosters against their libraries: Shapley values (XGBoost's pred_contribs,
// LightGBM's pred_contrib, CatBoost's ShapValues), the leaves of rows, and sums that equal margins.
// SERVAL_TREE_GOLDENS: the folder of goldens; if it is not set, the fixture script makes it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importBooster } from '../../../../ts/importers/boosters/index.js';
import { runPlan } from '../../../unit/importers/plan/run-plan.js';
import { goldenFolder } from '../../golden-folder.js';
import { type Case, columnsOf, flat } from './golden-case.js';

const NO_GOLDENS = 'no goldens: nothing to make them with, no SERVAL_TREE_GOLDENS';
const APART_MAX = 1e-5;
const SUM_APART_MAX = 1e-6;
const ALL = ['margin', 'shap_values', 'expected_value', 'leaf_indices', 'tree_margins'];

interface Explained {
  readonly rows: readonly number[];
  /** By row, and by score if there are several: features, then the expected value. */
  readonly shap: readonly (readonly number[])[] | readonly (readonly (readonly number[])[])[];
  readonly leaves?: readonly (readonly number[] | number)[];
}

const folder = goldenFolder('trees');
const read = (file: string): unknown =>
  JSON.parse(readFileSync(join(folder ?? '', file), 'utf8')) as unknown;

describe('explanations of boosters', { skip: folder === undefined && NO_GOLDENS }, () => {
  if (folder === undefined) return;
  const names = read('cases.json') as readonly string[];
  let compared = 0;
  for (const name of names) {
    const golden = read(`${name}.json`) as Case & { readonly explained?: Explained };
    for (const file of golden.files) {
      test(file, async () => {
        compared += await check(join(folder, file), golden);
      });
    }
  }
  test('most are compared', () => assert.ok(compared > 130, `${compared} files`));
});

const listOf = (values: unknown): readonly number[] => flat([values]);

/** The case with only the rows that are explained. */
function some(golden: Case, rows: readonly number[]): Pick<Case, 'columns'> {
  const columns = Object.entries(golden.columns).map(
    ([name, values]) => [name, rows.map((row) => values[row] ?? null)] as const,
  );
  return { columns: Object.fromEntries(columns) };
}

/** Returns 1 if the library's Shapley values were compared. */
async function check(
  path: string,
  golden: Case & { readonly explained?: Explained },
): Promise<number> {
  const { plan } = await importBooster(path);
  const rows = golden.explained?.rows ?? [0, 1, 2, 120, 121, 122];
  const known = plan.outputs.map(({ name }) => name);
  const given = columnsOf(plan, some(golden, rows));
  const run = (outputs: readonly string[]) =>
    runPlan(plan, given, { rows: rows.length, outputs }).columns;
  const isNotSymmetric = /catboost-.*(depthwise|lossguide)/.test(path);
  const isLinearTree = /lightgbm-linear/.test(path);
  const hasShap = known.includes('shap_values') && !isLinearTree;
  const outputs = ALL.filter((name) => known.includes(name));
  const answer = run(hasShap ? outputs : outputs.filter((name) => !/shap|expected/.test(name)));
  if (isLinearTree) {
    assert.throws(() => run(['shap_values']), /shap_values: .*linear trees/);
  }
  compareLeaves(answer, golden.explained?.leaves);
  if (!hasShap) return 0;
  rows.forEach((row, i) => {
    const margins = listOf(golden.margin[row]);
    const scores = margins.length;
    const values = listOf(answer['shap_values']?.[i]);
    const expected = listOf(answer['expected_value']?.[i]);
    assert.equal(expected.length, scores);
    margins.forEach((margin, score) => {
      const own = values.filter((_, at) => at % scores === score);
      assert.equal(own.length, plan.fields.length, 'features');
      const base = expected[score] ?? Number.NaN;
      const size = [...own, base, margin].reduce((most, one) => Math.max(most, Math.abs(one)), 1);
      const sum = own.reduce((total, one) => total + one, base);
      assert.ok(
        Math.abs(sum - margin) <= SUM_APART_MAX * size,
        `row ${row}, score ${score}: the values add up to ${sum}, the margin is ${margin}`,
      );
      const wanted = wantedOf(golden.explained?.shap[i], score) ?? [];
      // CatBoost's values of trees that are not symmetric do not add up to its own margin.
      const total = wanted.reduce((all, one) => all + one, 0);
      if (isNotSymmetric && Math.abs(total - margin) > APART_MAX) return;
      wanted.forEach((one, at) => {
        const got = [...own, base][at] ?? Number.NaN;
        assert.ok(
          Math.abs(got - one) <= APART_MAX * Math.max(1, Math.abs(one)),
          `row ${row}, score ${score}, feature ${at}: expected ${one}, got ${got}`,
        );
      });
    });
  });
  return golden.explained === undefined || isNotSymmetric ? 0 : 1;
}

function wantedOf(row: Explained['shap'][number] | undefined, score: number) {
  if (row === undefined || row === null) return undefined;
  const [first] = row;
  return Array.isArray(first) ? (row[score] as readonly number[]) : (row as readonly number[]);
}

function compareLeaves(
  answer: Readonly<Record<string, readonly unknown[]>>,
  leaves: Explained['leaves'],
): void {
  if (leaves === undefined || answer['leaf_indices'] === undefined) return;
  assert.deepEqual(answer['leaf_indices'].map(listOf), leaves.map(listOf), 'leaves');
}
