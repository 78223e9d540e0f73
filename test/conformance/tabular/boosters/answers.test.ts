// Models of XGBoost, LightGBM and CatBoost that the libraries have trained and saved
// (test/fixtures/trees): imported, run, and compared with what the libraries themselves predict.
// Rows have values that are missing, infinite, equal to thresholds, next to them, and numbers that
// are no category. Sums of trees are the same numbers; answers too, but for the last digits of
// exponential functions.
// SERVAL_TREE_GOLDENS: the folder of goldens; if it is not set, the fixture script makes it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importBooster } from '../../../../ts/importers/boosters/index.js';
import { runPlan } from '../../../unit/importers/plan/run-plan.js';
import { goldenFolder } from '../../golden-folder.js';
import { type Case, columnsOf, doubleUlps, flat, floatUlps } from './golden-case.js';

const NO_GOLDENS = 'no goldens: nothing to make them with, no SERVAL_TREE_GOLDENS';
/**
 * Units in the last place: XGBoost computes exponentials in floats, CatBoost's softmax, Poisson and
 * the like have a faster exponential; Serval's are those of doubles.
 */
const ULPS_MAX = { xgboost: 2, lightgbm: 0, catboost: 8 } as const;

const folder = goldenFolder('trees');
const read = (file: string): unknown =>
  JSON.parse(readFileSync(join(folder ?? '', file), 'utf8')) as unknown;

describe('boosters against their libraries', { skip: folder === undefined && NO_GOLDENS }, () => {
  if (folder === undefined) return;
  const names = read('cases.json') as readonly string[];
  test('all are there', () => assert.ok(names.length > 100, `${names.length} cases`));
  for (const name of names) {
    const golden = read(`${name}.json`) as Case;
    for (const file of golden.files) {
      test(file, async () => check(name, join(folder, file), golden));
      const isFil = !/^catboost|-(?:frame|softmax)$/.test(name);
      if (!isFil) continue;
      test(`${file}, in the form of Triton's FIL backend`, async () =>
        checkFil(join(folder, file), golden));
    }
  }
});

async function check(name: string, path: string, golden: Case): Promise<void> {
  const { plan } = await importBooster(path);
  assert.deepEqual(
    plan.fields.map((field) => field.name),
    Object.keys(golden.columns),
  );
  const rows = golden.predict.length;
  const { columns } = runPlan(plan, columnsOf(plan, golden), { rows });
  assert.deepEqual(flat(columns['margin']), flat(golden.margin), 'margins');
  const library = (['xgboost', 'lightgbm', 'catboost'] as const).find((one) =>
    name.startsWith(one),
  );
  assert.ok(library !== undefined, name);
  const apartOf = library === 'xgboost' ? floatUlps : doubleUlps;
  const [got, expected] = [flat(columns['predict']), flat(golden.predict)];
  assert.equal(got.length, expected.length);
  got.forEach((value, i) => {
    const wanted = expected[i] ?? Number.NaN;
    const isEqual = value === wanted || (Number.isNaN(value) && Number.isNaN(wanted));
    const apart = isEqual ? 0 : apartOf(value, wanted);
    assert.ok(
      apart <= ULPS_MAX[library],
      `value ${i} of predict: expected ${wanted}, got ${value}`,
    );
  });
  if (golden.label !== undefined) assert.deepEqual(columns['label'], golden.label);
}

/** FIL's floats are the library's predictions, and its classes follow from them. */
async function checkFil(path: string, golden: Case): Promise<void> {
  const answerOf = async (isClass: boolean): Promise<readonly (readonly number[])[]> => {
    const answer = { server: 'fil', isClass, threshold: 0.5, hasBoth: false } as const;
    const { plan } = await importBooster(path, { answer });
    const rows = golden.predict.length;
    const { columns } = runPlan(plan, columnsOf(plan, golden), { rows });
    return (columns['output__0'] ?? []) as readonly (readonly number[])[];
  };
  const expected = golden.predict.map((row) => flat([row]).map(Math.fround));
  (await answerOf(false)).forEach((row, i) => {
    assert.equal(row.length, expected[i]?.length);
    row.forEach((value, at) => {
      const wanted = expected[i]?.[at] ?? Number.NaN;
      assert.ok(floatUlps(value, wanted) <= ULPS_MAX.xgboost, `row ${i}: ${value} for ${wanted}`);
    });
  });
  // The class of several NaN is not defined.
  const isKnown = expected.map((row) => row.length === 1 || !row.some(Number.isNaN));
  const classes = expected.map((row) => {
    const [value = 0] = row;
    return [row.length === 1 ? Number(value > 0.5) : row.indexOf(Math.max(...row))];
  });
  const got = await answerOf(true);
  assert.deepEqual(
    got.filter((_, i) => isKnown[i]),
    classes.filter((_, i) => isKnown[i]),
  );
}
