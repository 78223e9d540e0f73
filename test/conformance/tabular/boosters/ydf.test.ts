// Models that Yggdrasil Decision Forests has trained and saved (test/fixtures/ydf): imported, run,
// and compared with what the library itself predicts. Rows have values that are missing, infinite,
// equal to thresholds, next to them, and categories that are unknown. Sums of trees are the same
// numbers; answers too, but for the last digits of exponential functions.
// SERVAL_YDF_GOLDENS: the folder of goldens; if it is not set, the fixture script makes it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importYdf } from '../../../../ts/importers/boosters/ydf/index.js';
import { runPlan } from '../../../unit/importers/plan/run-plan.js';
import { goldenFolder } from '../../golden-folder.js';
import { type Case, columnsOf, flat, floatUlps } from './golden-case.js';

interface Golden extends Omit<Case, 'margin'> {
  /** null: of forests that average, whose sums YDF does not show. */
  readonly margin: Case['margin'] | null;
  readonly engine: string;
  /** The prediction has no exponentials. */
  readonly exact: boolean;
}

const NO_GOLDENS = 'no goldens: nothing to make them with, no SERVAL_YDF_GOLDENS';
/** Units in the last place: YDF computes exponentials and powers in floats, Serval in doubles. */
const ULPS_MAX = 2;

const folder = goldenFolder('ydf');
const read = (file: string): unknown =>
  JSON.parse(readFileSync(join(folder ?? '', file), 'utf8')) as unknown;

describe('YDF models against YDF', { skip: folder === undefined && NO_GOLDENS }, () => {
  if (folder === undefined) return;
  const names = read('cases.json') as readonly string[];
  test('all are there', () => assert.ok(names.length > 50, `${names.length} cases`));
  for (const name of names) {
    const golden = read(`${name}.json`) as Golden;
    for (const file of golden.files) {
      test(`${name} (${golden.engine})`, () => check(join(folder, file), golden));
    }
  }
});

async function check(path: string, golden: Golden): Promise<void> {
  const { plan } = await importYdf(path);
  assert.deepEqual(
    plan.fields.map(({ name }) => name),
    Object.keys(golden.columns),
  );
  const rows = golden.predict.length;
  const { columns } = runPlan(plan, columnsOf(plan, golden), { rows });
  if (golden.margin !== null) {
    assert.deepEqual(flat(columns['margin']), flat(golden.margin), 'margins');
  }
  const [got, expected] = [flat(columns['predict']), flat(golden.predict)];
  assert.equal(got.length, expected.length);
  got.forEach((value, i) => {
    const wanted = expected[i] ?? Number.NaN;
    const apart = value === wanted ? 0 : floatUlps(value, wanted);
    assert.ok(
      apart <= (golden.exact ? 0 : ULPS_MAX),
      `value ${i} of predict: expected ${wanted}, got ${value}`,
    );
  });
  if (golden.label !== undefined) assert.deepEqual(columns['label'], golden.label);
}
